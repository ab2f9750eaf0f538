"""Publishing reports, and what everybody can read of them."""

from pathlib import Path
from typing import Any

from django.contrib import messages
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from annotate.access import rate_limits
from annotate.access.server_address import links_begin_with
from annotate.models import PublicReport, Report, Study
from annotate.pages.study_views import UserRequest, render_page, study_page
from annotate.reports import publishing
from annotate.tasks import ring, sweep_reports, write_public_data

# Caches ask each time whether a report is still public.
FOR_CACHES = cache_control(public=True, no_cache=True)


@study_page("GET", "HEAD", "POST", of="reports", in_archive=True)
def report_publish(request: UserRequest, study: Study, report: Report) -> HttpResponse:
    """Show whether a report is public, publish it, or change how it is."""
    if request.method != "POST":
        return _form(request, study, report)
    if "again" in request.POST:
        row = get_object_or_404(PublicReport, report=report, withdrawn_at=None)
        publishing.retry(row)
        ring(sweep_reports.delay)
        return redirect("report-publish", study.slug, row.report_id)
    name = request.POST.get("name", "").strip()
    with_data = "with_data" in request.POST
    try:
        publishing.publish(report, name=name, with_data=with_data, by=request.user)
    except publishing.PublishingError as error:
        context = {"error": str(error), "name": name, "with_data": with_data}
        return _form(request, study, report, 422, **context)
    ring(write_public_data.delay)
    return redirect("report-publish", study.slug, report.pk)


def _form(
    request: UserRequest,
    study: Study,
    report: Report,
    status: int = 200,
    **context: object,
) -> HttpResponse:
    row = PublicReport.objects.filter(report=report).first()
    if row is not None:
        context = {"name": row.name, "with_data": row.with_data, **context}
    return render_page(
        request,
        study,
        "reports/publish.html",
        status,
        report=report,
        public=row if row and row.withdrawn_at is None else None,
        address=links_begin_with(request)
        + reverse("public-report", args=[row.name if row else "-"]),
        foreign=publishing.foreign_names(study)[:5],
        **context,
    )


@study_page("POST", of="reports", in_archive=True)
def report_unpublish(
    request: UserRequest, study: Study, report: Report
) -> HttpResponse:
    """Stop publishing a report."""
    row = get_object_or_404(PublicReport, report=report)
    publishing.withdraw(row, by=request.user)
    messages.success(request, _("The report is no longer public."))
    return redirect("report-publish", study.slug, report.pk)


def _public(name: str) -> PublicReport | None:
    rows = PublicReport.objects.filter(name=name, withdrawn_at__isnull=True)
    return rows.select_related("report__study").first()


def _missing(request: HttpRequest, name: str) -> HttpResponse:
    """Answer that a report is public no more, or never was."""
    if PublicReport.objects.filter(name=name).exists():
        return render(request, "reports/withdrawn.html", status=410)
    return rate_limits.refuse_link(request)


@require_safe
@FOR_CACHES
def public_report(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show a public report to everybody."""
    row = _public(name)
    if row is None:
        return _missing(request, name)
    if not publishing.is_current(row):
        return _later(row, _("The report is being updated."))
    html = "text/html; charset=utf-8"
    response = _file(request, row, publishing.page_file(row.report), content_type=html)
    # Browsers take the headers of an answer without content for the stored page.
    response["Content-Security-Policy"] = row.policy
    response["X-Robots-Tag"] = "noindex"
    return response


def _later(row: PublicReport, text: str) -> HttpResponse:
    """Answer that a public report is not there yet, or that it could not be built."""
    if not row.failure or publishing.is_current(row):  # only data lack
        text = " ".join([text, _("Please try again in a minute.")])
        return HttpResponse(text, status=503, headers={"Retry-After": "60"})
    text = _(
        "Data of this report were removed on %(day)s, and it could not be built again "
        "without them. It returns to this address when its authors have built it again."
    )
    day = date_format(localtime(publishing.outdated_since(row)), "DATE_FORMAT")
    return HttpResponse(text % {"day": day}, status=503)


def _file(
    request: HttpRequest, row: PublicReport, path: Path, **how: Any
) -> HttpResponseBase:
    """Send a file of a public report, unless the browser has it."""
    tag = f'"{row.published_at.timestamp()}"'
    response: HttpResponseBase | None = get_conditional_response(request, etag=tag)
    if response is None:
        try:
            response = FileResponse(path.open("rb"), **how)
        except FileNotFoundError as error:
            raise Http404 from error
    response["ETag"] = tag
    return response


@require_safe
@FOR_CACHES
def public_data(request: HttpRequest, name: str) -> HttpResponseBase:
    """Send the data of a public report, if they may be read."""
    row = _public(name)
    if row is None:
        return _missing(request, name)
    if not row.with_data:
        raise Http404
    if row.data_event is None or not publishing.is_current(row):
        return _later(row, _("The data are being written."))
    path = publishing.data_file(row.report)
    return _file(request, row, path, as_attachment=True, filename=f"{name}.zip")
