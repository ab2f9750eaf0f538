"""Refusals of requests, with their status codes."""

from typing import Any

from rest_framework.exceptions import APIException


class Conflict(APIException):
    """The request conflicts with the current state."""

    status_code = 409
    default_code = "conflict"


class Refused(APIException):
    """The input is invalid; the response lists all problems."""

    status_code = 400
    default_code = "invalid"


class TooMuch(APIException):
    """The request has more answers than one transaction stores."""

    status_code = 413
    default_code = "too-much"


class KeyOfAnother(APIException):
    """The idempotency key came with another request before."""

    status_code = 422
    default_code = "key-of-another-request"


class Gone(APIException):
    """It was there, and is not any more."""

    status_code = 410
    default_code = "gone"


class Unready(APIException):
    """The server cannot do it, though the request is right."""

    status_code = 507
    default_code = "not-stored"


class Kept(Exception):  # noqa: N818  # an answer, not an error
    """The request was answered before; the answer is sent again."""

    def __init__(self, status: int, body: str, headers: dict[str, Any]) -> None:
        self.status, self.body, self.headers = status, body, headers
