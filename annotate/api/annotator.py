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
from annotate.api.refusals import Conflict, Gone
from annotate.models import Annotator, JoinLink, new_token
from annotate.people import consenting, devices, joining, outcomes, places, visits
from annotate.people.places import JoiningError
from annotate.people.status import ENDED, stop_text, why_stopped
from annotate.personal_data import erasing
from annotate.quality import monitoring
from annotate.responses.leasing import lacking
from evalcore.serving import log

NOT_NOW = OpenApiResponse(
    description="not possible now; `next` says what to do, `detail` why"
)


def next_step(name: str, *, asks: type[Serializer] | None = None) -> Callable[..., Any]:
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
            standing = annotator_standing.standing(again(person))
            response.data = {**response.data, "next": standing["next"]}
        return response


def _stopped(why: str) -> Conflict | Gone:
    """Return the refusal for somebody whose link is no use any more, or not now."""
    return (Gone if why in ENDED else Conflict)(stop_text(why))


def again(person: Annotator) -> Annotator:
    """Return the annotator as stored now."""
    rows = Annotator.objects.select_related("study", "invitation")
    return rows.get(pk=person.pk)


def reply_of(person: Annotator) -> Response:
    standing = annotator_standing.standing(again(person))
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
        person = again(person)
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

    @next_step("get_session")
    def get(self, request: Request) -> Response:
        return reply_of(request.auth)


class Consent(SessionView):
    """The annotator's decision to take part."""

    @next_step("answer_consent", asks=sent.ConsentSerializer)
    def post(self, request: Request) -> Response:
        """Agree to the text that was shown, or decline."""
        given, person = read(sent.ConsentSerializer, request), request.auth
        if not given["agree"]:
            if not places.decline(person):
                raise Conflict(_("You have agreed already. You can still withdraw."))
            return reply_of(person)
        if given["version"] != person.study.consent_version:
            raise Conflict(
                _("The text was corrected while you read it. Please read it again.")
            )
        language = (translation.get_language() or "").split("-")[0]
        consenting.agree(person, language)
        return reply_of(person)


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

    @next_step("confirm_instructions")
    def post(self, request: Request) -> Response:
        """Confirm that the instructions were read."""
        if request.auth.consented_at is None:
            raise Conflict(lacking(request.auth))
        consenting.begin(request.auth)
        return reply_of(request.auth)


class Warned(SessionView):
    """A warning of a quality rule."""

    @next_step("confirm_warning")
    def post(self, request: Request) -> Response:
        """Confirm that the warning was read; repeating is harmless."""
        if (flag := monitoring.unread_warning(request.auth)) is not None:
            monitoring.confirm_warning(flag)
        return reply_of(request.auth)


class Finish(SessionView):
    """The end of the annotator's work."""

    @next_step("finish_session")
    def post(self, request: Request) -> Response:
        """Finish early, if `may_finish`; unfinished stories go to others."""
        refuse_unprepared(request.auth)
        outcomes.finish_if_done(request.auth, wanted=True)
        return reply_of(request.auth)


class Withdraw(SessionView):
    """The end of the annotator's consent."""

    is_for_all = True

    @next_step("withdraw_from_study", asks=sent.WithdrawSerializer)
    def post(self, request: Request) -> Response:
        """Withdraw, with or without the submitted answers."""
        person = request.auth
        may_change = person.withdrawn_at and not person.answers_withdrawn
        is_revoked = person.invitation.revoked_at is not None
        if is_revoked and (person.erased_at or not may_change):
            raise _stopped(why_stopped(person.invitation))
        given = read(sent.WithdrawSerializer, request)
        erasing.withdraw(person, answers=given["answers"] == "leave_out")
        return reply_of(person)


class Return(SessionView):
    """The way back of somebody who left or declined."""

    is_for_all = True

    @next_step("return_to_study")
    def post(self, request: Request) -> Response:
        """Take a place again, if `may_return`."""
        person, invitation = request.auth, request.auth.invitation
        if invitation.revoked_at and not places.may_come_back(person):
            raise _stopped(why_stopped(invitation))
        try:
            places.come_back(person)
        except JoiningError as error:
            raise Conflict(str(error)) from error
        return reply_of(person)


def refuse_unprepared(person: Annotator) -> None:
    """Raise unless the annotator has consented and read the instructions."""
    if first := lacking(person):
        raise Conflict(first)
