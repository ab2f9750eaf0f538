"""The one way for an answer: stored, submitted, watched, and gone on from."""

import logging
from collections.abc import Callable, Sequence
from functools import partial

from django.db import transaction
from django.utils.translation import gettext as _

from annotate.kinds.errors import BadAnswerError
from annotate.models import Annotator, Purpose, Slot
from annotate.people import outcomes
from annotate.quality import monitoring, training
from annotate.responses import giving_back, leasing, submission
from annotate.responses.submission import Closing, Received
from annotate.responses.writing import Held, Row

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
