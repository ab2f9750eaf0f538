"""What follows from a submitted slot: training results, and being finished."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotate import event_log
from annotate.answers.writing import close_slot
from annotate.models import Annotator, Event, Purpose, Slot
from annotate.next_slot import choosing
from annotate.quality import monitoring, training
from annotate.slots import leasing
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


@transaction.atomic
def finish_if_done(annotator: Annotator, *, wanted: bool = False) -> bool:
    """Mark an annotator as finished who has submitted the whole plan.

    Somebody without a plan has finished when nothing is left, the cap is reached, or,
    in an open study after at least one session, when they want to (`wanted`).
    """
    person = locked_annotator(annotator)
    wanted = wanted and person.state == Annotator.State.ACTIVE and may_stop(person)
    if wanted:
        leasing.free_unfinished(person)
    finished = _finish(person, wanted=wanted)
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
    """Say whether an annotator of an open study has done a whole session."""
    done = own_slots(annotator).filter(purpose=Purpose.REAL, state=Slot.State.SUBMITTED)
    return annotator.study.is_open and done.count() >= annotator.study.session_size
