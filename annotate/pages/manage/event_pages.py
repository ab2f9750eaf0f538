"""The log of a study, newest first."""

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils.translation import gettext as _

from annotate.history.log_lines import ROUTINE, lines
from annotate.models import Event, Study
from annotate.pages.requests import UserRequest
from annotate.pages.study_views import render_page, study_page

LINES_PER_PAGE = 50
EVENTS_READ = 300  # for one page; a longer run goes on upon the next
EVERYTHING = "everything"


@study_page()
def event_list(request: UserRequest, study: Study) -> HttpResponse:
    """List events, filtered by kind and annotator, a page before a given event."""
    found = list(_filtered(study, request)[: EVENTS_READ + 1])
    shown = lines(found[:EVENTS_READ], LINES_PER_PAGE)
    is_all = not found or shown[-1].last == found[-1]
    kept = request.GET.copy()
    kept.pop("before", None)
    return render_page(
        request,
        study,
        "manage/events.html",
        lines=shown,
        older=None if is_all else shown[-1].last.pk,
        is_later_page="before" in request.GET,
        kinds=[(EVERYTHING, _("everything")), *Event.Kind.choices],
        annotators=study.annotators.values_list("name", flat=True),
        filters=request.GET,
        query=kept.urlencode(),
    )


def _filtered(study: Study, request: UserRequest) -> QuerySet[Event]:
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
