"""Metrics for Prometheus: requests by route and status, and gauges of the server.

Each process of the web server counts in a separate file in `METRICS_ROOT`; a scrape
adds them up, including those of processes that have ended.
"""

import logging
import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.db import Error
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

from annotate.health import gauges
from evalcore.serving.health import is_here
from evalcore.serving.request_log import route_of

logger = logging.getLogger(__name__)

Answer = Callable[[HttpRequest], HttpResponse]
ADDRESS = "/metrics"
# Headers that a local proxy adds to forwarded requests.
FORWARDED = ("X-Forwarded-For", "Forwarded", "Via", "X-Real-IP")
SECONDS = Histogram(
    "plumbline_request_seconds",
    "Duration of requests by route and status",
    ("route", "status"),
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def count_middleware(get_response: Answer) -> Answer:
    """Count every request; installed if the settings enable it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = get_response(request)
        counted = SECONDS.labels(route_of(request), str(response.status_code))
        counted.observe(time.perf_counter() - began)
        return response

    return middleware


def scrape_middleware(get_response: Answer) -> Answer:
    """Answer /metrics before the checks of HTTPS and session.

    Without access the answer is 404. Another site's host name, pointed at this
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
    """Say whether a request has the token or comes from this machine.

    Behind a local proxy every request seems local, so only the token counts.
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
    """Gauges of the whole server, the same from each process."""

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges; without a database, only its state and the disks."""
        try:
            now = timezone.now()
            found = [
                _gauge(name, text, labels, values(now))
                for name, (text, labels, values) in gauges.GAUGES.items()
            ]
        except Error:
            logger.exception("Could not query the database for gauges")
            found = []
        up: gauges.Values = {(): int(bool(found))}
        yield _gauge("database_up", "1 while the database is reachable", (), up)
        yield from found
        free: gauges.Values = {
            (name,): one.free for one in gauges.disks() for name in one.names
        }
        yield _gauge("disk_free_bytes", "Free space on a disk", ("folder",), free)


def _gauge(
    name: str, text: str, labels: tuple[str, ...], values: gauges.Values
) -> Metric:
    family = GaugeMetricFamily(f"plumbline_{name}", text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family
