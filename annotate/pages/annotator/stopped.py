"""Pages for annotators who cannot work: paused, removed, gone, or shut out."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from annotate.middleware import allow_form
from annotate.models import Annotator, Study
from annotate.pages.study_views import SeatRequest
from annotate.people import outcomes, places
from annotate.people.outcomes import CompletionCode
from annotate.quality import monitoring, training


def revoked(
    request: SeatRequest, annotator: Annotator, problem: str = ""
) -> HttpResponse:
    """Return the page of a revoked link, or of somebody who withdrew or left."""
    if places.may_come_back(annotator):
        why = "declined" if annotator.declined_at else "left"
        return stopped_page(request, annotator, why, 409 if problem else 200, problem)
    has_withdrawn = annotator.withdrawn_at and not annotator.erased_at
    return stopped_page(
        request, annotator, "withdrawn" if has_withdrawn else "revoked", 410
    )


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
        texts = {
            "revoked": _("This invitation is no longer valid."),
            "withdrawn": _("You have withdrawn from this study."),
            "left": _("Your place went to somebody else. Reload to take another."),
            "gone": _("This story is now assigned to somebody else."),
            "replaced": _(
                "A picture of this story was replaced. Reload the page to continue."
            ),
            "failed": _(
                "You did not pass the training round, so you cannot take part in this "
                "study."
            ),
            "held": _("Your work is paused; the study's manager can tell you why."),
        }
        paused = _("The study is not accepting answers at the moment.")
        return JsonResponse({"error": texts.get(why, paused)}, status=status)
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
