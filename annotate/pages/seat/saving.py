"""What a browser with JavaScript sends of a story, and what it fetches beforehand.

Answers wait in the browser until the server has them, and come once or several times,
late or in bundles; each has a key of its own.
"""

import json
import logging
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any

from django.db import OperationalError, transaction
from django.http import HttpResponse, JsonResponse, RawPostDataException
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate.answers import checklists, story_comments, writing
from annotate.answers.key_presses import sent_before
from annotate.models import Annotator, Slot
from annotate.next_slot.prefetch import foreseen
from annotate.pages.requests import SeatRequest
from annotate.pages.seat import offers
from annotate.pages.seat.invitation import after_slot, for_annotator
from annotate.pages.seat.session_progress import number_in_session
from annotate.pages.seat.slot import get_slot
from annotate.presentation import broken_media, shot_comments
from annotate.quality import monitoring
from annotate.slots import errors, locking, pace
from annotate.submission import consequences, late_answers

logger = logging.getLogger(__name__)

MALFORMED = (
    AttributeError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
Row = dict[str, Any]
Place = tuple[str | int, ...]

LONGEST_KEY = 40


class UnreadableError(ValueError):
    """What came is not what the page sends."""


class TooManyRowsError(Exception):
    """More rows came in one request than are stored in one transaction."""


@dataclass(frozen=True)
class Sent(ABC):
    """A row that the browser sends.

    `id` is the browser's own name for it, `client_key` names the key press.
    """

    id: str
    client_key: str

    @property
    @abstractmethod
    def place(self) -> Place:
        """Return what the row is about; of several, the last one counts."""

    @abstractmethod
    def store(self, slot: Slot, annotator: Annotator) -> None:
        """Store what was sent, or raise why that cannot be."""


@dataclass(frozen=True)
class SentAnswer(Sent):
    """An answer to a question, taken back where the value is empty."""

    question: str
    value: str

    @property
    def place(self) -> Place:
        return "question", self.question

    def store(self, slot: Slot, annotator: Annotator) -> None:
        asked = {question.key: question for question in slot.study.asked}
        question = asked.get(self.question)
        if question is None:
            raise errors.BadAnswerError(_("This question does not exist."))
        if self.value:
            writing.record_answer(
                slot=slot,
                annotator=annotator,
                question=question,
                value=self.value,
                client_key=self.client_key,
            )
        else:
            writing.take_back(
                slot=slot,
                annotator=annotator,
                question=question,
                client_key=self.client_key,
            )


@dataclass(frozen=True)
class SentTicks(Sent):
    """The boxes of one shot of a checklist."""

    shot: int
    ticked: tuple[str, ...]
    looked: bool

    @property
    def place(self) -> Place:
        return "shot", self.shot

    def store(self, slot: Slot, annotator: Annotator) -> None:
        checklists.record_shot(
            slot=slot,
            annotator=annotator,
            shot=self.shot,
            ticked=self.ticked,
            looked=self.looked,
            client_key=self.client_key,
        )


@dataclass(frozen=True)
class SentComment(Sent):
    """What the annotator writes about the story."""

    text: str

    @property
    def place(self) -> Place:
        return ("comment",)

    def store(self, slot: Slot, annotator: Annotator) -> None:
        story_comments.record(
            slot=slot, annotator=annotator, text=self.text, client_key=self.client_key
        )


@dataclass(frozen=True)
class SentShotComment(Sent):
    """What the annotator writes about one shot of an output; empty takes it back."""

    side: str
    shot: int
    text: str

    @property
    def place(self) -> Place:
        return "comment", self.side, self.shot

    def store(self, slot: Slot, annotator: Annotator) -> None:
        texts = {(self.side, self.shot): self.text}
        shot_comments.record(
            slot=slot, annotator=annotator, texts=texts, client_key=self.client_key
        )


@dataclass(frozen=True)
class SentFault(Sent):
    """The report of a picture or video that cannot be seen."""

    side: str
    shot: int

    @property
    def place(self) -> Place:
        return "fault", self.side, self.shot

    def store(self, slot: Slot, annotator: Annotator) -> None:
        broken_media.report(
            slot=slot, annotator=annotator, side=self.side, shot=self.shot
        )


@dataclass(frozen=True)
class Sending:
    """What the browser sends of one story.

    With the submission comes the time spent on the story and for which each of its
    shots was in sight, as far as the browser knows it, and the code of the one on the
    page by then.
    """

    rows: list[Sent]
    submit: bool
    seconds: float | None
    in_sight: dict[int, float] | None
    shown: str


@never_cache
@require_POST
@for_annotator
def save(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Store answers, and submit the story if it is done.

    Whatever cannot be stored is named by its id, with the reason and whether that is
    final; the others are stored. Of several rows about the same question, or shot, the
    last one counts.
    """
    try:
        sent = _read(request)
    except TooManyRowsError as error:
        return JsonResponse({"error": str(error)}, status=413)
    except UnreadableError as error:
        return JsonResponse({"error": str(error)}, status=400)
    proof = request.GET.get("proof", "")
    # The report of a fault is no reason to have the slot.
    is_late = sent.submit or any(not isinstance(row, SentFault) for row in sent.rows)
    row = get_slot(annotator, code, late=is_late, proof=proof, related=())
    row.study = annotator.study
    shown = sent.shown if offers.was_offered(request, annotator, sent.shown) else ""
    reply: dict[str, object] = {"problem": "", "submitted": False}
    # One after the other they would wait for the disk, and for each other, each time.
    with transaction.atomic():
        person = locking.lock_to_submit(row, annotator) if sent.submit else None
        reply["refused"] = refused = _store(annotator, row, sent.rows, person)
        if sent.submit and not refused:
            offered_at = late_answers.offered_at(annotator, code, proof)
            try:
                row = _close(annotator, row, sent, offered_at, person)
                reply["submitted"] = True
            except errors.AnswerError as error:
                reply["problem"] = str(error)
        following = None
        if reply["submitted"] and not annotator.study.rules:
            following = _next_at_once(request, annotator, row, shown, person)
        if transaction.get_rollback():
            # The database ended it by itself, and Django would not say so.
            raise OperationalError("The answers were taken back by the database.")
    if reply["submitted"]:
        if following is None:
            monitoring.look(annotator)
            following = after_slot(request, annotator, row, shown)
        reply["next"] = following
    return JsonResponse(reply)


def _next_at_once(
    request: SeatRequest,
    annotator: Annotator,
    row: Slot,
    shown: str,
    person: Annotator | None,
) -> str | None:
    """Go on in the transaction of the answers; None: that is still to be done.

    Whatever fails here must not take the answers back: it is tried again, and told,
    when they are stored.
    """
    try:
        with transaction.atomic():
            return after_slot(request, annotator, row, shown, person)
    except Exception:
        logger.exception("The answers are stored first, and the next slot then.")
        return None


def _close(
    annotator: Annotator,
    slot: Slot,
    sent: Sending,
    offered_at: datetime | None,
    person: Annotator | None,
) -> Slot:
    return late_answers.despite_loss(
        consequences.close,
        slot=slot,
        annotator=annotator,
        seconds=sent.seconds,
        in_sight=sent.in_sight,
        offered_at=offered_at,
        goes_on=True,
        person=person,
    )


def _read(request: SeatRequest) -> Sending:
    """Return what the browser sent, checked for its shape.

    Raises
    ------
    UnreadableError
        It has another shape.
    TooManyRowsError
        It has the shape, but too many rows.
    """
    try:
        rows = json.loads(request.body)["rows"]
        if len(rows) > writing.MOST_ROWS:
            raise TooManyRowsError(
                f"Expected at most {writing.MOST_ROWS} rows in one request, "
                f"not {len(rows)}; nothing was stored. Send them in several requests."
            )
        submit = next((row for row in rows if row["kind"] == "submit"), None)
        return Sending(
            [READ[row["kind"]](row) for row in rows if row["kind"] != "submit"],
            submit is not None,
            _seconds(submit) if submit else None,
            _in_sight(submit) if submit else None,
            _text(submit.get("shown", "")) if submit else "",
        )
    except (*MALFORMED, RawPostDataException) as error:
        raise UnreadableError(
            "Expected JSON with rows, each an answer (id, key, question, value), the "
            "boxes of a shot (id, key, shot, ticked, looked), a comment (id, key, "
            "text), a comment on a shot (id, key, side, shot, text), a fault (id, "
            f"side, shot) or a submit (seconds, in_sight, shown): {error!r}."
        ) from error


def _seconds(submit: Row) -> float | None:
    """Return the time on the page; where none is told, the answers are kept as well."""
    told = submit.get("seconds")
    return None if told is None else float(told)


def _in_sight(submit: Row) -> dict[int, float] | None:
    """Return the seconds for which each shot was in sight; None where none is told."""
    told = submit.get("in_sight")
    if told is None:
        return None
    found = {int(shot): float(seconds) for shot, seconds in told.items()}
    return {shot: seconds for shot, seconds in found.items() if isfinite(seconds)}


def _answer(row: Row) -> Sent:
    name, key = _text(row["id"]), _key(row)
    if "ticked" not in row:
        return SentAnswer(name, key, _text(row["question"]), _text(row["value"]))
    ticked = tuple(_text(box) for box in row["ticked"])
    return SentTicks(name, key, int(row["shot"]), ticked, row.get("looked") is True)


def _comment(row: Row) -> Sent:
    return SentComment(_text(row["id"]), _key(row), _text(row["text"]))


def _shot_comment(row: Row) -> Sent:
    name, side = _text(row["id"]), _text(row["side"])
    return SentShotComment(name, _key(row), side, int(row["shot"]), _text(row["text"]))


def _fault(row: Row) -> Sent:
    return SentFault(_text(row["id"]), "", _text(row["side"]), int(row["shot"]))


def _key(row: Row) -> str:
    return _text(row["key"])[:LONGEST_KEY]


def _text(value: object) -> str:
    """Return a value as text that a database can store."""
    text = str(value)
    text.encode()
    if "\0" in text:
        raise ValueError("a NUL character in " + repr(text))
    return text


READ = {
    "answer": _answer,
    "comment": _comment,
    "shot_comment": _shot_comment,
    "fault": _fault,
}


def _store(
    annotator: Annotator, slot: Slot, rows: Iterable[Sent], person: Annotator | None
) -> dict[str, dict[str, object]]:
    """Store what was sent; return why some of it could not be, by id.

    Answers to several questions are stored at once; where one of them cannot be, each
    is tried by itself. Rows that a later one overtakes share its fate.
    """
    refused: dict[str, dict[str, object]] = {}
    ids: dict[Place, list[str]] = defaultdict(list)
    last: dict[Place, Sent] = {}
    for row in rows:
        ids[row.place].append(row.id)
        before = last.get(row.place)
        if before is None or not sent_before(row.client_key, [before]):
            last[row.place] = row
    counting = list(last.values())
    if not counting or _store_at_once(annotator, slot, counting, person):
        return refused
    for row in counting:
        try:
            late_answers.despite_loss(row.store, slot=slot, annotator=annotator)
        except errors.AnswerError as error:
            final = not isinstance(error, errors.NotNowError)
            why = {"why": str(error), "final": final}
            refused |= dict.fromkeys(ids[row.place], why)
    return refused


def _store_at_once(
    annotator: Annotator, slot: Slot, rows: list[Sent], person: Annotator | None
) -> bool:
    """Store rows that are answers to different questions; say whether that was done."""
    asked = {question.key: question for question in slot.study.asked}
    given = [
        writing.GivenAnswer(asked[row.question], row.value, row.client_key)
        for row in rows
        if isinstance(row, SentAnswer) and row.value and row.question in asked
    ]
    if not len({answer.question.pk for answer in given}) == len(given) == len(rows):
        return False
    try:
        writing.record_answers(
            slot=slot, annotator=annotator, given=given, person=person
        )
    except errors.AnswerError:
        return False
    return True


@never_cache
@require_safe
@for_annotator
def ahead(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Name the pages that probably come after this one; nothing is taken.

    Also say whether it is time for a rest.
    """
    row = get_slot(annotator, code)
    number = number_in_session(annotator, row)
    codes = [slot.code for slot in foreseen(annotator, row)]
    links = [reverse("rate-slot", args=[request.token, code]) for code in codes]
    pages = [f"{link}?ahead={number + i}" for i, link in enumerate(links, start=1)]
    reply = JsonResponse({"pages": pages, "rest": pace.needs_rest(annotator)})
    return offers.remember(request, reply, annotator, codes)
