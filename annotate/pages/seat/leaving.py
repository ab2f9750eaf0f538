"""The last page, finishing by one's own wish, and withdrawing from a study."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from annotate.access import rate_limits
from annotate.assignment import choosing
from annotate.models import Annotator
from annotate.pages.requests import SeatRequest
from annotate.pages.seat.invitation import (
    annotator_page,
    for_annotator,
    invitation_of,
    last_answered,
    revoked,
)
from annotate.people import outcomes
from annotate.personal_data import erasing
from annotate.responses import leasing
from annotate.responses.leasing import lacking
from evalcore.serving import log_context

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
    log_context.note(study=annotator.study.slug, annotator=annotator.pk)
    may_change = annotator.withdrawn_at and not annotator.answers_withdrawn
    if invitation.revoked_at and (annotator.erased_at or not may_change):
        return revoked(request, annotator)
    if request.method != "POST":
        return annotator_page(request, annotator, "rate/withdraw.html")
    wish = request.POST.get("wish", "")
    if wish not in WISHES or not request.POST.get("sure"):
        problem = _("Please choose what is to happen, and tick that you are sure.")
        return annotator_page(
            request,
            annotator,
            "rate/withdraw.html",
            422,
            problem=problem,
            wish=wish,
        )
    erasing.withdraw(annotator, answers=wish == "answers")
    return redirect("rate-entry", token)
