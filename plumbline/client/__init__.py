"""Client of a Plumbline server: studies for researchers, sessions for annotators."""

from plumbline.client.jobs import FailedError
from plumbline.client.rows import Invitation, MethodProgress, Study
from plumbline.client.sending import (
    ConflictError,
    InvalidError,
    NotAllowedError,
    NotFoundError,
    PlumblineError,
    RefusedError,
    UnreachableError,
)
from plumbline.client.session import Session
from plumbline.client.studies import Client

__all__ = [
    "Client",
    "ConflictError",
    "FailedError",
    "InvalidError",
    "Invitation",
    "MethodProgress",
    "NotAllowedError",
    "NotFoundError",
    "PlumblineError",
    "RefusedError",
    "Session",
    "Study",
    "UnreachableError",
]
