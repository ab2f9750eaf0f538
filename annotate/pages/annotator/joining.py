"""The page of a public link."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate import event_log
from annotate.access import rate_limits
from annotate.middleware import allow_frame
from annotate.models import Annotator, Event, JoinLink, Study, new_token
from annotate.pages.annotator.stopped import offer_submission
from annotate.people import devices, joining, outcomes, places, visits
from annotate.people.outcomes import Outcome
from annotate.people.places import JoiningError
from annotate.people.visits import Arrival
from evalcore.serving import log


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Show the page of a public link; taking part creates an annotator."""
    link = JoinLink.objects.select_related("study").filter(token=token).first()
    if link is None:
        return rate_limits.refuse_link(request)
    log.note(study=link.study.slug)
    allow_frame(request, outcomes.platform_of(link.study).frames)
    secret = devices.first_visit(request)
    browser = devices.browser(secret, link.study_id)
    came = Arrival()
    try:
        came = visits.arrival(link.study, request.GET)
        response = _answer(request, link, came, browser)
    except JoiningError as error:
        response = _page(request, link, came, str(error), 409)
    return devices.keep_first_visit(response, secret)


def _answer(
    request: HttpRequest, link: JoinLink, came: Arrival, browser: str
) -> HttpResponse:
    """Return the page of a visit, or lead a person who may continue to their work."""
    study = link.study
    if came.is_preview:
        return _page(request, link, came)
    visits.note_unknown(link, came)
    if study.recruitment.get("require_id") and not came.external_id:
        return _page(request, link, came, status=403, lacks_id=True)
    person = joining.find_joined(study, came.external_id)
    page = request.POST.get("page") or new_token()
    if person is None and request.method == "POST":
        person = joining.join(
            link,
            came,
            browser=browser,
            language=request.POST.get("language", ""),
            page=page,
            address=rate_limits.client_address(request),
        )
    if person is None:
        here = None
        if not came.external_id:
            here = devices.at_work(request, study.pk)
            here = here or visits.last_joined(study, browser)
        if reason := places.obstacle(link):
            return _page(request, link, came, reason, 403, here=here)
        return _page(request, link, came, here=here, page=page)
    if came.external_id and not _is_own(request, link, person, came, browser):
        return _elsewhere(request, link, person, came, browser)
    log.note(annotator=person.pk)
    visits.record(person, browser, came)
    attempt = outcomes.last_attempt(person) if came.submit_to else None
    if attempt is not None and attempt.session != came.session:
        text = _(
            "You have already finished this study in another task. Return this one."
        )
        return _page(request, link, came, text, 409, finished=True)
    response = redirect("rate-entry", person.invitation.token)
    return remember_person(request, response, person)


def _is_own(
    request: HttpRequest, link: JoinLink, person: Annotator, came: Arrival, browser: str
) -> bool:
    """Return whether this browser may continue as the annotator with its ID."""
    return (
        link.any_device
        or devices.knows(request, person)
        or visits.is_known(person, browser, came.session)
    )


def _elsewhere(
    request: HttpRequest, link: JoinLink, person: Annotator, came: Arrival, browser: str
) -> HttpResponse:
    """Say that an ID alone does not give access, and take a request to come back."""
    asked = visits.asked(person, browser)
    if request.method == "POST" and request.POST.get("ask"):
        asked = visits.ask(person, browser, came)
    return _page(request, link, came, status=403, elsewhere=True, asked=asked)


def _page(
    request: HttpRequest,
    link: JoinLink,
    came: Arrival,
    reason: str = "",
    status: int = 200,
    **context: object,
) -> HttpResponse:
    study = link.study
    platform = outcomes.platform_of(study)
    worth = None
    is_elsewhere = context.get("here") or context.get("finished")
    if reason and platform.has_shared_codes and not is_elsewhere:
        nothing = outcomes.ending(study, Outcome.NO_WORK, person=came.external_id)
        worth = nothing.submitted(platform, came.submit_to, came.session)
        offer_submission(request, study, worth)
    context |= {
        "study": study,
        "link": link,
        "reason": reason,
        "languages": [] if link.language else _languages(study),
        "preview": came.is_preview,
        "platform": platform,
        "worth": worth,
    }
    response = render(request, "rate/join.html", context, status=status)
    response["Referrer-Policy"] = "same-origin"
    return response


def _languages(study: Study) -> list[tuple[str, str]]:
    names = {code.split("-")[0]: name for code, name in settings.LANGUAGES}
    return [(code, names.get(code, code)) for code in study.languages]


def remember_person(
    request: HttpRequest, response: HttpResponse, annotator: Annotator
) -> HttpResponse:
    """Store the annotator in a cookie; log other annotators on this device."""
    if (other := devices.other(request, annotator)) is not None:
        event_log.note(
            Event.Kind.SECOND_LINK,
            annotator.study_id,
            annotator=annotator,
            on_the_device_of=other.name,
            went_on_as=annotator.name,
        )
    return devices.remember(request, response, annotator)
