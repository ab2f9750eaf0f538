"""Page on which a manager rehearses a study with simulated people."""

from datetime import datetime
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django_htmx.http import HttpResponseClientRefresh

from annotate.models import Rehearsal, Study
from annotate.pages.reports import page_of_report
from annotate.pages.study_views import (
    UserRequest,
    render_page,
    study_button,
    study_page,
    whole_number,
)
from annotate.rehearsal import queue
from annotate.rehearsal.person import PersonKind, usual_people
from annotate.rehearsal.result import Finding
from annotate.tasks import ring, wake_rehearsals
from evalcore.models import Worker
from evalcore.serving import workers

BADGES = {Finding.FOUND: "good", Finding.FINE: "", Finding.MISSED: "warn"}


@never_cache
@study_page("GET", "HEAD", "POST", role="manager")
def study_rehearsal(request: UserRequest, study: Study) -> HttpResponseBase:
    """Show the last rehearsal of a study, and start another one."""
    row = Rehearsal.objects.filter(study=study).first()
    if request.method == "POST":
        return _start(request, study)
    if request.htmx:
        if row is None or not queue.is_at_work(row):
            return HttpResponseClientRefresh()  # the form comes back, too
        context = {"study": study, **_shown(study, row)}
        return render(request, "manage/_rehearsal.html", context)
    return _page(request, study, row)


def _start(request: UserRequest, study: Study) -> HttpResponse:
    sent = {kind.value: request.POST.get(kind, "") for kind in PersonKind}
    numbers = {name: whole_number(text) for name, text in sent.items()}
    people = {name: n or 0 for name, n in numbers.items()}
    differences = request.POST.get("differences", "")
    try:
        queue.ask(study, request.user, people, differences)
    except queue.RehearsalError as error:
        row = Rehearsal.objects.filter(study=study).first()
        return _page(
            request,
            study,
            row,
            422,
            problem=str(error),
            numbers=sent,
            differences=differences,
        )
    ring(wake_rehearsals)
    return redirect("study-rehearsal", study.slug)


def _page(
    request: UserRequest,
    study: Study,
    row: Rehearsal | None,
    status: int = 200,
    *,
    problem: str = "",
    numbers: dict[str, Any] | None = None,
    differences: str = "",
) -> HttpResponse:
    if not numbers:
        numbers = row.people if row else usual_people(study)
    usual = row.differences if row else Rehearsal.Differences.CLEAR
    return render_page(
        request,
        study,
        "manage/rehearsal.html",
        status,
        problem=problem,
        kinds=[(kind, numbers.get(kind.value, 0)) for kind in PersonKind],
        most=queue.MOST_PEOPLE,
        differences=Rehearsal.Differences.choices,
        chosen=differences or usual,
        **_shown(study, row),
    )


def _shown(study: Study, row: Rehearsal | None) -> dict[str, Any]:
    """Return the state of a rehearsal, and its result if there is one."""
    if row is None:
        return {"rehearsal": None}
    judge = Worker.objects.filter(kind=Worker.Kind.JUDGE).first()
    is_waiting = row.state == Rehearsal.State.QUEUED
    late = judge is None or workers.is_late(judge, timezone.now())
    result = row.result if row.state == Rehearsal.State.DONE else {}
    return {
        "rehearsal": row,
        "at_work": queue.is_at_work(row),
        "no_worker": is_waiting and late,
        "error": queue.lost_text() if queue.has_lost_worker(row) else row.error,
        "result": result,
        "has_report": queue.report_path(row) is not None,
        **(_parts(result) if result else {}),
    }


def _parts(result: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a result as its template shows them."""
    people = [
        {
            **one,
            "badge": BADGES.get(one["finding"], "bad"),
            "finding_text": Finding(one["finding"]).label,
        }
        for one in result["people"]
    ]
    order = (Finding.ACCUSED, Finding.MISSED, Finding.FOUND)
    return {
        "ends": datetime.fromisoformat(result["ended"]),
        "noticed": sorted(
            (one for one in people if one["finding"] != Finding.FINE),
            key=lambda one: order.index(one["finding"]),
        ),
        "trusted": [one for one in people if one["finding"] == Finding.FINE],
    }


@study_button("study-rehearsal")
def rehearsal_delete(request: UserRequest, study: Study) -> str:
    """Stop or delete the rehearsal of a study."""
    row = Rehearsal.objects.filter(study=study).first()
    if row is None:
        return ""
    was_at_work = queue.is_at_work(row)
    queue.forget(row)
    if was_at_work:
        return _("The rehearsal was stopped.")
    return _("The rehearsal was deleted.")


@study_page(role="manager")
def rehearsal_report(request: UserRequest, study: Study) -> HttpResponse:
    """Show the report on simulated answers, which says so at its top."""
    row = Rehearsal.objects.filter(study=study).first()
    path = queue.report_path(row) if row else None
    if path is None:
        raise Http404
    bar = render_to_string("manage/_rehearsal_bar.html", {"study": study})
    return page_of_report(path.read_text(encoding="utf-8"), bar)
