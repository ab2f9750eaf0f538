"""Withdrawing from a study by one's own link, whatever state the study is in."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate.access import rate_limits
from annotate.pages.requests import SeatRequest
from annotate.pages.seat.invitation import annotator_page, invitation_of, revoked
from annotate.personal_data import consent
from evalcore.serving import log_context

WISHES = ("work", "answers")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: SeatRequest, token: str) -> HttpResponse:
    """Ask what is to become of the answers, and do it.

    Who has withdrawn from further work may still withdraw the answers, too.
    """
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
    consent.withdraw(annotator, answers=wish == "answers")
    return redirect("rate-entry", token)
