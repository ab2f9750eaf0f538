"""Page of a study's analysis views, called filters, and of its exclusions."""

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import ngettext

from annotate.models import (
    AnalysisView,
    Annotator,
    Exclusion,
    Flag,
    Purpose,
    Slot,
    Study,
)
from annotate.pages.manage.people import leave_out
from annotate.pages.study_views import (
    UserRequest,
    render_page,
    row_numbers,
    study_button,
    study_page,
)
from annotate.quality import exclusion, monitoring
from annotate.responses import analysis_views

EXCLUSIONS_PER_PAGE = 100

view_button = study_button(
    "view-list", analysis_views.ViewError, exclusion.ExclusionError
)


@study_page()
def view_list(request: UserRequest, study: Study) -> HttpResponse:
    """List the views with their counts, and the exclusions with their views."""
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
    return render_page(
        request,
        study,
        "manage/views.html",
        counts=analysis_views.overview(study),
        named=named,
        page=page,
        rows=[(row, reasons[row.pk], _boxes(row, named)) for row in page],
        people=_people(study),
        chosen=chosen,
        reason=_reason(study, chosen),
        excluded_people=[
            (person, len(exclusions))
            for person, exclusions in exclusion.excluded_wholesale(study).items()
        ],
        longest_reason=exclusion.LONGEST_REASON,
        longest_key=analysis_views.LONGEST_KEY,
        longest_title=analysis_views.LONGEST_TITLE,
    )


def _boxes(row: Exclusion, named: list[AnalysisView]) -> list[tuple[str, bool]]:
    """Return the key of each named view, and whether the exclusion applies to it."""
    hidden = {view.pk for view in row.views.all()}
    return [(view.key, view.pk in hidden) for view in named]


def _people(study: Study) -> list[Annotator]:
    """Return the annotators with slots that can be excluded, and their numbers."""
    counted = Q(slots__purpose=Purpose.REAL, slots__state=Slot.State.SUBMITTED)
    people = study.annotators.annotate(n=Count("slots", filter=counted))
    return list(people.filter(n__gt=0).order_by("name"))


def _reason(study: Study, name: str) -> str:
    """Return the finding about an annotator as a suggested reason."""
    if not name:
        return ""
    flags = Flag.objects.filter(
        annotator__study=study, annotator__name=name, resolved_at__isnull=True
    )
    flag = flags.exclude(action=Flag.Action.NOTE).first()
    return flag.sentence[: exclusion.LONGEST_REASON] if flag else ""


@view_button
def view_add(request: UserRequest, study: Study) -> str:
    analysis_views.add_view(
        study,
        key=request.POST.get("key", ""),
        title=request.POST.get("title", ""),
        author=request.user,
    )
    return ""


@view_button
def view_choose(request: UserRequest, study: Study) -> str:
    """Store which views the listed exclusions apply to."""
    rows = row_numbers(request.POST.getlist("row"))
    chosen: dict[int, set[str]] = {pk: set() for pk in rows}
    for box in request.POST.getlist("hide"):
        text, _colon, key = box.partition(":")
        for pk in row_numbers([text]):
            if pk in chosen:
                chosen[pk].add(key)
    n = analysis_views.choose_views(study, chosen, author=request.user)
    text = ngettext("%(n)d exclusion changed.", "%(n)d exclusions changed.", n)
    return text % {"n": n}


@view_button
def annotator_exclude(request: UserRequest, study: Study) -> str:
    """Exclude everything that an annotator has submitted, with a reason."""
    person = get_object_or_404(study.annotators, name=request.POST.get("annotator", ""))
    return leave_out(request, person)


@view_button
def annotator_restore(request: UserRequest, study: Study) -> str:
    """Undo the exclusion of everything that an annotator has submitted."""
    person = get_object_or_404(study.annotators, name=request.POST.get("annotator", ""))
    n = exclusion.undo_annotator(person, author=request.user)
    text = ngettext(
        "%(n)d rating of %(name)s was restored.",
        "%(n)d ratings of %(name)s were restored.",
        n,
    )
    return text % {"n": n, "name": person.name}
