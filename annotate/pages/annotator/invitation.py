"""Pages of an invitation: consent, instructions, breaks, done, return, withdraw."""

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from annotate.access import rate_limits
from annotate.assignment import choosing
from annotate.models import Annotator, Slot, Study
from annotate.pages.annotator.answering import (
    annotator_page,
    for_annotator,
    invitation_of,
    is_done,
    next_address,
)
from annotate.pages.annotator.joining import remember_person
from annotate.pages.annotator.stopped import revoked
from annotate.pages.study_views import SeatRequest
from annotate.people import consenting, outcomes, places
from annotate.people.session_progress import progress
from annotate.personal_data import erasing
from annotate.presentation import same_size
from annotate.presentation.slot_view import in_order
from annotate.quality import monitoring
from annotate.responses import leasing
from annotate.responses.leasing import lacking
from evalcore.serving import log


@never_cache
@require_safe
@for_annotator
def entry(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Redirect to the next page: consent, instructions, a slot, or done."""
    if annotator.consented_at is None:
        return redirect("rate-consent", request.token)
    response = redirect(_place(annotator), request.token)
    return remember_person(request, response, annotator)


def _place(annotator: Annotator) -> str:
    """Return the next address for an annotator who has agreed."""
    if annotator.instructed_at is None:
        return "rate-instructions"
    done = is_done(annotator, choosing.next_slot(annotator))
    return "rate-done" if done else "rate-pause"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_annotator
def consent(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Show the consent text; agreeing or declining stores its time."""
    if request.method == "POST" and request.POST.get("decline"):
        places.decline(annotator)
        return redirect("rate-entry", request.token)
    version = annotator.study.consent_version
    if request.POST.get("version", version) != version:
        return annotator_page(request, annotator, "rate/consent.html", has_changed=True)
    if request.method == "POST":
        consenting.agree(annotator, _language())
        response = redirect("rate-instructions", request.token)
        return remember_person(request, response, annotator)
    if annotator.consented_at is None and _is_visit(request):
        consenting.note_opening(annotator)
    return annotator_page(request, annotator, "rate/consent.html")


def _is_visit(request: SeatRequest) -> bool:
    """Return whether a browser opens a page for a person.

    Messengers and mail programs fetch a link before anybody opens it; they do not
    send what browsers send on secure connections.
    """
    mode = request.headers.get("Sec-Fetch-Mode")
    is_browser = mode == "navigate" or (mode is None and not request.is_secure())
    return (
        request.method == "GET" and is_browser and "Sec-Purpose" not in request.headers
    )


def _language() -> str:
    """Return the page's language as studies name it: zh, not zh-hans."""
    return (translation.get_language() or "").split("-")[0]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_annotator
def instructions(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Show the instructions; starting takes the first slot."""
    if annotator.consented_at is None:
        return redirect("rate-consent", request.token)
    if request.method == "POST":
        consenting.begin(annotator)
        return HttpResponseRedirect(next_address(request, annotator))
    outputs = same_size.outputs_of(annotator.study)
    return annotator_page(
        request,
        annotator,
        "rate/instructions.html",
        questions=in_order(annotator.study.asked, annotator.study, annotator),
        # Shortcuts of texts and characters are always listed.
        videos=outputs.filter(video__isnull=False).exists(),
        has_texts=True,
        characters=True,
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_annotator
def pause(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Show the page between sittings and after an absence."""
    if lacking(annotator):
        return redirect("rate-entry", request.token)
    if request.method == "POST":
        return HttpResponseRedirect(next_address(request, annotator))
    return annotator_page(
        request,
        annotator,
        "rate/pause.html",
        progress=progress(annotator),
        previous=last_answered(annotator),
        may_stop=annotator.state == Annotator.State.ACTIVE
        and annotator.study.is_open
        and outcomes.has_judged_enough(annotator),
        is_complete=annotator.completed_at is not None,
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_annotator
def warning(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Show a warning from a quality rule; confirming it continues."""
    flag = monitoring.unread_warning(annotator)
    if flag is None:
        return redirect("rate-entry", request.token)
    if request.method == "POST":
        monitoring.confirm_warning(flag)
        session = leasing.session_at_hand(annotator)
        return HttpResponseRedirect(next_address(request, annotator, session))
    text = monitoring.warning_text(flag)
    return annotator_page(request, annotator, "rate/warning.html", text=text)


def last_answered(annotator: Annotator) -> Slot | None:
    """Return the last submitted slot of the current session."""
    if annotator.study.state != Study.State.OPEN:
        return None
    return (
        leasing.own_slots(annotator)
        .filter(state=Slot.State.SUBMITTED, session=leasing.session_at_hand(annotator))
        .last()
    )


WISHES = ("work", "answers")
MOST_COUNTED = 100  # there may be very many free slots


@never_cache
@require_POST
@for_annotator
def stop(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Finish early, after a complete sitting or when nothing is left."""
    outcomes.finish_if_done(annotator, wanted=True)
    return redirect("rate-done", request.token)


@never_cache
@require_safe
@for_annotator
def done(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Show the completion code; offer free slots."""
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
        worth=outcomes.current_code(annotator),
        more=more if following.slot else 0,
        most=MOST_COUNTED,
        minutes=following.minutes,
        previous=last_answered(annotator),
    )


@never_cache
@require_POST
def come_back(request: SeatRequest, token: str) -> HttpResponse:
    """Give a place again to somebody who left or declined, or say why not."""
    invitation = invitation_of(request, token)
    if invitation is None:
        return rate_limits.refuse_link(request)
    if invitation.revoked_at and not places.may_come_back(invitation.annotator):
        return revoked(request, invitation.annotator)
    try:
        places.come_back(invitation.annotator)
    except places.JoiningError as error:
        return revoked(request, invitation.annotator, str(error))
    return redirect("rate-entry", token)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: SeatRequest, token: str) -> HttpResponse:
    """Withdraw the annotator, with or without their answers."""
    invitation = invitation_of(request, token)
    if invitation is None:
        return rate_limits.refuse_link(request)
    annotator = invitation.annotator
    log.note(study=annotator.study.slug, annotator=annotator.pk)
    may_change = annotator.withdrawn_at and not annotator.answers_withdrawn
    if invitation.revoked_at and (annotator.erased_at or not may_change):
        return revoked(request, annotator)
    if request.method != "POST":
        return annotator_page(request, annotator, "rate/withdraw.html")
    wish = request.POST.get("wish", "")
    if wish not in WISHES or not request.POST.get("sure"):
        problem = _(
            "Please choose what should happen to your answers and confirm below."
        )
        return annotator_page(
            request, annotator, "rate/withdraw.html", 422, problem=problem, wish=wish
        )
    erasing.withdraw(annotator, answers=wish == "answers")
    return redirect("rate-entry", token)
