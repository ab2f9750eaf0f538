"""Tests of extension, redistribution and withdrawal in running studies."""

from collections import Counter
from contextlib import suppress

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotate.assignment import choosing
from annotate.audit_log.verifying import problems
from annotate.models import Annotator, Slot, Study
from annotate.people.inviting import revoke
from annotate.responses import giving_back
from annotate.studies import lifecycle
from annotate.studies.changing import ChangeError, redistribute, withdraw_units
from annotate.studies.definition import StudyDefinition
from annotate.studies.extending import extend
from annotate.studies.planning import plan_study
from tests import answering
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db


def definition(kind="likert", **changes) -> StudyDefinition:
    question = {"key": "quality", "kind": kind, "text": "How good?"}
    if kind == "likert":
        question |= {"scale": (0, 4), "anchors": {0: "bad", 4: "good"}}
    return StudyDefinition(
        name="small",
        title="Small",
        questions=[question],
        **{"redundancy": 2, "session_size": 3, "consent": {"en": "Agree?"}} | changes,
    )


def planned_study(kind="likert", *, annotators=4, methods=None, stories=None, **kw):
    """Plan a study of Alder and Birch in stories 01 and 02, without Cedar and 03."""
    study = plan_study(
        definition(kind, **kw),
        benchmark=make_benchmark(stories=3),
        slug="small",
        annotators=0 if kw.get("assignment") == "open" else annotators,
        methods=methods or ["Alder", "Birch"],
        stories=stories or ["01", "02"],
    )
    lifecycle.launch(study)
    return Study.objects.get(pk=study.pk)


def work(annotator, slots=1):
    """Submit this number of slots as an annotator."""
    Annotator.objects.filter(pk=annotator.pk).update(
        state="active",
        last_seen_at=timezone.now(),
        consented_at=timezone.now(),
        instructed_at=timezone.now(),
    )
    annotator.refresh_from_db()
    for _i in range(slots):
        slot = choosing.next_for(annotator).slot
        assert slot is not None
        for question in slot.questions:
            answering.record_answer(
                slot=slot,
                annotator=annotator,
                question=question,
                value="left" if slot.study.is_side_by_side else 2,
            )
        answering.submit(slot=slot, annotator=annotator)


def standing(study, **kw):
    """Return the started and submitted slots, which may not change."""
    begun = study.slots.filter(started_at__isnull=False, **kw)
    return set(
        begun.values_list("pk", "annotator", "position", "session", "state", "ordinal")
    )


def loads(study):
    return Counter(
        study.slots.filter(annotator__isnull=False, ordinal__isnull=False).values_list(
            "annotator__name", flat=True
        )
    )


@pytest.mark.postgresql
def test_new_method_adds_evenly_assigned_units():
    study = planned_study()
    work(study.annotators.first())
    before = standing(study)
    result = extend(study, methods=["Cedar"])
    assert (result.units, result.slots, result.free) == (2, 4, 0)
    assert result.shares == {"A01": 1, "A02": 1, "A03": 1, "A04": 1}
    assert standing(study) == before
    assert study.method_names == ["Alder", "Birch", "Cedar"]
    assert set(loads(study).values()) == {3}
    assert problems(study) == []
    event = study.events.get(kind="study extended")
    assert event.details["units"] == 2
    assert event.details["methods"] == ["Cedar"]


def test_new_method_and_story_add_missing_pairs():
    study = planned_study("choice")
    assert study.units.count() == 2
    extend(study, methods=["Cedar"], stories=["03"])
    assert study.units.count() == 9
    pairs = study.units.values_list("output_a__method__name", "output_b__method__name")
    assert set(pairs) == {("Alder", "Birch"), ("Alder", "Cedar"), ("Birch", "Cedar")}
    assert problems(study) == []
    for unit in study.units.all():
        assert unit.slots.filter(a_is_left=True).count() == 1


def test_higher_redundancy_changes_definition_and_all_units():
    study = planned_study()
    result = extend(study, redundancy=3)
    assert (study.redundancy, result.slots) == (3, 4)
    assert "redundancy: 3" in study.definition
    assert set(study.units.values_list("redundancy", flat=True)) == {3}
    assert study.balance_report["redundancy"] == [3, 3]
    assert problems(study) == []
    with pytest.raises(ChangeError, match="can only grow"):
        extend(study, redundancy=2)


def test_unassignable_slots_stay_free_and_are_reported():
    study = planned_study(annotators=2)
    result = extend(study, redundancy=3)
    assert (result.slots, result.free, result.shares) == (4, 4, {})
    assert study.slots.filter(annotator=None).count() == 4
    assert problems(study) == []


def test_added_people_share_unstarted_work():
    study = planned_study(annotators=2)
    work(study.annotators.first(), 1)
    before = standing(study)
    result = extend(study, annotators=2)
    assert result.people == ("A03", "A04")
    assert loads(study) == {"A01": 2, "A02": 2, "A03": 2, "A04": 2}
    assert result.moved == 4
    assert standing(study) == before
    assert problems(study) == []


@pytest.mark.slow
def test_new_methods_are_shared_by_old_and_new_people():
    study = planned_study(annotators=4, redundancy=4)
    extend(study, methods=["Cedar"], stories=["03"], annotators=4)
    judges = study.slots.filter(unit__output_a__method__name="Cedar")
    old = judges.filter(annotator__name__in=["A01", "A02", "A03", "A04"])
    assert 4 <= old.count() <= 8
    assert set(loads(study).values()) <= {4, 5}
    assert problems(study) == []


def test_cap_limits_assigned_slots():
    study = planned_study(annotators=4, cap=2)
    result = extend(study, redundancy=3)
    assert (result.shares, result.free) == ({}, 4)


def test_finished_and_paused_people_get_no_new_slots():
    study = planned_study()
    first, second, *_others = study.annotators.all()
    work(first, 2)
    Annotator.objects.filter(pk=second.pk).update(state="paused")
    first.refresh_from_db()
    assert first.state == "finished"
    result = extend(study, redundancy=3)
    assert set(result.shares) <= {"A03", "A04"}
    assert problems(study) == []


def test_open_study_gets_free_slots_and_clears_stop_rule():
    study = planned_study("choice", assignment="open", methods=None)
    study.adaptive = {"stopped": "2026-01-01"}
    study.save()
    result = extend(study, methods=["Cedar"])
    assert (result.units, result.slots, result.free) == (4, 8, 8)
    assert study.adaptive == {}
    assert not study.slots.filter(annotator__isnull=False).exists()
    assert problems(study) == []
    sides = Counter(study.slots.values_list("unit", "a_is_left"))
    assert set(sides.values()) == {1}


def test_languages_are_assigned_to_matching_people():
    study = planned_study(languages={"en": 1, "zh": 1}, annotators={"en": 2, "zh": 2})
    with pytest.raises(ChangeError, match="for each language"):
        extend(study, redundancy=3)
    result = extend(study, redundancy={"zh": 2}, annotators={"en": 1})
    assert result.slots == 4
    assert study.languages == {"en": 1, "zh": 2}
    assert study.redundancy == 3
    for slot in study.slots.filter(annotator__isnull=False).select_related("annotator"):
        assert slot.language == slot.annotator.language
    assert problems(study) == []


def test_dry_run_returns_same_result_without_storing():
    study = planned_study()
    check = extend(study, methods=["Cedar"], annotators=1, dry_run=True)
    assert study.units.count() == 4
    assert study.annotators.count() == 4
    assert extend(study, methods=["Cedar"], annotators=1) == check


def test_impossible_extension_is_refused_with_reason(subtests):
    study = planned_study()
    for asked, words in [
        ({}, "adds nothing"),
        ({"methods": ["Oak"]}, "No output of method Oak"),
        ({"stories": ["77"]}, "No output of story 77"),
        ({"methods": ["Alder"]}, "adds nothing"),
        ({"redundancy": 0}, "from 1 to"),
        ({"annotators": -1}, "from 0 to"),
        ({"annotators": {"fr": 2}}, "no languages"),
    ]:
        with subtests.test(words):
            with pytest.raises(ChangeError, match=words):
                extend(study, **asked)
            assert problems(study) == []


@pytest.mark.postgresql
def test_withdrawn_method_keeps_answers_and_can_return():
    study = planned_study()
    first = study.annotators.first()
    work(first, 2)
    result = withdraw_units(study, methods=["Birch"])
    kept = study.slots.filter(
        unit__output_a__method__name="Birch", ordinal__isnull=False
    )
    assert result.kept == kept.count()
    assert not kept.exclude(state="submitted").exists()
    assert result.slots + result.kept == 4
    assert problems(study) == []
    extend(study, redundancy=3)
    birch = study.units.filter(output_a__method__name="Birch")
    assert max(birch.values_list("redundancy", flat=True)) < 3
    extend(study, methods=["Birch"])
    assert set(birch.values_list("redundancy", flat=True)) == {3}
    assert problems(study) == []


def test_started_story_can_be_finished_when_withdrawn():
    study = planned_study(rounds=2)
    person = study.annotators.first()
    work(person)
    begun = choosing.next_for(person).slot
    withdraw_units(study, stories=[begun.unit.story.key])
    assert problems(study) == []
    work(person)
    begun.refresh_from_db()
    assert begun.state == "submitted"
    assert problems(study) == []


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "Choose a method"),
        ({"methods": ["Oak"]}, "Not in this study: Oak"),
        ({"methods": ["Alder", "Birch"]}, "Nothing would be left"),
    ],
)
def test_impossible_withdrawal_is_refused_with_reason(asked, words):
    with pytest.raises(ChangeError, match=words):
        withdraw_units(planned_study(), **asked)


@pytest.mark.postgresql
def test_unfinished_work_goes_to_others():
    study = planned_study(annotators=4)
    first, *others = study.annotators.all()
    extend(study, stories=["03"], methods=["Cedar"])
    work(first)
    dropped = loads(study)["A01"] - 1
    check = redistribute(study, annotators=[first], dry_run=True)
    assert loads(study)["A01"] == dropped + 1
    result = redistribute(study, annotators=[first])
    assert result == check
    assert result.given_up == {"A01": dropped}
    assert sum(result.shares.values()) == dropped
    assert loads(study)["A01"] == 1
    spread = [loads(study)[person.name] for person in others]
    assert max(spread) - min(spread) <= 1
    assert problems(study) == []


def test_work_of_revoked_people_is_assigned_to_others():
    study = planned_study(annotators=4, redundancy=1)
    revoke(study.annotators.first())
    result = redistribute(study)
    assert result.given_up == {}
    assert sum(result.shares.values()) == 1
    assert problems(study) == []


def test_later_round_is_assigned_to_people_who_rated_earlier_rounds():
    study = planned_study(rounds=2)
    first = study.annotators.first()
    work(first, 2)
    left = first.slots.filter(state="open")
    assert set(left.values_list("round", flat=True)) == {2}
    result = redistribute(study, annotators=[first])
    assert result.given_up == {"A01": 2}
    assert (sum(result.shares.values()), result.free) == (2, 0)
    assert problems(study) == []


def test_slots_of_open_study_become_free():
    study = planned_study(assignment="open")
    person = Annotator.objects.create(study=study, name="A01")
    work(person)
    choosing.next_for(person)
    result = redistribute(study, annotators=[person])
    assert (result.given_up, result.shares) == ({"A01": 1}, {})
    assert problems(study) == []


def test_skipped_unit_is_not_assigned_to_same_person():
    study = planned_study(annotators=3, redundancy=1)
    first, second, third = study.annotators.all()
    work(first, 0)
    slot = choosing.next_for(first).slot
    giving_back.skip(slot, first, reason="unclear")
    revoke(third)
    redistribute(study, annotators=[second])
    assert not Slot.objects.filter(unit=slot.unit, annotator=first).exists()
    assert problems(study) == []


changes = st.lists(
    st.one_of(
        st.tuples(st.just("redundancy"), st.integers(2, 4)),
        st.tuples(st.just("annotators"), st.integers(1, 2)),
        st.tuples(st.just("method"), st.just(0)),
        st.tuples(st.just("story"), st.just(0)),
        st.tuples(st.just("drop"), st.integers(0, 5)),
        st.tuples(st.just("withdraw"), st.integers(0, 1)),
        st.tuples(st.just("work"), st.integers(0, 5)),
        st.tuples(st.just("revoke"), st.integers(0, 5)),
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["likert", "choice"])
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=changes)
def test_random_changes_violate_no_invariant(kind, steps):
    with transaction.atomic():
        go_through(planned_study(kind), steps)
        transaction.set_rollback(True)


def go_through(study, steps):
    for kind, number in steps:
        submitted = standing(study, state="submitted")
        people = list(study.annotators.order_by("pk"))
        with suppress(ChangeError):
            change(study, kind, number, people[number % len(people)])
        study.refresh_from_db()
        assert submitted <= standing(study, state="submitted")
        assert problems(study) == []


def change(study, kind, number, person):
    if kind in ("redundancy", "annotators"):
        extend(study, **{kind: number})
    elif kind == "method":
        extend(study, methods=["Cedar"])
    elif kind == "story":
        extend(study, stories=["03"])
    elif kind == "drop":
        redistribute(study, annotators=[person])
    elif kind == "withdraw":
        withdraw_units(study, methods=[["Alder", "Birch"][number]])
    elif kind == "revoke":
        revoke(person)
    elif person.state != "revoked" and choosing.next_step(person).slot is not None:
        work(person)


def test_added_slots_balance_sides_in_each_language():
    study = planned_study(
        "choice", assignment="open", languages={"en": 1, "zh": 1}, redundancy=1
    )
    extend(study, redundancy={"en": 3, "zh": 2})
    rows = study.slots.values_list("unit", "language", "a_is_left")
    sides = Counter(rows)
    for unit in study.units.all():
        assert sides[unit.pk, "zh", True] == sides[unit.pk, "zh", False] == 1
        assert {sides[unit.pk, "en", True], sides[unit.pk, "en", False]} == {1, 2}
    assert problems(study) == []
