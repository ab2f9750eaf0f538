"""Slots of an annotator: take one, submit it."""

from typing import Any

from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api import annotator_serializers
from annotate.api.authentication import (
    InvitationAuthentication,
    IsAnnotator,
)
from annotate.api.base import ApiView
from annotate.api.refusals import Conflict, Refused, TooMuch
from annotate.assignment import choosing
from annotate.kinds.base import AnswerError, BadAnswerError
from annotate.kinds.registry import asks_of_shots
from annotate.models import Annotator, Slot, Study
from annotate.presentation import checklist_sheets, slot_view
from annotate.quality import follow_up
from annotate.responses import checklists, late, submission, writing
from annotate.responses.leasing import lacking


class NextSlot(ApiView):
    """The annotator's next slot."""

    authentication_classes = (InvitationAuthentication,)
    permission_classes = (IsAnnotator,)

    @extend_schema(
        operation_id="slot_take",
        request=None,
        responses={
            200: annotator_serializers.SlotSerializer,
            204: OpenApiResponse(description="no slots left"),
            409: OpenApiResponse(
                description="not possible now: the annotator is paused or has not "
                "consented, or others are rating all remaining slots"
            ),
        },
    )
    def post(self, request: Request) -> Response:
        """Take the next slot; repeated requests return the same one."""
        annotator = request.auth
        if annotator.study.state != Study.State.OPEN:
            raise Conflict("The study is not accepting answers at the moment.")
        _refuse_unprepared(annotator)
        following = choosing.next_for(annotator)
        if following.kind == choosing.Next.STOPPED:
            raise Conflict(
                "This annotator is paused or has been removed from the study."
            )
        if following.kind == choosing.Next.TAKEN:
            minutes = following.minutes
            raise Conflict(
                "Others are rating all remaining slots. Try again in "
                f"{minutes} minutes."
            )
        if following.slot is None:
            return Response(status=204)
        return Response(_shown(annotator, following.slot))


class SubmitSlot(ApiView):
    """Submission of all answers to one slot."""

    authentication_classes = (InvitationAuthentication,)
    permission_classes = (IsAnnotator,)

    @extend_schema(
        operation_id="slot_submit",
        parameters=[OpenApiParameter("code", str, OpenApiParameter.PATH)],
        request=annotator_serializers.AnswersSerializer,
        responses={
            200: annotator_serializers.SubmittedSerializer,
            400: OpenApiResponse(description="unknown question or invalid answer"),
            404: OpenApiResponse(description="this annotator has no such slot"),
            409: OpenApiResponse(
                description="not possible now: the annotator is "
                "paused, somebody else has the slot, or answers are missing"
            ),
            413: OpenApiResponse(
                description="too many answers in one request; nothing was stored"
            ),
        },
    )
    def post(self, request: Request, code: str) -> Response:
        """Store all answers and submit, or store nothing; repeating is harmless."""
        annotator = request.auth
        _refuse_unprepared(annotator)
        slot = Slot.objects.filter(annotator=annotator, code=code).first()
        slot = slot or late.regain(annotator, code, late=True)
        if slot is None:
            raise Http404
        given = annotator_serializers.AnswersSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        number = sum(len(given.validated_data[part]) for part in ("answers", "ticked"))
        if number > writing.MOST_ROWS:
            raise TooMuch(
                f"Send at most {writing.MOST_ROWS} answers and ticked shots in one "
                f"request, not {number}. Nothing was stored."
            )
        asked = [question.key for question in slot.questions]
        unknown = sorted(set(given.validated_data["answers"]) - set(asked))
        if unknown:
            known = ", ".join(asked)
            raise Refused(
                {
                    "answers": f"Unknown question {unknown[0]}. The questions are "
                    f"{known}."
                }
            )
        rows: list[writing.Row] = [
            writing.AnswerRow(question=key, value=value)
            for key, value in given.validated_data["answers"].items()
        ]
        rows += [
            checklists.TicksRow(shot=shot, ticked=frozenset(ticked), looked=True)
            for shot, ticked in given.validated_data["ticked"].items()
        ]
        closing = submission.Closing(given.validated_data.get("seconds"))
        try:
            received = submission.submit(
                annotator, slot.code, rows, closing, follow_up=follow_up, whole=True
            )
        except BadAnswerError as error:
            raise Refused({"answers": str(error)}) from error
        except AnswerError as error:
            raise Conflict(str(error)) from error
        if received is None:
            raise Http404
        slot = received.held.slot
        return Response({"code": slot.code, "state": slot.state})


def _refuse_unprepared(annotator: Annotator) -> None:
    """Raise unless the annotator has consented and read the instructions."""
    if first := lacking(annotator):
        raise Conflict(first)


def _ticked(annotator: Annotator, slot: Slot) -> dict[str, Any]:
    """Return the ticked boxes by shot; empty for other studies."""
    if not asks_of_shots(slot.study):
        return {}
    ticked = checklist_sheets.ticked_boxes(slot, annotator)
    return {"ticked": {str(shot): sorted(keys) for shot, keys in ticked.items()}}


def _shown(annotator: Annotator, slot: Slot) -> dict[str, Any]:
    """Return the slot as annotators see it, without methods."""
    token = annotator.invitation.token
    return {
        "code": slot.code,
        "session": slot.session,
        "lease_until": slot.lease_until,
        "questions": [
            {
                "key": shown.question.key,
                "title": shown.question.title,
                "text": shown.question.text,
                "options": [value for value, _label, _key in shown.options],
                "answer": shown.answer,
            }
            for shown in slot_view.shown_questions(slot)
        ],
        "videos": {
            video.side: reverse("rate-video", args=[token, slot.code, video.side])
            for video in slot_view.shown_videos(slot)
            if video.present
        },
        **_ticked(annotator, slot),
        "shots": [
            {
                "number": shot.number,
                "texts": shot.texts,
                "pictures": {
                    side: reverse(
                        "rate-picture",
                        args=[token, slot.code, side, shot.number, "display"],
                    )
                    for side, present in shot.present.items()
                    if present
                },
            }
            for shot in slot_view.shown_shots(slot)
        ],
    }
