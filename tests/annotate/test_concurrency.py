"""Many browsers at once, on the real database of this run."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Barrier, BrokenBarrierError

import pytest
from django.db import connection
from django.utils import timezone

from annotate.assignment import choosing
from annotate.assignment.choosing import Next
from annotate.audit_log.verifying import problems
from annotate.kinds.base import AnswerError, SlotTakenError
from annotate.models import Annotator, Rating, Slot, Study
from annotate.people import inviting
from annotate.quality import exclusion
from annotate.responses import giving_back, leasing
from tests import answering
from tests.factories import make_benchmark, make_study
from tests.people import answer_everything
from tests.pressure.grids import add_people, make_grid
from tests.working import join

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


def at_once(work, jobs):
    def run(job):
        try:
            return work(job)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(run, jobs))


def meet(monkeypatch, module, name, number):
    """Let threads meet before a function; those held by a lock are not awaited."""
    function, everybody = getattr(module, name), Barrier(number)

    def together(*given, **named):
        with suppress(BrokenBarrierError):
            everybody.wait(timeout=1)
        return function(*given, **named)

    monkeypatch.setattr(module, name, together)


def test_free_slot_goes_to_a_single_annotator():
    study = make_study(annotators=1, consented=True)
    slot = Slot.objects.filter(study=study).first()
    Slot.objects.filter(pk=slot.pk).update(annotator=None, position=None, session=None)
    people = [join(study) for _ in range(6)]

    def grab(person):
        try:
            leasing.take(Slot.objects.get(pk=slot.pk), person)
        except SlotTakenError:
            return False
        return True

    assert sum(at_once(grab, people)) == 1
    assert Slot.objects.get(pk=slot.pk).annotator in people


def test_slot_goes_to_one_of_two_concurrent_annotators(monkeypatch):
    """The chosen slot is locked before it is reported."""
    study = make_grid("trial", stories=1, methods=1, redundancy=1)
    choose, both = choosing.best, Barrier(2)

    def together(*known):
        chosen = choose(*known)
        with suppress(BrokenBarrierError):
            both.wait(timeout=1)
        return chosen

    monkeypatch.setattr(choosing, "best", together)
    got = at_once(lambda person: choosing.next_for(person).kind, add_people(study, 2))
    assert sorted(got) == [Next.TAKEN, Next.WORK]
    assert study.events.filter(kind="slot taken").count() == 1
    assert problems(study) == []


def test_same_answer_from_two_tabs_is_stored_once():
    study = make_study(annotators=1, consented=True)
    ann = study.annotators.get()
    slot = leasing.take(choosing.next_slot(ann), ann)
    question = study.questions.first()

    def send(value):
        return answering.record_answer(
            slot=slot, annotator=ann, question=question, value=value
        ).value

    at_once(send, [3] * 6)
    assert Rating.objects.count() == 1
    at_once(send, [0, 1, 2, 4])
    assert Rating.objects.filter(is_current=True).count() == 1
    assert Rating.objects.count() <= 5


def test_submission_from_two_tabs_counts_once():
    study = make_study(annotators=1, consented=True)
    ann = study.annotators.get()
    slot = leasing.take(choosing.next_slot(ann), ann)
    for question in study.questions.all():
        answering.record_answer(slot=slot, annotator=ann, question=question, value=2)
    at_once(lambda _i: answering.submit(slot=slot, annotator=ann), range(5))
    assert study.events.filter(kind="slot submitted").count() == 1
    assert Study.objects.get().slots.filter(state="submitted").count() == 1


def test_lease_expires_once_when_released_concurrently(monkeypatch):
    study = make_grid("trial", stories=1, methods=2, redundancy=1)
    for person in add_people(study, 2):
        choosing.next_for(person)
    Slot.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    meet(monkeypatch, giving_back, "store_freed", 2)
    released = at_once(lambda _: giving_back.release_expired(), range(2))
    assert sum(released) == 2
    assert study.events.filter(kind="lease expired").count() == 2
    assert problems(study) == []


def test_unit_is_set_aside_after_three_concurrent_skips(monkeypatch):
    study = make_study(annotators=3, consented=True)
    unit = study.units.first()
    meet(monkeypatch, giving_back, "_leave", 3)
    at_once(
        lambda slot: giving_back.skip(
            slot, slot.annotator, reason="broken", comment="grey"
        ),
        list(unit.slots.select_related("annotator")),
    )
    unit.refresh_from_db()
    assert unit.set_aside_at is not None
    assert problems(study) == []


def test_concurrent_exclusions_open_one_replacement_each():
    study = make_study(annotators=3)
    answer_everything(study)
    unit = study.units.first()
    at_once(
        lambda pk: exclusion.exclude(Slot.objects.get(pk=pk), reason="x", author=None),
        list(unit.slots.values_list("pk", flat=True)),
    )
    ordinals = unit.slots.filter(state="open").values_list("ordinal", flat=True)
    assert sorted(ordinals) == [4, 5, 6]


def test_concurrent_last_submissions_finish_the_annotator():
    study = make_study(annotators=1, consented=True)
    ann = study.annotators.get()
    slots = list(leasing.own_slots(ann))
    for slot in slots:
        leasing.take(slot, ann)
        for question in study.questions.all():
            answering.record_answer(
                slot=slot, annotator=ann, question=question, value=2
            )
    for slot in slots[:-2]:
        answering.submit(slot=slot, annotator=ann)

    def finish(slot):
        answering.submit(slot=slot, annotator=Annotator.objects.get(pk=ann.pk))

    at_once(finish, slots[-2:])
    assert Annotator.objects.get(pk=ann.pk).state == "finished"
    assert study.events.filter(kind="annotator finished").count() == 1


def test_revocation_keeps_a_concurrent_submission():
    for _ in range(2):
        study = make_study(
            annotators=1,
            consented=True,
            slug=f"s{_}",
            benchmark=make_benchmark(slug=f"b{_}"),
        )
        ann = study.annotators.get()
        slot = leasing.take(choosing.next_slot(ann), ann)
        for question in study.questions.all():
            answering.record_answer(
                slot=slot, annotator=ann, question=question, value=2
            )

        def submit(slot=slot, ann=ann):
            try:
                answering.submit(slot=slot, annotator=ann)
            except AnswerError:
                return False
            return True

        def revoke(ann=ann):
            inviting.revoke(Annotator.objects.get(pk=ann.pk))
            return False

        submitted = any(at_once(lambda work: work(), [submit, revoke]))
        slot.refresh_from_db()
        assert (slot.state == "submitted") == submitted
        assert slot.ratings.filter(is_current=True).count() == 2
        assert problems(study) == []


@pytest.mark.slow
def test_undone_exclusion_keeps_a_concurrent_submission():
    for n in range(5):
        study = make_study(
            annotators=1, slug=f"u{n}", benchmark=make_benchmark(slug=f"c{n}")
        )
        answer_everything(study)
        row = exclusion.exclude(study.slots.first(), reason="x", author=None)
        carol = inviting.invite_new(study).annotator
        Annotator.objects.filter(pk=carol.pk).update(
            consented_at=timezone.now(), instructed_at=timezone.now(), state="active"
        )

        def work(carol=carol, study=study):
            try:
                slot = leasing.take(choosing.next_slot(carol), carol)
                for question in study.questions.all():
                    answering.record_answer(
                        slot=slot, annotator=carol, question=question, value=1
                    )
                answering.submit(slot=slot, annotator=carol)
            except (SlotTakenError, AnswerError, AttributeError):
                return False
            return True

        def undo(row=row):
            exclusion.undo(row, author=None)
            return False

        submitted = any(at_once(lambda job: job(), [work, undo]))
        kept = Slot.objects.filter(annotator=carol, state="submitted")
        assert kept.exists() == submitted
        assert problems(study) == []
