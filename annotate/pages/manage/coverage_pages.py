"""The dashboard of a study, its tables, and what a manager does from it."""

from collections.abc import Callable
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST, require_safe

from annotate.access.permissions import can_manage, get_study_for
from annotate.coverage import coverage_tables
from annotate.coverage.dashboard import dashboard, version
from annotate.models import Annotator, Flag, Purpose
from annotate.pages.manage.view_pages import is_number
from annotate.pages.requests import UserRequest
from annotate.people import inviting
from annotate.presentation import broken_media
from annotate.quality import monitoring, pausing
from annotate.spreadsheet import csv_lines
from annotate.studies import lifecycle

CSV = "text/csv; charset=utf-8"
STEPS_SHOWN = 60
TITLES = {
    "cells": gettext_lazy("cells"),
    "annotators": gettext_lazy("annotators"),
    "arrivals": gettext_lazy("arrivals"),
    "alerts": gettext_lazy("alerts"),
    "comments": gettext_lazy("comments"),
    "events": gettext_lazy("log"),
}
NOTHING_NEW = 204  # htmx leaves the page as it is


@require_safe
@login_required
def study_coverage(request: UserRequest, slug: str) -> HttpResponse:
    """Show the dashboard; htmx asks for its live part, and whether there is news."""
    study = get_study_for(request.user, slug)
    now = timezone.now()
    current = version(study, now)
    if request.htmx and request.GET.get("since") == current:
        return HttpResponse(status=NOTHING_NEW)
    asked = {key: request.GET.get(key, "") for key in ("question", "stories", "rows")}
    everybody = bool(request.GET.get("people"))
    shown = dashboard(study, **asked, everybody=everybody, now=now)
    chosen = {"question": shown.question.key} if shown.question else {}
    context = {
        "study": study,
        "can_manage": can_manage(request.user, study),
        "dashboard": shown,
        "version": current,
        "waits_for_links": lifecycle.waits_for_links(study),
        "recent": shown.chart.table[: -STEPS_SHOWN - 1 : -1] if shown.chart else (),
        "question_query": f"&{urlencode(chosen)}" if chosen else "",
        "tables": [(table, str(title)) for table, title in TITLES.items()],
    }
    template = "manage/_coverage.html" if request.htmx else "manage/coverage.html"
    return render(request, template, context)


@require_safe
@login_required
def coverage_csv(request: UserRequest, slug: str, table: str) -> StreamingHttpResponse:
    """Send one of the dashboard's tables, line by line."""
    study = get_study_for(request.user, slug)
    if table not in coverage_tables.TABLES:
        raise Http404
    header, rows = coverage_tables.TABLES[table](study)
    response = StreamingHttpResponse(csv_lines(header, rows), content_type=CSV)
    name = f"{study.slug}-{table}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _pause(request: UserRequest, annotator: Annotator) -> str:
    pausing.pause(annotator, user=request.user)
    return _("%(name)s is paused; the slots stay theirs.")


def _resume(request: UserRequest, annotator: Annotator) -> str:
    pausing.resume(annotator, user=request.user)
    return _("%(name)s may go on.")


def _revoke(request: UserRequest, annotator: Annotator) -> str:
    freed = inviting.revoke(annotator, user=request.user)
    text = ngettext(
        "%(name)s was revoked; %(freed)d slot is free again.",
        "%(name)s was revoked; %(freed)d slots are free again.",
        freed,
    )
    return text.replace("%(freed)d", str(freed))


ACTIONS: dict[str, Callable[[UserRequest, Annotator], str]] = {
    "pause": _pause,
    "resume": _resume,
    "revoke": _revoke,
}


@require_POST
@login_required
def annotator_action(
    request: UserRequest, slug: str, pk: int, action: str
) -> HttpResponse:
    """Pause, resume or revoke an annotator."""
    study = get_study_for(request.user, slug, role="manager")
    annotator = get_object_or_404(study.annotators, pk=pk)
    if action not in ACTIONS:
        raise Http404
    try:
        text = ACTIONS[action](request, annotator)
    except pausing.HoldingError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, text % {"name": annotator.name})
    return redirect("study-coverage", slug)


@require_POST
@login_required
def flag_resolve(request: UserRequest, slug: str, pk: int) -> HttpResponse:
    """Settle a flag, and those that the form names besides."""
    study = get_study_for(request.user, slug, role="manager")
    flag = get_object_or_404(Flag, pk=pk, annotator__study=study)
    besides = [int(n) for n in request.POST.getlist("also") if is_number(n)]
    for one in (flag, *flag.annotator.flags.filter(pk__in=besides)):
        monitoring.resolve(one, user=request.user)
    text = (
        _("The flags of %(name)s are settled.")
        if besides
        else _("The flag of %(name)s is settled.")
    )
    if flag.annotator.state == Annotator.State.PAUSED:
        text += " " + _("%(name)s stays paused.")
    messages.success(request, text % {"name": flag.annotator.name})
    return redirect("study-coverage", slug)


@require_POST
@login_required
def faults_settle(request: UserRequest, slug: str) -> HttpResponse:
    """Settle reports of broken pictures."""
    study = get_study_for(request.user, slug, role="manager")
    named = [int(n) for n in request.POST.getlist("fault") if is_number(n)]
    if broken_media.settle(study, named):
        messages.success(request, _("The report is settled."))
    return redirect("study-coverage", slug)


@require_POST
@login_required
def unit_hand_out(request: UserRequest, slug: str, pk: int) -> HttpResponse:
    """Hand a unit out again that several people skipped."""
    study = get_study_for(request.user, slug, role="manager")
    unit = get_object_or_404(study.units, pk=pk, purpose=Purpose.REAL)
    if pausing.hand_out_again(unit, user=request.user):
        messages.success(request, _("The story is handed out again."))
    return redirect("study-coverage", slug)
