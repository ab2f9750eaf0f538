"""Pages for annotators who cannot work: paused, removed, gone, or shut out."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from annotate.middleware import allow_form
from annotate.models import Annotator, Study
from annotate.pages.study_views import SeatRequest
from annotate.people import outcomes
from annotate.people.outcomes import CompletionCode
from annotate.people.status import stop_text, why_stopped
from annotate.quality import monitoring, training


def revoked(
    request: SeatRequest, annotator: Annotator, problem: str = ""
) -> HttpResponse:
    """Return the page of a revoked link, or of somebody who withdrew or left."""
    why = why_stopped(annotator.invitation)
    if why in ("declined", "left"):
        return stopped_page(request, annotator, why, 409 if problem else 200, problem)
    return stopped_page(request, annotator, why, 410)


def offer_submission(request: HttpRequest, study: Study, worth: object) -> None:
    """Let the page post a code to the platform that waits for it.

    Browsers follow what the platform answers only to its pages that are named here.
    """
    if isinstance(worth, CompletionCode) and worth.assignment:
        allow_form(request, outcomes.platform_of(study).frames)


def wants_json(request: SeatRequest) -> bool:
    return "application/json" in request.headers.get("Accept", "")


def stopped_page(
    request: SeatRequest, annotator: Annotator, why: str, status: int, problem: str = ""
) -> HttpResponse:
    if wants_json(request):
        status = 410 if status == 200 else status
        return JsonResponse({"error": stop_text(why)}, status=status)
    worth = (
        None
        if why in ("gone", "replaced", "draft")
        else outcomes.current_code(annotator)
    )
    offer_submission(request, annotator.study, worth)
    context = {
        "annotator": annotator,
        "study": annotator.study,
        "why": why,
        "problem": problem,
        "token": request.token,
        "worth": worth,
    }
    if why == "failed":
        context["result"] = training.result(annotator, annotator.training_attempts)
    if why == "held":
        context["text"] = monitoring.pause_text(annotator)
    return render(request, "rate/stopped.html", context, status=status)
