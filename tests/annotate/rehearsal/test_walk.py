"""Simulated people answer every kind of question, and behave as their kind does."""

from collections import Counter

import pytest
from django.utils import timezone

from annotate.kinds.registry import kind_of
from annotate.models import Flag, Skip, Study
from annotate.rehearsal import walk
from annotate.rehearsal.clock import Clock
from annotate.rehearsal.person import usual_people
from annotate.rehearsal.result import result_of
from annotate.studies import lifecycle
from annotate.studies.planning import plan_study
from annotate.studies.study_file import read_definition
from evalcore.models import Frame
from tests.cases import slow
from tests.factories import make_benchmark, picture_bytes, store_picture
from tests.untrained import untrained
from tests.working import LIKERT, PAIRWISE

pytestmark = pytest.mark.django_db
RANKING = """
outputs: 3
questions: [{key: best, kind: ranking, title: Best, text: "Rank them."}]
"""
CHECKLIST = """
kind: checklist
questions: [{key: pan, category: Camera, title: Pan, text: "A pan."}]
"""
TEXT = """
questions:
  - {key: why, kind: text, title: Why, text: "What is wrong?", required: true}
  - {key: nice, kind: likert, scale: [-3, 3], title: Nice, text: "How nice?"}
"""
MARKS = """
questions:
  - {key: nice, kind: likert, scale: [0, 4], title: Nice, text: "How nice?"}
  - key: where
    kind: marks
    title: Faults
    text: "Where is something wrong?"
    labels: {anatomy: Broken anatomy, text: Does not fit the text}
"""


def launched(text: str, **plan) -> Study:
    """Plan and launch a study; nobody is invited yet."""
    definition = read_definition(text, file="study.yaml", name="trial")
    benchmark = plan.pop("benchmark", None) or make_benchmark(stories=2, shots=1)
    return lifecycle.launch(
        plan_study(definition, benchmark=benchmark, slug="trial", **plan)
    )


def walked(study: Study, monkeypatch, *, seconds=60.0, **people) -> walk.Walked:
    clock = Clock(timezone.now())
    monkeypatch.setattr(timezone, "now", clock)
    truth, best_first = walk.truth_of(study, "clear", 1)
    invited = walk.gather(study, people, truth, 1)
    return walk.walk(
        study, invited, best_first, clock, seconds=seconds, progress=lambda _n: None
    )


@pytest.mark.parametrize(
    "text", [LIKERT, *slow(RANKING, CHECKLIST, PAIRWISE, TEXT, MARKS)]
)
def test_every_kind_of_question_is_answered(text, monkeypatch):
    study = launched(text, annotators=2, redundancy=2)
    done = walked(study, monkeypatch, careful=1, random=1)
    assert {slot.state for slot in study.slots.all()} == {"submitted"}
    for question in study.questions.all():
        answers = kind_of(question).model.objects.filter(question=question)
        assert answers.exists()
    result = result_of(done)
    assert (result["percent"], result["n_gaps"]) == (100, 0)
    assert all(one["minutes"] is not None for one in result["people"])


@pytest.mark.slow
def test_open_study_is_filled_by_sittings_of_people_from_a_link(monkeypatch):
    text = LIKERT + "assignment: open\nredundancy: 2\nsession_size: 6\n"
    study = launched(text, benchmark=make_benchmark(stories=3, shots=1))
    # A sitting shows each of the three stories once: 18 ratings are six sittings.
    assert {kind: n for kind, n in usual_people(study).items() if n} == {
        "careful": 5,
        "leaves": 1,
    }
    done = walked(study, monkeypatch, careful=6, never=1)
    states = Counter(study.annotators.values_list("state", flat=True))
    assert states["finished"] == 6
    result = result_of(done)
    # The last one comes when all ratings are taken.
    assert result["people"][-1]["status"] == "found no free place"
    assert result["percent"] == 100


@pytest.mark.slow
def test_people_of_each_kind_do_what_they_are_named_for(monkeypatch):
    study = lifecycle.launch(
        plan_study(
            untrained("vistorybench-user-study"),
            benchmark=make_benchmark(stories=8, shots=2),
            slug="trial",
            annotators=6,
            redundancy=3,
        )
    )
    numbers = dict.fromkeys(("careful", "quick", "same", "skips", "leaves", "never"), 1)
    done = walked(study, monkeypatch, **numbers)
    result = result_of(done)
    rows = {one["kind"]: one for one in result["people"]}
    assert rows["careful"]["stories"] >= 12
    assert rows["leaves"]["stories"] == 6
    assert rows["never"]["stories"] == 0
    assert rows["quick"]["minutes"] < rows["careful"]["minutes"]
    skipped = Skip.objects.values_list("unit__output_a__method__name", flat=True)
    assert len(set(skipped)) == 1
    assert {name: row["finding"] for name, row in rows.items()} == {
        "careful": "fine",
        "quick": "found",
        "same": "found",
        "skips": rows["skips"]["finding"],
        "leaves": "found",
        "never": "found",
    }
    flagged = Flag.objects.exclude(action="note").values("annotator__name").distinct()
    assert flagged.count() >= 2
    assert any("away for long" in alert["text"] for alert in result["alerts"])
    assert result["alerts"][0]["day"] < result["alerts"][-1]["day"]


@pytest.mark.parametrize(
    ("differences", "least", "most"), [("clear", 1, 4), ("none", 0, 0)]
)
def test_methods_differ_as_chosen(differences, least, most, monkeypatch):
    study = launched(LIKERT, annotators=2, redundancy=2)
    truth, best_first = walk.truth_of(study, differences, 1)
    worth = [truth.quality(name, study.questions.first()) for name in best_first]
    assert least <= worth[0] - worth[-1] <= most
    assert worth == sorted(worth, reverse=True)


@pytest.mark.slow
def test_study_of_twenty_people_with_long_stories(monkeypatch):
    """Two of twenty people vanish; each story has 16 shots."""
    benchmark = make_benchmark(
        stories=32, shots=16, methods=tuple("ABCDE"), pictures=False
    )
    # One picture for all is enough to plan with.
    Frame.objects.update(media=store_picture(picture_bytes("any")))
    study = lifecycle.launch(
        plan_study(
            untrained("vistorybench-user-study"),
            benchmark=benchmark,
            slug="trial",
            annotators=20,
            redundancy=5,
        )
    )
    done = walked(study, monkeypatch, seconds=600, careful=16, quick=1, same=1, never=2)
    result = result_of(done)
    assert not result["was_cut_short"]
    assert result["wanted"] == 800
    # Two shares of forty ratings are left, and what was planned for a paused person.
    assert 640 <= result["submitted"] <= 720
    found = {(one["kind"], one["finding"]) for one in result["people"]}
    assert found >= {("quick", "found"), ("same", "found"), ("never", "found")}
    assert result["findings"]["accused"] == 0
    careful = [one for one in result["people"] if one["kind"] == "careful"]
    # Three seconds for each of 16 pictures and seven for each of three questions.
    assert all(30 < one["minutes"] < 70 for one in careful)
    assert 3 <= result["days"] <= 20
