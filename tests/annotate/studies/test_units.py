"""Tests of the units of a study: samples, pairs, known units, degraded copies."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import RestrictedError

from annotate.audit_log.verifying import problems
from annotate.models import Purpose, Study, User
from annotate.presentation.slot_view import shown_questions
from annotate.studies import drafting
from annotate.studies.changing import ChangeError
from annotate.studies.extending import extend
from annotate.studies.planning import PlanningError, Setup, prepare
from annotate.studies.study_file import read_definition
from evalcore import media
from evalcore.models import Frame, Output
from evalcore.perturbations import degraded_copies
from tests.factories import make_benchmark
from tests.working import LIKERT, PAIRWISE, always, join, make_planned, work

pytestmark = pytest.mark.django_db

TWINS = "checks: {per_session: 1, degradations: [blurred, repeated_shot], share: 0.5}\n"


def pairs_of(study):
    units = study.units.filter(purpose=Purpose.REAL)
    return Counter(
        (unit.output_a.method.name, unit.output_b.method.name)
        for unit in units.select_related("output_a__method", "output_b__method")
    )


@pytest.mark.parametrize(
    ("pairs", "number"), [("ring", 3), ("[[Cedar, Alder]]", 1), ("all", 3)]
)
def test_pairs_match_definition(pairs, number):
    study = make_planned(PAIRWISE + f"pairs: {pairs}\n", annotators=2, redundancy=1)
    assert len(pairs_of(study)) == number
    assert all(a < b for a, b in pairs_of(study))


def test_each_combination_of_tags_gets_requested_pairs():
    benchmark = make_benchmark(stories=6, shots=1)
    for place, story in enumerate(benchmark.stories.order_by("key")):
        story.tags = {"role": "reader", "angle": ["TR", "LI"][place % 2]}
        story.save()
    text = PAIRWISE.replace(
        "key: quality,", "key: quality, stories: {angle: [TR]},"
    ).replace("key: text,", "key: text, stories: {angle: [LI]},")
    text += "pairs: {number: 4, by: [role, angle]}\n"
    definition = read_definition(
        text + "redundancy: 1\n", file="study.yaml", name="trial"
    )
    draft = prepare(Setup("trial", benchmark, definition, 2))
    # Two pictures of 3 s and one of the two questions, 7 s, for each of 8 pairs.
    assert draft.hours() * 3600 == pytest.approx(8 * (2 * 3 + 7))
    study = make_planned(text, benchmark=benchmark, annotators=2, redundancy=1)
    cells = Counter(unit.story.tags["angle"] for unit in study.units.all())
    assert cells == {"TR": 4, "LI": 4}
    person = join(study, "A01")
    for slot in work(person, always("left")):
        asked = {"TR": "quality", "LI": "text"}[slot.unit.story.tags["angle"]]
        assert [c.question.key for c in slot.choices.all()] == [asked]
        assert [q.question.key for q in shown_questions(slot)] == [asked]
    assert problems(study) == []


def test_stories_without_questions_are_left_out():
    """Samples skip these stories too; stories without the tag get every question."""
    benchmark = make_benchmark(stories=6, shots=1)
    tagged = zip(benchmark.stories.order_by("key"), ["TR", "LI"] * 2, strict=False)
    for story, angle in tagged:
        story.tags = {"angle": angle}
        story.save()
    text = LIKERT.replace("key: character,", "key: character, stories: {angle: [TR]},")
    text = text.replace("key: beauty,", "key: beauty, stories: {angle: [TR, XX]},")
    study = make_planned(text, benchmark=benchmark, annotators=1, redundancy=1)
    stories = study.units.values_list("story__key", flat=True)
    assert set(stories) == {"01", "03", "05", "06"}
    benchmark.stories.update(tags={"angle": "LI"})
    with pytest.raises(PlanningError, match="No question applies to these stories"):
        make_planned(text, slug="other", benchmark=benchmark, annotators=1)


def test_too_many_pairs_are_refused_with_possible_number():
    benchmark = make_benchmark(stories=1, shots=1)
    benchmark.stories.update(tags={"angle": "TR"})
    with pytest.raises(PlanningError, match="with angle TR is 3"):
        make_planned(
            PAIRWISE + "pairs: {number: 4, by: [angle]}\n",
            benchmark=benchmark,
            annotators=1,
            redundancy=1,
        )


def test_degraded_copies_cover_share_of_outputs_and_stay_checks():
    study = make_planned(LIKERT + TWINS, annotators=2, redundancy=1)
    units = study.units.filter(purpose=Purpose.TWIN).select_related("output_a")
    assert len(units) == 6, "half of twelve outputs"
    methods = Counter(unit.output_a.method.name for unit in units)
    assert set(methods.values()) == {2}
    for unit in units:
        assert unit.output_a.twin_of_id == unit.original.output_a_id
        assert unit.redundancy == 0
        assert unit.expected == {}
    shown = {unit.output_a_id for unit in study.units.filter(purpose=Purpose.REAL)}
    assert not shown & set(Output.twins.values_list("pk", flat=True))
    assert problems(study) == []


def test_impossible_degradation_makes_no_copy():
    """A story of one shot has no second shot to repeat."""
    benchmark = make_benchmark(stories=2, shots=1)
    text = LIKERT + re.sub("blurred, ", "", TWINS)
    study = make_planned(text, benchmark=benchmark, annotators=1, redundancy=1)
    assert not study.units.filter(purpose=Purpose.TWIN).exists()


def test_unreadable_picture_is_named_in_error():
    benchmark = make_benchmark(stories=1, shots=2)
    for frame in Frame.objects.select_related("media"):
        media.original_path(frame.media).write_bytes(b"no picture")
    with pytest.raises(PlanningError, match=r"Alder|Birch|Cedar"):
        make_planned(
            LIKERT + TWINS.replace(", repeated_shot", ""),
            benchmark=benchmark,
            annotators=1,
            redundancy=1,
        )


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        ('{story: "01", method: Elm, expected: {character: 3}}', "not Elm"),
        ('{story: "77", method: Alder, expected: {character: 3}}', "story 77"),
        (
            '{story: "01", methods: [Alder, Birch], expected: {character: 3}}',
            "write one method",
        ),
    ],
)
def test_invalid_known_units_are_named_in_error(unit, reason):
    text = f"{LIKERT}checks: {{per_session: 1, gold: [{unit}]}}\n"
    with pytest.raises(PlanningError, match=reason):
        make_planned(text, annotators=1, redundancy=1)


def test_expected_winner_is_stored_by_place():
    text = (
        PAIRWISE
        + """
checks:
  per_session: 1
  gold: [{story: "01", methods: [Cedar, Alder], expected: {quality: Cedar, text: tie}}]
"""
    )
    study = make_planned(text, annotators=1, redundancy=1, stories=["02"])
    gold = study.units.get(purpose=Purpose.GOLD)
    assert (gold.output_a.method.name, gold.output_b.method.name) == ("Alder", "Cedar")
    assert gold.expected == {"quality": "b", "text": "tie"}


GOLD = "checks: {per_session: 1, kinds: [gold], gold: [%s]}\n"
ALDER = '{story: "01", method: Alder, expected: {character: 3}}'
PAIR = '{story: "01", methods: [Cedar, Alder], expected: {quality: Cedar}}'


@pytest.mark.parametrize("assignment", ["planned", "open"])
def test_gold_is_refused_when_study_rates_same_unit(assignment):
    """Otherwise annotators would meet the unit as a check and as an item."""
    benchmark = make_benchmark(stories=4)
    people = {"annotators": 2} if assignment == "planned" else {}
    text = LIKERT + GOLD % ALDER + f"assignment: {assignment}\n"
    with pytest.raises(PlanningError, match="meet it twice") as caught:
        make_planned(
            text,
            benchmark=benchmark,
            redundancy=1,
            stories=["01", "02", "03"],
            **people,
        )
    assert caught.value.field == "checks.gold"
    assert not Study.objects.exists()
    study = make_planned(
        text, benchmark=benchmark, redundancy=1, stories=["02", "03"], **people
    )
    assert study.units.get(purpose=Purpose.GOLD).story.key == "01"


def test_gold_pair_is_allowed_when_study_rates_other_pairs():
    benchmark = make_benchmark(stories=2)
    text = PAIRWISE + GOLD % PAIR
    others = "pairs: [[Alder, Birch], [Birch, Cedar]]\n"
    with pytest.raises(PlanningError, match="Alder, Cedar"):
        make_planned(text, benchmark=benchmark, annotators=2, redundancy=1)
    make_planned(text + others, benchmark=benchmark, annotators=2, redundancy=1)


def test_gold_unit_cannot_be_added_later():
    study = make_planned(
        LIKERT + GOLD % ALDER, annotators=3, redundancy=1, stories=["02", "03"]
    )
    with pytest.raises(ChangeError, match=r"known-answer checks.*01 \(Alder\)"):
        extend(study, stories=["01"])
    assert extend(study, stories=["04"]).units == 3


def test_missing_shots_are_noted_before_launch():
    """Annotators see the gaps, which can reveal a method."""
    benchmark = make_benchmark(stories=2)
    alder = Frame.objects.filter(output__method__name="Alder", number__lt=3)
    alder.filter(output__story__key="01").update(media=None)
    definition = read_definition(LIKERT, file="s.yaml", name="s")
    setup = Setup("notes", benchmark, definition, 3)
    (note,) = prepare(setup).notes()
    assert note.startswith("1 output lacks shots (Alder/01: 2). Annotators see")
    assert prepare(replace(setup, stories=("02",))).notes() == []


@pytest.mark.slow
def test_degraded_copies_are_drawn_before_transaction(monkeypatch):
    """A transaction blocks all other writes to SQLite."""
    depth = len(connection.savepoint_ids)
    met = []

    def draw(*given):
        met.append(len(connection.savepoint_ids))
        return make_perturbation(*given)

    make_perturbation = degraded_copies.make_perturbation
    monkeypatch.setattr(degraded_copies, "make_perturbation", draw)
    definition = read_definition(LIKERT + TWINS, file="s.yaml", name="s")
    setup = Setup("mine", make_benchmark(stories=2), definition, 3)
    user = User.objects.create(username="ann")
    study = drafting.create(setup, user)
    drafting.replace(study, setup, user)
    call_command(
        "plan_study",
        "other",
        benchmark="woods",
        annotators=3,
        template="storybench-side-by-side",
    )
    assert len(met) > 6
    assert set(met) == {depth}


def test_draft_with_reports_can_be_edited():
    definition = read_definition(LIKERT, file="s.yaml", name="s")
    setup = Setup("mine", make_benchmark(stories=2), definition, 3)
    user = User.objects.create(username="ann")
    study = drafting.create(setup, user)
    report = study.reports.create(created_by=user)
    new = drafting.replace(study, setup, user)
    assert not new.reports.exists()
    report = new.reports.create(created_by=user)
    with pytest.raises(RestrictedError):
        report.view.delete()
