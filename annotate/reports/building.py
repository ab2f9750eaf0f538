"""Reports as jobs: request, queue, build in a worker, cancel."""

import io
import logging
import shutil
import zipfile
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from analysis.options import AlignOptions
from annotate.access.permissions import can_manage
from annotate.audit_log import as_of_event
from annotate.audit_log.as_of_event import Moment
from annotate.models import Export, Report, Study, User
from annotate.models.reports import Job
from annotate.reports.declarations import as_files
from annotate.reports.writing import ReportError, write_study_report
from evalcore.serving import log
from evalcore.serving.workers import Heartbeat

logger = logging.getLogger(__name__)


# How the files for the public begin, in the folder of a report.
PUBLIC = "public-"


TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".tex": "text/plain; charset=utf-8",
    ".json": "application/json",
}
# The most unfinished reports, and exports, of one account.
MOST_UNFINISHED = 3


class TooManyReportsError(ValueError):
    """The account has as many unfinished reports as it may have."""


@transaction.atomic
def ask(study: Study, user: User | None, **fields: Any) -> Report:
    """Queue a report."""
    if has_most_unfinished(Report, user):
        raise TooManyReportsError(
            _(
                "You have %(most)d unfinished reports, the most at one time. Wait "
                "until one is finished, or cancel one."
            )
            % {"most": MOST_UNFINISHED}
        )
    return Report.objects.create(study=study, created_by=user, **fields)


def has_most_unfinished(jobs: type[Job], user: User | None) -> bool:
    """Return whether an account has as many unfinished jobs as it may have.

    The lock makes simultaneous requests count one after the other.
    """
    if user is None:
        return False
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    rows = jobs._default_manager.filter(created_by=user, state__in=Job.UNFINISHED)
    return rows.count() >= MOST_UNFINISHED


def may_remove(job: Report | Export, user: User) -> bool:
    """Say whether a user may cancel or delete a job: their own, or as a manager."""
    return job.created_by_id == user.pk or can_manage(user, job.study)


def from_stored(stored: dict[str, Any]) -> AlignOptions:
    """Return the options of a stored report."""
    known = {one.name for one in fields(AlignOptions)}
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in stored.items()
        if name in known
    }
    return AlignOptions(**given)


def folder(report: Report) -> Path:
    return Path(settings.REPORTS_ROOT) / str(report.pk)


def waiting() -> Q:
    """Return the condition of jobs without a worker: queued, or worker lost."""
    last = timezone.now() - Job.SILENT
    silent = Q(heartbeat_at__isnull=True) | Q(heartbeat_at__lt=last)
    return Q(state=Job.State.QUEUED) | (Q(state=Job.State.RUNNING) & silent)


def waiting_reports() -> list[int]:
    """Return the waiting reports in the order of the queue.

    Accounts take turns: those without a report in progress come first.
    """
    at_work = Report.objects.filter(
        created_by=OuterRef("created_by"),
        state=Report.State.RUNNING,
        heartbeat_at__gte=timezone.now() - Job.SILENT,
    )
    latest = (
        Report.objects.filter(created_by=OuterRef("created_by"))
        .order_by()
        .values("created_by")
        .annotate(at=Max("heartbeat_at"))
        .values("at")
    )
    rows = Report.objects.filter(waiting()).order_by(
        Exists(at_work), Subquery(latest).asc(nulls_first=True), "created_at", "pk"
    )
    return list(rows.values_list("pk", flat=True))


class CancelledError(Exception):
    """The report was cancelled while it was built."""


def build_report(report_id: int) -> Report:
    """Build one report, unless another worker has it."""
    claimed = Report.claim(Report.objects.filter(waiting(), pk=report_id))
    report = Report.objects.select_related("study", "view").get(pk=report_id)
    if not claimed:
        return report
    log.note(study=report.study.slug)

    def tell(step: str) -> None:
        if not _sign(report_id, step=step[:200]):
            raise CancelledError

    try:
        with (
            Heartbeat(f"report {report_id}", partial(_sign, report_id)),
            as_files(report.inputs) as files,
        ):
            if report.is_plan:
                raise ReportError(_("Plans are made by the command `analysis`."))
            folder(report).mkdir(mode=0o700, parents=True, exist_ok=True)
            write_study_report(
                report.study,
                moment=_moment(report),
                view=report.view.key,
                options=from_stored(report.options),
                out=folder(report),
                files=files,
                progress=tell,
            )
    except CancelledError:
        logger.info("report %s was cancelled", report_id)
        remove_files(report)
    except Exception as error:
        logger.exception("report %s failed", report_id)
        _end(report, Report.State.FAILED, str(error) or type(error).__name__)
    else:
        _end(report, Report.State.DONE)
    report.refresh_from_db()
    return report


def _end(report: Report, state: Report.State, error: str = "") -> None:
    """Record how a report ended; remove the files if it was cancelled meanwhile."""
    own = Report.objects.filter(pk=report.pk)
    ended = own.exclude(state=Report.State.CANCELLED).update(
        state=state, error=error, finished_at=timezone.now()
    )
    if not ended:
        remove_files(report)


def remove_files(report: Report) -> None:
    shutil.rmtree(folder(report), ignore_errors=True)


def _moment(report: Report) -> Moment:
    """Return the moment of the report's data; the present, if it has none."""
    if report.as_of is None:
        report.as_of = as_of_event.mark(report.study, report.created_by)
        report.save(update_fields=["as_of"])
    return as_of_event.moment(report.study, report.as_of.pk)


def build_again(report: Report, *, user: User | None) -> Report:
    """Queue a report with the same view, moment and options as another."""
    return ask(
        report.study,
        user,
        view=report.view,
        as_of=report.as_of,
        options=report.options,
        inputs=report.inputs,
    )


def _sign(report_id: int, **also: str) -> bool:
    """Record a heartbeat; return False if the report was cancelled."""
    active = Report.objects.filter(pk=report_id).exclude(state=Report.State.CANCELLED)
    return bool(active.update(heartbeat_at=timezone.now(), **also))


def files(report: Report) -> dict[str, Path]:
    """Return the tables and the JSON of a finished report, by name."""
    base = folder(report)
    found = {"report.json": base / "report.json"}
    for path in (base / "tables").glob("*"):
        found[path.name] = path
    return {name: path for name, path in found.items() if path.is_file()}


def zipped(report: Report) -> io.BytesIO:
    """Return the whole report as one archive."""
    base, buffer = folder(report), io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(base.rglob("*")):
            if path.is_file() and not path.name.startswith(PUBLIC):
                archive.write(path, path.relative_to(base))
    buffer.seek(0)
    return buffer
