"""A whole annotation session: join, agree, rate, finish, withdraw."""

from collections.abc import Callable
from typing import Any

from django.http import Http404
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from annotate.access import rate_limits
from annotate.api import annotator_serializers as sent
from annotate.api import annotator_standing
from annotate.api.authentication import InvitationAuthentication, IsAnnotator
from annotate.api.base import ApiView, read
from annotate.api.refusals import Conflict, Gone, Refused, TooMuch
from annotate.assignment import choosing
from annotate.kinds.base import AnswerError, BadAnswerError, SlotTakenError
from annotate.models import Annotator, JoinLink, Purpose, Slot, new_token
from annotate.people import consenting, devices, joining, outcomes, places, visits
from annotate.people.places import JoiningError
from annotate.people.status import ENDED, stop_text, why_stopped
from annotate.personal_data import erasing
from annotate.presentation.broken_media import FaultRow
from annotate.presentation.shot_comments import ShotCommentRow
from annotate.quality import follow_up, monitoring
from annotate.responses import checklists, late, leasing, submission, writing
from annotate.responses.leasing import lacking
from evalcore.serving import log

NOT_NOW = OpenApiResponse(
    description="not possible now; `next` says what to do, `detail` why"
)
NO_STORY = OpenApiResponse(description="this annotator has no such story")


def _next(name: str, *, asks: type[Serializer] | None = None) -> Callable[..., Any]:
    """Describe an operation whose reply says what to do next."""
    responses = {200: sent.StandingSerializer, 409: NOT_NOW}
    return extend_schema(
        operation_id=name, request=asks, responses=responses, tags=["session"]
    )


class SessionView(ApiView):
    """A view of an annotator, with the token of the personal link."""

    authentication_classes = (InvitationAuthentication,)
    permission_classes = (IsAnnotator,)
    # Whether somebody whose link was revoked may call it, too.
    is_for_all = False

    def check_access(self, request: Request) -> None:
        why = why_stopped(request.auth.invitation)
        if why and not self.is_for_all:
            raise _stopped(why)

    def handle_exception(self, exc: Exception) -> Response:
        """Add to a conflict what the annotator does next."""
        response = super().handle_exception(exc)
        person = self.request.auth
        if isinstance(exc, Conflict | Gone) and person is not None:
            standing = annotator_standing.standing(_again(person))
            response.data = {**response.data, "next": standing["next"]}
        return response


def _stopped(why: str) -> Conflict | Gone:
    """Return the refusal for somebody whose link is no use any more, or not now."""
    return (Gone if why in ENDED else Conflict)(stop_text(why))


def _again(person: Annotator) -> Annotator:
    """Return the annotator as stored now."""
    rows = Annotator.objects.select_related("study", "invitation")
    return rows.get(pk=person.pk)


def _reply(person: Annotator) -> Response:
    standing = annotator_standing.standing(_again(person))
    return Response(sent.StandingSerializer(standing).data)


class Join(APIView):
    """The start of a session by a public link."""

    authentication_classes = ()
    permission_classes = ()

    @extend_schema(
        operation_id="join_study",
        tags=["session"],
        request=sent.JoinSerializer,
        responses={
            200: sent.JoinedSerializer,
            201: sent.JoinedSerializer,
            404: OpenApiResponse(description="no such link"),
            409: OpenApiResponse(description="nobody, or not this person, can join"),
        },
        parameters=[OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
    )
    def post(self, request: Request) -> Response:
        """Join a study by its public link, or come back to it.

        With an `Idempotency-Key`, a repeated request returns the same annotator.
        """
        given = read(sent.JoinSerializer, request)
        links = JoinLink.objects.select_related("study")
        link = links.filter(token=given["link"]).first()
        if link is None:
            if seconds := rate_limits.note_wrong(request._request):
                raise Throttled(wait=seconds)
            raise Http404
        log.note(study=link.study.slug)
        try:
            person, is_new = _joined(link, given, request)
        except JoiningError as error:
            raise Conflict(str(error)) from error
        person = _again(person)
        reply = annotator_standing.standing(person)
        reply["token"] = person.invitation.token
        return Response(
            sent.JoinedSerializer(reply).data,
            status=201 if is_new else 200,
            headers={"Location": reverse("api-session")},
        )


def _joined(
    link: JoinLink, given: dict[str, Any], request: Request
) -> tuple[Annotator, bool]:
    """Return the annotator of this person, and whether they are new."""
    came = visits.arrival(link.study, given["parameters"])
    visits.note_unknown(link, came)
    if came.is_preview:
        raise JoiningError(_("This is a preview. Accept the task first."))
    if link.study.recruitment.get("require_id") and not came.external_id:
        raise JoiningError(_("This link lacks the participant ID of the platform."))
    browser = devices.browser(given["device"] or new_token(), link.study_id)
    person = joining.find_joined(link.study, came.external_id)
    if person is None:
        new = joining.join(
            link,
            came,
            browser=browser,
            language=given["language"],
            page=request.headers.get("Idempotency-Key", ""),
            address=rate_limits.client_address(request._request),
        )
        return new, True
    if not (link.any_device or visits.is_known(person, browser, came.session)):
        raise JoiningError(_("This person has joined on another device."))
    visits.record(person, browser, came)
    attempt = outcomes.last_attempt(person) if came.submit_to else None
    if attempt is not None and attempt.session != came.session:
        raise JoiningError(
            _("You have already finished this study in another task. Return this one.")
        )
    return person, False


class Session(SessionView):
    """The annotator's next step."""

    is_for_all = True

    @_next("get_session")
    def get(self, request: Request) -> Response:
        return _reply(request.auth)


class Consent(SessionView):
    """The annotator's decision to take part."""

    @_next("answer_consent", asks=sent.ConsentSerializer)
    def post(self, request: Request) -> Response:
        """Agree to the text that was shown, or decline."""
        given, person = read(sent.ConsentSerializer, request), request.auth
        if not given["agree"]:
            if not places.decline(person):
                raise Conflict(_("You have agreed already. You can still withdraw."))
            return _reply(person)
        if given["version"] != person.study.consent_version:
            raise Conflict(
                _("The text was corrected while you read it. Please read it again.")
            )
        language = (translation.get_language() or "").split("-")[0]
        consenting.agree(person, language)
        return _reply(person)


class Instructions(SessionView):
    """The instructions of the study."""

    @extend_schema(
        operation_id="get_instructions",
        tags=["session"],
        responses={200: sent.InstructionsSerializer, 409: NOT_NOW},
    )
    def get(self, request: Request) -> Response:
        """Return the instructions, the questions and their examples."""
        person = request.auth
        if person.consented_at is None:
            raise Conflict(lacking(person))
        told = {
            "text": person.study.instructions_text,
            "questions": annotator_standing.explained(person),
        }
        return Response(sent.InstructionsSerializer(told).data)

    @_next("confirm_instructions")
    def post(self, request: Request) -> Response:
        """Confirm that the instructions were read."""
        if request.auth.consented_at is None:
            raise Conflict(lacking(request.auth))
        consenting.begin(request.auth)
        return _reply(request.auth)


class Warned(SessionView):
    """A warning of a quality rule."""

    @_next("confirm_warning")
    def post(self, request: Request) -> Response:
        """Confirm that the warning was read; repeating is harmless."""
        if (flag := monitoring.unread_warning(request.auth)) is not None:
            monitoring.confirm_warning(flag)
        return _reply(request.auth)


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
        _refuse_unprepared(person)
        if monitoring.unread_warning(person) is None:
            following = choosing.next_for(person)
            person = _again(person)
            slot = following.slot
            if following.taken and slot is not None:
                reply = annotator_standing.of_slot(person, slot)
                reply["story"] = annotator_standing.story(person, slot)
                return Response(sent.TakenSerializer(reply).data)
        reply = annotator_standing.standing(_again(person)) | {"story": None}
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
        slot, person = received.held.slot, _again(request.auth)
        reply = annotator_standing.standing(person) | {
            "code": slot.code,
            "state": slot.state,
            "feedback": annotator_standing.feedback(person, slot),
        }
        return Response(sent.SubmittedSerializer(reply).data)


class Skip(SessionView):
    """Refusal of a story."""

    @_next("skip_story", asks=sent.SkipSerializer)
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
        return _reply(person)


class Finish(SessionView):
    """The end of the annotator's work."""

    @_next("finish_session")
    def post(self, request: Request) -> Response:
        """Finish early, if `may_finish`; unfinished stories go to others."""
        _refuse_unprepared(request.auth)
        outcomes.finish_if_done(request.auth, wanted=True)
        return _reply(request.auth)


class Withdraw(SessionView):
    """The end of the annotator's consent."""

    is_for_all = True

    @_next("withdraw_from_study", asks=sent.WithdrawSerializer)
    def post(self, request: Request) -> Response:
        """Withdraw, with or without the submitted answers."""
        person = request.auth
        may_change = person.withdrawn_at and not person.answers_withdrawn
        is_revoked = person.invitation.revoked_at is not None
        if is_revoked and (person.erased_at or not may_change):
            raise _stopped(why_stopped(person.invitation))
        given = read(sent.WithdrawSerializer, request)
        erasing.withdraw(person, answers=given["answers"] == "leave_out")
        return _reply(person)


class Return(SessionView):
    """The way back of somebody who left or declined."""

    is_for_all = True

    @_next("return_to_study")
    def post(self, request: Request) -> Response:
        """Take a place again, if `may_return`."""
        person, invitation = request.auth, request.auth.invitation
        if invitation.revoked_at and not places.may_come_back(person):
            raise _stopped(why_stopped(invitation))
        try:
            places.come_back(person)
        except JoiningError as error:
            raise Conflict(str(error)) from error
        return _reply(person)


def _refuse_unprepared(person: Annotator) -> None:
    """Raise unless the annotator has consented and read the instructions."""
    if first := lacking(person):
        raise Conflict(first)


def _own(person: Annotator, code: str, *, is_late: bool = False) -> Slot:
    """Return the annotator's story of a code, or raise `Http404`."""
    _refuse_unprepared(person)
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
