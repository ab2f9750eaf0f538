"""What comes next: work, taken, done, stopped; and the balance of an open study."""

import random
from collections import Counter, defaultdict
from datetime import timedelta

import pytest
from django.utils import timezone

from annotate.assignment import choosing
from annotate.assignment.choosing import Next
from annotate.audit_log.verifying import problems
from annotate.models import Annotator, Slot, Study, Unit
from annotate.people import inviting, outcomes
from annotate.quality import exclusion
from annotate.responses import giving_back, leasing
from tests import answering
from tests.cases import slow
from tests.pressure.grids import add_people, deal_out, make_grid
from tests.working import end_leases

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


# Work, taken, done, stopped -----------------------------------------------------------


@pytest.mark.postgresql
def test_what_others_hold_is_taken_and_not_done():
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
def test_what_others_let_go_is_work_again():
    study = grid(redundancy=1)
    first, second = add_people(study, 2)
    take(first)
    do_everything(second)
    end_leases()
    assert kind(second) == Next.WORK


def test_minutes_tell_when_the_first_lease_runs_out(clock):
    study = grid(redundancy=1, stories=1)
    first, second, third = add_people(study, 3)
    take(first)
    clock.move(20)
    take(second)
    assert choosing.next_step(third) == choosing.NextStep(Next.TAKEN, minutes=10)
    clock.move(9.5)
    assert choosing.next_step(third).minutes == 1
    clock.move(60)
    assert choosing.next_step(third).minutes == 1, "ended, but nobody has looked yet"
    assert choosing.next_for(third).kind == Next.WORK


def test_slots_planned_for_others_are_none_to_wait_for():
    study = grid(assignment="planned")
    people = add_people(study, 2)
    deal_out(study, people)
    do_everything(people[0])
    assert kind(people[0]) == Next.DONE
    take(people[1])
    assert kind(people[0]) == Next.DONE
    newcomer = add_people(study, 1)[0]
    assert kind(newcomer) == Next.DONE
    inviting.revoke(people[1])
    assert kind(newcomer) == Next.WORK
    assert kind(people[0]) == Next.DONE, "has judged every unit already"


@pytest.mark.parametrize("whose", ["study", "annotator"])
def test_whoever_has_reached_the_cap_is_done(whose):
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


def test_slots_of_another_language_are_neither_work_nor_taken():
    study = grid(languages={"en": 1, "zh": 1})
    Slot.objects.filter(ordinal=2).update(language="zh")
    Slot.objects.filter(ordinal=1).update(language="en")
    (person,) = add_people(study, 1, language="en")
    do_everything(person)
    assert set(person.slots.values_list("language", flat=True)) == {"en"}
    assert kind(person) == Next.DONE
    (reader,) = add_people(study, 1, language="zh")
    assert take(reader).language == "zh"


def test_nobody_waits_for_a_language_that_is_behind():
    study = grid(redundancy=6)
    Slot.objects.filter(ordinal__gt=3).update(language="zh")
    Slot.objects.filter(ordinal__lte=3).update(language="en")
    Slot.objects.filter(language="zh", ordinal=4).update(level=1)
    for person in add_people(study, 3, language="en"):
        do_everything(person)
    assert not Slot.objects.filter(language="en").exclude(state="submitted").exists()


@pytest.mark.parametrize("state", ["paused", "failed", "revoked"])
def test_whoever_may_not_work_is_stopped(state):
    study = grid()
    (person,) = add_people(study, 1)
    take(person)
    Annotator.objects.update(state=state)
    assert choosing.next_for(person) == choosing.NextStep(Next.STOPPED)


@pytest.mark.parametrize("state", ["draft", "paused", "closed"])
def test_a_study_that_takes_no_answers_stops_everybody(state):
    study = grid()
    (person,) = add_people(study, 1)
    Study.objects.update(state=state)
    assert choosing.next_for(person) == choosing.NextStep(Next.STOPPED)


def test_finishing_waits_for_what_others_may_let_go():
    study = grid(redundancy=1)
    first, second = add_people(study, 2)
    held = take(first)
    do_everything(second)
    assert not outcomes.finish_if_done(second)
    submit(held, first)
    assert outcomes.finish_if_done(second)


def test_an_open_study_may_be_left_after_a_whole_session():
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


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
def test_a_check_is_never_the_first_of_somebody_who_takes_over(seed):
    study = grid(assignment="planned", stories=4, checks={"per_session": 2}, seed=seed)
    for unit in study.units.all()[:4]:
        Unit.objects.create(
            study=study,
            story=unit.story,
            output_a=unit.output_a,
            purpose="gold",
            expected={"quality": [0, 4]},
        )
    for person in add_people(study, 2):
        order = []
        while (slot := take(person)) is not None:
            order.append((slot.session, slot.purpose))
            submit(slot, person)
        firsts = {}
        for session, purpose in order:
            firsts.setdefault(session, purpose)
        assert set(firsts.values()) == {"real"}, order
    assert Slot.objects.filter(purpose="gold").exists()
    assert problems(study) == []


# The balance of an open study ---------------------------------------------------------


class Arrivals:
    """People who come, judge, leave in mid-session, skip, and lose their leases."""

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
        else:  # gone: the lease runs out, and the rest is for others
            Slot.objects.filter(pk=slot.pk).update(
                lease_until=timezone.now() - timedelta(minutes=1)
            )

    def counts(self):
        """Submitted answers of each unit that is handed out."""
        units = self.study.units.filter(set_aside_at__isnull=True)
        return list(units.values_list("submitted", flat=True))


def test_next_slot_is_free_one_when_others_hold_levels_back():
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


def may_fill(study, person):
    """Free slots of units that a person has not met, as the tables tell."""
    met = Slot.objects.filter(annotator=person).values("unit")
    free = study.slots.filter(annotator=None, state="open", ordinal__isnull=False)
    return free.exclude(unit__in=met).exclude(unit__skips__annotator=person)


@pytest.mark.parametrize(
    ("shape", "sessions", "answers"),
    [
        pytest.param((9, 2, 3), 9, 54, marks=pytest.mark.slow),
        ((10, 3, 5), 1, 12 * 7 + 8),
    ],
)
def test_next_slot_comes_at_once_when_people_leave_mid_story(
    clock, shape, sessions, answers
):
    """Of 20 people 8 close the tab at their second story; leases last 30 minutes."""
    stories, methods, redundancy = shape
    study = grid(stories=stories, methods=methods, redundancy=redundancy)
    Study.objects.update(session_size=7)
    dice, people = random.Random(1), add_people(study, 20)
    leavers = {person.pk for person in people[:8]}
    most = {one.pk: 1 if one.pk in leavers else 7 * sessions for one in people}
    came = {pk: dice.randrange(20 if pk in leavers else 60) for pk in most}
    done, held = Counter(), {}
    for minute in range(120):
        for person in people:
            if minute < came[person.pk] or done[person.pk] == most[person.pk]:
                continue
            if held.get(person.pk):
                submit(held[person.pk], person)
                done[person.pk] += 1
            if done[person.pk] < 7 * sessions:
                held[person.pk] = take(person)
                assert held[person.pk] or not may_fill(study, person).exists()
        clock.move(1)
    counts = list(study.units.values_list("submitted", flat=True))
    assert sum(counts) == answers
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize(
    ("kind", "seed"), [("likert", 0), ("likert", 1), ("choice", 2)]
)
def test_units_stay_within_two_answers_at_every_moment(kind, seed):
    study = grid(stories=4, methods=4, redundancy=6, kind=kind)
    crowd = Arrivals(study, add_people(study, 12), seed)
    for _ in range(250):
        crowd.step()
        counts = crowd.counts()
        assert max(counts) - min(counts) <= 2
    assert max(counts) >= 3
    assert problems(study) == []


def test_units_stay_within_two_answers_beyond_the_window(monkeypatch):
    monkeypatch.setattr(choosing, "WINDOW", 3)
    monkeypatch.setattr(choosing, "WIDE_WINDOW", 6)
    study = grid(stories=4, methods=4, redundancy=4)
    crowd = Arrivals(study, add_people(study, 8), 1)
    for _ in range(150):
        crowd.step()
        assert max(crowd.counts()) - min(crowd.counts()) <= 2


def shares(person):
    """The methods and stories of each session that the annotator has finished."""
    rows = defaultdict(list)
    for slot in person.slots.select_related("unit__output_a").filter(
        state="submitted", purpose="real"
    ):
        rows[slot.session].append((slot.unit.output_a.method_id, slot.unit.story_id))
    return rows


def test_methods_stay_within_one_and_stories_come_once_in_a_session():
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


def test_a_method_outside_the_window_is_found(monkeypatch):
    monkeypatch.setattr(choosing, "WINDOW", 4)
    study = grid(stories=8, methods=3, redundancy=3, session_size=30)
    rare = study.units.order_by("output_a__method").last().output_a.method_id
    Slot.objects.filter(unit__output_a__method=rare).update(draw=2**31 - 2)
    Slot.objects.exclude(unit__output_a__method=rare).update(draw=1)
    (person,) = add_people(study, 1)
    met = []
    for _ in range(6):
        slot = submit(take(person), person)
        met.append(Unit.objects.get(pk=slot.unit_id).output_a.method_id)
    assert sorted(Counter(met).values()) == [2, 2, 2]


def test_a_full_session_does_not_narrow_the_next_one():
    study = grid(stories=3, methods=3, redundancy=3, session_size=3)
    (person,) = add_people(study, 1)
    slots = [submit(take(person), person) for _ in range(9)]
    assert [slot.session for slot in slots] == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_a_session_longer_than_the_memory_repeats_no_story(monkeypatch):
    monkeypatch.setattr(choosing, "MEMORY", 1)
    study = grid(stories=6, methods=4, redundancy=1, session_size=6)
    (person,) = add_people(study, 1)
    do_everything(person)
    stories = defaultdict(list)
    for slot in study.slots.filter(annotator=person):
        stories[slot.session].append(slot.unit.story_id)
    assert [len(found) for found in stories.values()] == [6] * 4
    assert all(len(set(found)) == 6 for found in stories.values())


def test_sides_of_a_unit_stay_within_two_and_end_even():
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
def test_a_study_is_drained_to_the_last_slot():
    study = grid(stories=3, methods=3, redundancy=4)
    for person in add_people(study, 5):
        do_everything(person)
    assert set(study.slots.values_list("state", flat=True)) == {"submitted"}
    assert set(study.units.values_list("submitted", flat=True)) == {4}
    assert problems(study) == []


def test_a_session_goes_on_when_the_check_that_had_its_story_is_dropped():
    """Where a slot is to stand is found out anew once checks have been laid."""
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


def test_checks_and_excluded_answers_are_no_part_of_an_even_share():
    study = grid(stories=3, methods=1, redundancy=1)
    (person,) = add_people(study, 1)
    for _i in range(2):
        submit(take(person), person)
    kept, lost = study.slots.filter(annotator=person).order_by("position")
    exclusion.exclude(lost, reason="asleep", author=None)
    gold = Unit.objects.create(
        study=study, story=kept.unit.story, output_a=kept.unit.output_a, purpose="gold"
    )
    Slot.objects.create(
        study=study,
        unit=gold,
        purpose="gold",
        annotator=person,
        session=1,
        position=kept.position + 1,
    )
    seen, place = choosing._seen(person)
    assert seen.methods == {kept.unit.output_a.method_id: 1}
    assert place == leasing.last_place(person)
