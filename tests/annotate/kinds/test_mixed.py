"""Studies that mix kinds of questions."""

import pytest

import analysis
from annotate.assignment import choosing
from annotate.audit_log.verifying import problems
from annotate.coverage import snapshots
from annotate.kinds.base import AnswerError
from annotate.kinds.registry import KINDS
from annotate.models import Rating
from annotate.quality import monitoring
from annotate.reports import study_tables
from tests import answering
from tests.factories import make_benchmark
from tests.working import Browser, join, make_planned

pytestmark = pytest.mark.django_db

FILE = """\
redundancy: 1
questions:
  - {key: beauty, kind: likert, scale: [0, 4], title: Beauty, text: "How nice?"}
  - {key: pan, kind: checklist, category: Camera, title: Pan}
"""


@pytest.fixture
def study():
    benchmark = make_benchmark(stories=1, shots=2, methods=["Alder"])
    return make_planned(FILE, benchmark=benchmark, annotators=1)


@pytest.mark.slow
def test_mixed_study_stores_and_exports_both_kinds(study):
    person = join(study, "A01")
    slot = choosing.next_for(person).slot
    beauty = study.questions.get(key="beauty")
    with pytest.raises(AnswerError, match="shots 1, 2"):
        answering.submit(slot=slot, annotator=person)
    for shot in (1, 2):
        answering.record_shot(
            slot=slot, annotator=person, shot=shot, ticked={"pan|text"}, looked=True
        )
    with pytest.raises(AnswerError, match="Not answered yet: Beauty"):
        answering.submit(slot=slot, annotator=person)
    answering.record_answer(slot=slot, annotator=person, question=beauty, value="3")
    answering.submit(slot=slot, annotator=person)
    frame = study_tables.answers_frame(study, "ratings")
    told = {(row.dimension, str(row.shot)): row.rating for row in frame.itertuples()}
    assert told == {
        ("beauty", ""): 3,
        ("pan|text", "1"): 1,
        ("pan|video", "1"): 0,
        ("pan|text", "2"): 1,
        ("pan|video", "2"): 0,
    }
    found = analysis.agreement(ratings=frame, resamples=10)
    assert set(found.tables["agreement"]["question"]) == {
        "beauty",
        "pan|text",
        "pan|video",
    }
    assert problems(study) == []
    assert set(snapshots.alphas(study)) == {"beauty", "Camera|"}
    assert monitoring.signals_of(person)["seconds_per_unit"].n == 1


def test_question_keys_may_equal_names_of_form_fields(client):
    text = FILE.replace("key: beauty", "key: seconds").replace(
        "key: pan", "key: looked"
    )
    text += "presentation: {comments: true}\n"
    study = make_planned(
        text,
        benchmark=make_benchmark(stories=1, shots=1, methods=["Alder"]),
        annotators=1,
    )
    browser = Browser(client, study.annotators.get())
    browser.start()
    slot = browser.slot
    page = browser.text()
    assert page.count('name="seconds"') == 1
    browser.post(
        f"{browser.at}submit/", **{"seconds": "0.5", "q:seconds": "3", "looked:1": "on"}
    )
    slot.refresh_from_db()
    assert slot.claimed_seconds == 0.5
    given = Rating.objects.filter(is_current=True, shot=0)
    assert list(given.values_list("question__key", "value")) == [("seconds", 3)]


def test_verify_checks_answers_of_every_kind(study, monkeypatch):
    person = join(study, "A01")
    slot = choosing.next_for(person).slot
    beauty = study.questions.get(key="beauty")
    row = answering.record_answer(slot=slot, annotator=person, question=beauty, value=3)
    Rating.objects.filter(pk=row.pk).update(scale_max=9, value=9)
    told = f"rating {row.pk}: 9 is outside its question's scale"
    assert [one for one in problems(study) if "outside" in one] == [told]
    monkeypatch.setattr(
        KINDS["checklist"], "invalid_answers", lambda study: [f"box of {study}"]
    )
    assert f"box of {study}" in problems(study)
