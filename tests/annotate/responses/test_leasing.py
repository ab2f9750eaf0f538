"""Leases, late answers and skips."""

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.assignment import choosing
from annotate.audit_log.verifying import problems
from annotate.kinds.base import AnswerError, SlotTakenError
from annotate.models import Annotator, Rating, Slot, Unit
from annotate.pages.annotator.slot import get_slot
from annotate.people import inviting
from annotate.quality import exclusion
from annotate.responses import giving_back, late, leasing
from tests import answering
from tests.cases import slow
from tests.pressure.grids import add_people, deal_out, make_grid
from tests.working import save

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_grid("trial", stories=3, methods=2, redundancy=3, session_size=3)


@pytest.fixture
def people(study):
    return add_people(study, 3)


@pytest.fixture
def planned():
    """Return a study planned for three people."""
    study = make_grid(
        "plan", stories=3, methods=2, redundancy=3, session_size=3, assignment="planned"
    )
    deal_out(study, add_people(study, 3))
    return study


def take(person):
    return choosing.next_for(person).slot


def answer(slot, person, value=2):
    question = slot.study.questions.get()
    return answering.record_answer(
        slot=slot, annotator=person, question=question, value=value
    )


def submit(slot, person, value=2):
    answer(slot, person, value)
    return answering.submit(slot=slot, annotator=person)


def fresh(row):
    return type(row).objects.get(pk=row.pk)


def told(slot):
    """Return the kinds of the slot's events in order."""
    events = slot.study.events.filter(slot=slot).order_by("pk")
    return list(events.values_list("kind", flat=True))


# Leases -------------------------------------------------------------------------------


def test_heartbeat_and_answer_renew_a_lease(study, people, clock):
    slot = take(people[0])
    clock.move(29)
    assert leasing.heartbeat(slot, people[0])
    clock.move(29)
    answer(slot, people[0])
    clock.move(29)
    assert giving_back.release_expired() == 0
    assert fresh(slot).lease == 1
    assert told(slot) == ["slot taken"]


@pytest.mark.postgresql
def test_heartbeat_takes_an_expired_planned_slot_again(planned, clock):
    person = planned.annotators.first()
    slot = take(person)
    clock.move(31)
    giving_back.release_expired()
    assert leasing.heartbeat(slot, person)
    assert (fresh(slot).state, fresh(slot).lease) == ("leased", 2)
    assert told(slot) == ["slot taken", "lease expired", "slot taken"]
    Annotator.objects.filter(pk=person.pk).update(state="paused")
    clock.move(31)
    giving_back.release_expired()
    assert not leasing.heartbeat(slot, person)


def test_heartbeat_of_another_annotator_changes_nothing(study, people):
    slot = take(people[0])
    until = slot.lease_until
    assert not leasing.heartbeat(slot, people[1])
    assert fresh(slot).lease_until == until


@pytest.mark.postgresql
def test_two_tabs_get_the_same_slot(study, people):
    assert take(people[0]) == take(people[0])
    assert Slot.objects.filter(annotator=people[0]).count() == 1


@pytest.mark.parametrize("minutes", [-31, 31, *slow(-600, 600)])
def test_clock_jump_neither_loses_nor_doubles_answers(study, people, clock, minutes):
    done = submit(take(people[0]), people[0], 4)
    slot, others = take(people[0]), take(people[1])
    answer(slot, people[0], 3)
    clock.move(minutes)
    giving_back.release_expired()
    again = get_slot(people[0], slot.code, late=True)
    submit(again, people[0], 1)
    submit(get_slot(people[1], others.code, late=True), people[1])
    clock.move(-minutes)
    giving_back.release_expired()
    assert fresh(done).ratings.get().value == 4
    assert fresh(slot).state == "submitted"
    assert list(again.ratings.order_by("revision").values_list("value", flat=True)) == [
        3,
        1,
    ]
    assert Slot.objects.filter(state="submitted").count() == 3
    assert problems(study) == []


# Late answers -------------------------------------------------------------------------


def lose(slot, clock):
    clock.move(31)
    giving_back.release_expired()
    assert fresh(slot).annotator is None


def test_late_answer_to_a_free_slot_is_accepted(study, people, clock):
    slot = take(people[0])
    answer(slot, people[0], 3)
    lose(slot, clock)
    again = get_slot(people[0], slot.code, late=True)
    assert again.pk == slot.pk
    submit(again, people[0], 4)
    assert (fresh(slot).state, fresh(slot).ordinal) == ("submitted", slot.ordinal)
    assert problems(study) == []


@pytest.mark.postgresql
@pytest.mark.parametrize("how_far", ["taken", "submitted", "excluded"])
def test_late_answer_to_a_reassigned_slot_is_surplus(study, people, clock, how_far):
    slot = take(people[0])
    answer(slot, people[0], 3)
    lose(slot, clock)
    leasing.take(slot, people[1])
    if how_far != "taken":
        submit(slot, people[1], 0)
    if how_far == "excluded":
        exclusion.exclude(fresh(slot), reason="x", author=None)
    with_page = get_slot(people[0], slot.code, late=True)
    submit(with_page, people[0], 4)
    late = Slot.objects.get(annotator=people[0], unit=slot.unit_id)
    assert (late.ordinal, late.state) == (None, "submitted")
    kept = late.ratings.order_by("revision").values_list("value", flat=True)
    assert list(kept) == [3, 4], "the draft moved with its annotator"
    assert fresh(slot).annotator == people[1]
    assert told(late) == ["late answer kept", "slot submitted"]
    assert get_slot(people[0], slot.code).pk == late.pk
    assert problems(study) == []


def test_reloading_a_lost_slot_opens_no_surplus_slot(study, people, clock):
    slot = take(people[0])
    lose(slot, clock)
    leasing.take(slot, people[1])
    assert late.regain(people[0], slot.code, late=False) is None
    assert not Slot.objects.filter(annotator=people[0]).exists()


def test_late_answer_requires_a_former_lease(study, people):
    slot = take(people[0])
    assert late.regain(people[1], slot.code, late=True) is None


def test_excluded_answer_cannot_be_changed(study, people):
    slot = submit(take(people[0]), people[0])
    exclusion.exclude(slot, reason="x", author=None)
    again = get_slot(people[0], slot.code, late=True)
    with pytest.raises(AnswerError, match="closed and cannot be changed"):
        answer(again, people[0], 4)
    assert Rating.objects.count() == 1


@pytest.mark.parametrize(
    ("how", "status", "words"),
    [("revoked", 410, "no longer valid"), ("paused", 403, "work is paused")],
)
def test_late_answer_of_stopped_annotator_is_refused(
    study, people, client, how, status, words
):
    slot = take(people[0])
    address = reverse("rate-slot", args=[people[0].invitation.token, slot.code])
    if how == "revoked":
        inviting.revoke(people[0])
    else:
        Annotator.objects.filter(pk=people[0].pk).update(state="paused")
    response = save(client, address, quality="3")
    assert response.status_code == status
    assert words in response.json()["error"]
    assert not Rating.objects.exists()
    assert problems(study) == []


# Skipping -----------------------------------------------------------------------------


@pytest.mark.postgresql
def test_skipped_slot_goes_to_another_annotator(study, people):
    slot = take(people[0])
    giving_back.skip(slot, people[0], reason="unclear", comment="blurred")
    assert (fresh(slot).state, fresh(slot).annotator) == ("open", None)
    assert told(slot) == ["slot taken", "slot skipped"]
    met = set()
    while (following := take(people[0])) is not None:
        met.add(following.unit_id)
        submit(following, people[0])
    assert met == set(study.units.values_list("pk", flat=True)) - {slot.unit_id}
    assert late.regain(people[0], slot.code, late=True) is None
    assert leasing.take(fresh(slot), people[1]).annotator_id == people[1].pk
    assert problems(study) == []


def test_skipped_planned_slot_becomes_free(planned):
    person = planned.annotators.first()
    slot = take(person)
    giving_back.skip(slot, person, reason="upsetting")
    assert fresh(slot).annotator is None
    newcomer = add_people(planned, 1)[0]
    assert take(newcomer) == slot
    assert problems(planned) == []


def test_skip_frees_the_units_other_rounds():
    study = make_grid(
        "rounds", stories=2, methods=2, redundancy=2, rounds=2, assignment="planned"
    )
    person, _other = people = add_people(study, 2)
    deal_out(study, people)
    slot = take(person)
    giving_back.skip(slot, person, reason="unclear")
    assert not Slot.objects.filter(annotator=person, unit=slot.unit_id).exists()
    assert problems(study) == []


def test_skipped_check_is_withdrawn_for_good():
    # There are enough stories for a session besides those of gold units.
    study = make_grid(
        "gold",
        stories=4,
        methods=2,
        redundancy=3,
        session_size=3,
        checks={"per_session": 1, "kinds": ["gold"]},
    )
    [person] = add_people(study, 1)
    original = study.units.first()
    Unit.objects.create(
        study=study,
        story=original.story,
        output_a=original.output_a,
        purpose="gold",
        expected={"quality": [1, 2]},
    )
    # Gold units with outputs that the annotator has rated are not used.
    study.units.filter(pk=original.pk).update(set_aside_at=timezone.now())
    skipped = None
    while (slot := take(person)) is not None:
        if slot.purpose == "gold":
            assert skipped is None
            skipped = slot
            giving_back.skip(slot, person, reason="unclear")
        else:
            submit(slot, person)
    assert fresh(skipped).state == "withdrawn"
    assert problems(study) == []


def test_unit_is_set_aside_after_three_skips(planned):
    unit = planned.units.first()
    for person in planned.annotators.all():
        own = Slot.objects.get(annotator=person, unit=unit)
        giving_back.skip(own, person, reason="broken", comment="Shot 3 is black.")
    unit.refresh_from_db()
    assert unit.set_aside_at is not None
    newcomer = add_people(planned, 1)[0]
    assert choosing.next_step(newcomer).kind == "done"
    unit.set_aside_at = None
    unit.save()
    assert take(newcomer).unit_id == unit.pk
    assert problems(planned) == []


def test_submitted_slot_cannot_be_skipped(study, people):
    slot = submit(take(people[0]), people[0])
    with pytest.raises(SlotTakenError):
        giving_back.skip(slot, people[0], reason="unclear")
    assert fresh(slot).state == "submitted"
