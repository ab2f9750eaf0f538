"""Client of a Plumbline server: studies for researchers, sessions for annotators."""

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

__all__ = [
    "ConflictError",
    "InvalidError",
    "NotAllowedError",
    "NotFoundError",
    "PlumblineError",
    "RefusedError",
    "Session",
    "UnreachableError",
]
