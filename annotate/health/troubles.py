"""Troubles of the server with what to do about them, and its numbers."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from analysis.options import release
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
    Worker.Kind.GPU: gettext_lazy("Neural networks"),
    Worker.Kind.JUDGE: gettext_lazy("LLM judges"),
    Worker.Kind.BEAT: gettext_lazy("Scheduler"),
}


@dataclass(frozen=True)
class Trouble:
    """A problem of the server, what to do, and the command or page that helps."""

    what: str
    advice: str
    command: str = ""
    page: str = ""


def status(now: datetime) -> dict[str, Any]:
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
        "version": release(),
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
                "The database lacks %(n)d migration of this version; pages fail.",
                "The database lacks %(n)d migrations of this version; pages fail.",
                n,
            )
            % {"n": n},
            _("Stop the server, run this command, and start it again:"),
            "plumbline migrate",
        )


def _about_disks(disks: Sequence[gauges.Disk]) -> Iterator[Trouble]:
    if settings.MEDIA_STORE and health.about_store():
        yield Trouble(
            _("The object store of the media cannot be written to."),
            _("Pages lack pictures, and imports fail. The store says:"),
            health.about_store(),
        )
    elif not health.can_store_media():
        yield Trouble(
            _("The media folder cannot be written to, so imports fail."),
            _("Let the server's user write there, or free some space:"),
            f"ls -ld {settings.MEDIA_ROOT}; df -h {settings.MEDIA_ROOT}",
        )
    for disk in disks:
        if disk.is_nearly_full:
            values = {"free": filesizeformat(disk.free), "names": ", ".join(disk.names)}
            yield Trouble(
                _("Only %(free)s are free on the disk of %(names)s.") % values,
                _("Answers cannot be stored on a full disk. Find what uses the space:"),
                f"du -xh --max-depth=2 {disk.folder} | sort -h | tail",
            )


def _about_broker() -> Iterator[Trouble]:
    if health.about_broker():
        scheme = urlsplit(settings.CELERY_BROKER_URL).scheme
        yield Trouble(
            _(
                "The broker does not respond. Jobs wait, and abandoned ratings are not "
                "offered to others."
            ),
            _("Start it, or correct BROKER_URL. Check it with:"),
            ASK_BROKER[scheme],
        )


def _about_worker(row: Worker) -> Trouble:
    what = {
        Worker.Kind.CPU: _("The worker for reports and scores is not responding."),
        Worker.Kind.GPU: _(
            "The worker for neural networks is not responding, so scores wait."
        ),
        Worker.Kind.JUDGE: _(
            "The worker for LLM judges is not responding, so scores wait."
        ),
        Worker.Kind.BEAT: _(
            "The scheduler is not responding, so interrupted work waits."
        ),
    }[Worker.Kind(row.kind)]
    if row.restart_at:
        advice = _(
            "It restarts at %(at)s. If it keeps stopping, the server's log says why."
        ) % {"at": date_format(timezone.localtime(row.restart_at), "H:i:s T")}
        return Trouble(what, advice)
    return Trouble(
        what,
        _("Restart the server. If something else starts your workers, start this one:"),
        f"plumbline serve --only {row.kind}",
    )


def _about_waiting(seconds: Mapping[str, float]) -> Iterator[Trouble]:
    """Tell of jobs that wait for long although nobody is known to be gone."""
    late = {kind for kind, waited in seconds.items() if waited > LONG}
    if "report" in late:
        yield Trouble(
            _(
                "Reports have waited for over ten minutes although the worker is "
                "running."
            ),
            _("A worker does one job at a time. Start a second one to share the work:"),
            "plumbline serve --only cpu-2",
        )
    elif late:
        yield Trouble(
            _("Scores have waited for over ten minutes although workers are running."),
            _(
                "A metric may be missing something on this machine. The list of "
                "metrics says what."
            ),
            page=reverse("metric-list"),
        )
