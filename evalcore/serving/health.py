"""Health checks: reasons why pages cannot be served or jobs wait."""

import socket
import tempfile
from collections.abc import Callable
from functools import lru_cache, partial
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import MiddlewareNotUsed
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from evalcore import media_store
from evalcore.serving import workers
from evalcore.serving.environment import LOCAL_HOSTS

# Seconds between checks of the broker, and seconds to wait for its reply.
BROKER_SECONDS, BROKER_WAIT_SECONDS = 10, 1.0
# Seconds between checks of the object store that holds the media.
STORE_SECONDS = 30
PORTS = {"redis": 6379, "rediss": 6379, "amqp": 5672, "amqps": 5671}


def missing() -> dict[str, str]:
    """Return a sentence for each missing requirement of pages."""
    found = {"database": _about_database(), "media": _about_media()}
    return {what: sentence for what, sentence in found.items() if sentence}


def waiting() -> dict[str, str]:
    """Return a sentence for each reason why jobs wait while pages work."""
    found = {"broker": about_broker(), "workers": _about_workers()}
    return {what: sentence for what, sentence in found.items() if sentence}


def _about_database() -> str:
    try:
        n = len(missing_migrations())
    except Error:
        return "The database cannot be reached."
    return f"{n} migrations are not applied. Run plumbline migrate." if n else ""


def missing_migrations() -> frozenset[tuple[str, str]]:
    """Return the migrations that are not applied to the database."""
    applied = MigrationRecorder(connection).applied_migrations()
    return _migrations() - set(applied)


@lru_cache
def _migrations() -> frozenset[tuple[str, str]]:
    """Return all migrations of this version, cached."""
    return frozenset(MigrationLoader(None).graph.nodes)


def can_store_media() -> bool:
    """Say whether media can be stored, by writing a file."""
    if settings.MEDIA_STORE:
        return not about_store()
    try:
        with tempfile.TemporaryFile(dir=settings.MEDIA_ROOT, buffering=0) as file:
            file.write(b"x")
    except OSError:
        return False
    return True


def about_store() -> str:
    """Return why the object store of the media cannot be written to, or nothing."""
    check = media_store.why_not_writable
    return str(cache.get_or_set("media-store", check, STORE_SECONDS))


def _about_media() -> str:
    return "" if can_store_media() else "MEDIA_ROOT is not writable."


def about_broker() -> str:
    """Return a sentence if the broker does not respond; a local folder always does."""
    parts = urlsplit(settings.CELERY_BROKER_URL)
    if parts.scheme not in PORTS:
        return ""
    host, port = parts.hostname or "localhost", parts.port or PORTS[parts.scheme]
    listens = cache.get_or_set(
        f"broker-{host}-{port}", partial(_listens, host, port), BROKER_SECONDS
    )
    return "" if listens else "The message broker does not respond, so jobs wait."


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), BROKER_WAIT_SECONDS).close()
    except OSError:
        return False
    return True


def _about_workers() -> str:
    try:
        still = [row.kind for row in workers.standing_still()]
    except Error:
        return ""  # the database says so itself
    return f"No heartbeat from workers: {', '.join(still)}." if still else ""


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
    """Answer 200 when this process can serve pages, else 503 with the reasons.

    Problems of workers are reported but do not change the status: a balancer must not
    take web servers away because a worker died.
    """
    lacks, waits = missing(), waiting()
    status = "not ready" if lacks else "degraded" if waits else "ready"
    told = {"status": status, "reasons": lacks | waits}
    return JsonResponse(told, status=503 if lacks else 200)


PROBES = {"/healthz": healthz, "/readyz": readyz}


def health_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer probes before the checks of host name, HTTPS and session.

    Probes come by the machine's address, which no setting lists.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        probe = PROBES.get(request.path_info)
        return probe(request) if probe else get_response(request)

    return middleware


def only_this_machine(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Refuse other machines unless ALLOWED_HOSTS or BASE_URL names an address.

    `serve` listens to none then, but gunicorn by itself listens as configured, and the
    name of a host is easily written into a request.
    """
    if settings.BASE_URL or set(settings.ALLOWED_HOSTS) - set(LOCAL_HOSTS):
        raise MiddlewareNotUsed

    def middleware(request: HttpRequest) -> HttpResponse:
        if is_here(request.META.get("REMOTE_ADDR", "")):
            return get_response(request)
        return HttpResponseForbidden(
            "Set BASE_URL to the address at which other machines reach this server.",
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
