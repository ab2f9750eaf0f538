"""The one way for an answer: stored, submitted, watched, and gone on from."""

import logging
from collections.abc import Callable, Sequence
from functools import partial

from django.db import transaction
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.kinds.errors import BadAnswerError
from annotate.models import Annotator, Event, Flag, Purpose, Slot, Unit, User
from annotate.people import outcomes
from annotate.quality import monitoring, training
from annotate.responses import giving_back, leasing, submission
from annotate.responses.leasing import locked_annotator
from annotate.responses.submission import Closing, Received
from annotate.responses.writing import Held, Row

AnnotatorState = Annotator.State
MAY_PAUSE = (AnnotatorState.INVITED, AnnotatorState.ACTIVE, AnnotatorState.FINISHED)


class HoldingError(ValueError):
    """Nobody can be paused or resumed like that; the message says why."""


@transaction.atomic
def pause(annotator: Annotator, *, user: User | None = None) -> None:
    """Let somebody do nothing for a while; the slots stay theirs."""
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
    """Let a paused person go on where they were; settles the flags that paused them."""
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
    """Hand a unit out again that was set aside; say whether it was."""
    changed = Unit.objects.filter(pk=unit.pk, set_aside_at__isnull=False).update(
        set_aside_at=None
    )
    if changed:
        event_log.note(
            Event.Kind.STUDY_EDITED, unit.study_id, user=user, handed_out=unit.pk
        )
    return bool(changed)


logger = logging.getLogger(__name__)

# Returns the address to go on to after a slot that was closed, and whose annotator is
# still locked, from the first of their slots that wait.
GoOn = Callable[[Received, Slot | None], str]


class _NextError(Exception):
    """Going on failed."""


def submit(
    annotator: Annotator,
    code: str,
    rows: Sequence[Row] = (),
    closing: Closing | None = None,
    *,
    proof: str = "",
    whole: bool = False,
    go_on: GoOn | None = None,
) -> Received | None:
    """Store rows of a slot, close it, and look at the annotator; None: no such slot."""
    hold = partial(
        submission.holding,
        annotator,
        code,
        closes=closing is not None,
        late=closing is not None or any(row.is_answer for row in rows),
        proof=proof,
    )
    if annotator.study.rules:
        go_on = None

    def work(held: Held, *, go_on: GoOn | None) -> Received:
        received = submission.receive(held, rows, closing, whole=whole)
        if received.submitted:
            _conclude(annotator, received, go_on)
        return received

    try:
        received = hold(partial(work, go_on=go_on))
    except _NextError:
        logger.exception("The answers are stored first, and the next slot then.")
        received = hold(partial(work, go_on=None))
    if received is not None and received.submitted and not received.next:
        monitoring.look(annotator)
    return received


def _conclude(annotator: Annotator, received: Received, go_on: GoOn | None) -> None:
    """Conclude the training or the study where that is so, and go on if asked to."""
    person, own = received.held.person, None
    if received.held.slot.purpose == Purpose.TRAINING:
        training.conclude(annotator)
        return
    if go_on is not None:
        if received.facts and received.facts.is_due:
            giving_back.release_expired()
        own = leasing.first_waiting(person, locks=True)
    # An open study is through when there is nothing to go on to.
    has_own = own is not None and own.purpose != Purpose.TRAINING
    will_show = go_on is not None and (person.study.is_open or has_own)
    if not will_show and outcomes.finish(person):
        annotator.state, annotator.finished_at = person.state, person.finished_at
    if go_on is not None:
        try:
            received.next = go_on(received, own)
        except Exception as error:
            raise _NextError from error


def skip(*, slot: Slot, annotator: Annotator, reason: str, comment: str) -> None:
    """Leave a story to somebody else, and look at what the annotator skips."""
    with transaction.atomic():
        skipped = leasing.locked_annotator(annotator).skips.count()
        if not comment and giving_back.needs_words(slot, annotator, skipped):
            raise BadAnswerError(_("Please say in words why you skip this story."))
        giving_back.skip(slot, annotator, reason=reason, comment=comment)
    monitoring.look(annotator)
    outcomes.finish_if_done(annotator)
