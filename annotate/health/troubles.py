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
                "The database lacks %(n)d change of this version; pages fail.",
                "The database lacks %(n)d changes of this version; pages fail.",
                n,
            )
            % {"n": n},
            _("Stop the server, type this, and start it again:"),
            "manage.py migrate",
        )


def _about_disks(disks: Sequence[gauges.Disk]) -> Iterator[Trouble]:
    if not health.can_store_media():
        yield Trouble(
            _("No file can be written in the folder of pictures; imports fail."),
            _("Let the user that runs the server write there, or make room:"),
            f"ls -ld {settings.MEDIA_ROOT}; df -h {settings.MEDIA_ROOT}",
        )
    for disk in disks:
        if disk.is_nearly_full:
            told = {"free": filesizeformat(disk.free), "names": ", ".join(disk.names)}
            yield Trouble(
                _("Only %(free)s are left on the disk of %(names)s.") % told,
                _("Answers cannot be stored on a full disk. See what takes the room:"),
                f"du -xh --max-depth=2 {disk.folder} | sort -h | tail",
            )


def _about_broker() -> Iterator[Trouble]:
    if health.about_broker():
        scheme = urlsplit(settings.CELERY_BROKER_URL).scheme
        yield Trouble(
            _("The broker does not answer; jobs wait, and leases do not end."),
            _("Start it, or correct BROKER_URL. It is there when this says so:"),
            ASK_BROKER[scheme],
        )


def _about_worker(row: Worker) -> Trouble:
    what = {
        Worker.Kind.CPU: _("The worker for reports and scores gives no sign of life."),
        Worker.Kind.GPU: _(
            "The worker for networks gives no sign of life, and scores wait."
        ),
        Worker.Kind.JUDGE: _(
            "The worker for judges gives no sign of life, and scores wait."
        ),
        Worker.Kind.BEAT: _(
            "The scheduler gives no sign of life, and work that was left waits."
        ),
    }[Worker.Kind(row.kind)]
    if row.restart_at:
        advice = _(
            "It is started again at %(at)s. If it ends again and again, the log of the "
            "server says why."
        ) % {"at": date_format(timezone.localtime(row.restart_at), "H:i:s T")}
        return Trouble(what, advice)
    start = "beat" if row.kind == Worker.Kind.BEAT else f"worker --queues {row.kind}"
    return Trouble(
        what,
        _("Start the server again, or where something else starts workers, this one:"),
        f"celery -A evalcore.celery {start}",
    )


def _about_waiting(seconds: Mapping[str, float]) -> Iterator[Trouble]:
    """Tell of jobs that wait for long although nobody is known to be gone."""
    late = {kind for kind, waited in seconds.items() if waited > LONG}
    if "report" in late:
        yield Trouble(
            _("Reports wait for more than ten minutes although the worker lives."),
            _("It does one job after the other; a second one takes its share:"),
            "celery -A evalcore.celery worker --queues cpu",
        )
    elif late:
        yield Trouble(
            _("Scores wait for more than ten minutes although workers live."),
            _("A metric may lack something on this machine; see what it is:"),
            page=reverse("metric-list"),
        )
