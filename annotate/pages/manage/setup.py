"""Pages that set up a study: start, form, check, plan and preview."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from annotate.access.permissions import (
    can_create,
    check_benchmark_of,
    get_benchmark_for,
    visible_benchmarks,
)
from annotate.assignment.designs.balanced import ImpossibleDesignError
from annotate.models import Study, StudyPlan, localised
from annotate.pages.manage.benchmarks import counted_benchmarks
from annotate.pages.manage.preview import preview_page
from annotate.pages.study_views import UserRequest, attachment, study_page
from annotate.presentation.same_size import outputs_of
from annotate.schema import LONGEST, DefinitionError
from annotate.setup_form.study import StudyForm
from annotate.studies import drafting, lifecycle, plan_queue
from annotate.studies.definition import StudyDefinition, template_names
from annotate.studies.planning import SECONDS_PER_PICTURE, Setup, outline
from annotate.studies.study_file import load_definition, read_definition
from annotate.studies.units import PlanningError
from annotate.tasks import plan_studies, ring


def queue_plan(
    request: UserRequest,
    setup: Setup,
    action: StudyPlan.Action,
    study: Study | None = None,
) -> StudyPlan:
    """Queue a plan of a study and notify the workers."""
    plan = plan_queue.ask(setup, action, request.user, study)
    ring(plan_studies.delay)
    return plan


@never_cache
@require_safe
@login_required
def plan(request: UserRequest, pk: int) -> HttpResponse:
    """Show the progress of a plan; htmx polls this page."""
    plan = _own_plan(request, pk)
    study = _stored_study(plan)
    if study is not None:
        messages.success(request, next_steps(plan.action == StudyPlan.Action.EDIT))
        address = reverse("study-detail", args=[study.slug])
        if request.htmx:
            return HttpResponse(headers={"HX-Redirect": address})
        return redirect(address)
    template = "manage/_plan.html" if request.htmx else "manage/plan.html"
    return render(request, template, plan_context(plan))


@require_POST
@login_required
def plan_cancel(request: UserRequest, pk: int) -> HttpResponse:
    """Cancel a plan that is not finished."""
    plan = _own_plan(request, pk)
    StudyPlan.cancel_all(StudyPlan.objects.filter(pk=plan.pk))
    if not request.htmx:
        return redirect("plan", plan.pk)
    plan.refresh_from_db()
    return render(request, "manage/_plan.html", plan_context(plan))


def plan_context(plan: StudyPlan) -> dict[str, object]:
    """Return the template context of a plan."""
    return {
        "plan": plan,
        "plan_waits": plan.state in StudyPlan.UNFINISHED,
        "balance": plan.balance,
    }


def next_steps(is_edited: bool) -> str:
    """Return the message after saving a draft."""
    if is_edited:
        return _(
            "The draft is saved and planned again. Annotators see it after launch."
        )
    return _(
        "The draft is saved. Next: check the preview, invite people, then launch. You "
        "can edit the draft until somebody has a link to it."
    )


def _own_plan(request: UserRequest, pk: int) -> StudyPlan:
    plan = StudyPlan.objects.filter(pk=pk, created_by=request.user).first()
    if plan is None:
        raise Http404
    return plan


def _stored_study(plan: StudyPlan) -> Study | None:
    """Return the study that the plan stored, if any."""
    if plan.action == StudyPlan.Action.CHECK or plan.state != StudyPlan.State.DONE:
        return None
    return Study.objects.filter(slug=plan.chosen["slug"]).first()


View = Callable[..., HttpResponse]


def for_creators(view: View) -> View:
    @wraps(view)
    @login_required
    def wrapped(request: UserRequest, *args: object, **kwargs: object) -> HttpResponse:
        if not can_create(request.user):
            raise PermissionDenied(_("Only managers can set up studies."))
        return view(request, *args, **kwargs)

    return wrapped


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_creators
def setup_start(request: UserRequest) -> HttpResponse:
    """Show the choice of benchmark and template or study file, and handle it."""
    if request.method != "POST":
        return _start_page(request)
    mine = visible_benchmarks(request.user)
    benchmark = mine.filter(slug=request.POST.get("benchmark", "")).first()
    try:
        if benchmark is None:
            raise DefinitionError("", None, _("Choose a benchmark."))
        definition = _given_definition(request)
    except DefinitionError as error:
        return _start_page(request, str(error), status=422)
    address = reverse("setup-form", args=[benchmark.slug])
    if definition is None:
        template = request.POST.get("template", "")
        return redirect(f"{address}?{urlencode({'template': template})}")
    return _form_page(request, StudyForm.of(Setup("", benchmark, definition)), address)


def _given_definition(request: UserRequest) -> StudyDefinition | None:
    """Return the definition of an uploaded file or a pasted text, if there is one."""
    upload = request.FILES.get("upload")
    if upload is not None:
        assert upload.size is not None  # uploads have size and name
        assert upload.name is not None
        if upload.size > LONGEST:
            raise DefinitionError(upload.name, None, _("The file is too large."))
        try:
            text = upload.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DefinitionError(
                upload.name,
                None,
                _("The file is not UTF-8; save it as UTF-8."),
            ) from error
        stem = upload.name.rsplit(".", 1)[0][:80]
        return read_definition(text, file=upload.name, name=stem)
    text = request.POST.get("text", "")
    if text.strip():
        return read_definition(text, file=_("Pasted text"), name="study")
    if request.POST.get("template", "") not in template_names():
        raise DefinitionError("", None, _("Choose a template or upload a study file."))
    return None


def _start_page(
    request: UserRequest, error: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "benchmarks": counted_benchmarks(request),
        "templates": [
            (definition, _titles(definition))
            for definition in sorted(
                map(load_definition, template_names()),
                key=lambda d: (len(d.questions), d.assignment != "planned"),
            )
        ],
        "error": error,
        "given": request.POST or request.GET,
    }
    return render(request, "manage/setup_start.html", context, status=status)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_creators
def setup_form(request: UserRequest, benchmark: str) -> HttpResponse:
    """Show the form of a new study, and handle all its buttons."""
    row = get_benchmark_for(request.user, benchmark)
    if request.method != "POST":
        template = request.GET.get("template", "")
        if template not in template_names():
            return redirect("setup-start")
        empty = StudyForm.of(Setup("", row, load_definition(template)))
        return _form_page(request, empty, request.path)
    return _answer(
        request,
        StudyForm(request.POST, row),
        lambda s: drafting.create(s, request.user),
    )


@never_cache
@study_page("GET", "HEAD", "POST", role="manager")
def study_edit(request: UserRequest, study: Study) -> HttpResponse:
    """Edit a draft that no annotator has seen, and plan it again."""
    check_benchmark_of(request.user, study)
    try:
        lifecycle.check_editable(study)
    except lifecycle.LifecycleError as error:
        messages.error(request, str(error))
        return redirect("study-detail", study.slug)
    if request.method != "POST":
        return _prefilled_page(request, study, study.slug, fixed_slug=True)
    values = request.POST.copy()
    values["slug"] = study.slug
    filled = StudyForm(values, study.benchmark, fixed_slug=True)
    return _answer(
        request, filled, lambda s: drafting.replace(study, s, request.user), study
    )


@never_cache
@study_page("GET", "HEAD", "POST", role="manager")
def study_version(request: UserRequest, study: Study) -> HttpResponse:
    """Set up a study as a copy of another, and link the two."""
    check_benchmark_of(request.user, study)
    if request.method != "POST":
        slug = drafting.next_slug(study.slug)
        return _prefilled_page(request, study, slug, fixed_slug=False)
    filled = StudyForm(request.POST, study.benchmark)
    return _answer(
        request, filled, lambda s: drafting.create(s, request.user, study), study
    )


def _prefilled_page(
    request: UserRequest, study: Study, slug: str, *, fixed_slug: bool
) -> HttpResponse:
    setup = replace(_setup_of(study), slug=slug)
    filled = StudyForm.of(setup, fixed_slug=fixed_slug)
    return _form_page(request, filled, request.path, study=study)


def _setup_of(study: Study) -> Setup:
    try:
        return drafting.setup_of(study)
    except PlanningError as error:
        raise Http404(str(error)) from error


def _answer(
    request: UserRequest,
    form: StudyForm,
    store: Callable[[Setup], Study],
    study: Study | None = None,
) -> HttpResponse:
    action, _colon, index = request.POST.get("do", "").partition(":")
    opened = int(index) if index.isdecimal() and len(index) < 6 else -1
    if action in ("add", "remove", "up", "down"):
        form = form.rearrange(action, opened, index if action == "add" else "")
        opened += {"add": len(form.cards), "up": -1, "down": 1}.get(action, -1000)
    elif action == "file":
        form = form.as_file()
    elif action == "fields":
        form = form.as_form()
    elif action == "preview":
        return _preview(request, form, study)
    elif action == "create":
        return _create(request, form, store, study)
    elif action == "check":
        return _checked(request, form, study)
    return _form_page(request, form, request.path, study=study, opened=opened)


def _create(
    request: UserRequest,
    form: StudyForm,
    store: Callable[[Setup], Study],
    study: Study | None,
) -> HttpResponse:
    form.check_slug()
    if form.problems:
        form.draft()  # adds further problems
    elif (setup := form.setup()) is not None:
        try:
            draft = outline(setup)
            if draft.needs_worker or draft.draws_long:
                actions = StudyPlan.Action
                action = actions.EDIT if form.fixed_slug else actions.CREATE
                return redirect("plan", queue_plan(request, setup, action, study).pk)
            stored = store(setup)
            messages.success(request, next_steps(form.fixed_slug))
            return redirect("study-detail", stored.slug)
        except (PlanningError, ImpossibleDesignError) as error:
            form.blame_planning(error)
        except lifecycle.LifecycleError as error:
            form.add_problem("slug", str(error))
    return _form_page(request, form, request.path, study=study, status=422)


def _checked(
    request: UserRequest, form: StudyForm, study: Study | None
) -> HttpResponse:
    """Show the resulting study: only the summary for htmx, else the whole form."""
    draft, planned = form.draft(), {}
    if draft is not None and draft.needs_worker:
        check = StudyPlan.Action.CHECK
        planned = plan_context(queue_plan(request, draft.setup, check))
    summary: dict[str, Any] = {
        "draft": draft,
        "balance": draft.plan.balance.as_dict() if draft and draft.plan else None,
        "hours": draft.hours() if draft else 0,
        "seconds_picture": SECONDS_PER_PICTURE,
        **planned,
    }
    if request.htmx:
        context = {"form": form, **summary}
        return render(request, "manage/setup_summary.html", context)
    return _form_page(request, form, request.path, study=study, **summary)


def _preview(
    request: UserRequest, form: StudyForm, study: Study | None
) -> HttpResponse:
    setup = form.setup(with_people=False)
    if setup is not None:
        try:
            return preview_page(request, setup, request.POST)
        except PlanningError as error:
            form.blame_planning(error)
    return _form_page(request, form, request.path, study=study, status=422)


def _form_page(
    request: UserRequest,
    form: StudyForm,
    action: str,
    status: int = 200,
    **context: object,
) -> HttpResponse:
    context |= {"form": form, "action": action, "edited": form.fixed_slug}
    return render(request, "manage/setup_form.html", context, status=status)


@study_page()
def study_file(request: UserRequest, study: Study) -> HttpResponse:
    """Send the study file of the current study."""
    try:
        text = drafting.file_of(study)
    except PlanningError as error:
        raise Http404(str(error)) from error
    headers = attachment(f"{study.slug}.yaml", "application/yaml")
    return HttpResponse(text, headers=headers)


@never_cache
@study_page(role="manager")
def study_preview(request: UserRequest, study: Study) -> HttpResponse:
    """Show the annotator's page of an existing study."""
    try:
        setup = drafting.as_judged(study, _setup_of(study))
        return preview_page(request, setup, among=outputs_of(study))
    except PlanningError as error:
        raise Http404(str(error)) from error


def _titles(definition: StudyDefinition) -> list[str]:
    """Return the titles of the questions, or the categories of labels."""
    titles = [
        localised(getattr(one, "category", {}) or one.title)
        for one in definition.questions
    ]
    return list(dict.fromkeys(filter(None, titles)))
