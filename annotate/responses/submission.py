"""Store the rows of a request, submit the slot, and record its time."""

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from typing import NamedTuple, Protocol

from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, F, Q, QuerySet, Subquery, When
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import event_log
from annotate.kinds.base import AnswerError, NotNowError, NotYetError
from annotate.kinds.registry import is_required, kind_of
from annotate.models import Annotator, Event, Flag, Purpose, Slot
from annotate.models.units import OUTPUTS
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
from evalcore.models import Frame

logger = logging.getLogger(__name__)

# The number of attempts if another request changes the slot or an answer.
ATTEMPTS = 3
LONGEST_SECONDS = 24 * 3600
# The clocks of server and browser differ slightly.
TOLERANCE = 1.0
TIMES = ("offered_at", "seconds", "claimed_seconds", "in_sight")


def _timed(annotator: int | None, now: datetime) -> QuerySet[Slot]:
    return Slot.objects.filter(
        annotator=annotator,
        submitted_at__lte=now,
        offered_at__isnull=False,
        seconds__isnull=False,
    )


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
                _timed(annotator, now)
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


def room(
    since: datetime, now: datetime, before: Iterable[tuple[datetime, float]]
) -> float:
    """Return the longest possible time for a story, given those of others."""
    used, left = 0.0, float("inf")
    for at, seconds in sorted([(since, 0.0), *before], reverse=True):
        used += seconds
        if at <= since:
            left = min(left, (now - at).total_seconds() - used)
    return min(max(0.0, left + TOLERANCE), LONGEST_SECONDS)


def note_time(
    held: Slot,
    claimed: float | None,
    offered_at: datetime | None,
    last: datetime | None,
) -> None:
    """Set the time of a locked slot that is being submitted."""
    now = held.submitted_at
    starts = [at for at in (held.offered_at, offered_at) if at is not None]
    held.offered_at = min(starts, default=held.started_at)
    assert now is not None
    assert held.offered_at is not None
    person = held.annotator_id
    if claimed is not None and fits(claimed, held.offered_at, now, last):
        held.seconds = held.claimed_seconds = claimed
        return
    timed = _timed(person, now).values_list("offered_at", "seconds").order_by()
    before = [(at, seconds) for at, seconds in timed if at and seconds is not None]
    most = room(held.offered_at, now, before)
    is_number = claimed is not None and math.isfinite(claimed)
    held.claimed_seconds = claimed if is_number else None
    if held.claimed_seconds is None or held.claimed_seconds > most:
        # The lease may have expired and the slot been taken again.
        events = Event.objects.filter(kind=Event.Kind.SLOT_TAKEN, annotator=person)
        begun = events.filter(slot=held.pk).values_list("at", flat=True)
        held.offered_at = min([held.offered_at, *begun])
        most = room(held.offered_at, now, before)
    held.seconds = most
    if held.claimed_seconds is not None and held.claimed_seconds > 0:
        held.seconds = min(held.claimed_seconds, most)


def fits(claimed: float, since: datetime, now: datetime, last: datetime | None) -> bool:
    """Return whether a time fits into its `room`."""
    left = min((now - since).total_seconds(), LONGEST_SECONDS)
    return 0 < claimed <= left and (last is None or last <= since)


@lru_cache
def _shots_with_picture(number: int) -> Prepared[int]:
    """Return the query for the shots with a picture, for a number of outputs."""

    def build(**outputs: int) -> QuerySet[Frame, int]:
        found = [
            Frame.objects.filter(output=output, media__isnull=False)
            .order_by()
            .values_list("number", flat=True)
            for output in outputs.values()
        ]
        return found[0].union(*found[1:]) if number > 1 else found[0]

    return Prepared(build, **{f"output_{place}": int for place in range(number)})


def note_sight(held: Slot, in_sight: Mapping[int, float] | None) -> None:
    """Set the time in sight of each shot of a locked slot, after its time."""
    if in_sight is None or held.seconds is None:
        return
    stored = (getattr(held.unit, f"{name}_id") for name in OUTPUTS)
    outputs = [output for output in stored if output is not None]
    pictured = _shots_with_picture(len(outputs)).rows(
        **{f"output_{place}": output for place, output in enumerate(outputs)}
    )
    held.in_sight = {
        str(shot): min(max(round(in_sight.get(shot, 0.0), 2), 0.0), held.seconds)
        for shot in sorted(set(pictured))
    }


def time_problem(
    offered_at: datetime | None, claimed: float | None, seconds: float | None
) -> str | None:
    """Return `missing`, `impossible`, or an empty text for a valid time."""
    if offered_at is None or seconds is None:
        return None
    if claimed is None:
        return "missing"
    return "" if 0 < min(claimed, LONGEST_SECONDS) <= seconds else "impossible"


def measured(slot: str = "") -> Case:
    """Return the expression for a slot's time; NULL without a browser's time."""
    was_told = Q(**{f"{slot}offered_at": None}) | Q(**{f"{slot}claimed_seconds__gt": 0})
    return Case(When(was_told, then=F(f"{slot}seconds")))
