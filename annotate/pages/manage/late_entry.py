"""The page that sets up a follow-up study with a late method."""

from collections.abc import Mapping

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from annotate.access.permissions import check_benchmark_of
from annotate.assignment.designs.balanced import ImpossibleDesignError
from annotate.models import Study, StudyPlan
from annotate.pages.manage.setup import queue_plan
from annotate.pages.study_views import (
    UserRequest,
    render_page,
    study_page,
    whole_number,
)
from annotate.studies import drafting, late_entry
from annotate.studies.late_entry import LateEntryError, Proposal
from annotate.studies.planning import outline
from annotate.studies.units import PlanningError


@never_cache
@study_page("GET", "HEAD", "POST", role="manager")
def study_late_entry(request: UserRequest, study: Study) -> HttpResponse:
    """Propose a follow-up study with a late method, and set it up."""
    check_benchmark_of(request.user, study)
    try:
        late_entry.check_closed(study)
    except LateEntryError as error:
        messages.error(request, str(error))
        return redirect("study-settings", study.slug)
    methods = late_entry.candidates(study)
    form = request.POST if request.method == "POST" else request.GET
    try:
        proposal = _proposal(study, form, methods)
        if proposal is None or request.POST.get("do") != "create":
            return _page(request, study, methods, proposal=proposal)
        setup = proposal.setup
        if outline(setup).needs_worker:
            action = StudyPlan.Action.CREATE
            return redirect("plan", queue_plan(request, setup, action).pk)
        stored = drafting.create(setup, request.user)
    except (LateEntryError, PlanningError, ImpossibleDesignError) as error:
        return _page(request, study, methods, 422, error=str(error))
    messages.success(
        request,
        _(
            "The follow-up study is set up. Next: check the preview, invite people, "
            "then launch."
        ),
    )
    return redirect("study-detail", stored.slug)


def _proposal(study: Study, form: QueryDict, methods: list[str]) -> Proposal | None:
    """Return what the form asks for; None if no method can be added."""
    if not methods:
        return None
    return late_entry.propose(
        study,
        form.get("method", methods[0]),
        linking=whole_number(form.get("linking", "")),
        annotators=_people(study, form),
    )


def _people(study: Study, form: QueryDict) -> int | Mapping[str, int] | None:
    """Return the numbers of annotators, or None for as many as before."""
    names = [f"annotators-{code}" for code in study.languages] or ["annotators"]
    numbers = [whole_number(form.get(name, "")) for name in names]
    given = [number for number in numbers if number is not None]
    if study.is_open or len(given) < len(names):
        return None
    if min(given) < 1:
        raise LateEntryError(_("Write a number of annotators from 1."))
    if not study.languages:
        return given[0]
    return dict(zip(study.languages, given, strict=True))


def _page(
    request: UserRequest,
    study: Study,
    methods: list[str],
    status: int = 200,
    *,
    proposal: Proposal | None = None,
    error: str = "",
) -> HttpResponse:
    context = {"study": study, "proposal": proposal, "error": error}
    if request.htmx:
        return render(request, "manage/_late_entry.html", context)
    people = proposal.setup.annotators if proposal else 0
    suggested = proposal.chosen.linking if proposal else ""
    numbers = dict(people) if isinstance(people, Mapping) else {"": people or ""}
    return render_page(
        request,
        study,
        "manage/late_entry.html",
        status,
        methods=methods,
        chosen=request.POST.get("method", ""),
        linking=request.POST.get("linking", suggested),
        numbers={} if study.is_open else numbers,
        proposal=proposal,
        error=error,
    )
