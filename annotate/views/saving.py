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
from annotate.models import Annotator, Slot
from annotate.views.judging import get_slot, store_answer, store_shot
from annotate.views.rate import after_slot, for_annotator, progress

MALFORMED = (AttributeError, KeyError, TypeError, ValueError)
LONGEST_KEY = 40
LONGEST_COMMENT = 4000
MOST_ANSWERS = 2000


class UnreadableError(ValueError):
    """What came is not what the page sends."""


@dataclass(frozen=True)
class Sent:
    """What the browser sends of one story.

    Each answer is a dictionary with `id`, `question`, `value` and `key`; of a checklist
    with `id`, `shot`, `ticked`, `looked` and `key`. `seconds` and
    `shown`, the code of the story on the page by then, come with the submission.
    """

    answers: list[dict[str, Any]]
    comment: str | None
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
        data = json.loads(request.body)
        answers, submit = data.get("answers", []), data.get("submit")
        comment = data.get("comment")
        return Sent(
            [_answer(given) for given in answers[:MOST_ANSWERS]],
            None if comment is None else str(comment).strip()[:LONGEST_COMMENT],
            submit is not None,
            float(submit["seconds"]) if submit else None,
            str(submit.get("shown", "")) if submit else "",
        )
    except (*MALFORMED, RawPostDataException) as error:
        raise UnreadableError(
            "Expected JSON with answers (id, question, value, key) and submit "
            f"(seconds, shown): {error!r}."
        ) from error


def _answer(given: dict[str, Any]) -> dict[str, Any]:
    if "ticked" in given:
        return {
            "id": str(given["id"]),
            "shot": int(given["shot"]),
            "ticked": [str(box) for box in given["ticked"]],
            "looked": given.get("looked") is True,
            "key": str(given["key"])[:LONGEST_KEY],
        }
    return {
        "id": str(given["id"]),
        "question": str(given["question"]),
        "value": str(given["value"]),
        "key": str(given["key"])[:LONGEST_KEY],
    }


def _store(annotator: Annotator, row: Slot, sent: Sent) -> dict[str, str]:
    """Store the answers and the comment; return why some could not be, by id."""
    questions = {question.key: question for question in row.study.questions.all()}
    refused = {}
    for given in sent.answers:
        if "ticked" in given:
            try:
                store_shot(
                    row, annotator, given["shot"], given["ticked"],
                    looked=given["looked"], key=given["key"],
                )  # fmt: skip
            except rating.AnswerError as error:
                refused[given["id"]] = str(error)
            continue
        question = questions.get(given["question"])
        if question is None:
            refused[given["id"]] = _("This question does not exist.")
            continue
        try:
            store_answer(row, annotator, question, given["value"], given["key"])
        except rating.AnswerError as error:
            refused[given["id"]] = str(error)
    if sent.comment is not None:
        try:
            rating.record_comment(slot=row, annotator=annotator, text=sent.comment)
        except rating.AnswerError as error:
            refused["comment"] = str(error)
    return refused


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
