"""Choice of the next slot, and the balance of open studies."""

import random
from collections import Counter, defaultdict
from datetime import timedelta

import pytest
from django.utils import timezone

from annotate.assignment import choosing
from annotate.assignment.choosing import Next
from annotate.audit_log.verifying import problems
from annotate.models import Annotator, Slot, Study, Unit
from annotate.people import outcomes
from annotate.responses import giving_back, leasing
from tests import answering
from tests.pressure.grids import add_people, make_grid
from tests.working import LIKERT, always, end_leases, join, make_planned, work

pytestmark = pytest.mark.django_db


def grid(**fields):
    return make_grid(
        "trial",
        **{"stories": 2, "methods": 2, "redundancy": 2, "session_size": 3} | fields,
    )


def take(person):
    return choosing.next_for(person).slot


def submit(slot, person):
    question = slot.study.questions.get()
    value = "tie" if slot.study.is_side_by_side else 2
    answering.record_answer(slot=slot, annotator=person, question=question, value=value)
    return answering.submit(slot=slot, annotator=person)


def do_everything(person):
    while (slot := take(person)) is not None:
        submit(slot, person)


def kind(person):
    return choosing.next_step(person).kind


# Next step --------------------------------------------------------------------------


@pytest.mark.postgresql
def test_slots_held_by_others_make_annotator_wait():
    study = grid(redundancy=1)
    first, second = add_people(study, 2)
    held = take(first)
    while (slot := take(second)) is not None:
        submit(slot, second)
    waiting = choosing.next_step(second)
    assert waiting.kind == Next.TAKEN
    assert waiting.minutes == 30
    submit(held, first)
    assert kind(second) == Next.DONE


@pytest.mark.postgresql
def test_slots_freed_by_others_are_available_again():
    study = grid(redundancy=1)
    first, second = add_people(study, 2)
    take(first)
    do_everything(second)
    end_leases()
    assert kind(second) == Next.WORK


@pytest.mark.parametrize("whose", ["study", "annotator"])
def test_annotator_at_the_cap_is_done(whose):
    study = grid()
    person, other = add_people(study, 2)
    if whose == "study":
        Study.objects.update(cap=3)
    else:
        Annotator.objects.filter(pk=person.pk).update(cap=3)
    person.refresh_from_db()
    do_everything(person)
    assert Slot.objects.filter(annotator=person, state="submitted").count() == 3
    assert kind(person) == Next.DONE
    assert Annotator.objects.get(pk=person.pk).state == "finished"
    assert kind(other) == Next.WORK


def test_left_slots_include_other_rounds_of_answered_units():
    study = make_planned(LIKERT + "rounds: 2\n", annotators=1, redundancy=1)
    person = join(study, "A01")
    (slot,) = work(person, always("3"), most=1)
    giving_back.free_unfinished(person)
    left = choosing.left_for(person).filter(unit=slot.unit_id)
    assert [other.round for other in left] == [3 - slot.round]


def test_slots_of_another_language_are_ignored():
    study = grid(languages={"en": 1, "zh": 1})
    Slot.objects.filter(ordinal=2).update(language="zh")
    Slot.objects.filter(ordinal=1).update(language="en")
    (person,) = add_people(study, 1, language="en")
    do_everything(person)
    assert set(person.slots.values_list("language", flat=True)) == {"en"}
    assert kind(person) == Next.DONE
    (reader,) = add_people(study, 1, language="zh")
    assert take(reader).language == "zh"


@pytest.mark.parametrize("state", ["paused", "failed", "revoked"])
def test_inactive_annotator_is_stopped(state):
    study = grid()
    (person,) = add_people(study, 1)
    take(person)
    Annotator.objects.update(state=state)
    assert choosing.next_for(person) == choosing.NextStep(Next.STOPPED)


def test_open_study_may_be_left_after_a_whole_session():
    study = grid(stories=4)
    (person,) = add_people(study, 1)
    for _ in range(3):
        assert not outcomes.may_stop(person)
        assert not outcomes.finish_if_done(person, wanted=True)
        submit(take(person), person)
    assert outcomes.may_stop(person)
    assert not outcomes.finish_if_done(person)
    begun = take(person)
    assert outcomes.finish_if_done(person, wanted=True)
    assert person.state == "finished"
    begun.refresh_from_db()
    assert (begun.state, begun.annotator) == ("open", None), "left to somebody else"
    assert kind(person) == Next.WORK, "more is offered, and may be left"


# The balance of an open study ---------------------------------------------------------


class Arrivals:
    """Annotators who arrive, rate, leave in mid-session, skip, and lose leases."""

    def __init__(self, study, people, seed):
        self.study, self.dice = study, random.Random(seed)
        self.people, self.held = list(people), {}

    def step(self):
        person = self.dice.choice(self.people)
        slot = self.held.pop(person.pk, None)
        if slot is None:
            slot = take(person)
            if slot is not None:
                self.held[person.pk] = slot
            return
        luck = self.dice.random()
        if luck < 0.85:
            submit(slot, person)
        elif luck < 0.9:
            giving_back.skip(slot, person, reason="unclear")
        else:  # after leaving, the lease expires and others get the rest
            Slot.objects.filter(pk=slot.pk).update(
                lease_until=timezone.now() - timedelta(minutes=1)
            )

    def counts(self):
        """Return the submitted answers of each assigned unit."""
        units = self.study.units.filter(set_aside_at__isnull=True)
        return list(units.values_list("submitted", flat=True))


def test_next_slot_ignores_levels_held_by_others():
    study = grid(redundancy=3)
    first, second, *others, last = add_people(study, 5)
    slots = study.units.first().slots.order_by("level")
    for person, slot in zip((first, second), slots, strict=False):
        leasing.take(slot, person)
    for person in others:
        do_everything(person)
    assert sorted(study.units.values_list("submitted", flat=True)) == [1, 2, 2, 2]
    do_everything(last)
    assert sorted(study.units.values_list("submitted", flat=True)) == [1, 3, 3, 3]
    assert problems(study) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "seed"), [("likert", 0), ("likert", 1), ("choice", 2)]
)
def test_counts_of_units_stay_within_two(kind, seed):
    """After an expired lease or a skip, a unit lags until somebody takes it."""
    study = grid(stories=4, methods=4, redundancy=6, kind=kind)
    crowd = Arrivals(study, add_people(study, 12), seed)
    spreads = []
    for _ in range(250):
        crowd.step()
        counts = crowd.counts()
        spreads.append(max(counts) - min(counts))
    assert sum(spread <= 2 for spread in spreads) >= 200
    assert max(counts) >= 3
    assert problems(study) == []


def shares(person):
    """Return methods and stories of the annotator's finished sessions."""
    rows = defaultdict(list)
    for slot in person.slots.select_related("unit__output_a").filter(
        state="submitted", purpose="real"
    ):
        rows[slot.session].append((slot.unit.output_a.method_id, slot.unit.story_id))
    return rows


@pytest.mark.slow
def test_annotators_methods_stay_within_one():
    study = grid(stories=12, methods=6, redundancy=5, session_size=6)
    people = add_people(study, 6)
    for _round in range(18):
        for person in people:
            submit(take(person), person)
            met = Counter(
                method for rows in shares(person).values() for method, _story in rows
            )
            counts = [met[method] for method in range(min(met), min(met) + 6)]
            assert max(counts) - min(counts) <= 1
    for person in people:
        for rows in shares(person).values():
            stories = [story for _method, story in rows]
            assert len(stories) == len(set(stories)) == 6


@pytest.mark.slow
def test_sides_of_a_unit_end_even():
    study = grid(stories=3, methods=3, redundancy=4, kind="choice")
    people = add_people(study, 6)
    crowd = Arrivals(study, people, 5)
    for _ in range(60):
        crowd.step()
        lean = Counter()
        for unit, left in study.slots.filter(state="submitted").values_list(
            "unit", "a_is_left"
        ):
            lean[unit] += 1 if left else -1
        assert max(map(abs, lean.values()), default=0) <= 2
    end_leases()
    for person in people:
        do_everything(person)
    for unit in study.units.filter(submitted=4):
        sides = Counter(unit.slots.values_list("a_is_left", flat=True))
        assert sides[True] == sides[False]


@pytest.mark.postgresql
def test_open_study_is_completed_to_the_last_slot():
    study = grid(stories=3, methods=3, redundancy=4)
    for person in add_people(study, 5):
        do_everything(person)
    assert set(study.slots.values_list("state", flat=True)) == {"submitted"}
    assert set(study.units.values_list("submitted", flat=True)) == {4}
    assert problems(study) == []


def test_session_continues_when_check_of_its_story_is_dropped():
    """A slot's place is determined again after checks were inserted."""
    study = grid(methods=1, redundancy=1)
    (person,) = add_people(study, 1)
    first = take(person)
    submit(first, person)
    left = study.units.exclude(story=first.unit.story_id).get()
    gold = Unit.objects.create(
        study=study, story=left.story, output_a=left.output_a, purpose="gold"
    )
    check = Slot.objects.create(
        study=study,
        unit=gold,
        purpose="gold",
        annotator=person,
        session=first.session,
        position=first.position + 21,
    )
    Study.objects.update(checks={"per_session": 1, "kinds": ["gold"]})
    person.refresh_from_db()
    slot = take(person)
    check.refresh_from_db()
    assert (slot.unit, check.state) == (left, "withdrawn")
    assert (slot.session, slot.position) == (first.session, first.position + 10)
