"""Request ids in log lines and failed responses.

A line for each request is written where `LOG_REQUESTS` asks for it.
"""

import logging
import re
import secrets
import time
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.admindocs.views import simplify_regex
from django.core.signals import request_finished, request_started
from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template import loader

from evalcore.serving import log

logger = logging.getLogger(__name__)

HEADER = "X-Request-ID"
WELL_FORMED = re.compile(r"[\w.-]{8,64}", re.ASCII)


def connect() -> None:
    """Connect the log context to the start and end of requests."""
    request_started.connect(_begin, dispatch_uid=f"{__name__}.begin")
    request_finished.connect(_end, dispatch_uid=f"{__name__}.end")


def _begin(environ: dict[str, Any] | None = None, **_signal: object) -> None:
    log.begin(request=_request_id(environ or {}))


def _end(**_signal: object) -> None:
    log.end()


def _request_id(environ: dict[str, Any]) -> str:
    """Return the id from a trusted proxy, or a new one."""
    given = environ.get("HTTP_X_REQUEST_ID", "") if settings.TRUSTED_PROXIES else ""
    is_id = WELL_FORMED.fullmatch(given) and log.redact(given) == given
    return str(given) if is_id else secrets.token_hex(8)


def request_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Log the request if configured, and send its id with a failed response.

    Other responses have no header that identifies a request.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = get_response(request)
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            response.headers[HEADER] = str(log.known().get("request", ""))
        if logger.isEnabledFor(logging.INFO):
            _log(request, response.status_code, 1000 * (time.perf_counter() - began))
        return response

    return middleware


def _log(request: HttpRequest, status: int, milliseconds: float) -> None:
    told = {
        "method": request.method,
        "route": route_of(request),
        "status": status,
        "ms": round(milliseconds, 1),
    }
    logger.info("%(method)s %(route)s %(status)s %(ms)s ms", told, extra=told)


def route_of(request: HttpRequest) -> str:
    """Return the URL pattern: the address itself may contain credentials."""
    found = request.resolver_match
    if found is not None:
        return _simple(found.route)
    is_static = request.path_info.startswith(settings.STATIC_URL)
    return f"{settings.STATIC_URL}..." if is_static else "-"


@lru_cache
def _simple(route: str) -> str:
    """Return a pattern without the regular expressions of its parameters."""
    return re.sub(r"<\w+:", "<", simplify_regex(route))


def server_error(request: HttpRequest) -> HttpResponse:
    """Return the error page with the request id."""
    page = loader.get_template("500.html")
    request_id = log.known().get("request")
    return HttpResponseServerError(page.render({"request_id": request_id}))
