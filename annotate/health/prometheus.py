"""What a Prometheus reads: requests by route and status, and gauges of the server.

Each process of the web server counts in a file of its own in `METRICS_ROOT`; who reads
adds them up, those of processes that have ended included.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import product

from django.conf import settings
from django.db import Error
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Histogram,
    Metric,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from annotate.coverage.counts import totals
from annotate.health import jobs, overview
from annotate.models import Report, Study
from evalcore.models import MetricChunk
from evalcore.serving.health import is_here
from evalcore.serving.request_log import route_of

logger = logging.getLogger(__name__)

Answer = Callable[[HttpRequest], HttpResponse]
ADDRESS = "/metrics"
# What a proxy on this machine adds to what it passes on from others.
FORWARDED = ("X-Forwarded-For", "Forwarded", "Via", "X-Real-IP")
COUNTED = ("queued", "running", "failed")
SECONDS = Histogram(
    "plumbline_request_seconds",
    "How long requests took, by route and status",
    ("route", "status"),
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def count_middleware(get_response: Answer) -> Answer:
    """Count every request; it is there where the settings ask for it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = get_response(request)
        counted = SECONDS.labels(route_of(request), str(response.status_code))
        counted.observe(time.perf_counter() - began)
        return response

    return middleware


def scrape_middleware(get_response: Answer) -> Answer:
    """Answer /metrics before anything asks for HTTPS or a session.

    Who may not read it finds nothing, and another site's host name, led to this
    machine, is refused as on every page.
    """
    registry = CollectorRegistry()
    MultiProcessCollector(registry, settings.METRICS_ROOT)  # type: ignore[no-untyped-call] # of its package
    registry.register(ServerGauges())

    @require_safe
    def answer(request: HttpRequest) -> HttpResponse:
        request.get_host()  # raises DisallowedHost, which is answered with 400
        if not _may_read(request):
            return HttpResponse(status=404)
        text = generate_latest(registry)
        return HttpResponse(text, content_type=CONTENT_TYPE_PLAIN_0_0_4)

    def middleware(request: HttpRequest) -> HttpResponse:
        asked = request.path_info == ADDRESS
        return answer(request) if asked else get_response(request)

    return middleware


def _may_read(request: HttpRequest) -> bool:
    """Say whether somebody has the token, or asks from this machine itself.

    Behind a proxy of this machine everybody seems to: there only the token counts.
    """
    given, token = request.headers.get("Authorization", ""), settings.METRICS_TOKEN
    if token and constant_time_compare(given, f"Bearer {token}"):
        return True
    has_proxy = (
        settings.PRODUCTION
        or settings.TRUSTED_PROXIES
        or settings.BASE_URL.startswith("https:")
        or any(name in request.headers for name in FORWARDED)
    )
    return not has_proxy and is_here(request.META.get("REMOTE_ADDR", ""))


class ServerGauges(Collector):
    """Gauges of the whole server, whichever of its processes is asked."""

    def collect(self) -> Iterator[Metric]:
        """Return the gauges; where the database is away, that and little else."""
        try:
            now = timezone.now()
            found = [
                _gauge(name, text, labels, values(now))
                for name, (text, labels, values) in GAUGES.items()
            ]
        except Error:
            logger.exception("the database cannot be asked for gauges")
            found = []
        up = {(): int(bool(found))}
        yield _gauge("database_up", "1 while the database answers", (), up)
        yield from found
        free = {(name,): one.free for one in overview.disks() for name in one.names}
        yield _gauge("disk_free_bytes", "Room left on a disk", ("folder",), free)


# Values of a gauge by the values of its labels.
Values = Mapping[tuple[str, ...], float]


def _gauge(name: str, text: str, labels: tuple[str, ...], values: Values) -> Metric:
    family = GaugeMetricFamily(f"plumbline_{name}", text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _slots(now: datetime) -> Values:
    studies = Study.objects.filter(state=Study.State.OPEN).defer(*Study.LONG)
    return {
        (study.slug, state): getattr(found, state)
        for study in studies
        for found in [totals(study, surplus=0)]
        for state in ("open", "leased", "submitted", "excluded")
    }


def _reports(now: datetime) -> Values:
    rows = Report.objects.order_by().values_list("state")
    counted = dict(rows.annotate(n=Count("pk")))
    return {(state,): counted.get(state, 0) for state in COUNTED}


def _chunks(now: datetime) -> Values:
    rows = MetricChunk.objects.order_by().values_list("state", "queue")
    counted = {tuple(key): n for *key, n in rows.annotate(n=Count("pk"))}
    kinds = product(COUNTED, MetricChunk.Queue.values)
    return {kind: counted.get(kind, 0) for kind in kinds}


def _oldest(now: datetime) -> Values:
    waiting = [job for job in jobs.unfinished(now) if job.waits]
    waits = ((now - job.since).total_seconds() for job in waiting)
    return {(): max(waits, default=0)}


Labels = tuple[str, ...]
GAUGES: dict[str, tuple[str, Labels, Callable[[datetime], Values]]] = {
    "slots": (
        "Slots of open studies within their redundancy, and excluded ones",
        ("study", "state"),
        _slots,
    ),
    "reports": ("Reports", ("state",), _reports),
    "score_chunks": ("Parts of computations of scores", ("state", "queue"), _chunks),
    "worker_silent_seconds": (
        "Since when a kind of worker has given no sign of life",
        ("kind",),
        lambda now: {(k,): n for k, n in overview.seconds_silent(now).items()},
    ),
    "submitted_last_minute": (
        "Slots submitted in the last 60 seconds",
        (),
        lambda now: {(): overview.submitted(now - timedelta(minutes=1), now).count()},
    ),
    "leases": (
        "Slots that annotators have in hand",
        (),
        lambda now: {(): overview.in_hand().count()},
    ),
    "oldest_job_waits_seconds": (
        "How long the oldest job has been waiting for a worker; 0 if none is",
        (),
        _oldest,
    ),
    "database_bytes": (
        "Room that the database takes",
        (),
        lambda now: {(): overview.database_bytes()},
    ),
}
