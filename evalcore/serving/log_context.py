"""What the lines of a log are about: which request or task, study, user or annotator.

It is put down where it becomes known, and every line that follows says it. Nothing that
lets people in is put down: annotators and accounts stand here by their keys.
"""

from contextvars import ContextVar

# What is known of the request or task at hand; None outside of both.
_known: ContextVar[dict[str, object] | None] = ContextVar("known", default=None)


def begin(**known: object) -> None:
    """Forget what the lines before were about, and begin with what is known."""
    _known.set(known)


def note(**known: object) -> None:
    """Put down what has become known of the request or task at hand."""
    context = _known.get()
    if context is not None:
        context.update(known)


def end() -> None:
    """Say that what follows belongs to no request or task."""
    _known.set(None)


def known() -> dict[str, object]:
    """Return what is known, in the order in which it became so."""
    return dict(_known.get() or {})
