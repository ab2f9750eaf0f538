"""Corrections of texts while a study runs."""

from types import SimpleNamespace

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from annotate.assignment import choosing
from annotate.models import Annotator, Event, Study
from annotate.people import inviting
from annotate.reports import writing
from annotate.reports.export_folder import write_export
from annotate.studies import lifecycle, rewording
from annotate.studies.planning import plan_study
from annotate.studies.rewording import RewordingError
from annotate.studies.study_file import load_definition, read_definition
from tests import answering
from tests.annotate.test_concurrency import at_once, meet
from tests.factories import make_benchmark
from tests.people import alice, answer_everything, rob
from tests.untrained import untrained
from tests.working import LIKERT, Browser, always, answer, join, make_planned

pytestmark = pytest.mark.django_db

HELP = "questions.subjective_aesthetics.help.en"
ANCHOR = "questions.subjective_aesthetics.anchors.4.zh"


@pytest.fixture
def study():
    study = plan_study(
        untrained("vistorybench-user-study"),
        benchmark=make_benchmark(stories=1, shots=1),
        slug="small",
        annotators=2,
        redundancy=2,
    )
    return lifecycle.launch(study)


def opened_slot(person):
    now = timezone.now()
    Annotator.objects.filter(pk=person.pk).update(
        state="active", consented_at=now, instructed_at=now
    )
    person.refresh_from_db()
    return choosing.next_for(person).slot


def correct(study, version=1, **texts):
    named = {name.replace("__", "."): text for name, text in texts.items()}
    return rewording.reword(study, named, version=version)


def test_correction_reaches_page_file_and_log(study):
    assert study.state == "open"
    (before,) = [one.text for one in rewording.wordings(study) if one.name == HELP]
    kept = study.asked  # this process keeps the questions
    done = rewording.reword(study, {HELP: "Better.", ANCHOR: "好"}, version=1)
    assert {one.name for one in done} == {HELP, ANCHOR}
    again = Study.objects.get()
    question = again.asked[-1]
    assert (question.help_text, question.anchors["4"]["zh"]) == ("Better.", "好")
    assert kept[-1].help_text == before
    definition = read_definition(again.definition, file="", name="pilot")
    assert definition.questions[-1].help["en"] == "Better."
    assert definition.questions[-1].anchors[4]["zh"] == "好"
    (event,) = study.events.filter(kind=Event.Kind.TEXTS_CORRECTED)
    assert [HELP, before, "Better."] in event.details["corrected"]
    assert event.details["text_version"] == again.text_version == 2


def test_correction_changes_nothing_but_texts(study):
    fields = ["key", "kind", "scale_min", "scale_max", "ordinal", "degradation"]
    before = list(study.questions.values_list(*fields))
    name = "questions.subjective_aesthetics.scale.en"
    assert rewording.reword(study, {name: "9", "seed": "7"}, version=1) == []
    correct(study, questions__subjective_aesthetics__title__en="Beauty")
    assert list(study.questions.values_list(*fields)) == before


def test_ratings_are_counted_under_the_text_in_force(study, tmp_path):
    answer_everything(study)
    rewording.reword(study, {HELP: "Better."}, version=1)
    first, second = rewording.text_versions(study)
    submitted = study.slots.filter(state="submitted").count()
    assert submitted
    assert (first.ratings, second.ratings) == (submitted, 0)
    assert [one.after for one in second.corrections] == ["Better."]
    write_export(study, tmp_path)
    _header, row = (tmp_path / "corrections.csv").read_text().splitlines()
    assert row.startswith(f"2,{second.since:%Y-%m-%dT%H:%M:%S}+00:00,{HELP},")
    (note,) = writing._about_texts(study, SimpleNamespace(at=timezone.now()))
    assert f"{submitted} of the study's ratings were submitted before" in note


def test_answer_opened_before_a_correction_is_kept_and_counted_as_such(study):
    (invitation,) = inviting.invite(study, count=1)
    person = invitation.annotator
    slot = opened_slot(person)
    rewording.reword(study, {HELP: "Better."}, version=1)
    for question in slot.study.asked:
        answering.record_answer(slot=slot, annotator=person, question=question, value=3)
    answering.submit(slot=slot, annotator=person)
    second = rewording.text_versions(study)[-1]
    assert (second.ratings, second.opened_before) == (1, 1)


@pytest.mark.parametrize(("version", "raised"), [("1", "2"), ("may", "may-2")])
def test_consent_correction_raises_its_version(study, version, raised):
    Study.objects.update(consent_version=version)
    correct(study, consent__en="Your answers are kept.")
    again = Study.objects.get()
    assert again.consent_version == raised
    definition = read_definition(again.definition, file="", name="pilot")
    assert definition.consent.version == raised
    assert again.consent["en"] == "Your answers are kept."


def test_consent_is_read_again_when_it_was_corrected_meanwhile(study, client):
    (invitation,) = inviting.invite(study, count=1)
    address = reverse("rate-consent", args=[invitation.token])
    correct(study, consent__en="Your answers are kept.")
    page = client.post(address, {"version": "1"}).content.decode()
    assert "corrected while you read it" in page
    assert "Your answers are kept." in page
    invitation.annotator.refresh_from_db()
    assert invitation.annotator.consented_at is None
    client.post(address, {"version": "2"})
    invitation.annotator.refresh_from_db()
    assert invitation.annotator.consent_version == "2"


def test_second_manager_keeps_the_first_ones_correction(study):
    seen = {one.name: one.text for one in rewording.wordings(study)}
    rewording.reword(study, seen | {HELP: "First."}, version=1)
    rewording.reword(study, seen | {ANCHOR: "好"}, version=1)
    now = {one.name: one.text for one in rewording.wordings(study)}
    assert (now[HELP], now[ANCHOR]) == ("First.", "好")
    with pytest.raises(RewordingError, match=r"It is now .First\."):
        rewording.reword(study, seen | {HELP: "Second."}, version=1)
    assert rewording.reword(study, seen | {HELP: "First."}, version=1) == []


@pytest.mark.slow
def test_training_feedback_is_corrected_on_page_and_in_file(client):
    text = """{}
training:
  units:
    - {{story: "01", method: Alder, expected: {{character: [3, 4]}},
       feedback: {{en: Teh fox stays, zh: 狐狸不变}}}}
    - {{story: "02", method: Alder, expected: {{character: [0, 1]}}}}
"""
    study = make_planned(text.format(LIKERT), annotators=2, redundancy=2)
    person = join(study, "A01")
    slot = choosing.next_for(person).slot
    answer(slot, person, always("3"))
    texts = [one for one in rewording.wordings(study) if one.path[0] == "training"]
    assert [one.name for one in texts] == ["training.1.en", "training.1.zh"]
    assert texts[0].label == "Feedback 1 (story 01)"
    page = reverse("study-texts", args=[study.slug])
    done = alice(study).post(page, {"version": 1, "training.1.en": "The fox stays"})
    assert done.status_code == 302
    again = Study.objects.get()
    assert again.text_version == 2
    definition = read_definition(again.definition, file="", name="trial")
    assert definition.training.units[0].feedback["en"] == "The fox stays"
    assert definition.training.units[1].feedback == {}
    shown = client.get(Browser(client, person).address("feedback", slot.code))
    assert "The fox stays" in shown.content.decode()
    seen = alice(study).get(page).content.decode()
    assert "Feedback 1 (en): <del>Teh fox stays</del>" in seen


@pytest.mark.slow
def test_feedback_written_by_the_program_can_be_corrected():
    study = plan_study(
        load_definition("vistorybench-user-study"),
        benchmark=make_benchmark(stories=3, shots=3),
        slug="taught",
        annotators=2,
        redundancy=2,
    )
    lifecycle.launch(study)
    first = next(o for o in rewording.wordings(study) if o.path[0] == "training")
    rewording.reword(study, {first.name: "Better."}, version=1)
    units = study.units.filter(purpose="training").order_by("pk")
    assert units.first().feedback[first.language] == "Better."
    assert units.last().feedback[first.language] != "Better."


@pytest.mark.parametrize(
    ("text", "reason"), [(" ", "cannot be removed"), ("x" * 20_001, "at most 20000")]
)
def test_page_refuses_a_bad_text_and_keeps_what_was_written(study, text, reason):
    address = reverse("study-texts", args=[study.slug])
    sent = {"version": 1, HELP: text, ANCHOR: "好好"}
    answer = alice(study).post(address, sent)
    assert answer.status_code == 422
    assert reason in answer.content.decode()
    assert "好好" in answer.content.decode()
    assert Study.objects.get().text_version == 1
    assert rob(study).post(address, sent).status_code == 403


def test_rename_keeps_the_address(study):
    address, client = reverse("study-rename", args=[study.slug]), alice(study)
    client.post(address, {"title": "  A better\ntitle "})
    again = Study.objects.get()
    assert (again.title, again.slug) == ("A better title", study.slug)
    assert read_definition(again.definition, file="", name="x").title == again.title
    for wrong, reason in ((" ", "Write a title"), ("x" * 201, "at most 200")):
        page = client.post(address, {"title": wrong}, follow=True).content.decode()
        assert reason in page
    assert Study.objects.get().title == "A better title"
    (event,) = study.events.filter(kind=Event.Kind.STUDY_RENAMED)
    assert event.details["corrected"] == [[study.title, "A better title"]]


@pytest.mark.django_db(transaction=True)
def test_two_managers_at_once_lose_no_correction(study, monkeypatch):
    meet(monkeypatch, rewording, "reword", 2)

    def edit(sent):
        rewording.reword(Study.objects.get(), sent, version=1)
        connection.close()

    at_once(edit, [{HELP: "First."}, {ANCHOR: "好"}])
    now = {one.name: one.text for one in rewording.wordings(Study.objects.get())}
    assert (now[HELP], now[ANCHOR]) == ("First.", "好")
    assert Study.objects.get().text_version == 3
