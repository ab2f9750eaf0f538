"""Store what was sent of a slot and close it, with each row locked and read once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, TypeVar

from django.db import IntegrityError, transaction
from django.db.models import Exists, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate import event_log
from annotate.kinds.errors import AnswerError, NotNowError, NotYetError
from annotate.kinds.registry import kind_of
from annotate.models import Annotator, Event, Flag, Slot
from annotate.responses import late_answers
from annotate.responses.giving_back import due
from annotate.responses.leasing import (
    count_submitted,
    lacking,
    locked_annotator,
    own_locked_slot,
    renew,
)
from annotate.responses.places import CLOSED
from annotate.responses.timing import last_submission, note_sight, note_time
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

Result = TypeVar("Result")

# How often a request is tried whose slot, or answer, others change meanwhile.
ATTEMPTS = 3
TIMES = ("offered_at", "seconds", "claimed_seconds", "in_sight")


class Facts(NamedTuple):
    """What submitting needs to know beside the rows that it locks."""

    state: str
    is_warned: bool
    last_timed: datetime | None
    is_due: bool


# Read once all is locked: the study may have closed while that was waited for.
FACTS = Prepared[tuple[str, bool, datetime | None, bool]](
    lambda annotator, now: (
        Annotator.objects.filter(pk=annotator)
        .order_by()
        .values_list(
            "study__state",
            Exists(Flag.unread_warnings(annotator)),
            Subquery(last_submission(annotator, now)),
            Exists(due(now)),
        )
    ),
    annotator=int,
    now=datetime,
)


@dataclass(frozen=True)
class Closing:
    """What comes with a submission: what the browser says of the time, if it does."""

    seconds: float | None = None
    in_sight: Mapping[int, float] | None = None
    offered_at: datetime | None = None


@dataclass
class Received:
    """What became of a request: which rows were refused, and why the slot is open."""

    held: Held
    refused: dict[Place, AnswerError] = field(default_factory=dict)
    problem: AnswerError | None = None
    submitted: bool = False
    facts: Facts | None = None
    next: str = ""


def holding(
    annotator: Annotator,
    code: str,
    work: Callable[[Held], Result],
    *,
    closes: bool,
    late: bool = True,
    proof: str = "",
) -> Result | None:
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
        slot = late_answers.regain(annotator, code, late=late, proof=proof)
        if slot is None:
            return None
        code, is_regained = slot.code, True
    text = _("This answer was changed elsewhere; load the page again.")
    raise NotNowError(text) from clash


def receive(
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


def _store(held: Held, rows: Sequence[Row]) -> dict[Place, AnswerError]:
    """Store the last row of each place; return why some could not be."""
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
    """Close a slot whose questions are all answered; a second time changes nothing."""
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
    """Raise unless every question is answered; of a checklist, for every shot."""
    asked = held.slot.questions
    if any(kind_of(question).of_shots for question in asked):
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
        for question in asked
        if not kind_of(question).of_shots
        and not any(answer.is_current for answer in held.revisions[question.pk])
    ]
    if missing:
        titles = ", ".join(missing)
        raise AnswerError(_("Not answered yet: %(titles)s.") % {"titles": titles})
