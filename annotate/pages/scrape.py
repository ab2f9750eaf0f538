"""What a Prometheus reads: counts of requests, and gauges of the server."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from annotate.server_state.gauges import ServerGauges
from evalcore.serving.health import is_here

ADDRESS = "/metrics"
# What a proxy on this machine adds to what it passes on from others.
FORWARDED = ("X-Forwarded-For", "Forwarded", "Via", "X-Real-IP")


def scrape_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer /metrics before anything asks for HTTPS or a session."""
    registry = CollectorRegistry()
    # What processes that have ended had counted stays counted.
    MultiProcessCollector(registry, settings.METRICS_ROOT)  # type: ignore[no-untyped-call] # of its package
    registry.register(ServerGauges())

    @require_safe
    def answer(request: HttpRequest) -> HttpResponse:
        request.get_host()  # raises DisallowedHost, which is answered with 400
        if not _may_read(request):
            return HttpResponse(status=404)
        return HttpResponse(
            generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4
        )

    def middleware(request: HttpRequest) -> HttpResponse:
        asked = request.path_info == ADDRESS
        return answer(request) if asked else get_response(request)

    return middleware


def _may_read(request: HttpRequest) -> bool:
    """Say whether somebody has the token, or asks from this machine itself."""
    given = request.headers.get("Authorization", "")
    token = settings.METRICS_TOKEN
    if token and constant_time_compare(given, f"Bearer {token}"):
        return True
    has_proxy = (
        settings.PRODUCTION
        or settings.TRUSTED_PROXIES
        or settings.BASE_URL.startswith("https:")
        or any(name in request.headers for name in FORWARDED)
    )
    return not has_proxy and is_here(request.META.get("REMOTE_ADDR", ""))
