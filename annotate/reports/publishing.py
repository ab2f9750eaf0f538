"""Reports at a public address, with their data if that is allowed."""

import logging
import os
import re
import zipfile
from collections.abc import Iterator
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.audit_log import as_of_event
from annotate.kinds.registry import answer_tables
from annotate.models import (
    Event,
    PublicReport,
    Report,
    Study,
    User,
    new_token,
)
from annotate.people.inviting import is_pseudonym
from annotate.reports import building, downloads, study_tables
from evalcore.serving import log

logger = logging.getLogger(__name__)

NAME = re.compile(r"[a-z0-9](?:-?[a-z0-9]){2,59}")
# These would tell when somebody was at work, or lead to pages behind a login.
LEFT_OUT = {"slot", "started_at", "submitted_at", "excluded"}
# Of a report's page, all that leads elsewhere: outputs' pages and addresses.
OUTPUTS = re.compile(r'<(p|ul) class="source stories">.*?</\1>', re.DOTALL)
OUTPUT_LINK = re.compile(r'(<body[^>]*?)\s*data-stories="[^"]*"')
LINK = re.compile(r'\shref="(?!#)[^"]*"')


class PublishingError(ValueError):
    """A report that cannot be published; the message says why."""


def publish(
    report: Report,
    *,
    name: str | None = None,
    with_data: bool = False,
    by: User | None,
) -> PublicReport:
    """Make a finished report public, or change how it is.

    Without a name it keeps its address; with an empty one it gets a secret address.
    """
    if report.state != Report.State.DONE or report.is_plan:
        raise PublishingError(_("Only finished reports can be published."))
    before = PublicReport.objects.filter(report=report).first()
    own = before.name if before else ""
    name = own if name is None else name
    if name and name != own:
        _check(name)
    policy = _write_page(report, with_data=with_data)
    try:
        with transaction.atomic():
            Report.objects.select_for_update(no_key=True).get(pk=report.pk)
            row, _created = PublicReport.objects.update_or_create(
                report=report,
                defaults={
                    "name": name or new_token(),
                    "policy": policy,
                    "with_data": with_data,
                    "data_event": None,
                    "published_by": by,
                    "published_at": timezone.now(),
                    "withdrawn_at": None,
                    "error": "",
                },
            )
            _note(row, by)
    except IntegrityError as error:
        text = _("Another report has the name “%(name)s”. Choose another one.")
        raise PublishingError(text % {"name": name}) from error
    return row


def _note(row: PublicReport, by: User | None) -> None:
    event_log.note(
        Event.Kind.REPORT_PUBLISHED,
        row.report.study_id,
        user=by,
        report=row.report_id,
        address=reverse("public-report", args=[row.name]),
        with_data=row.with_data,
    )


def _check(name: str) -> None:
    """Raise an error unless a name can be the last part of an address."""
    if not NAME.fullmatch(name):
        text = _(
            "“%(name)s” cannot be part of an address. Use 3 to 60 small letters, "
            "digits and single hyphens."
        )
        raise PublishingError(text % {"name": name[:80]})


def is_current(row: PublicReport) -> bool:
    """Say whether the page is written, and shows nobody's withdrawn data."""
    return bool(row.policy) and not _has_too_much(row.report).exists()


def _has_too_much(report: Report) -> QuerySet[Event]:
    """Return the events after which a report shows more of people than it may.

    These are withdrawals of answers, and erasures of names that came in a file.
    """
    study = report.study
    less = Q(kind=Event.Kind.CONSENT_WITHDRAWN, details__left_out__gt=0)
    if study.is_imported:
        less |= Q(kind=Event.Kind.PERSON_ERASED)
    return study.events.filter(less, pk__gt=report.as_of_id)


def outdated_since(row: PublicReport) -> datetime:
    """Return since when a report that could not be built again showed too much."""
    first = _has_too_much(row.report).order_by("pk").first()
    event = first or row.report.as_of
    return event.at if event else row.published_at


def withdraw(row: PublicReport, *, by: User | None) -> None:
    """Stop publishing a report at once; its address answers 410."""
    with transaction.atomic():
        public = PublicReport.objects.filter(pk=row.pk, withdrawn_at__isnull=True)
        if public.update(withdrawn_at=timezone.now(), data_event=None):
            event_log.note(
                Event.Kind.REPORT_WITHDRAWN,
                row.report.study_id,
                user=by,
                report=row.report_id,
            )
    for path in (data_file(row.report), page_file(row.report)):
        path.unlink(missing_ok=True)


def foreign_names(study: Study) -> list[str]:
    """Return the annotators that are called as a file called them."""
    names = study.annotators.values_list("name", flat=True)
    return [name for name in names if not is_pseudonym(name)]


def data_file(report: Report) -> Path:
    return building.folder(report) / f"{building.PUBLIC}data.zip"


def page_file(report: Report) -> Path:
    return building.folder(report) / f"{building.PUBLIC}report.html"


def _write_page(report: Report, *, with_data: bool) -> str:
    """Write the page without what leads out of it; return its content policy."""
    from analysis.report.page import content_security_policy

    try:
        html = (building.folder(report) / "report.html").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise PublishingError(_("The page of the report is missing.")) from error
    head, script, rest = html.partition("<script>")
    head = LINK.sub("", OUTPUT_LINK.sub(r"\1", OUTPUTS.sub("", head)))
    if with_data:
        link = format_html('<p><a href="data.zip">{}</a></p>', _("Data (zip)"))
        head = head.replace("<main>", f"<main>{link}", 1)
    partial = page_file(report).with_suffix(".part")
    partial.write_text(head + script + rest, encoding="utf-8")
    os.replace(partial, page_file(report))
    return f"{content_security_policy(html)}; sandbox allow-scripts allow-downloads"


def write_waiting() -> None:
    """Write the pages and data of public reports that lack them.

    A report that shows withdrawn data is built again first, at the same address.
    """
    rows = PublicReport.objects.filter(withdrawn_at__isnull=True)
    for row in rows.select_related("report__study", "report__view"):
        log.note(study=row.report.study.slug)
        try:
            if event := _has_too_much(row.report).order_by("pk").last():
                _build_again(row, event)
            elif row.report.state == Report.State.DONE:
                _write(row)
        except Exception as error:
            logger.exception("public report %s was not written", row.report_id)
            # The message of an OSError names folders of the server.
            reason = error.strerror if isinstance(error, OSError) else str(error)
            own = PublicReport.objects.filter(pk=row.pk)
            own.update(error=reason or type(error).__name__)


def retry(row: PublicReport) -> None:
    """Queue a public report whose building failed once more, as of its event."""
    if row.failure and row.report.as_of is not None:
        _build_again(row, row.report.as_of)


def _build_again(row: PublicReport, event: Event) -> None:
    """Let a new report, as of the event, take the place of a public one."""
    with transaction.atomic():
        rows = PublicReport.objects.select_for_update(of=("self",), no_key=True)
        if not rows.filter(pk=row.pk, withdrawn_at__isnull=True).exists():
            return
        old = row.report
        row.report = building.ask(
            old.study,
            None,
            view=old.view,
            as_of=event,
            options=old.options,
            inputs=old.inputs,
        )
        row.policy, row.data_event, row.published_at = "", None, timezone.now()
        row.error = ""
        row.save()
        _note(row, None)
    for path in (data_file(old), page_file(old)):
        path.unlink(missing_ok=True)


def _write(row: PublicReport) -> None:
    """Write what a public report lacks of its page and data."""
    public = PublicReport.objects.filter(
        pk=row.pk, published_at=row.published_at, withdrawn_at__isnull=True
    )
    if not row.policy:
        public.update(policy=_write_page(row.report, with_data=row.with_data))
    if row.with_data and row.data_event is None:
        _write_data(row)
        public.update(data_event=row.report.as_of_id)
    if row.error:
        public.update(error="")


def _write_data(row: PublicReport) -> None:
    """Write the report's tables, and the tables that it was made of."""
    report = row.report
    study, folder = report.study, building.folder(report)
    assert report.as_of_id is not None
    moment = as_of_event.moment(study, report.as_of_id)
    partial = folder / f"{building.PUBLIC}data.part"
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((folder / "tables").glob("*.csv")):
            archive.write(path, f"tables/{path.name}")
        lines = {
            table: _answer_lines(study, table, report.view.key, moment)
            for table in answer_tables(study, only_counted=True)
        }
        has_stories = len(downloads.header(study, "stories")) > 1
        for table in ("scores", *["stories"] * has_stories):
            lines[table] = downloads.csv_lines(study, table, as_of=moment)
        for table, frame in (
            ("hypotheses", study_tables.hypotheses_frame(study)),
            ("trained_on", study_tables.trained_on_frame(study, moment)),
        ):
            if len(frame):
                lines[table] = downloads.frame_lines(frame)
        for table, pieces in lines.items():
            with (
                archive.open(f"{table}.csv", "w", force_zip64=True) as stream,
                TextIOWrapper(stream, encoding="utf-8", newline="") as text,
            ):
                text.writelines(pieces)
    os.replace(partial, data_file(report))


def _answer_lines(
    study: Study, table: str, view: str, moment: as_of_event.Moment
) -> Iterator[str]:
    """Yield the answers that count."""
    columns = [one for one in study_tables.header(study, table) if one not in LEFT_OUT]
    rows = study_tables.answer_rows(study, table, view=view, as_of=moment)
    cells = ([row[one] for one in columns] for row in rows if not row["excluded"])
    return downloads.plain_lines(columns, cells)
