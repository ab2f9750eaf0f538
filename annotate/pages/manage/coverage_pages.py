"""Progress page of a study with its tables and buttons; log; server status."""

from collections.abc import Iterable
from hashlib import sha256
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotate.access.permissions import can_manage
from annotate.access.server_address import links_begin_with
from annotate.audit_log.log_lines import EVERYTHING, details, listed
from annotate.coverage import coverage_tables
from annotate.coverage.alert_lines import day, mark_handled, when
from annotate.coverage.completion import Outlook
from annotate.coverage.dashboard import dashboard, version
from annotate.coverage.enough import enough, goal_fields
from annotate.coverage.forecast import Chart
from annotate.health.troubles import status
from annotate.models import Annotator, Event, Flag, Purpose, Study, Unit
from annotate.pages.manage.people import leave_out, revoke
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
from annotate.presentation.same_size import aspect_ratio_notes, outputs_of
from annotate.quality import exclusion, follow_up, monitoring
from annotate.spreadsheet import csv_lines
from annotate.studies import deadline
from annotate.studies.goals import set_goals
from annotate.studies.units import PlanningError

State = Annotator.State
STEPS_SHOWN = 60
MOST_KEYS = 5
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


@never_cache
@study_page()
def study_detail(request: UserRequest, study: Study) -> HttpResponse:
    """Show the progress of a study; htmx polls for changes of its live part."""
    now = timezone.now()
    current = version(study, now)
    if request.htmx and request.GET.get("since") == current:
        return HttpResponse(status=NOTHING_NEW)
    part = {key: request.GET.get(key, "") for key in ("question", "stories", "rows")}
    everybody = bool(request.GET.get("people"))
    base = links_begin_with(request)
    board = dashboard(study, **part, everybody=everybody, now=now, base=base)
    chosen = {"question": board.question.key} if board.question else {}
    is_draft = study.state == Study.State.DRAFT
    return render_page(
        request,
        study,
        "manage/_progress.html" if request.htmx else "manage/progress.html",
        dashboard=board,
        costs=board.costs if can_manage(request.user, study) else None,
        version=current,
        simulated=study.annotators.filter(is_simulated=True).count(),
        shape_notes=aspect_ratio_notes(outputs_of(study)) if is_draft else [],
        enough=enough(study),
        goal_fields=[] if study.archived_at else goal_fields(study),
        held=_held_table(board.outlook),
        recent=_recent_table(board.chart),
        question_query=f"&{urlencode(chosen)}" if chosen else "",
        tables=[(table, str(title)) for table, title in TITLES.items()],
    )


def _held_table(until: Outlook) -> dict[str, object]:
    """Return columns and rows of who holds the ratings that are still to come."""
    numbers = [False, True, True, False, False]
    titles = [_("Name"), _("Holds"), _("Per day"), _("Last answer"), _("In the date")]
    rows = (
        (
            one.name,
            one.held,
            f"{one.per_day:.1f}",
            day(one.last) if one.last else "–",
            _("yes") if one.is_counted else _("no"),
        )
        for one in until.held
    )
    return _table(titles, numbers, rows)


def _recent_table(chart: Chart | None) -> dict[str, object]:
    """Return columns and rows of the last steps of a chart, the newest first."""
    steps = chart.table[: -STEPS_SHOWN - 1 : -1] if chart else ()
    titles = [_("From"), _("Submitted"), _("Total")]
    rows = ((when(at), n, total) for at, n, total in steps)
    return _table(titles, [False, True, True], rows)


def _table(
    titles: list[str], numbers: list[bool], rows: Iterable[tuple[object, ...]]
) -> dict[str, object]:
    return {
        "columns": list(zip(titles, numbers, strict=True)),
        "rows": [list(zip(row, numbers, strict=True)) for row in rows],
    }


@study_page()
def study_coverage(request: UserRequest, study: Study) -> HttpResponse:
    """Redirect from the former address of the progress page."""
    address = reverse("study-detail", args=[study.slug])
    query = request.GET.urlencode()
    return redirect(f"{address}?{query}" if query else address, permanent=True)


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


@study_button("study-detail", PlanningError)
def study_goals(request: UserRequest, study: Study) -> str:
    """Change the goals of the study."""
    if set_goals(study, request.POST.dict(), request.user):
        return _("The goals are changed, and the log says so.")
    return _("The goals are as before.")


@study_button("study-detail", follow_up.HoldingError, of="annotators")
def annotator_action(
    request: UserRequest, study: Study, annotator: Annotator, action: str
) -> str:
    if action == "revoke":
        return revoke(request, annotator)
    if action == "pause":
        return _pause(request, annotator)
    if action != "resume":
        raise Http404
    follow_up.resume(annotator, user=request.user)
    return _("%(name)s can continue.") % {"name": annotator.name}


@study_button("study-detail")
def flag_resolve(request: UserRequest, study: Study, pk: int) -> str:
    """Resolve a flag."""
    flag = get_object_or_404(Flag, pk=pk, annotator__study=study)
    monitoring.resolve(flag, user=request.user)
    return _about_findings(flag.annotator, 1)


@study_button("study-detail", follow_up.HoldingError, exclusion.ExclusionError)
@transaction.atomic
def alert_settle(request: UserRequest, study: Study) -> str:
    """Act on a line of *Do now*: pause, leave out or remove a person, or nothing.

    The findings, reports and keys in the form are marked as handled.
    """
    form = request.POST
    people = study.annotators.filter(pk__in=row_numbers([form.get("person", "0")]))
    person = people.first()
    texts = []
    if person is not None:
        texts.append(_decide(request, person, form.get("then", "")))
        numbers = row_numbers(form.getlist("flag"))
        flags = list(person.flags.filter(pk__in=numbers))
        for flag in flags:
            monitoring.resolve(flag, user=request.user)
        texts += [_about_findings(person, len(flags))] if flags else []
    if broken_media.settle(study, row_numbers(form.getlist("fault"))):
        texts.append(_("The report is marked as handled."))
    for key in form.getlist("key")[:MOST_KEYS]:
        mark_handled(study, key, person=person, user=request.user)
        texts.append(_("The line is marked as handled; the log keeps it."))
    return " ".join(filter(None, texts))


def _decide(request: UserRequest, person: Annotator, then: str) -> str:
    """Pause a person, leave their answers out, or remove them; return a message."""
    if then == "remove":
        return revoke(request, person)
    if then not in ("pause", "leave out"):
        return ""
    texts = []
    if then == "leave out":
        texts.append(leave_out(request, person))
    if then == "pause" or person.state in (State.INVITED, State.ACTIVE):
        texts.append(_pause(request, person))
    return " ".join(texts)


def _pause(request: UserRequest, person: Annotator) -> str:
    follow_up.pause(person, user=request.user)
    return _("%(name)s is paused. Their work stays theirs.") % {"name": person.name}


def _about_findings(person: Annotator, n: int) -> str:
    text = ngettext(
        "The finding about %(name)s is marked as handled.",
        "The findings about %(name)s are marked as handled.",
        n,
    )
    if person.state == State.PAUSED:
        text += " " + _("%(name)s stays paused.")
    return text % {"name": person.name}


@study_button("study-detail", deadline.DeadlineError)
def study_deadline(request: UserRequest, study: Study) -> str:
    """Set, move or remove the deadline."""
    day = deadline.parse(request.POST.get("deadline", ""))
    deadline.move(study, day, user=request.user)
    if day is None:
        return _("The study has no deadline.")
    return _("The deadline is %(day)s.") % {"day": day}


@study_button("study-detail", of="units")
def unit_hand_out(request: UserRequest, study: Study, unit: Unit) -> str:
    """Offer a unit again that several people skipped."""
    if unit.purpose != Purpose.REAL:
        raise Http404
    changed = follow_up.hand_out_again(unit, user=request.user)
    return _("The story is offered to others again.") if changed else ""


LINES_PER_PAGE = 50


@study_page()
def event_list(request: UserRequest, study: Study) -> HttpResponse:
    """List a page of events before a given one, by kind and annotator."""
    asked = request.GET
    before = asked.get("before", "")
    rows = listed(
        study,
        kind=asked.get("kind", ""),
        annotator=asked.get("annotator", ""),
        before=int(before) if before.isdecimal() and len(before) < 19 else None,
        with_pay=can_manage(request.user, study),
    )
    events = list(rows[: LINES_PER_PAGE + 1])
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
