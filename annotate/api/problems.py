"""Refusals as problem documents (RFC 9457), also those that no view gives."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import APIException
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import exception_handler

from analysis.options import OptionError
from analysis.problems import InputError, Problem
from annotate.access.accounts import AccountError
from annotate.api.refusals import Kept
from annotate.assignment.designs.balanced import ImpossibleDesignError
from annotate.audit_log.as_of_event import MomentError
from annotate.bundles.exports import TooManyExportsError
from annotate.middleware import Respond
from annotate.payment.rules import PayError
from annotate.people.invitation_list import ListError
from annotate.people.inviting import InvitingError
from annotate.personal_data.erasing import ConsentError, ErasingError
from annotate.quality.exclusion import ExclusionError
from annotate.quality.follow_up import HoldingError
from annotate.quality.replacing import ReplacingError
from annotate.rehearsal.queue import RehearsalError
from annotate.reports.building import TooManyReportsError
from annotate.reports.deleting import DeletingError
from annotate.reports.layouts import ExportError
from annotate.reports.publishing import PublishingError
from annotate.responses.analysis_views import ViewError
from annotate.schema import DefinitionError
from annotate.studies.changing import ChangeError
from annotate.studies.deadline import DeadlineError
from annotate.studies.late_entry import LateEntryError
from annotate.studies.lifecycle import LifecycleError
from annotate.studies.members import MemberError
from annotate.studies.rewording import RewordingError
from annotate.studies.units import PlanningError
from annotate.uploads.names import RefusedUploadError
from annotate.webhooks.managing import WebhookError
from evalcore.members import LastOwnerError, UnknownAccountError
from evalcore.metrics.base import FatalError
from evalcore.metrics.registry import UnknownMetricError
from evalcore.scoring.chunks import ScoringError

MEDIA_TYPE = "application/problem+json"
# Kinds of problems, with their titles: the last part of `type`.
TITLES = {
    "invalid": "The request has problems",
    "parse-error": "The body cannot be read",
    "not-authenticated": "No token was sent",
    "authentication-failed": "The login failed",
    "token-unknown": "There is no such token",
    "token-expired": "The token has expired",
    "token-revoked": "The token was revoked",
    "account-inactive": "The account is deactivated",
    "scope-too-small": "The token's scope is too small",
    "token-of-another-study": "The token is for another study",
    "permission-denied": "Not allowed",
    "not-found": "Not found",
    "method-not-allowed": "The address does not take this method",
    "conflict": "Not possible now",
    "gone": "No longer there",
    "too-much": "The request is too large",
    "unsupported-media-type": "The body has the wrong type",
    "key-of-another-request": "The idempotency key belongs to another request",
    "throttled": "Too many requests",
    "error": "The server failed",
    "not-stored": "The server could not store it",
}
# Refusals by the functions that pages call as well: what was sent, or the state.
INPUT = (
    AccountError,
    DeadlineError,
    ExportError,
    FatalError,
    ImpossibleDesignError,
    InvitingError,
    MemberError,
    MomentError,
    OptionError,
    PayError,
    PlanningError,
    PublishingError,
    RefusedUploadError,
    RehearsalError,
    ReplacingError,
    RewordingError,
    ScoringError,
    UnknownAccountError,
    UnknownMetricError,
    ViewError,
    WebhookError,
)
STATE = (
    ChangeError,
    ConsentError,
    DeletingError,
    ErasingError,
    ExclusionError,
    HoldingError,
    LastOwnerError,
    LateEntryError,
    LifecycleError,
)
OF_STATUS = {
    400: "invalid",
    401: "not-authenticated",
    403: "permission-denied",
    404: "not-found",
    405: "method-not-allowed",
    409: "conflict",
    413: "too-much",
    415: "unsupported-media-type",
    429: "throttled",
}


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the problem document of an exception; None if the server failed."""
    if isinstance(error, Kept):
        body = json.loads(error.body) if error.body else None
        return Response(body, status=error.status, headers=error.headers)
    status, problems = _of_product(error)
    if status:
        detail = "" if problems else str(error)
        return _response(status, OF_STATUS[status], detail, problems)
    response = exception_handler(error, context)
    if response is None:
        return None
    headers = {
        name: response[name]
        for name in ("WWW-Authenticate", "Retry-After", "Allow")
        if response.has_header(name)
    }
    known = error if isinstance(error, APIException) else None
    code = known.get_codes() if known else OF_STATUS[response.status_code]
    detail, problems = "", []
    if known is None:  # Django's own: not found, or not permitted
        detail = str(response.data["detail"])
    elif isinstance(known.detail, str):
        detail = str(known.detail)
    else:
        code = known.default_code
        problems = list(_of_fields(known.detail))
    return _response(response.status_code, str(code), detail, problems, headers)


def _of_product(error: Exception) -> tuple[int, list[dict[str, Any]]]:
    """Return status and problems of the product's own errors; 0 for others."""
    if isinstance(error, InputError):
        rest = error.problems.total - len(error.problems)
        more = [{"text": f"... and {rest:,} more"}] if rest else []
        return 400, [*map(of_input, error.problems), *more]
    if isinstance(error, DefinitionError):
        return 400, [_of_definition(one) for one in error.each()]
    if isinstance(error, ListError):
        return 400, [{"text": one} for one in error.problems]
    if isinstance(error, TooManyReportsError | TooManyExportsError):
        return 429, []
    if isinstance(error, STATE):
        return 409, []
    return (400, []) if isinstance(error, INPUT) else (0, [])


def of_input(problem: Any) -> dict[str, Any]:
    """Return a problem of an input with its place and what would be right."""
    if not isinstance(problem, Problem):
        return {"text": str(problem)}
    named = asdict(problem)
    del named["rule"]
    given = {key: value for key, value in named.items() if value not in ("", None)}
    return {"text": str(problem), **given}


def _of_definition(error: DefinitionError) -> dict[str, Any]:
    place = {"line": error.line} if error.line else {}
    where = ".".join(map(str, error.path))
    return {
        "text": str(error.args[0]),
        **place,
        "column": where,
        "expected": error.reason,
    }


def _of_fields(detail: Any, path: str = "") -> Iterator[dict[str, Any]]:
    """Yield the problems of a body's fields, each with the path to its field."""
    if isinstance(detail, dict):
        for key, inner in detail.items():
            step = "" if key == "non_field_errors" else str(key)
            yield from _of_fields(inner, ".".join(filter(None, (path, step))))
    elif isinstance(detail, list):
        is_rows = any(isinstance(inner, dict) for inner in detail)
        for number, inner in enumerate(detail):
            yield from _of_fields(inner, f"{path}.{number}" if is_rows else path)
    else:
        text = ": ".join(filter(None, (path, str(detail))))
        yield {"text": text, "column": path, "expected": str(detail)}


def document(
    status: int, code: str, detail: str = "", problems: Iterable[Any] = ()
) -> dict[str, Any]:
    """Return a problem document."""
    code = code.replace("_", "-")
    title = TITLES.get(code) or HTTPStatus(status).phrase
    listed = list(problems)
    if listed and not detail:
        detail = listed[0]["text"]
        if len(listed) > 1:
            detail += f" ({len(listed)} problems)"
    found = {
        "type": f"/api/docs/#{code}" if code in TITLES else "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
    }
    return {**found, "problems": listed} if listed else found


def _response(
    status: int,
    code: str,
    detail: str,
    problems: Iterable[Any] = (),
    headers: dict[str, str] | None = None,
) -> Response:
    body = document(status, code, detail, problems)
    return Response(body, status=status, headers=headers, content_type=MEDIA_TYPE)


def problem_middleware(get_response: Respond) -> Respond:
    """Make a problem document of every refusal below `/api/` that is not one.

    They come from middleware, from the resolver and from failures.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        status = response.status_code
        if (
            status < HTTPStatus.BAD_REQUEST
            or not request.path_info.startswith("/api/")
            or response.headers.get("Content-Type") == MEDIA_TYPE
        ):
            return response
        is_text = response.headers.get("Content-Type", "").startswith("text/plain")
        detail = response.content.decode() if is_text and not response.streaming else ""
        code = OF_STATUS.get(status, "error")
        body = JSONRenderer().render(document(status, code, detail))
        replaced = HttpResponse(body, status=status, content_type=MEDIA_TYPE)
        for name in ("Retry-After", "Allow", "WWW-Authenticate"):
            if name in response.headers:
                replaced.headers[name] = response.headers[name]
        replaced.cookies = response.cookies
        return replaced

    return middleware
