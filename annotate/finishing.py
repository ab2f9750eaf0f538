"""What follows from a submitted slot: training results, flags, being finished."""

from django.db import transaction
from django.utils import timezone

from annotate import handing, log, quality, training
from annotate.leasing import UNFINISHED, own_slots
from annotate.models import Annotator, Event, Purpose, Slot
from annotate.rating import locked_annotator, submit_slot


def submit(*, slot: Slot, annotator: Annotator, seconds: float | None = None) -> Slot:
    """Submit a slot, look at the annotator's answers, and see what follows."""
    with transaction.atomic():
        locked_annotator(annotator)
        submitted = submit_slot(slot=slot, annotator=annotator, seconds=seconds)
        if submitted.purpose == Purpose.TRAINING:
            training.conclude(annotator)
    quality.look(annotator)
    finish_if_done(annotator)
    return submitted


@transaction.atomic
def finish_if_done(annotator: Annotator, *, wanted: bool = False) -> bool:
    """Mark an annotator as finished who has submitted the whole plan.

    Somebody without a plan has finished when nothing is left, the cap is reached, or,
    in an open study after at least one session, when they want to (`wanted`).
    """
    person = locked_annotator(annotator)
    own = own_slots(person).exclude(purpose=Purpose.TRAINING)
    if (
        person.state != Annotator.State.ACTIVE
        or own.filter(state__in=UNFINISHED).exists()
        or not own.exists()
        or not (_is_through(person) or (wanted and may_stop(person)))
    ):
        return False
    person.state = annotator.state = Annotator.State.FINISHED
    person.finished_at = annotator.finished_at = timezone.now()
    person.save(update_fields=["state", "finished_at"])
    log.note(Event.Kind.ANNOTATOR_FINISHED, person.study_id, annotator=person)
    return True


def _is_through(person: Annotator) -> bool:
    """Say whether the plan is done, or whether there can be nothing more to do."""
    planned = own_slots(person).filter(claimed=False, purpose=Purpose.REAL)
    if planned.exists():
        return True
    return not handing.has_room(person) or not handing.left_for(person).exists()


def may_stop(annotator: Annotator) -> bool:
    """Say whether an annotator of an open study has done a whole session."""
    done = own_slots(annotator).filter(purpose=Purpose.REAL, state=Slot.State.SUBMITTED)
    return annotator.study.is_open and done.count() >= annotator.study.session_size
