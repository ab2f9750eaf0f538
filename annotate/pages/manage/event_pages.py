"""The log of a study, newest first."""

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotate.access.permissions import can_manage, get_study_for
from annotate.history.log_lines import ROUTINE, lines
from annotate.models import Event, Study

LINES_PER_PAGE = 50
EVENTS_READ = 300  # for one page; a longer run goes on upon the next
EVERYTHING = "everything"


@require_safe
@login_required
def event_list(request: HttpRequest, slug: str) -> HttpResponse:
    """List events, filtered by kind and annotator, a page before a given event."""
    study = get_study_for(request.user, slug)
    found = list(_filtered(study, request)[: EVENTS_READ + 1])
    shown = lines(found[:EVENTS_READ], LINES_PER_PAGE)
    is_all = not found or shown[-1].last == found[-1]
    kept = request.GET.copy()
    kept.pop("before", None)
    context = {
        "study": study,
        "can_manage": can_manage(request.user, study),
        "lines": shown,
        "older": None if is_all else shown[-1].last.pk,
        "is_later_page": "before" in request.GET,
        "kinds": [(EVERYTHING, _("everything")), *Event.Kind.choices],
        "annotators": study.annotators.values_list("name", flat=True),
        "filters": request.GET,
        "query": kept.urlencode(),
    }
    return render(request, "manage/events.html", context)


def _filtered(study: Study, request: HttpRequest) -> QuerySet[Event]:
    events = study.events.select_related(
        "annotator",
        "user",
        "slot__unit__story",
        *study.output_paths("slot__unit__", "__method"),
    ).order_by("-id")
    kind = request.GET.get("kind")
    if not kind:
        events = events.exclude(ROUTINE)
    elif kind != EVERYTHING:
        events = events.filter(kind=kind)
    if name := request.GET.get("annotator"):
        events = events.filter(annotator__name=name)
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 19:
        events = events.filter(pk__lt=int(before))
    return events
