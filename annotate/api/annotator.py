"""A whole annotation session: join, agree, rate, finish, withdraw."""

from functools import partial
from typing import Any

from django.http import Http404
from django.utils import translation
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access import rate_limits
from annotate.api import annotator_serializers as sent
from annotate.api import annotator_standing
from annotate.api.authentication import InvitationAuthentication, IsAnnotator
from annotate.api.base import ApiView
from annotate.api.operations import operation
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
# An operation whose reply says what to do next.
next_step = partial(operation, gives=sent.StandingSerializer, other={409: NOT_NOW})
Standing = dict[str, Any]


class SessionView(ApiView):
    """A view of an annotator, with the token of the personal link."""

    tag = "session"
    authentication_classes = (InvitationAuthentication,)
    permission_classes = (IsAnnotator,)
    # Whether somebody whose link was revoked may call it, too.
    is_for_all = False

    def check_access(self, request: Request) -> None:
        why = why_stopped(request.auth.invitation)
        if why and not self.is_for_all:
            raise _stopped(why)

    @property
    def person(self) -> Annotator:
        """Return the annotator as the request found them."""
        person: Annotator = self.request.auth
        return person

    def standing(self) -> Standing:
        """Return what the annotator does next."""
        return annotator_standing.standing(again(self.person))

    def handle_exception(self, exc: Exception) -> Response:
        """Add to a conflict what the annotator does next."""
        response = super().handle_exception(exc)
        if isinstance(exc, Conflict | Gone) and self.request.auth is not None:
            response.data = {**response.data, "next": self.standing()["next"]}
        return response


def _stopped(why: str) -> Conflict | Gone:
    """Return the refusal for somebody whose link is no use any more, or not now."""
    return (Gone if why in ENDED else Conflict)(stop_text(why))


def again(person: Annotator) -> Annotator:
    """Return the annotator as stored now."""
    rows = Annotator.objects.select_related("study", "invitation")
    return rows.get(pk=person.pk)


class Join(ApiView):
    """The start of a session by a public link."""

    tag = "session"
    authentication_classes = ()
    permission_classes = ()
    takes_key = False

    def reserve(self, request: Request) -> None:
        """Leave the key to joining, which returns the same annotator."""

    @operation(
        "join_study",
        sent.JoinedSerializer,
        takes=sent.JoinSerializer,
        other={
            201: sent.JoinedSerializer,
            404: OpenApiResponse(description="no such link"),
            409: OpenApiResponse(description="nobody, or not this person, can join"),
        },
        parameters=[OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
    )
    def post(self, given: dict[str, Any]) -> Any:
        """Join a study by its public link, or come back to it.

        With an `Idempotency-Key`, a repeated request returns the same annotator.
        """
        request = self.request
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
        standing = annotator_standing.standing(person)
        standing["token"] = person.invitation.token
        self.locate("session")
        return self.reply(standing, sent.JoinedSerializer, 201 if is_new else 200)


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
    def get(self) -> Standing:
        return self.standing()


class Consent(SessionView):
    """The annotator's decision to take part."""

    @next_step("answer_consent", takes=sent.ConsentSerializer)
    def post(self, given: dict[str, Any]) -> Standing:
        """Agree to the text that was shown, or decline."""
        if not given["agree"]:
            if not places.decline(self.person):
                raise Conflict(_("You have agreed already. You can still withdraw."))
            return self.standing()
        if given["version"] != self.person.study.consent_version:
            raise Conflict(
                _("The text was corrected while you read it. Please read it again.")
            )
        language = (translation.get_language() or "").split("-")[0]
        consenting.agree(self.person, language)
        return self.standing()


class Instructions(SessionView):
    """The instructions of the study."""

    def check_access(self, request: Request) -> None:
        super().check_access(request)
        if request.auth.consented_at is None:
            raise Conflict(lacking(request.auth))

    @operation("get_instructions", sent.InstructionsSerializer, other={409: NOT_NOW})
    def get(self) -> dict[str, Any]:
        """Return the instructions, the questions and their examples."""
        return {
            "text": self.person.study.instructions_text,
            "questions": annotator_standing.explained(self.person),
        }

    @next_step("confirm_instructions")
    def post(self) -> Standing:
        """Confirm that the instructions were read."""
        consenting.begin(self.person)
        return self.standing()


class Warned(SessionView):
    """A warning of a quality rule."""

    @next_step("confirm_warning")
    def post(self) -> Standing:
        """Confirm that the warning was read; repeating is harmless."""
        if (flag := monitoring.unread_warning(self.person)) is not None:
            monitoring.confirm_warning(flag)
        return self.standing()


class Finish(SessionView):
    """The end of the annotator's work."""

    @next_step("finish_session")
    def post(self) -> Standing:
        """Finish early, if `may_finish`; unfinished stories go to others."""
        refuse_unprepared(self.person)
        outcomes.finish_if_done(self.person, wanted=True)
        return self.standing()


class Withdraw(SessionView):
    """The end of the annotator's consent."""

    is_for_all = True

    def check_change(self) -> None:
        person = self.person
        may_change = person.withdrawn_at and not person.answers_withdrawn
        is_revoked = person.invitation.revoked_at is not None
        if is_revoked and (person.erased_at or not may_change):
            raise _stopped(why_stopped(person.invitation))

    @next_step("withdraw_from_study", takes=sent.WithdrawSerializer)
    def post(self, given: dict[str, Any]) -> Standing:
        """Withdraw, with or without the submitted answers."""
        erasing.withdraw(self.person, answers=given["answers"] == "leave_out")
        return self.standing()


class Return(SessionView):
    """The way back of somebody who left or declined."""

    is_for_all = True

    @next_step("return_to_study")
    def post(self) -> Standing:
        """Take a place again, if `may_return`."""
        person, invitation = self.person, self.person.invitation
        if invitation.revoked_at and not places.may_come_back(person):
            raise _stopped(why_stopped(invitation))
        try:
            places.come_back(person)
        except JoiningError as error:
            raise Conflict(str(error)) from error
        return self.standing()


def refuse_unprepared(person: Annotator) -> None:
    """Raise unless the annotator has consented and read the instructions."""
    if first := lacking(person):
        raise Conflict(first)
