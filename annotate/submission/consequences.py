"""What follows from a submitted slot: training results, and being finished."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.answers.writing import close_slot
from annotate.models import Annotator, Event, Purpose, Slot
from annotate.next_slot import choosing
from annotate.next_slot.choosing import Next
from annotate.people import outcomes
from annotate.quality import monitoring, training
from annotate.slots import leasing, skip_allowance
from annotate.slots.errors import BadAnswerError
from annotate.slots.leasing import own_slots, waiting
from annotate.slots.locking import locked_annotator


def submit(*, slot: Slot, annotator: Annotator, **told: Any) -> Slot:
    """Submit a slot as `close` does, and look at the annotator's answers."""
    closed = close(slot=slot, annotator=annotator, **told)
    monitoring.look(annotator)
    return closed


@transaction.atomic
def close(
    *,
    slot: Slot,
    annotator: Annotator,
    seconds: float | None = None,
    offered_at: datetime | None = None,
    in_sight: Mapping[int, float] | None = None,
    goes_on: bool = False,
    person: Annotator | None = None,
) -> Slot:
    """Submit a slot, and see whether the annotator has finished.

    `seconds` are what the browser says of the time on the page, `in_sight` of the time
    that each shot was in sight, by its number; `offered_at` is when the annotator was
    given that page beforehand.

    Who `goes_on` asks for the next slot at once. In an open study without rules, which
    may stop somebody before, it is left to that to show that nothing is left, and to
    `finish_if_done`. `person` is the annotator where that is locked already.
    """
    person = person or locked_annotator(annotator)
    submitted = close_slot(
        slot=slot,
        person=person,
        seconds=seconds,
        offered_at=offered_at,
        in_sight=in_sight,
    )
    if submitted.purpose == Purpose.TRAINING:
        training.conclude(annotator)
    elif not _will_show(person, goes_on) and _finish(person, wanted=False):
        annotator.state, annotator.finished_at = person.state, person.finished_at
    return submitted


def _will_show(person: Annotator, goes_on: bool) -> bool:
    return goes_on and person.study.is_open and not person.study.rules


def skip(*, slot: Slot, annotator: Annotator, reason: str, comment: str) -> None:
    """Leave a story to somebody else, and look at what the annotator skips."""
    with transaction.atomic():
        locked_annotator(annotator)
        if not comment and skip_allowance.needs_words(slot, annotator):
            raise BadAnswerError(_("Please say in words why you skip this story."))
        leasing.skip(slot, annotator, reason=reason, comment=comment)
    monitoring.look(annotator)
    finish_if_done(annotator)


@transaction.atomic
def finish_if_done(annotator: Annotator, *, wanted: bool = False) -> bool:
    """Mark an annotator as finished who has submitted the whole plan.

    Somebody without a plan has finished when nothing is left, the cap is reached, or,
    when they want to (`wanted`), where they `may_stop`.
    """
    person = locked_annotator(annotator)
    wanted = wanted and person.state == Annotator.State.ACTIVE and may_stop(person)
    if wanted:
        leasing.free_unfinished(person)
    finished = _finish(person, wanted=wanted)
    if person.state == Annotator.State.FINISHED:
        outcomes.settle(person)
        annotator.completed_at = person.completed_at
    if finished:
        annotator.state, annotator.finished_at = person.state, person.finished_at
    return finished


def _finish(person: Annotator, *, wanted: bool) -> bool:
    """Mark a locked annotator as finished if that is so."""
    if (
        person.state != Annotator.State.ACTIVE
        or waiting(person).exclude(purpose=Purpose.TRAINING).exists()
        or not (wanted or _is_through(person))
    ):
        return False
    person.state, person.finished_at = Annotator.State.FINISHED, timezone.now()
    person.save(update_fields=["state", "finished_at"])
    outcomes.settle(person)
    event_log.note(Event.Kind.ANNOTATOR_FINISHED, person.study_id, annotator=person)
    return True


def _is_through(person: Annotator) -> bool:
    """Say whether the plan is done, or whether there can be nothing more to do."""
    real = own_slots(person).filter(purpose=Purpose.REAL)
    if not person.study.is_open and real.filter(claimed=False).exists():
        return True
    if choosing.has_room(person) and choosing.may_get_more(person):
        return False
    return real.exists()


def may_stop(annotator: Annotator) -> bool:
    """Say whether an annotator has judged enough to stop, or can get nothing now."""
    if annotator.study.is_open and outcomes.has_judged_enough(annotator):
        return True
    return choosing.next_step(annotator).kind in (Next.TAKEN, Next.DONE)
