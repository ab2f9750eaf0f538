"""What a browser with JavaScript sends of a story, and what it fetches beforehand."""

import json
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import Any

from django.http import HttpResponse, JsonResponse, RawPostDataException
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate.assignment.choosing import foreseen
from annotate.kinds.errors import NotNowError
from annotate.models import Annotator
from annotate.pages.annotator.invitation import after_slot, for_annotator, go_on_at_once
from annotate.pages.annotator.session_progress import number_in_session
from annotate.pages.annotator.slot import get_slot, missing, remember, was_offered
from annotate.pages.study_views import SeatRequest
from annotate.presentation.broken_media import FaultRow
from annotate.presentation.shot_comments import ShotCommentRow
from annotate.quality import follow_up
from annotate.responses import timing, writing
from annotate.responses.checklists import TicksRow
from annotate.responses.submission import Closing, offered_at
from annotate.responses.writing import AnswerRow, CommentRow, Row

MALFORMED = (
    AttributeError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
Sent = dict[str, Any]

LONGEST_KEY = 40


class UnreadableError(ValueError):
    """What came is not what the page sends."""


class TooManyRowsError(Exception):
    """More rows came in one request than are stored in one transaction."""


@dataclass(frozen=True)
class Sending:
    """What the browser sends of one story."""

    rows: list[Row]
    closing: Closing | None
    shown: str


@never_cache
@require_POST
@for_annotator
def save(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Store answers, and submit the story if it is done."""
    try:
        sent = _read(request)
    except TooManyRowsError as error:
        return JsonResponse({"error": str(error)}, status=413)
    except UnreadableError as error:
        return JsonResponse({"error": str(error)}, status=400)
    is_shown = bool(sent.shown) and was_offered(request, annotator, sent.shown)
    shown = sent.shown if is_shown else ""
    go_on = partial(go_on_at_once, request, annotator, shown=shown)
    proof, closing = request.GET.get("proof", ""), sent.closing
    if closing and proof:
        closing = replace(closing, offered_at=offered_at(annotator, code, proof))
    try:
        received = follow_up.submit(
            annotator, code, sent.rows, closing, proof=proof, go_on=go_on
        )
    except NotNowError as error:
        refused = {row.id: {"why": str(error), "final": False} for row in sent.rows}
        return JsonResponse({"problem": "", "submitted": False, "refused": refused})
    if received is None:
        raise missing(annotator)
    reply: dict[str, object] = {
        "problem": str(received.problem or ""),
        "submitted": received.submitted,
        "refused": {
            row.id: {"why": str(why), "final": not isinstance(why, NotNowError)}
            for row in sent.rows
            if (why := received.refused.get(row.place)) is not None
        },
    }
    if received.submitted:
        reply["next"] = after_slot(request, annotator, received, shown)
    return JsonResponse(reply)


def _read(request: SeatRequest) -> Sending:
    """Return what the browser sent, checked for its shape."""
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
            None if submit is None else _closing(submit),
            "" if submit is None else _text(submit.get("shown", "")),
        )
    except (*MALFORMED, RawPostDataException) as error:
        raise UnreadableError(
            "Expected JSON with rows, each an answer (id, key, question, value), the "
            "boxes of a shot (id, key, shot, ticked, looked), a comment (id, key, "
            "text), a comment on a shot (id, key, side, shot, text), a fault (id, "
            f"side, shot) or a submit (seconds, in_sight, shown): {error!r}."
        ) from error


def _closing(submit: Sent) -> Closing:
    """Return the times that are told; where none are, the answers are kept as well."""
    seconds, in_sight = submit.get("seconds"), submit.get("in_sight")
    if in_sight is not None:
        found = {int(shot): float(told) for shot, told in in_sight.items()}
        in_sight = {shot: told for shot, told in found.items() if isfinite(told)}
    return Closing(None if seconds is None else float(seconds), in_sight)


def _answer(row: Sent) -> Row:
    name, key = _text(row["id"]), _key(row)
    if "ticked" in row:
        return TicksRow(
            id=name,
            client_key=key,
            shot=int(row["shot"]),
            ticked=frozenset(_text(box) for box in row["ticked"]),
            looked=row.get("looked") is True,
        )
    question, value = _text(row["question"]), _text(row["value"])
    return AnswerRow(id=name, client_key=key, question=question, value=value or None)


def _comment(row: Sent) -> Row:
    name, text = _text(row["id"]), _text(row["text"])
    return CommentRow(id=name, client_key=_key(row), text=text)


def _shot_comment(row: Sent) -> Row:
    return ShotCommentRow(
        id=_text(row["id"]),
        client_key=_key(row),
        side=_text(row["side"]),
        shot=int(row["shot"]),
        text=_text(row["text"]),
    )


def _fault(row: Sent) -> Row:
    side, shot = _text(row["side"]), int(row["shot"])
    return FaultRow(id=_text(row["id"]), side=side, shot=shot)


def _key(row: Sent) -> str:
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


@never_cache
@require_safe
@for_annotator
def ahead(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Name the pages that probably come after this one; nothing is taken."""
    row = get_slot(annotator, code)
    number = number_in_session(annotator, row)
    codes = [slot.code for slot in foreseen(annotator, row)]
    links = [reverse("rate-slot", args=[request.token, code]) for code in codes]
    pages = [f"{link}?ahead={number + i}" for i, link in enumerate(links, start=1)]
    reply = JsonResponse({"pages": pages, "rest": timing.needs_rest(annotator)})
    return remember(request, reply, annotator, codes)
