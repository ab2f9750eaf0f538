"""Reports and downloads of a study."""

import re
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import (
    FileResponse,
    Http404,
    HttpResponse,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from annotate.audit_log import as_of_event
from annotate.models import MAIN, Report, Study
from annotate.pages.scores import STOP_POLLING
from annotate.pages.study_views import (
    UserRequest,
    attachment,
    render_page,
    study_page,
)
from annotate.reports import building, comparing, downloads, study_scores, writing
from annotate.reports.forms import ReportForm
from annotate.tasks import ring, sweep_reports

ID = re.compile("[0-9]{1,18}")


@study_page()
def table_csv(request: UserRequest, study: Study, table: str) -> StreamingHttpResponse:
    """Stream a table of a study, by default through the main view and as of now."""
    asked, as_of = request.GET, None
    view = get_object_or_404(study.analysis_views, key=asked.get("view") or MAIN)
    event = asked.get("as_of")
    if event:
        try:
            as_of = as_of_event.moment(study, _number(event))
        except as_of_event.MomentError as error:
            raise Http404(str(error)) from error
    lines = downloads.csv_lines(study, table, view=view.key, as_of=as_of)
    headers = attachment(f"{study.slug}-{table}.csv")
    return StreamingHttpResponse(lines, headers=headers)


@study_page()
def report_list(request: UserRequest, study: Study) -> HttpResponse:
    """List the study's reports; htmx polls while one is being built."""
    if not request.htmx:
        return _list_page(request, study, ReportForm(study=study))
    context = {"study": study, **_list(request, study)}
    status = 200 if context["at_work"] else STOP_POLLING
    return render(request, "reports/_list.html", context, status=status)


def _list(request: UserRequest, study: Study) -> dict[str, object]:
    reports = study.reports.select_related("created_by", "view", "as_of", "public")
    return {
        "reports": reports,
        "cancellable": {
            report.pk for report in reports if building.may_remove(report, request.user)
        },
        "at_work": any(report.state in Report.UNFINISHED for report in reports),
        "n_comparable": sum(
            report.state == Report.State.DONE and not report.is_plan
            for report in reports
        ),
    }


def _list_page(
    request: UserRequest, study: Study, form: ReportForm, status: int = 200
) -> HttpResponse:
    return render_page(
        request,
        study,
        "reports/list.html",
        status,
        **_list(request, study),
        form=form,
        missing=study_scores.missing_now(study),
        address=reverse("report-list", args=[study.slug]),
    )


@study_page("POST")
def report_create(request: UserRequest, study: Study) -> HttpResponse:
    """Queue a report and wake a worker."""
    form = ReportForm(request.POST, study=study)
    if not form.is_valid():
        return _list_page(request, study, form, status=422)
    try:
        report = building.ask(
            study,
            request.user,
            view=form.cleaned_data["view"],
            options=writing.as_stored(form.options()),
        )
    except building.TooManyReportsError as error:
        form.add_error(None, str(error))
        return _list_page(request, study, form, status=429)
    return _queued(report)


@study_page("POST")
def report_again(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    """Queue a report of the same view, moment and options as an earlier one."""
    report = get_object_or_404(study.reports, pk=pk, command=Report.Command.ALIGN)
    try:
        return _queued(building.build_again(report, user=request.user))
    except building.TooManyReportsError as error:
        messages.error(request, str(error))
        return redirect("report-list", study.slug)


@study_page("POST")
def report_cancel(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    """Cancel an unfinished report; managers may cancel those of others."""
    report = get_object_or_404(study.reports.select_related("study"), pk=pk)
    if not building.may_remove(report, request.user):
        raise PermissionDenied(_("Only managers can cancel other people's reports."))
    if Report.cancel_all(study.reports.filter(pk=pk)):
        messages.success(request, _("Report %(number)d cancelled.") % {"number": pk})
    return redirect("report-list", study.slug)


def _queued(report: Report) -> HttpResponse:
    """Wake a worker and return to the list."""
    ring(sweep_reports.delay)
    return redirect("report-list", report.study.slug)


def _get_report(study: Study, pk: int, **whose: str) -> Report:
    return get_object_or_404(study.reports, pk=pk, state=Report.State.DONE, **whose)


@study_page()
def report_page(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    """Show the report's page under a policy that admits only its scripts."""
    report = _get_report(study, pk)
    path = building.folder(report) / "report.html"
    if not path.is_file():
        raise Http404
    html = path.read_text(encoding="utf-8")
    bar = render_to_string("reports/_bar.html", {"study": study, "report": report})
    return page_of_report(html, bar)


def page_of_report(html: str, bar: str = "") -> HttpResponse:
    """Return the page of a report under a policy that admits only its scripts."""
    from analysis.report.page import content_security_policy

    response = HttpResponse(html.replace("<main>", f"<main>{bar}", 1))
    policy = content_security_policy(html)
    response["Content-Security-Policy"] = (
        f"{policy}; sandbox allow-scripts allow-downloads "
        # A click on an output opens an ordinary page in a new tab.
        "allow-popups allow-popups-to-escape-sandbox"
    )
    return response


@study_page()
def report_comparison(request: UserRequest, study: Study) -> HttpResponse:
    """Show the differences between two reports, by default the last two."""
    done = study.reports.filter(state=Report.State.DONE, command=Report.Command.ALIGN)
    reports = list(done.select_related("view"))
    context: dict[str, Any] = {"finished": reports}
    if len(reports) > 1:
        before, after = (
            _get_report(
                study,
                _number(request.GET.get(name) or str(usual.pk)),
                command=Report.Command.ALIGN,
            )
            for name, usual in (("before", reports[1]), ("after", reports[0]))
        )
        try:
            shown = comparing.comparison(study, before, after)
        except FileNotFoundError as error:
            raise Http404 from error
        remarks = list(zip((before, after), shown.comparison.notes, strict=True))
        context |= {"before": before, "after": after, "shown": shown}
        context["remarks"] = remarks
    return render_page(request, study, "reports/comparison.html", **context)


def _number(text: str) -> int:
    if ID.fullmatch(text) is None:
        raise Http404
    return int(text)


@study_page()
def report_file(request: UserRequest, study: Study, pk: int, name: str) -> FileResponse:
    """Send one table or the JSON of a report, and no other file."""
    path = building.files(_get_report(study, pk)).get(name)
    if path is None:
        raise Http404
    return FileResponse(
        path.open("rb"),
        as_attachment=True,
        filename=path.name,
        content_type=building.TYPES[path.suffix],
    )


@study_page()
def report_zip(request: UserRequest, study: Study, pk: int) -> FileResponse:
    """Send the whole report as one archive."""
    buffer = building.zipped(_get_report(study, pk))
    name = f"{study.slug}-report-{pk}.zip"
    return FileResponse(buffer, as_attachment=True, filename=name)
