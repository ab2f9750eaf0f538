"""What a browser with JavaScript sends of a story, and what it fetches beforehand.

Answers wait in the browser until the server has them, and come once or several times,
late or in bundles; each has a key of its own.
"""

import json
from dataclasses import dataclass
from typing import Any

from django.http import (
    HttpRequest,
    HttpResponse,
    JsonResponse,
    RawPostDataException,
)
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate import faults, finishing, rating, regaining
from annotate.choosing.foreseeing import foreseen
from annotate.models import Annotator, Question, Slot
from annotate.views.judging import get_slot, store_answer, store_shot
from annotate.views.rate import after_slot, for_annotator, progress

MALFORMED = (
    AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError,
)  # fmt: skip
LONGEST_KEY = 40
LONGEST_COMMENT = 4000
MOST_ROWS = 2000


class UnreadableError(ValueError):
    """What came is not what the page sends."""


@dataclass(frozen=True)
class Sent:
    """What the browser sends of one story.

    Each answer has `id`, `key`, and `question` and `value`, or of a checklist `shot`,
    `ticked` and `looked`; a comment has `id` and `text`. With the submission comes the
    time spent on the story and the code of the one on the page by then.
    """

    answers: list[dict[str, Any]]
    comments: list[dict[str, str]]
    submit: bool
    seconds: float | None
    shown: str


@never_cache
@require_POST
@for_annotator
def save(request: HttpRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Store answers, and submit the story if it is done.

    Every answer that cannot be stored is named with the reason; the others are stored.
    """
    try:
        sent = _read(request)
    except UnreadableError as error:
        return JsonResponse({"error": str(error)}, status=400)
    proof = request.GET.get("proof", "")
    row = get_slot(annotator, code, late=True, proof=proof)
    refused = _store(annotator, row, sent)
    reply: dict[str, object] = {"refused": refused, "problem": "", "submitted": False}
    if sent.submit and not refused:
        try:
            row = regaining.despite_loss(
                annotator,
                row,
                lambda slot: finishing.submit(
                    slot=slot, annotator=annotator, seconds=sent.seconds
                ),
            )
            following = after_slot(request, annotator, row, sent.shown)
            reply |= {"submitted": True, "next": following["Location"]}
        except rating.AnswerError as error:
            reply["problem"] = str(error)
    return JsonResponse(reply)


def _read(request: HttpRequest) -> Sent:
    """Return what the browser sent, checked for its shape.

    Raises
    ------
    UnreadableError
        It has another shape.
    """
    try:
        rows = json.loads(request.body)["rows"][:MOST_ROWS]
        submit = next((row for row in rows if row["kind"] == "submit"), None)
        return Sent(
            [_answer(row) for row in rows if row["kind"] == "answer"],
            [_comment(row) for row in rows if row["kind"] == "comment"],
            submit is not None,
            float(submit["seconds"]) if submit else None,
            _text(submit.get("shown", "")) if submit else "",
        )
    except (*MALFORMED, RawPostDataException) as error:
        raise UnreadableError(
            "Expected JSON with rows, each an answer (id, key, question, value), a "
            f"comment (id, text) or a submit (seconds, shown): {error!r}."
        ) from error


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    answer = {"id": _text(row["id"]), "key": _text(row["key"])[:LONGEST_KEY]}
    if "ticked" in row:
        return answer | {
            "shot": int(row["shot"]),
            "ticked": [_text(box) for box in row["ticked"]],
            "looked": row.get("looked") is True,
        }
    return answer | {"question": _text(row["question"]), "value": _text(row["value"])}


def _comment(row: dict[str, Any]) -> dict[str, str]:
    return {
        "id": _text(row["id"]),
        "text": _text(row["text"]).strip()[:LONGEST_COMMENT],
    }


def _text(value: object) -> str:
    """Return a value as text that a database can store."""
    text = str(value)
    text.encode()
    if "\0" in text:
        raise ValueError("a NUL character in " + repr(text))
    return text


def _store(annotator: Annotator, row: Slot, sent: Sent) -> dict[str, str]:
    """Store the answers and the comment; return why some could not be, by id."""
    questions = {question.key: question for question in row.study.questions.all()}
    refused = {}
    for given in (*sent.answers, *sent.comments):
        try:
            _store_one(annotator, row, given, questions)
        except rating.AnswerError as error:
            refused[given["id"]] = str(error)
    return refused


def _store_one(
    annotator: Annotator,
    row: Slot,
    given: dict[str, Any],
    questions: dict[str, Question],
) -> None:
    if "text" in given:
        rating.record_comment(slot=row, annotator=annotator, text=given["text"])
    elif "ticked" in given:
        store_shot(
            row, annotator, given["shot"], given["ticked"],
            looked=given["looked"], key=given["key"],
        )  # fmt: skip
    else:
        question = questions.get(given["question"])
        if question is None:
            raise rating.AnswerError(_("This question does not exist."))
        store_answer(row, annotator, question, given["value"], given["key"])


@never_cache
@require_safe
@for_annotator
def ahead(request: HttpRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Name the pages that probably come after this one; nothing is taken."""
    row = get_slot(annotator, code)
    number = progress(annotator, row)["number"]
    pages = [
        reverse("rate-slot", args=[request.token, slot.code]) + f"?ahead={number + i}"
        for i, slot in enumerate(foreseen(annotator, row), start=1)
    ]
    return JsonResponse({"pages": pages})


@never_cache
@require_POST
@for_annotator
def report(request: HttpRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Note that a picture or video is broken; the story can be judged all the same."""
    row = get_slot(annotator, code)
    side, shot = request.POST.get("side", ""), request.POST.get("shot", "0")
    try:
        faults.report(row, annotator, side=side, shot=int(shot))
    except ValueError as error:
        return JsonResponse({"error": str(error)}, status=400)
    return HttpResponse(status=204)
