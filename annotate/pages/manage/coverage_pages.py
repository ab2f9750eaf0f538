"""Progress page of a study with its tables and buttons; log; server status."""

from hashlib import sha256
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotate.audit_log.log_lines import ROUTINE, details
from annotate.coverage import coverage_tables
from annotate.coverage.dashboard import dashboard, version
from annotate.coverage.enough import enough, goal_fields
from annotate.health.troubles import status
from annotate.models import Annotator, Event, Flag, Purpose, Study, Unit
from annotate.pages.manage.people import revoke
from annotate.pages.study_views import (
    UserRequest,
    attachment,
    query_without,
    render_page,
    row_numbers,
    study_button,
    study_page,
)
from annotate.presentation import broken_media
from annotate.quality import follow_up, monitoring
from annotate.spreadsheet import csv_lines
from annotate.studies import lifecycle
from annotate.studies.goals import set_goals
from annotate.studies.units import PlanningError

STEPS_SHOWN = 60
TITLES = {
    "cells": gettext_lazy("counts by method and story"),
    "annotators": gettext_lazy("annotators"),
    "arrivals": gettext_lazy("ratings over time"),
    "alerts": gettext_lazy("alerts"),
    "comments": gettext_lazy("comments"),
    "shot_comments": gettext_lazy("comments on shots"),
    "events": gettext_lazy("log"),
}
NOTHING_NEW = 204  # htmx changes nothing then


@study_page()
def study_coverage(request: UserRequest, study: Study) -> HttpResponse:
    """Show the dashboard; htmx polls for changes of its live part."""
    now = timezone.now()
    current = version(study, now)
    if request.htmx and request.GET.get("since") == current:
        return HttpResponse(status=NOTHING_NEW)
    part = {key: request.GET.get(key, "") for key in ("question", "stories", "rows")}
    everybody = bool(request.GET.get("people"))
    board = dashboard(study, **part, everybody=everybody, now=now)
    chosen = {"question": board.question.key} if board.question else {}
    return render_page(
        request,
        study,
        "manage/_coverage.html" if request.htmx else "manage/coverage.html",
        dashboard=board,
        version=current,
        waits_for_links=lifecycle.waits_for_links(study),
        enough=enough(study),
        goal_fields=goal_fields(study),
        recent=board.chart.table[: -STEPS_SHOWN - 1 : -1] if board.chart else (),
        question_query=f"&{urlencode(chosen)}" if chosen else "",
        tables=[(table, str(title)) for table, title in TITLES.items()],
    )


@study_page()
def coverage_csv(
    request: UserRequest, study: Study, table: str
) -> StreamingHttpResponse:
    """Stream one of the dashboard's tables."""
    if table not in coverage_tables.TABLES:
        raise Http404
    header, rows = coverage_tables.TABLES[table]
    name = f"{study.slug}-{table}.csv"
    lines = csv_lines(header, rows(study))
    return StreamingHttpResponse(lines, headers=attachment(name))


@study_button("study-coverage", PlanningError)
def study_goals(request: UserRequest, study: Study) -> str:
    """Change the goals of the study."""
    if set_goals(study, request.POST.dict(), request.user):
        return _("The goals are changed, and the log says so.")
    return _("The goals are as before.")


@study_button("study-coverage", follow_up.HoldingError, of="annotators")
def annotator_action(
    request: UserRequest, study: Study, annotator: Annotator, action: str
) -> str:
    if action == "revoke":
        return revoke(request, annotator)
    if action == "pause":
        follow_up.pause(annotator, user=request.user)
        text = _("%(name)s is paused. Their work stays theirs.")
    elif action == "resume":
        follow_up.resume(annotator, user=request.user)
        text = _("%(name)s can continue.")
    else:
        raise Http404
    return text % {"name": annotator.name}


@study_button("study-coverage")
def flag_resolve(request: UserRequest, study: Study, pk: int) -> str:
    """Resolve a flag, and the other flags in the form."""
    flag = get_object_or_404(Flag, pk=pk, annotator__study=study)
    others = row_numbers(request.POST.getlist("also"))
    for one in (flag, *flag.annotator.flags.filter(pk__in=others)):
        monitoring.resolve(one, user=request.user)
    text = (
        _("The findings about %(name)s are marked as handled.")
        if others
        else _("The finding about %(name)s is marked as handled.")
    )
    if flag.annotator.state == Annotator.State.PAUSED:
        text += " " + _("%(name)s stays paused.")
    return text % {"name": flag.annotator.name}


@study_button("study-coverage")
def faults_settle(request: UserRequest, study: Study) -> str:
    named = row_numbers(request.POST.getlist("fault"))
    return (
        _("The report is marked as handled.")
        if broken_media.settle(study, named)
        else ""
    )


@study_button("study-coverage", of="units")
def unit_hand_out(request: UserRequest, study: Study, unit: Unit) -> str:
    """Offer a unit again that several people skipped."""
    if unit.purpose != Purpose.REAL:
        raise Http404
    changed = follow_up.hand_out_again(unit, user=request.user)
    return _("The story is offered to others again.") if changed else ""


LINES_PER_PAGE = 50
EVERYTHING = "everything"


@study_page()
def event_list(request: UserRequest, study: Study) -> HttpResponse:
    """List a page of events before a given one, by kind and annotator."""
    events = list(_filtered_events(study, request)[: LINES_PER_PAGE + 1])
    page = events[:LINES_PER_PAGE]
    return render_page(
        request,
        study,
        "manage/events.html",
        lines=[(event, details(event)) for event in page],
        older=page[-1].pk if len(events) > len(page) else None,
        is_later_page="before" in request.GET,
        kinds=[(EVERYTHING, _("all events")), *Event.Kind.choices],
        annotators=study.annotators.values_list("name", flat=True),
        filters=request.GET,
        query=query_without(request, "before"),
    )


def _filtered_events(study: Study, request: UserRequest) -> QuerySet[Event]:
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


@require_safe
@login_required
def server(request: UserRequest) -> HttpResponse:
    """Show the status of the server; htmx polls for changes."""
    if not request.user.is_superuser:
        raise Http404
    context = status(timezone.now())
    state = sha256(repr(context).encode()).hexdigest()[:16]
    if request.htmx and request.GET.get("since") == state:
        return HttpResponse(status=NOTHING_NEW)
    part = "manage/_server.html" if request.htmx else "manage/server.html"
    return render(request, part, context | {"state": state})
