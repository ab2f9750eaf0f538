"""What a browser with JavaScript sends of a story, and what it fetches beforehand.

Answers wait in the browser until the server has them, and come once or several times,
late or in bundles; each has a key of its own.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, JsonResponse, RawPostDataException
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate.answers import checklists, writing
from annotate.models import Annotator, Question, Slot
from annotate.next_slot.prefetch import foreseen
from annotate.pages.requests import SeatRequest
from annotate.pages.seat.invitation import after_slot, for_annotator, number_in_session
from annotate.pages.seat.slot import get_slot
from annotate.presentation import broken_media
from annotate.slots import errors, pace
from annotate.submission import consequences, late_answers

MALFORMED = (
    AttributeError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
LONGEST_KEY = 40
MOST_ROWS = 2000


class UnreadableError(ValueError):
    """What came is not what the page sends."""


@dataclass(frozen=True)
class SentAnswers:
    """What the browser sends of one story.

    Each answer has `id`, `key`, and `question` and `value`, or of a checklist `shot`,
    `ticked` and `looked`; a comment has `id` and `text`, the report of a fault `id`,
    `side` and `shot`. With the submission comes the time spent on the story, if the
    browser knows it, and the code of the one on the page by then.
    """

    rows: list[dict[str, Any]]
    submit: bool
    seconds: float | None
    shown: str


@never_cache
@require_POST
@for_annotator
def save(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Store answers, and submit the story if it is done.

    Whatever cannot be stored is named by its id, with the reason and whether that is
    final; the others are stored.
    """
    try:
        sent = _read(request)
    except UnreadableError as error:
        return JsonResponse({"error": str(error)}, status=400)
    proof = request.GET.get("proof", "")
    # The report of a fault is no reason to have the slot.
    is_late = sent.submit or any("side" not in row for row in sent.rows)
    row = get_slot(annotator, code, late=is_late, proof=proof, related=())
    row.study = annotator.study
    refused = _store(annotator, row, sent)
    reply: dict[str, object] = {"refused": refused, "problem": "", "submitted": False}
    if sent.submit and not refused:
        try:
            row = late_answers.despite_loss(
                consequences.submit,
                slot=row,
                annotator=annotator,
                seconds=sent.seconds,
                offered_at=late_answers.offered_at(annotator, code, proof),
                goes_on=True,
            )
            following = after_slot(request, annotator, row, sent.shown)
            reply |= {"submitted": True, "next": following["Location"]}
        except errors.AnswerError as error:
            reply["problem"] = str(error)
    return JsonResponse(reply)


def _read(request: SeatRequest) -> SentAnswers:
    """Return what the browser sent, checked for its shape.

    Raises
    ------
    UnreadableError
        It has another shape.
    """
    try:
        rows = json.loads(request.body)["rows"][:MOST_ROWS]
        submit = next((row for row in rows if row["kind"] == "submit"), None)
        return SentAnswers(
            [READ[row["kind"]](row) for row in rows if row["kind"] != "submit"],
            submit is not None,
            _seconds(submit) if submit else None,
            _text(submit.get("shown", "")) if submit else "",
        )
    except (*MALFORMED, RawPostDataException) as error:
        raise UnreadableError(
            "Expected JSON with rows, each an answer (id, key, question, value), a "
            "comment (id, text), a fault (id, side, shot) or a submit (seconds, "
            f"shown): {error!r}."
        ) from error


def _seconds(submit: dict[str, Any]) -> float | None:
    """Return the time on the page; where none is told, the answers are kept as well."""
    told = submit.get("seconds")
    return None if told is None else float(told)


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    answer = {"id": _text(row["id"]), "key": _text(row["key"])[:LONGEST_KEY]}
    if "ticked" in row:
        return answer | {
            "shot": int(row["shot"]),
            "ticked": [_text(box) for box in row["ticked"]],
            "looked": row.get("looked") is True,
        }
    return answer | {"question": _text(row["question"]), "value": _text(row["value"])}


def _comment(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": _text(row["id"]), "text": _text(row["text"])}


def _fault(row: dict[str, Any]) -> dict[str, Any]:
    shot = int(row["shot"])
    return {"id": _text(row["id"]), "side": _text(row["side"]), "shot": shot}


def _text(value: object) -> str:
    """Return a value as text that a database can store."""
    text = str(value)
    text.encode()
    if "\0" in text:
        raise ValueError("a NUL character in " + repr(text))
    return text


READ = {"answer": _answer, "comment": _comment, "fault": _fault}


def _store(
    annotator: Annotator, row: Slot, sent: SentAnswers
) -> dict[str, dict[str, object]]:
    """Store the answers, comments and reports; return why some could not be, by id."""
    asked = row.study.asked if sent.rows else ()
    questions = {question.key: question for question in asked}
    refused = {}
    for given in sent.rows:
        try:
            work, what = _what_to_do(given, questions)
            late_answers.despite_loss(work, slot=row, annotator=annotator, **what)
        except errors.AnswerError as error:
            final = not isinstance(error, errors.NotNowError)
            refused[given["id"]] = {"why": str(error), "final": final}
    return refused


def _what_to_do(
    given: dict[str, Any], questions: dict[str, Question]
) -> tuple[Callable[..., object], dict[str, object]]:
    """Return what stores a row, and what that needs to know."""
    if "text" in given:
        return writing.record_comment, {"text": given["text"]}
    if "side" in given:
        return broken_media.report, {"side": given["side"], "shot": given["shot"]}
    key = given["key"]
    if "ticked" in given:
        what = {name: given[name] for name in ("shot", "ticked", "looked")}
        return checklists.record_shot, what | {"client_key": key}
    question = questions.get(given["question"])
    if question is None:
        raise errors.BadAnswerError(_("This question does not exist."))
    if not given["value"]:
        return writing.take_back, {"question": question}
    what = {"question": question, "value": given["value"]}
    return writing.record_answer, what | {"client_key": key}


@never_cache
@require_safe
@for_annotator
def ahead(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Name the pages that probably come after this one; nothing is taken.

    Also say whether it is time for a rest.
    """
    row = get_slot(annotator, code)
    number = number_in_session(annotator, row)
    pages = [
        reverse("rate-slot", args=[request.token, slot.code]) + f"?ahead={number + i}"
        for i, slot in enumerate(foreseen(annotator, row), start=1)
    ]
    return JsonResponse({"pages": pages, "rest": pace.needs_rest(annotator)})
