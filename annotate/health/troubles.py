"""Troubles of the server with what to do about them, and its numbers."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from analysis.options import VERSION
from annotate.health import gauges
from evalcore.models import Worker
from evalcore.serving import health, workers
from evalcore.serving.health import STARTED_AT

# So many seconds a job waits its turn before anybody should look.
LONG = 600
ASK_BROKER = {
    "redis": "redis-cli ping",
    "rediss": "redis-cli --tls ping",
    "amqp": "rabbitmqctl status",
    "amqps": "rabbitmqctl status",
}


WORKERS = {
    Worker.Kind.CPU: gettext_lazy("Reports and scores"),
    Worker.Kind.GPU: gettext_lazy("Networks"),
    Worker.Kind.JUDGE: gettext_lazy("Judges"),
    Worker.Kind.BEAT: gettext_lazy("Scheduler"),
}


@dataclass(frozen=True)
class Trouble:
    """A problem of the server, what to do, and the command or page that helps."""

    what: str
    advice: str
    command: str = ""
    page: str = ""


def status(now: datetime) -> dict[str, object]:
    """Return how the server does now; sizes are in bytes."""
    minute = now.replace(second=0, microsecond=0)
    disks, missed = gauges.disks(), workers.standing_still()
    return {
        "troubles": [
            *_about_database(),
            *_about_disks(disks),
            *_about_broker(),
            *map(_about_worker, missed),
            *(() if missed else _about_waiting(gauges.waits(now))),
        ],
        "last_minute": gauges.submitted(minute - timedelta(minutes=1), minute).count(),
        "leases": gauges.in_hand().count(),
        "reports": {state: n for (state,), n in gauges.reports(now).items()},
        "chunks": {
            state: sum(
                n for (of, _queue), n in gauges.chunks(now).items() if of == state
            )
            for state in gauges.COUNTED
        },
        "disks": disks,
        "database_bytes": gauges.database_bytes(),
        "database": _database(),
        "workers": [
            {
                "kind": row.kind,
                "title": str(WORKERS[Worker.Kind(row.kind)]),
                "seen_at": row.seen_at,
                "restart_at": row.restart_at,
                "is_late": workers.is_late(row, now),
                "is_missed": row.kind in {one.kind for one in missed},
            }
            for row in workers.of_every_kind()
        ],
        "version": VERSION,
        "started_at": STARTED_AT,
        "minutes_up": (now - STARTED_AT) // timedelta(minutes=1),
    }


def _database() -> str:
    """Return what the database is called, and its version."""
    if connection.vendor == "sqlite":
        return f"SQLite {sqlite3.sqlite_version}"
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return f"PostgreSQL {cursor.fetchone()[0].split()[0]}"


def _about_database() -> Iterator[Trouble]:
    n = len(health.missing_migrations())
    if n:
        yield Trouble(
            ngettext(
                "%(n)d database migration is missing, so pages fail.",
                "%(n)d database migrations are missing, so pages fail.",
                n,
            )
            % {"n": n},
            _("Stop the server, run this command and start the server again:"),
            "manage.py migrate",
        )


def _about_disks(disks: Sequence[gauges.Disk]) -> Iterator[Trouble]:
    if not health.can_store_media():
        yield Trouble(
            _("The folder for pictures is not writable, so imports fail."),
            _("Give the server's user write access, or free some disk space:"),
            f"ls -ld {settings.MEDIA_ROOT}; df -h {settings.MEDIA_ROOT}",
        )
    for disk in disks:
        if disk.is_nearly_full:
            told = {"free": filesizeformat(disk.free), "names": ", ".join(disk.names)}
            yield Trouble(
                _("Only %(free)s free on the disk of %(names)s.") % told,
                _(
                    "Answers cannot be stored on a full disk. Find out what uses the "
                    "space:"
                ),
                f"du -xh --max-depth=2 {disk.folder} | sort -h | tail",
            )


def _about_broker() -> Iterator[Trouble]:
    if health.about_broker():
        scheme = urlsplit(settings.CELERY_BROKER_URL).scheme
        yield Trouble(
            _(
                "The message broker does not respond. Jobs wait and leases do not "
                "expire."
            ),
            _(
                "Start the broker or correct BROKER_URL. Check the connection with this"
                " command:"
            ),
            ASK_BROKER[scheme],
        )


def _about_worker(row: Worker) -> Trouble:
    what = {
        Worker.Kind.CPU: _("The worker for reports and scores is not responding."),
        Worker.Kind.GPU: _(
            "The worker for networks is not responding, so scores wait."
        ),
        Worker.Kind.JUDGE: _(
            "The worker for judges is not responding, so scores wait."
        ),
        Worker.Kind.BEAT: _(
            "The scheduler is not responding, so abandoned ratings and jobs wait."
        ),
    }[Worker.Kind(row.kind)]
    if row.restart_at:
        advice = _(
            "It restarts at %(at)s. If it keeps stopping, see the server's log for the "
            "reason."
        ) % {"at": date_format(timezone.localtime(row.restart_at), "H:i:s T")}
        return Trouble(what, advice)
    start = "beat" if row.kind == Worker.Kind.BEAT else f"worker --queues {row.kind}"
    return Trouble(
        what,
        _("Restart the server. If you start workers separately, start this one:"),
        f"celery -A evalcore.celery {start}",
    )


def _about_waiting(seconds: Mapping[str, float]) -> Iterator[Trouble]:
    """Tell of jobs that wait for long although nobody is known to be gone."""
    late = {kind for kind, waited in seconds.items() if waited > LONG}
    if "report" in late:
        yield Trouble(
            _(
                "Reports have waited for more than ten minutes although the worker is "
                "running."
            ),
            _("A worker does one job at a time. Start a second one to share the work:"),
            "celery -A evalcore.celery worker --queues cpu",
        )
    elif late:
        yield Trouble(
            _(
                "Scores have waited for more than ten minutes although the workers are "
                "running."
            ),
            _("A metric may lack something on this machine. See what is missing:"),
            page=reverse("metric-list"),
        )
