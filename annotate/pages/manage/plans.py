"""Plans of large studies: how far they are, and how to cancel them."""

import logging

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from kombu.exceptions import OperationalError

from annotate.models import Study, StudyPlan
from annotate.pages.requests import UserRequest
from annotate.studies import plan_queue
from annotate.studies.planning import Setup
from annotate.tasks import plan_studies

logger = logging.getLogger(__name__)


def queue_plan(
    request: UserRequest,
    setup: Setup,
    action: StudyPlan.Action,
    study: Study | None = None,
) -> StudyPlan:
    """Have a worker plan a study, and ring its bell."""
    plan = plan_queue.ask(setup, action, request.user, study)
    try:
        plan_studies.delay()
    except (OperationalError, OSError):
        logger.warning("the broker is away; plan %s waits", plan.pk)
    return plan


@never_cache
@require_safe
@login_required
def plan_page(request: UserRequest, pk: int) -> HttpResponse:
    """Show how far a plan is; htmx asks again while it is made."""
    plan = _own(request, pk)
    made = _made(plan)
    if made is not None:
        messages.success(request, next_steps(plan.action == StudyPlan.Action.EDIT))
        address = reverse("study-detail", args=[made.slug])
        if request.htmx:
            return HttpResponse(headers={"HX-Redirect": address})
        return redirect(address)
    template = "manage/_plan.html" if request.htmx else "manage/plan.html"
    return render(request, template, shown(plan))


@require_POST
@login_required
def plan_cancel(request: UserRequest, pk: int) -> HttpResponse:
    """Cancel a plan that is not finished."""
    plan = _own(request, pk)
    plan_queue.cancel_all(StudyPlan.objects.filter(pk=plan.pk))
    if not request.htmx:
        return redirect("plan", plan.pk)
    plan.refresh_from_db()
    return render(request, "manage/_plan.html", shown(plan))


def shown(plan: StudyPlan) -> dict[str, object]:
    """Return what the part of a page about a plan needs."""
    return {
        "plan": plan,
        "plan_waits": plan.state in plan_queue.UNFINISHED,
        "balance": plan.balance,
    }


def next_steps(is_edited: bool) -> str:
    """Return what to do after a draft was stored."""
    if is_edited:
        return _("The draft is planned anew. Nobody sees it before it is launched.")
    return _(
        "The draft is stored. Next: look at the preview, invite people, then launch; "
        "it can be edited until somebody has a link to it."
    )


def _own(request: UserRequest, pk: int) -> StudyPlan:
    plan = StudyPlan.objects.filter(pk=pk, created_by=request.user).first()
    if plan is None:
        raise Http404
    return plan


def _made(plan: StudyPlan) -> Study | None:
    """Return the study that was made, if one was asked for and is there."""
    if plan.action == StudyPlan.Action.CHECK or plan.state != StudyPlan.State.DONE:
        return None
    return Study.objects.filter(slug=plan.chosen["slug"]).first()
