"""Answers to probes, which belong to no study, and to machines that may not ask."""

from collections.abc import Callable
from ipaddress import ip_address

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from evalcore.serving import readiness
from evalcore.serving.environment import LOCAL_HOSTS

# Middleware is loaded at the start, before the web server's processes part.
STARTED_AT = timezone.now()


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when the server can reach its database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when this process can serve pages, and say what keeps it from that.

    What lets work wait, but no page, is told and changes nothing: a balancer must not
    take web servers away because a worker died.
    """
    missing, waiting = readiness.missing(), readiness.waiting()
    status = "not ready" if missing else "degraded" if waiting else "ready"
    told = {"status": status, "reasons": missing | waiting}
    return JsonResponse(told, status=503 if missing else 200)


PROBES = {"/healthz": healthz, "/readyz": readyz}


def health_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer probes before anything asks for a host name, HTTPS or a session.

    Probes come by the machine's address, which no setting lists.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        probe = PROBES.get(request.path_info)
        return probe(request) if probe else get_response(request)

    return middleware


def only_this_machine(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Refuse other machines while no address is named by which they reach this one.

    `serve` listens to none then, but gunicorn by itself does what it is told, and the
    name of a host is easily written into a request.
    """
    if settings.BASE_URL or set(settings.ALLOWED_HOSTS) - set(LOCAL_HOSTS):
        raise MiddlewareNotUsed

    def middleware(request: HttpRequest) -> HttpResponse:
        if is_here(request.META.get("REMOTE_ADDR", "")):
            return get_response(request)
        return HttpResponseForbidden(
            "Set BASE_URL to the address by which other machines reach this server.",
            content_type="text/plain",
        )

    return middleware


def is_here(address: str) -> bool:
    """Say whether a request comes from this machine; a socket's has no address."""
    if not address:
        return True
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback
