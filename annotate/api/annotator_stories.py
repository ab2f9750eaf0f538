"""Stories of a session: take, draft, submit, skip."""

from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api import annotator_serializers as sent
from annotate.api import annotator_standing
from annotate.api.annotator import (
    NOT_NOW,
    SessionView,
    again,
    next_step,
    refuse_unprepared,
    reply_of,
)
from annotate.api.base import read
from annotate.api.refusals import Conflict, Refused, TooMuch
from annotate.assignment import choosing
from annotate.kinds.base import AnswerError, BadAnswerError, SlotTakenError
from annotate.models import Annotator, Purpose, Slot
from annotate.people.status import stop_text
from annotate.presentation.broken_media import FaultRow
from annotate.presentation.shot_comments import ShotCommentRow
from annotate.quality import follow_up, monitoring
from annotate.responses import checklists, late, leasing, submission, writing
from annotate.responses.leasing import lacking

NO_STORY = OpenApiResponse(description="this annotator has no such story")


class NextStory(SessionView):
    """The annotator's next story."""

    @extend_schema(
        operation_id="take_story",
        tags=["session"],
        request=None,
        responses={200: sent.TakenSerializer, 409: NOT_NOW},
    )
    def post(self, request: Request) -> Response:
        """Take the next story; repeated requests return the same one."""
        person = request.auth
        refuse_unprepared(person)
        if monitoring.unread_warning(person) is None:
            following = choosing.next_for(person)
            person = again(person)
            slot = following.slot
            if following.taken and slot is not None:
                reply = annotator_standing.of_slot(person, slot)
                reply["story"] = annotator_standing.story(person, slot)
                return Response(sent.TakenSerializer(reply).data)
        reply = annotator_standing.standing(again(person)) | {"story": None}
        return Response(sent.TakenSerializer(reply).data)


class Story(SessionView):
    """A story that the annotator has taken."""

    @extend_schema(
        operation_id="get_story",
        tags=["session"],
        responses={200: sent.TakenStorySerializer, 404: NO_STORY, 409: NOT_NOW},
    )
    def get(self, request: Request, code: str) -> Response:
        """Return the story with the answers given so far."""
        person = request.auth
        slot = _own(person, code)
        shown = annotator_standing.story(person, slot)
        return Response(sent.TakenStorySerializer(shown).data)


class Heartbeat(SessionView):
    """A sign that the annotator is at work on a story."""

    @extend_schema(
        operation_id="keep_story",
        tags=["session"],
        request=None,
        responses={200: sent.SavedSerializer, 404: NO_STORY, 409: NOT_NOW},
    )
    def post(self, request: Request, code: str) -> Response:
        """Renew the lease of the story."""
        slot = _own(request.auth, code)
        if not leasing.heartbeat(slot, request.auth):
            raise Conflict(stop_text("gone"))
        slot.refresh_from_db()
        return Response(sent.SavedSerializer(slot).data)


class Draft(SessionView):
    """Answers to a story that are not submitted yet."""

    @extend_schema(
        operation_id="draft_answers",
        tags=["session"],
        request=sent.DraftSerializer,
        responses={
            200: sent.SavedSerializer,
            400: OpenApiResponse(description="unknown question or invalid answer"),
            404: NO_STORY,
            409: NOT_NOW,
            413: OpenApiResponse(description="too many answers; nothing was stored"),
        },
    )
    def post(self, request: Request, code: str) -> Response:
        """Store answers, comments and reports of faults; all, or nothing."""
        received = _receive(request, code, sent.DraftSerializer)
        return Response(sent.SavedSerializer(received.held.slot).data)


class Submit(SessionView):
    """Submission of all answers to one story."""

    @extend_schema(
        operation_id="submit_answers",
        tags=["session"],
        request=sent.AnswersSerializer,
        responses={
            200: sent.SubmittedSerializer,
            400: OpenApiResponse(description="unknown question or invalid answer"),
            404: NO_STORY,
            409: NOT_NOW,
            413: OpenApiResponse(description="too many answers; nothing was stored"),
        },
    )
    def post(self, request: Request, code: str) -> Response:
        """Store all answers and submit, or store nothing; repeating is harmless."""
        received = _receive(request, code, sent.AnswersSerializer)
        slot, person = received.held.slot, again(request.auth)
        reply = annotator_standing.standing(person) | {
            "code": slot.code,
            "state": slot.state,
            "feedback": annotator_standing.feedback(person, slot),
        }
        return Response(sent.SubmittedSerializer(reply).data)


class Skip(SessionView):
    """Refusal of a story."""

    @next_step("skip_story", asks=sent.SkipSerializer)
    def post(self, request: Request, code: str) -> Response:
        """Skip a story, with a reason."""
        person = request.auth
        slot = _own(person, code)
        given = read(sent.SkipSerializer, request)
        if slot.purpose == Purpose.TRAINING:
            raise Conflict(_("The stories of the training round cannot be skipped."))
        try:
            follow_up.skip(slot=slot, annotator=person, **given)
        except BadAnswerError as error:
            raise Refused({"comment": str(error)}) from error
        except SlotTakenError as error:
            text = _("This answer is closed and cannot be changed.")
            raise Conflict(text) from error
        return reply_of(person)


def _own(person: Annotator, code: str, *, is_late: bool = False) -> Slot:
    """Return the annotator's story of a code, or raise `Http404`."""
    refuse_unprepared(person)
    own = Slot.objects.filter(annotator=person, code=code)
    slot = own.exclude(state__in=leasing.CLOSED).first()
    slot = slot or late.regain(person, code, late=is_late)
    if slot is None and late.shows_replaced(person.study, code):
        raise Conflict(stop_text("replaced"))
    if slot is None:
        raise Http404
    if first := lacking(person, slot.purpose):
        raise Conflict(first)
    return slot


def _receive(
    request: Request, code: str, serializer: type[sent.DraftSerializer]
) -> submission.Received:
    """Store what was sent of a story, and submit it if it is complete."""
    person = request.auth
    slot = _own(person, code, is_late=True)
    given = read(serializer, request)
    rows = _rows(given)
    if len(rows) > writing.MOST_ROWS:
        raise TooMuch(
            f"Send at most {writing.MOST_ROWS} answers and ticked shots in one "
            f"request, not {len(rows)}. Nothing was stored."
        )
    asked = [question.key for question in slot.questions]
    if unknown := sorted(set(given["answers"]) - set(asked)):
        known = ", ".join(asked)
        text = f"Unknown question {unknown[0]}. The questions are {known}."
        raise Refused({"answers": text})
    closing = None
    if serializer is sent.AnswersSerializer:
        closing = submission.Closing(given.get("seconds"), given.get("in_sight"))
    try:
        received = submission.submit(
            person, slot.code, rows, closing, follow_up=follow_up, whole=True
        )
    except BadAnswerError as error:
        raise Refused({"answers": str(error)}) from error
    except AnswerError as error:
        raise Conflict(str(error)) from error
    if received is None:
        raise Http404
    return received


def _rows(given: dict[str, Any]) -> list[writing.Row]:
    rows: list[writing.Row] = [
        writing.AnswerRow(question=key, value=value or None)
        for key, value in given["answers"].items()
    ]
    rows += [
        checklists.TicksRow(shot=shot, ticked=frozenset(ticked), looked=True)
        for shot, ticked in given["ticked"].items()
    ]
    if "comment" in given:
        rows.append(writing.CommentRow(text=given["comment"]))
    rows += [ShotCommentRow(**one) for one in given["shot_comments"]]
    return rows + [FaultRow(**one) for one in given["faults"]]
