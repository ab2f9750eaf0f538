"""Requests counted for Prometheus, by their route and status, in buckets of time.

Each process of the web server counts in a file of its own in `METRICS_ROOT`; who reads
adds them up, those of processes that have ended included.
"""

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from prometheus_client import Histogram

from evalcore.serving.request_log import route_of

SECONDS = Histogram(
    "plumbline_request_seconds",
    "How long requests took, by route and status",
    ("route", "status"),
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def count_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Count every request; it is there where the settings ask for it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = get_response(request)
        counted = SECONDS.labels(route_of(request), str(response.status_code))
        counted.observe(time.perf_counter() - began)
        return response

    return middleware
