"""Store the rows of a request, and submit the slot."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import NamedTuple, Protocol

from django.db import IntegrityError, transaction
from django.db.models import Exists, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import event_log
from annotate.kinds.base import AnswerError, NotNowError, NotYetError
from annotate.kinds.registry import is_required, kind_of
from annotate.models import Annotator, Event, Flag, Purpose, Slot
from annotate.responses.giving_back import due, release_expired
from annotate.responses.late import regain
from annotate.responses.leasing import (
    CLOSED,
    count_submitted,
    first_waiting,
    lacking,
    locked_annotator,
    own_locked_slot,
    renew,
)
from annotate.responses.timing import note_sight, note_time, timed
from annotate.responses.writing import (
    AnswerRow,
    Held,
    Place,
    Row,
    record_answers,
    sent_before,
    shots_left,
)
from evalcore.database.prepared import Prepared, store

logger = logging.getLogger(__name__)

# The number of attempts if another request changes the slot or an answer.
ATTEMPTS = 3
TIMES = ("offered_at", "seconds", "claimed_seconds", "in_sight")


class Facts(NamedTuple):
    """Facts that submitting needs beside the locked rows."""

    state: str
    is_warned: bool
    last_timed: datetime | None
    is_due: bool


# Read after locking, because the study may have closed in the meantime.
FACTS = Prepared[tuple[str, bool, datetime | None, bool]](
    lambda annotator, now: (
        Annotator.objects.filter(pk=annotator)
        .order_by()
        .values_list(
            "study__state",
            Exists(Flag.unread_warnings(annotator)),
            Subquery(
                timed(annotator, now)
                .order_by("-submitted_at")
                .values_list("submitted_at", flat=True)[:1]
            ),
            Exists(due(now)),
        )
    ),
    annotator=int,
    now=datetime,
)


@dataclass(frozen=True)
class Closing:
    """A submission, with the browser's times if it sent any."""

    seconds: float | None = None
    in_sight: Mapping[int, float] | None = None
    offered_at: datetime | None = None


@dataclass
class Received:
    """The result of a request: refused rows, and the reason for an open slot."""

    held: Held
    refused: dict[Place, AnswerError] = field(default_factory=dict)
    problem: AnswerError | None = None
    submitted: bool = False
    facts: Facts | None = None
    next: str = ""


class FollowUp(Protocol):
    """Callbacks into packages above this one, after a submission."""

    def end_training(self, annotator: Annotator) -> None: ...

    def finish(self, annotator: Annotator, person: Annotator) -> None: ...

    def check_rules(self, annotator: Annotator) -> None: ...


# Returns the next address; the first waiting slot is locked.
GoOn = Callable[[Received, Slot | None], str]


class _NextError(Exception):
    """Finding the next page failed."""


def submit(
    annotator: Annotator,
    code: str,
    rows: Sequence[Row] = (),
    closing: Closing | None = None,
    *,
    follow_up: FollowUp,
    proof: str = "",
    whole: bool = False,
    go_on: GoOn | None = None,
) -> Received | None:
    """Store rows, close the slot, and check quality; None: no such slot."""
    late = closing is not None or any(row.is_answer for row in rows)
    if annotator.study.rules:
        go_on = None

    def work(held: Held, go_on: GoOn | None) -> Received:
        received = _receive(held, rows, closing, whole=whole)
        if received.submitted:
            _conclude(annotator, received, follow_up, go_on)
        return received

    hold = partial(
        _holding, annotator, code, closes=closing is not None, late=late, proof=proof
    )
    try:
        received = hold(partial(work, go_on=go_on))
    except _NextError:
        logger.exception("The answers are stored first, and the next slot then.")
        received = hold(partial(work, go_on=None))
    if received is not None and received.submitted and not received.next:
        follow_up.check_rules(annotator)
    return received


def _holding(
    annotator: Annotator,
    code: str,
    work: Callable[[Held], Received],
    *,
    closes: bool,
    late: bool,
    proof: str,
) -> Received | None:
    """Run `work` in a transaction with annotator and slot locked."""
    is_regained, clash = False, None
    for _attempt in range(ATTEMPTS):
        try:
            with transaction.atomic():
                person = locked_annotator(annotator)
                slot = own_locked_slot(code, person, closes=closes)
                if slot is not None and (is_regained or slot.state not in CLOSED):
                    return work(Held(slot, person))
        except IntegrityError as error:
            clash = error
            continue
        slot = regain(annotator, code, late=late, proof=proof)
        if slot is None:
            return None
        code, is_regained = slot.code, True
    text = _("This answer was changed elsewhere. Please reload the page.")
    raise NotNowError(text) from clash


def _receive(
    held: Held, rows: Sequence[Row], closing: Closing | None, *, whole: bool = False
) -> Received:
    """Store rows of a held slot, and close it if all of them could be stored."""
    if first := lacking(held.person, held.slot.purpose):
        raise NotYetError(first)
    received = Received(held)
    if closing is not None:
        row = FACTS.one(annotator=held.person.pk, now=timezone.now())
        received.facts = Facts(*row)
        held.slot.study.state = received.facts.state
    received.refused = _store(held, rows)
    if received.facts and closing is not None and not received.refused:
        try:
            _close(held, closing, received.facts.last_timed)
            received.submitted = True
        except AnswerError as error:
            received.problem = error
    for refused in (*received.refused.values(), received.problem):
        if whole and refused is not None:
            raise refused
    if held.is_open:
        renew(held.slot)
    return received


def _conclude(
    annotator: Annotator, received: Received, follow_up: FollowUp, go_on: GoOn | None
) -> None:
    """Conclude training or study if complete, and find the next page on request."""
    person, own = received.held.person, None
    if received.held.slot.purpose == Purpose.TRAINING:
        follow_up.end_training(annotator)
        return
    if go_on is not None:
        if received.facts and received.facts.is_due:
            release_expired()
        own = first_waiting(person, locks=True)
    # An open study ends for an annotator when no slot is left to take.
    has_own = own is not None and own.purpose != Purpose.TRAINING
    will_show = go_on is not None and (person.study.is_open or has_own)
    if not will_show:
        follow_up.finish(annotator, person)
    if go_on is not None:
        try:
            received.next = go_on(received, own)
        except Exception as error:
            raise _NextError from error


def _store(held: Held, rows: Sequence[Row]) -> dict[Place, AnswerError]:
    """Store the last row of each place; return the reasons for refusals."""
    last: dict[Place, Row] = {}
    for row in rows:
        before = last.get(row.place)
        if before is None or not sent_before(row.client_key, [before]):
            last[row.place] = row
    answers = [row for row in last.values() if isinstance(row, AnswerRow)]
    refused = record_answers(held, answers) if answers else {}
    for row in last.values():
        if not isinstance(row, AnswerRow):
            try:
                row.store(held)
            except AnswerError as error:
                refused[row.place] = error
    return refused


def _close(held: Held, closing: Closing, last_timed: datetime | None) -> None:
    """Close a slot once all questions are answered; idempotent."""
    slot = held.slot
    if slot.state == Slot.State.SUBMITTED:
        return
    held.open()
    _refuse_unanswered(held)
    slot.state = Slot.State.SUBMITTED
    slot.submitted_at = timezone.now()
    note_time(slot, closing.seconds, closing.offered_at, last_timed)
    note_sight(slot, closing.in_sight)
    slot.lease_until = None
    store(slot, "state", "submitted_at", "lease_until", *TIMES)
    count_submitted(slot, 1)
    event_log.note_slot(Event.Kind.SLOT_SUBMITTED, slot)


def _refuse_unanswered(held: Held) -> None:
    """Raise unless every question, or every shot of a checklist, is answered."""
    questions = held.questions
    if any(kind_of(question).of_shots for question in questions):
        left = shots_left(held.slot, held.person)
        if left:
            text = ngettext(
                "Not yet looked at: shot %(shots)s.",
                "Not yet looked at: shots %(shots)s.",
                len(left),
            )
            raise AnswerError(text % {"shots": ", ".join(map(str, left))})
    missing = [
        question.title
        for question in questions
        if not kind_of(question).of_shots
        and is_required(question)
        and not any(answer.is_current for answer in held.revisions[question.pk])
    ]
    if missing:
        titles = ", ".join(missing)
        raise AnswerError(_("Not answered yet: %(titles)s.") % {"titles": titles})
