"""Consequences of submitted and skipped slots; pauses of people and units."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.kinds.base import BadAnswerError
from annotate.models import Annotator, Event, Flag, Slot, Unit, User
from annotate.people import outcomes
from annotate.quality import monitoring, training
from annotate.responses import giving_back, leasing
from annotate.responses.leasing import locked_annotator

AnnotatorState = Annotator.State
MAY_PAUSE = (AnnotatorState.INVITED, AnnotatorState.ACTIVE, AnnotatorState.FINISHED)


class HoldingError(ValueError):
    """Invalid pause or resumption; the message says why."""


@transaction.atomic
def pause(annotator: Annotator, *, user: User | None = None) -> None:
    """Pause an annotator, who keeps their slots."""
    person = locked_annotator(annotator)
    if person.state == AnnotatorState.PAUSED:
        return
    if person.state not in MAY_PAUSE:
        raise HoldingError(
            _("%(name)s cannot be paused: %(state)s.")
            % {"name": person.name, "state": person.get_state_display()}
        )
    before, person.state = person.state, AnnotatorState.PAUSED
    annotator.state = person.state
    person.save(update_fields=["state"])
    event_log.note(
        Event.Kind.ANNOTATOR_PAUSED,
        person.study_id,
        annotator=person,
        user=user,
        before=before,
    )


@transaction.atomic
def resume(annotator: Annotator, *, user: User | None = None) -> None:
    """Resume a paused annotator, and resolve the flags that paused them."""
    person = locked_annotator(annotator)
    if person.state != AnnotatorState.PAUSED:
        raise HoldingError(
            _("%(name)s is not paused: %(state)s.")
            % {"name": person.name, "state": person.get_state_display()}
        )
    person.state = annotator.state = _state_before(person)
    person.save(update_fields=["state"])
    flags = person.flags.filter(resolved_at=None)
    pauses = list(flags.filter(action=Flag.Action.PAUSE))
    warnings = flags.filter(
        action=Flag.Action.WARN, signal__in={flag.signal for flag in pauses}
    )
    for flag in (*pauses, *warnings):
        monitoring.resolve(flag, user=user)
    event_log.note(
        Event.Kind.ANNOTATOR_RESUMED, person.study_id, annotator=person, user=user
    )


def _state_before(person: Annotator) -> str:
    paused = Event.objects.filter(
        annotator=person, kind=Event.Kind.ANNOTATOR_PAUSED
    ).order_by("-id")
    last = paused.first()
    before = last.details.get("before") if last else None
    if before in MAY_PAUSE:
        return str(before)
    return AnnotatorState.ACTIVE if person.consented_at else AnnotatorState.INVITED


@transaction.atomic
def hand_out_again(unit: Unit, *, user: User | None = None) -> bool:
    """Offer a unit again that was set aside; return whether it was."""
    changed = Unit.objects.filter(pk=unit.pk, set_aside_at__isnull=False).update(
        set_aside_at=None
    )
    if changed:
        event_log.note(
            Event.Kind.STUDY_EDITED, unit.study_id, user=user, handed_out=unit.pk
        )
    return bool(changed)


def end_training(annotator: Annotator) -> None:
    """Conclude the training round if this was its last story."""
    training.conclude(annotator)


def finish(annotator: Annotator, person: Annotator) -> None:
    """Mark an annotator as finished if they are; `person` is their locked row."""
    if outcomes.finish(person):
        annotator.state, annotator.finished_at = person.state, person.finished_at


def check_rules(annotator: Annotator) -> None:
    """Check the annotator's answers against the study's rules."""
    monitoring.check_rules(annotator)


def skip(*, slot: Slot, annotator: Annotator, reason: str, comment: str) -> None:
    """Skip a story, and check how many the annotator skips."""
    with transaction.atomic():
        skipped = leasing.locked_annotator(annotator).skips.count()
        if not comment and giving_back.needs_words(slot, annotator, skipped):
            raise BadAnswerError(
                _("Please write in a few words why you are skipping this story.")
            )
        giving_back.skip(slot, annotator, reason=reason, comment=comment)
    monitoring.check_rules(annotator)
    outcomes.finish_if_done(annotator)
