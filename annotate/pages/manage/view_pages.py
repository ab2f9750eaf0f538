"""The page of a study's analysis views: what is hidden from which, and why."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotate.access.permissions import can_manage, get_study_for
from annotate.answers import analysis_views
from annotate.models import (
    AnalysisView,
    Annotator,
    Exclusion,
    Flag,
    Purpose,
    Slot,
    Study,
)
from annotate.pages.requests import UserRequest
from annotate.quality import exclusion, monitoring

EXCLUSIONS_PER_PAGE = 100


@require_safe
@login_required
def view_list(request: UserRequest, slug: str) -> HttpResponse:
    """List the views with their counts, and which exclusion hides from which."""
    study = get_study_for(request.user, slug)
    named = list(analysis_views.named_views(study))
    rows = (
        analysis_views.in_force(study)
        .select_related(
            "author",
            "slot__annotator",
            "slot__unit__story",
            *study.output_paths("slot__unit__", "__method"),
        )
        .prefetch_related("views")
    )
    page = Paginator(rows.order_by("-pk"), EXCLUSIONS_PER_PAGE).get_page(
        request.GET.get("page")
    )
    reasons = monitoring.reasons(page)
    chosen = request.GET.get("annotator", "")
    context = {
        "study": study,
        "can_manage": can_manage(request.user, study),
        "counts": analysis_views.overview(study),
        "named": named,
        "page": page,
        "rows": [(row, reasons[row.pk], _boxes(row, named)) for row in page],
        "people": _people(study),
        "chosen": chosen,
        "reason": _reason(study, chosen),
        "excluded_people": [
            (person, len(found))
            for person, found in exclusion.excluded_wholesale(study).items()
        ],
        "longest_reason": exclusion.LONGEST_REASON,
        "longest_key": analysis_views.LONGEST_KEY,
        "longest_title": analysis_views.LONGEST_TITLE,
    }
    return render(request, "manage/views.html", context)


def _boxes(row: Exclusion, named: list[AnalysisView]) -> list[tuple[str, bool]]:
    """Return the key of each named view, and whether the answers are hidden from it."""
    hidden = {view.pk for view in row.views.all()}
    return [(view.key, view.pk in hidden) for view in named]


def _people(study: Study) -> list[Annotator]:
    """Return the annotators with answers that can be excluded, and how many slots."""
    counted = Q(slots__purpose=Purpose.REAL, slots__state=Slot.State.SUBMITTED)
    people = study.annotators.annotate(n=Count("slots", filter=counted))
    return list(people.filter(n__gt=0).order_by("name"))


def _reason(study: Study, name: str) -> str:
    """Return what a rule has found about somebody, as a reason to begin with."""
    if not name:
        return ""
    flags = Flag.objects.filter(
        annotator__study=study, annotator__name=name, resolved_at__isnull=True
    )
    flag = flags.exclude(action=Flag.Action.NOTE).first()
    return flag.sentence[: exclusion.LONGEST_REASON] if flag else ""


@require_POST
@login_required
def view_add(request: UserRequest, slug: str) -> HttpResponse:
    """Add a named view."""
    study = get_study_for(request.user, slug, role="manager")
    try:
        analysis_views.add_view(
            study,
            key=request.POST.get("key", ""),
            title=request.POST.get("title", ""),
            author=request.user,
        )
    except analysis_views.ViewError as error:
        messages.error(request, str(error))
    return redirect("view-list", slug)


@require_POST
@login_required
def view_choose(request: UserRequest, slug: str) -> HttpResponse:
    """Store from which views the listed exclusions hide their answers."""
    study = get_study_for(request.user, slug, role="manager")
    chosen: dict[int, set[str]] = {
        int(pk): set() for pk in request.POST.getlist("row") if is_number(pk)
    }
    for box in request.POST.getlist("hide"):
        pk, _colon, key = box.partition(":")
        if is_number(pk) and int(pk) in chosen:
            chosen[int(pk)].add(key)
    n = analysis_views.choose_views(study, chosen, author=request.user)
    text = ngettext("%(n)d exclusion changed.", "%(n)d exclusions changed.", n)
    messages.success(request, text % {"n": n})
    return redirect("view-list", slug)


def is_number(text: str) -> bool:
    """Say whether a form's text is an id."""
    return text.isascii() and text.isdecimal() and len(text) < 18


@require_POST
@login_required
def annotator_exclude(request: UserRequest, slug: str) -> HttpResponse:
    """Leave everything out that somebody has submitted, with a reason."""
    study = get_study_for(request.user, slug, role="manager")
    person = get_object_or_404(study.annotators, name=request.POST.get("annotator", ""))
    try:
        rows = exclusion.exclude_annotator(
            person, reason=request.POST.get("reason", ""), author=request.user
        )
    except exclusion.ExclusionError as error:
        messages.error(request, str(error))
    else:
        text = ngettext(
            "%(n)d slot of %(name)s excluded.",
            "%(n)d slots of %(name)s excluded.",
            len(rows),
        )
        messages.success(request, text % {"n": len(rows), "name": person.name})
    return redirect("view-list", slug)


@require_POST
@login_required
def annotator_restore(request: UserRequest, slug: str) -> HttpResponse:
    """Take back the exclusion of everything that somebody has submitted."""
    study = get_study_for(request.user, slug, role="manager")
    person = get_object_or_404(study.annotators, name=request.POST.get("annotator", ""))
    n = exclusion.undo_annotator(person, author=request.user)
    text = ngettext(
        "%(n)d slot of %(name)s restored.", "%(n)d slots of %(name)s restored.", n
    )
    messages.success(request, text % {"n": n, "name": person.name})
    return redirect("view-list", slug)
