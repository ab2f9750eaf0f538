"""Refusals of requests, with their status codes."""

from rest_framework.exceptions import APIException


class Conflict(APIException):
    """The request conflicts with the current state."""

    status_code = 409
    default_code = "conflict"


class Refused(APIException):
    """The input is invalid; the response lists all problems."""

    status_code = 400
    default_code = "refused"


class TooMuch(APIException):
    """The request has more answers than one transaction stores."""

    status_code = 413
    default_code = "too_much"
