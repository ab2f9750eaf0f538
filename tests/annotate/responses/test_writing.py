"""Writing of answers: drafts, revisions, repeats, refusals.

See `test_checklists` for ticks.
"""

from copy import copy
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotate.assignment import choosing
from annotate.kinds.base import AnswerError, SlotTakenError
from annotate.models import Annotator, Choice, Rating, Slot, Study
from annotate.people import inviting, outcomes
from annotate.responses import bulk, giving_back, leasing, writing
from tests import answering
from tests.factories import make_study
from tests.working import join

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(consented=True)


@pytest.fixture
def ann(study):
    return study.annotators.get(name="A01")


def take(slot, annotator):
    """Take a slot and backdate its lease by a minute."""
    taken = leasing.take(slot, annotator)
    minute_ago = timezone.now() - timedelta(minutes=1)
    Slot.objects.filter(pk=taken.pk).update(
        started_at=minute_ago, offered_at=minute_ago
    )
    return taken


@pytest.fixture
def slot(ann):
    return take(choosing.next_slot(ann), ann)


def answer(slot, annotator, value, key="", question=0):
    return answering.record_answer(
        slot=slot,
        annotator=annotator,
        value=value,
        client_key=key,
        question=slot.study.questions.all()[question],
    )


def submit(slot, annotator):
    for i, _question in enumerate(slot.study.questions.all()):
        answer(slot, annotator, "left" if slot.study.is_side_by_side else 3, question=i)
    return answering.submit(slot=slot, annotator=annotator, seconds=12)


@pytest.mark.postgresql
def test_repeated_answer_is_one_row(slot, ann):
    answer(slot, ann, 2)
    answer(slot, ann, 2)
    assert Rating.objects.count() == 1


def test_late_repeat_of_an_event_changes_nothing(slot, ann):
    answer(slot, ann, 2, "press-1")
    answer(slot, ann, 4, "press-2")
    answer(slot, ann, 2, "press-1")
    assert Rating.objects.get(is_current=True).value == 4


def test_overtaken_event_of_a_tab_changes_nothing(slot, ann):
    answer(slot, ann, 4, "1760000000002 0.5")
    answer(slot, ann, 2, "1760000000001 0.5")
    assert Rating.objects.get().value == 4
    answer(slot, ann, 1, "1760000000001 0.25")  # another tab's clock may be slow
    assert Rating.objects.get(is_current=True).value == 1


def test_alternating_answers_end_with_the_tabs_last(slot, ann):
    """A slow network delivers the answer between two equal ones last."""
    answer(slot, ann, 4, "1760000000001 0.5")
    answer(slot, ann, 4, "1760000000003 0.5")
    answer(slot, ann, 2, "1760000000002 0.5")
    assert Rating.objects.get().value == 4
    answer(slot, ann, 4, "1760000000004 0.25")  # events of other tabs are not compared
    answer(slot, ann, 2, "1760000000005 0.5")
    assert Rating.objects.get(is_current=True).value == 2


def test_late_answer_does_not_undo_taking_back(slot, ann):
    question = slot.study.questions.first()
    answer(slot, ann, 4, "1760000000001 0.5")
    answering.take_back(
        slot=slot, annotator=ann, question=question, client_key="1760000000003 0.5"
    )
    answer(slot, ann, 2, "1760000000002 0.5")
    assert not Rating.objects.filter(is_current=True).exists()
    answer(slot, ann, 2, "1760000000004 0.5")
    assert Rating.objects.get(is_current=True).value == 2


@pytest.mark.postgresql
def test_changed_answer_is_a_new_revision(slot, ann):
    answer(slot, ann, 2)
    answer(slot, ann, 4)
    rows = Rating.objects.order_by("revision").values_list("value", "is_current")
    assert list(rows) == [(2, False), (4, True)]


def test_submitted_answer_can_change_while_study_is_open(slot, ann):
    submit(slot, ann)
    answer(slot, ann, 0)
    assert Rating.objects.get(is_current=True, question__ordinal=1).value == 0
    Study.objects.update(state="paused")
    with pytest.raises(AnswerError, match="is not accepting answers"):
        answer(slot, ann, 1)


def test_rating_off_the_scale_is_refused(slot, ann, subtests):
    for value in [-1, 5, "5", "--3", "", "٣", "3.0", True, "left"]:
        with subtests.test(str(value)):
            with pytest.raises(AnswerError):
                answer(slot, ann, value)
            assert not Rating.objects.exists()


@pytest.mark.postgresql
def test_database_refuses_a_rating_outside_its_scale(slot, ann):
    question = slot.study.questions.first()
    with pytest.raises(IntegrityError, match="rating_in_scale"), transaction.atomic():
        Rating.objects.create(
            slot=slot,
            annotator=ann,
            question=question,
            value=9,
            scale_min=0,
            scale_max=4,
        )


def test_slot_of_another_annotator_is_refused(slot, study):
    bob = study.annotators.get(name="A02")
    with pytest.raises(AnswerError, match="somebody else"):
        answer(slot, bob, 1)


def test_missing_answers_are_named(slot, ann):
    answer(slot, ann, 1)
    with pytest.raises(AnswerError, match="Aesthetics"):
        answering.submit(slot=slot, annotator=ann)


@pytest.mark.parametrize(
    ("a_is_left", "side", "stored"),
    [
        (True, "left", "a"),
        (True, "right", "b"),
        (False, "left", "b"),
        (False, "right", "a"),
        (True, "tie", "tie"),
    ],
)
def test_sides_are_stored_as_methods(a_is_left, side, stored):
    study = make_study(kind="choice", consented=True)
    ann = study.annotators.get(name="A01")
    Slot.objects.update(a_is_left=a_is_left)
    slot = leasing.take(choosing.next_slot(ann), ann)
    answer(slot, ann, side)
    assert Choice.objects.get().value == stored


# Leases ---------------------------------------------------------------------------


def test_draft_returns_after_an_expired_lease(slot, ann):
    answer(slot, ann, 2)
    Slot.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    assert giving_back.release_expired() == 1
    again = choosing.next_slot(ann)
    assert again == slot
    assert again.state == Slot.State.OPEN
    assert (
        writing.current_answers(again, ann)[slot.study.questions.first().pk].value == 2
    )


@pytest.mark.postgresql
def test_draft_is_hidden_from_the_next_annotator(slot, ann, study):
    answer(slot, ann, 2)
    giving_back.free_unfinished(ann)
    taken = leasing.take(Slot.objects.get(pk=slot.pk), carol := join(study))
    assert writing.current_answers(taken, carol) == {}
    answer(slot, ann, 1)  # the answer and the draft go to a surplus slot
    assert not taken.ratings.exists()


@pytest.mark.postgresql
def test_annotator_gets_a_unit_once(slot, ann, study):
    free = Slot.objects.create(study=study, unit=slot.unit, ordinal=9)
    assert free not in choosing.free_slots(ann)
    with pytest.raises(SlotTakenError, match="already"):
        leasing.take(free, ann)


# Bulk -----------------------------------------------------------------------------


@pytest.mark.postgresql
def test_judgements_are_stored_in_bulk(study, ann, django_assert_max_num_queries):
    questions = list(study.questions.all())
    judged = [
        bulk.SlotAnswers(s, dict.fromkeys(questions, 4), timezone.now(), 30.0)
        for s in ann.slots.all()
    ]
    # Ratings, slots, counts and log need one or two queries, for any number of slots.
    with django_assert_max_num_queries(10):  # PostgreSQL restarts its row numbers
        assert bulk.store_judgements(judged) == len(judged)
    assert Rating.objects.filter(value=4).count() == 2 * len(judged)


@pytest.mark.postgresql
def test_judgement_outside_the_scale_stores_nothing(study, ann):
    question = study.questions.first()
    slots = list(ann.slots.all()[:2])
    judged = [
        bulk.SlotAnswers(slots[0], {question: 1}, timezone.now()),
        bulk.SlotAnswers(slots[1], {question: 7}, timezone.now()),
    ]
    with pytest.raises(AnswerError):
        bulk.store_judgements(judged)
    assert not Rating.objects.exists()
    assert not Slot.objects.filter(state="submitted").exists()


# Permission to answer ----------------------------------------------------------------


def test_answers_require_consent(study, ann):
    slot = leasing.take(choosing.next_slot(ann), ann)
    Annotator.objects.update(consented_at=None)
    with pytest.raises(AnswerError, match="agree to take part"):
        answer(slot, ann, 3)
    assert not Rating.objects.exists()


def test_revoked_annotator_cannot_answer(study, ann, slot):
    done = submit(slot, ann)
    inviting.revoke(Annotator.objects.get(pk=ann.pk))
    with pytest.raises(AnswerError, match="no longer valid"):
        answer(done, ann, 0)
    free = study.slots.filter(annotator=None).first()
    with pytest.raises(SlotTakenError):
        leasing.take(free, ann)
    assert choosing.next_slot(ann) is None
    assert Slot.objects.get(pk=free.pk).annotator is None


def test_slots_cannot_be_taken_while_study_is_paused(study, ann):
    waiting = choosing.next_slot(ann)
    Study.objects.update(state="paused")
    with pytest.raises(SlotTakenError):
        leasing.take(waiting, ann)
    assert choosing.next_slot(ann) is None


# Finishing, and free slots ------------------------------------------------------------


def do_everything(annotator):
    while (slot := choosing.next_slot(annotator)) is not None:
        taken = leasing.take(slot, annotator)
        for question in taken.study.questions.all():
            answering.record_answer(
                slot=taken, annotator=annotator, question=question, value=2
            )
        answering.submit(slot=taken, annotator=annotator)


def test_annotator_without_plan_finishes_when_no_slot_is_free(study):
    inviting.revoke(study.annotators.get(name="A02"))
    carol = inviting.invite_new(study).annotator
    carol.consented_at = carol.instructed_at = timezone.now()
    carol.state = "active"
    carol.save()
    assert not outcomes.finish_if_done(carol)
    do_everything(carol)
    assert Annotator.objects.get(name="A03").state == "finished"
    assert Slot.objects.filter(annotator=carol, claimed=True).count() == 6


def test_expired_claimed_slot_becomes_free_but_not_a_planned_one(study, ann, slot):
    inviting.revoke(study.annotators.get(name="A02"))
    carol = join(study, inviting.invite_new(study).annotator.name)
    claimed = leasing.take(choosing.next_slot(carol), carol)
    Slot.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    assert giving_back.release_expired() == 2
    claimed.refresh_from_db()
    slot.refresh_from_db()
    assert (claimed.annotator, claimed.position, claimed.claimed) == (None, None, False)
    assert (slot.annotator, slot.state) == (ann, "open")


def test_second_submission_changes_nothing_in_the_next_session(study, ann):
    slots = list(leasing.own_slots(ann))
    first = submit(take(slots[0], ann), ann)
    answer(first, ann, 1, "press-1")
    leasing.take(slots[3], ann)
    again = answering.submit(slot=first, annotator=ann, seconds=99)
    assert (again.pk, again.seconds) == (first.pk, 12)
    assert answer(first, ann, 1, "press-1").value == 1
    with pytest.raises(AnswerError, match="sitting is over"):
        answer(first, ann, 2, "press-2")


@pytest.mark.postgresql
@pytest.mark.parametrize(("times", "kept"), [(1, [2, 3]), (99, [1])])
def test_duplicate_revision_does_not_lose_other_answers(
    client, monkeypatch, slot, ann, times, kept
):
    """Another process without a lock stores the revision, once or at every attempt."""
    answer(slot, ann, 1)
    add, left = writing.add, iter(range(times))

    def clash(*rows):
        if next(left, None) is not None:
            add(*(copy(row) for row in rows))
        add(*rows)

    monkeypatch.setattr(writing, "add", clash)
    keys = slot.study.questions.values_list("key", flat=True)[:2]
    rows = [
        {"kind": "answer", "id": key, "key": key, "question": key, "value": str(value)}
        for value, key in enumerate(keys, start=2)
    ]
    url = reverse("rate-save", args=[ann.invitation.token, slot.code])
    reply = client.post(url, {"rows": rows}, "application/json").json()
    refused = {} if times == 1 else dict.fromkeys(keys, False)
    assert {key: why["final"] for key, why in reply["refused"].items()} == refused
    stored = Rating.objects.filter(slot=slot).order_by("question", "revision")
    current = stored.filter(is_current=True)
    assert list(current.values_list("value", flat=True)) == kept
    assert stored.count() == (3 if times == 1 else 1)
