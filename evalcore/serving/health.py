"""Answers that belong to no study."""

from collections.abc import Callable
from ipaddress import ip_address

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, JsonResponse
from django.views.decorators.http import require_safe

from evalcore.serving.environment import LOCAL_HOSTS


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when the server can reach its database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok"})


def health_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer /healthz before anything asks for a host name, HTTPS or a session.

    Probes come by the machine's address, which no setting lists.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path_info == "/healthz":
            return healthz(request)
        return get_response(request)

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
        if _is_here(request.META.get("REMOTE_ADDR", "")):
            return get_response(request)
        return HttpResponseForbidden(
            "Set BASE_URL to the address by which other machines reach this server.",
            content_type="text/plain",
        )

    return middleware


def _is_here(address: str) -> bool:
    """Say whether a request comes from this machine; a socket's has no address."""
    if not address:
        return True
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback
