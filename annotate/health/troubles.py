"""What is wrong with the server, and in one sentence each what to do about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.health.jobs import Job
from annotate.health.overview import Disk, Overview, WorkerRow
from evalcore.models import Worker
from evalcore.serving import readiness

# So long a job waits its turn before anybody should look.
LONG = timedelta(minutes=10)
ASK_BROKER = {
    "redis": "redis-cli ping",
    "rediss": "redis-cli --tls ping",
    "amqp": "rabbitmqctl status",
    "amqps": "rabbitmqctl status",
}


@dataclass(frozen=True)
class Trouble:
    """What is wrong, what to do, and the command or the page that helps."""

    what: str
    advice: str
    command: str = ""
    page: str = ""


def troubles(server: Overview, now: datetime | None = None) -> list[Trouble]:
    """Return what is wrong now, what keeps pages from working first."""
    missed = [row for row in server.workers if row.is_missed]
    return [
        *_about_database(),
        *_about_disks(server.disks),
        *_about_broker(),
        *map(_about_worker, missed),
        *(() if missed else _about_waiting(server.jobs, now or timezone.now())),
    ]


def _about_database() -> Iterator[Trouble]:
    n = len(readiness.missing_migrations())
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


def _about_disks(disks: Sequence[Disk]) -> Iterator[Trouble]:
    if not readiness.can_store_media():
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
    if readiness.about_broker():
        scheme = urlsplit(settings.CELERY_BROKER_URL).scheme
        yield Trouble(
            _("The broker does not answer; jobs wait, and leases do not end."),
            _("Start it, or correct BROKER_URL. It is there when this says so:"),
            ASK_BROKER[scheme],
        )


def _about_worker(row: WorkerRow) -> Trouble:
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


def _about_waiting(jobs: Sequence[Job], now: datetime) -> Iterator[Trouble]:
    """Tell of jobs that wait for long although nobody is known to be gone."""
    late = [job for job in jobs if job.waits and now - job.since > LONG]
    if any(job.kind == "report" for job in late):
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
