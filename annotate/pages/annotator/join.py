"""Joining a study, leaving it, and two invitations on one device."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from annotate import event_log
from annotate.access import rate_limits
from annotate.assignment import choosing
from annotate.models import Annotator, Event, JoinLink, Study, new_token
from annotate.pages.annotator.invitation import (
    annotator_page,
    for_annotator,
    invitation_of,
    last_answered,
    revoked,
)
from annotate.pages.study_views import SeatRequest
from annotate.people import devices, joining, outcomes
from annotate.people.joining import JoiningError
from annotate.personal_data import erasing
from annotate.responses import leasing
from annotate.responses.leasing import lacking
from evalcore.serving import log


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Say what taking part means; agreeing makes the person an annotator."""
    link = JoinLink.objects.select_related("study").filter(token=token).first()
    if link is None:
        return rate_limits.refuse_link(request)
    log.note(study=link.study.slug)
    page = request.POST.get("page") or new_token()
    try:
        external_id = joining.given_id(request.GET)
        person = joining.known(link.study, external_id)
        if person is None and request.method == "POST":
            person = joining.join(
                link,
                external_id=external_id,
                language=request.POST.get("language", ""),
                page=page,
                address=rate_limits.client_address(request),
            )
        if person is not None and not _is_own(request, link, person, page):
            return _page(request, link, status=403, elsewhere=True)
    except JoiningError as error:
        return _page(request, link, str(error), 409)
    if person is not None:
        log.note(annotator=person.pk)
        if (other := devices.other(request, person)) is not None:
            _note_second(person, other, went_on_as=person)
        response = redirect("rate-entry", person.invitation.token)
        return devices.remember(request, response, person)
    here = None if external_id else devices.at_work(request, link.study_id)
    if reason := joining.obstacle(link):
        return _page(request, link, reason, 403, here=here)
    return _page(request, link, here=here, page=page)


def _is_own(request: HttpRequest, link: JoinLink, person: Annotator, page: str) -> bool:
    """Say whether this browser may go on as somebody who joined under its id."""
    return (
        link.any_device
        or devices.knows(request, person)
        or joining.joined_on(person, page)
    )


def _page(
    request: HttpRequest,
    link: JoinLink,
    reason: str = "",
    status: int = 200,
    **context: object,
) -> HttpResponse:
    study = link.study
    context |= {
        "study": study,
        "link": link,
        "reason": reason,
        "languages": [] if link.language else _languages(study),
        "preview": request.GET.get("assignmentId") == joining.PREVIEW,
    }
    response = render(request, "rate/join.html", context, status=status)
    response["Referrer-Policy"] = "same-origin"
    return response


def _languages(study: Study) -> list[tuple[str, str]]:
    names = {code.split("-")[0]: name for code, name in settings.LANGUAGES}
    return [(code, names.get(code, code)) for code in study.languages]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_annotator
def second_link(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Ask whether it is the same person who opens another invitation on this device."""
    other = devices.other(request, annotator)
    if other is None:
        return redirect("rate-entry", request.token)
    if request.method != "POST":
        return annotator_page(request, annotator, "rate/second_link.html", other=other)
    another_person = request.POST.get("who") == "another"
    _note_second(annotator, other, went_on_as=annotator if another_person else other)
    if another_person:
        response = redirect("rate-entry", request.token)
        return devices.remember(request, response, annotator)
    return redirect("rate-entry", other.invitation.token)


def _note_second(
    annotator: Annotator, other: Annotator, *, went_on_as: Annotator
) -> None:
    event_log.note(
        Event.Kind.SECOND_LINK,
        annotator.study_id,
        annotator=annotator,
        on_the_device_of=other.name,
        went_on_as=went_on_as.name,
    )


WISHES = ("work", "answers")
MOST_COUNTED = 100  # free slots; there may be very many


@never_cache
@require_POST
@for_annotator
def stop(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Finish by one's own wish, after a whole sitting or where nothing is left."""
    outcomes.finish_if_done(annotator, wanted=True)
    return redirect("rate-done", request.token)


@never_cache
@require_safe
@for_annotator
def done(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Thank somebody who has finished, with the code; offer free slots."""
    if lacking(annotator):
        return redirect("rate-entry", request.token)
    outcomes.finish_if_done(annotator)
    following = choosing.next_step(annotator)
    finished = annotator.state == Annotator.State.FINISHED
    if not finished and following.slot is not None:
        return redirect("rate-entry", request.token)
    begun = leasing.own_slots(annotator).filter(state__in=leasing.UNFINISHED)
    free = choosing.free_slots(annotator).values_list("pk")[: MOST_COUNTED + 1]
    more = min(begun.count() + len(free), MOST_COUNTED + 1)
    return annotator_page(
        request,
        annotator,
        "rate/done.html",
        finished=finished,
        worth=outcomes.worth(annotator),
        more=more if following.slot else 0,
        most=MOST_COUNTED,
        minutes=following.minutes,
        previous=last_answered(annotator),
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: SeatRequest, token: str) -> HttpResponse:
    """Ask what is to become of the answers, and do it."""
    invitation = invitation_of(token)
    if invitation is None:
        return rate_limits.refuse_link(request)
    annotator, request.token = invitation.annotator, token
    log.note(study=annotator.study.slug, annotator=annotator.pk)
    may_change = annotator.withdrawn_at and not annotator.answers_withdrawn
    if invitation.revoked_at and (annotator.erased_at or not may_change):
        return revoked(request, annotator)
    if request.method != "POST":
        return annotator_page(request, annotator, "rate/withdraw.html")
    wish = request.POST.get("wish", "")
    if wish not in WISHES or not request.POST.get("sure"):
        problem = _("Please choose what is to happen, and tick that you are sure.")
        return annotator_page(
            request, annotator, "rate/withdraw.html", 422, problem=problem, wish=wish
        )
    erasing.withdraw(annotator, answers=wish == "answers")
    return redirect("rate-entry", token)
