"""Log records with their context, and without secrets.

What a line is about (request or task, study, account or annotator, by their keys) is
recorded where it becomes known. Every line that this process logs is a `RedactedLine`,
also those of Django, gunicorn, Celery or a library. Every credential (in links,
tokens, proofs) becomes a mark, `~` and eight digits, the same wherever that secret
stands, so that two lines about one link can be matched.
`docs/how-to/observe-the-server.md` says what JSON lines hold.
"""

import json
import logging
import logging.config
import re
from collections.abc import ItemsView
from contextvars import ContextVar
from datetime import UTC, datetime
from hashlib import sha256
from types import FrameType
from typing import Any
from urllib.parse import unquote

from django.http import HttpRequest
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

# Context of the current request or task; None outside of both.
_known: ContextVar[dict[str, object] | None] = ContextVar("known", default=None)


def begin(**known: object) -> None:
    """Start a new context for log lines."""
    _known.set(known)


def note(**known: object) -> None:
    """Add to the context of the current request or task."""
    context = _known.get()
    if context is not None:
        context.update(known)


def end() -> None:
    """Clear the context."""
    _known.set(None)


def known() -> dict[str, object]:
    """Return the context in the order in which it was added."""
    return dict(_known.get() or {})


MARK = r"(?!~[0-9a-f]{8}(?![\w-]))"  # not rendered yet
# Signs of an address, which may be part of another one, and that of a third.
STROKE, EQUALS, MORE = (
    rf"(?:{sign}|%(?:25)*(?:{code}))"
    for sign, code in (("/", "2F"), ("=", "3D"), (r"\b", "3F|26"))
)
# Text before a secret, and the secret.
SECRETS = [
    re.compile(pattern, re.VERBOSE)
    for pattern in (
        # The address of a link, also inside another address; templates have such, too.
        rf"""(?P<before>(?i: {STROKE}
             (?:rate|join|preview|password|first-start) {STROKE}+ \s? ))
             {MARK} (?! [\w-]+\.html\b | HTTP/\d )
             (?P<secret> (?: (?!(?i:{STROKE})) [^\s?\#"'<>&\\,;)\]}}] )+ )""",
        # The address of a public report that nobody can guess.
        rf"""(?P<before>(?i: {STROKE} public {STROKE}+ ))
             {MARK} (?P<secret> [\w-]{{24}} ) (?![\w-])""",
        # A query, a form, keyword arguments.
        rf"""(?P<before>(?i: {MORE}
             (?:proof|token|sessionid|csrftoken|csrfmiddlewaretoken)
             ["']?\s*(?:{EQUALS}|:)\s*["']? )) {MARK} (?P<secret> [\w:.%~+-]{{8,}} )""",
        # A header.
        rf"""(?P<before>(?i: \b(?:Token|Invitation|Bearer)\s+ ))
             {MARK} (?P<secret> [\w:.%~+-]{{16,}} )""",
        # What a browser keeps of a link that was used on it.
        r"""(?P<before> \d- ) (?P<secret> [0-9a-f]{32} ) (?!\w)""",
        # Anywhere: what looks like a token, or like a link and not like a class.
        r"""(?P<before> (?<![\w-]) ) (?P<secret>
             (?=[\w-]*[a-z]) (?=[\w-]*[A-Z]) (?![a-z]*(?:[A-Z][a-z]+)*(?![\w-]))
             [A-Za-z0-9_-]{24} | [0-9a-f]{40} ) (?![\w-])""",
    )
]


def redact(text: str) -> str:
    """Return a text with a mark in place of each secret."""
    for pattern in SECRETS:
        text = pattern.sub(_marked, text)
    return text


def _marked(found: re.Match[str]) -> str:
    secret = unquote(found["secret"]).strip()
    return f"{found['before']}~{sha256(secret.encode()).hexdigest()[:8]}"


class RedactedLine(logging.LogRecord):
    """A log record without secrets, with its context.

    `known` is the context, and `context` the same as text.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        try:
            text = self.getMessage()
        except Exception:  # noqa: BLE001 a line that does not fit its values is logged
            text = f"{self.msg!r} {self.args!r}"
        self.msg, self.args = redact(text), ()
        if self.exc_info and self.exc_info[0]:
            # Formatters take this text instead of making it.
            self.exc_text = redact(logging.Formatter().formatException(self.exc_info))
        if self.stack_info:
            self.stack_info = redact(self.stack_info)
        self.known = known()
        words = " ".join(f"{name}={value}" for name, value in self.known.items())
        self.context = redact(f" [{words}]") if words else ""


def configure(config: dict[str, Any]) -> None:
    """Set logging up; Django calls this before anything else (`LOGGING_CONFIG`)."""
    logging.setLogRecordFactory(RedactedLine)
    logging.config.dictConfig(config)


class ErrorReport(ExceptionReporter):
    """E-mails to administrators about errors, without secrets."""

    def get_traceback_data(self) -> dict[str, Any]:
        """Return what is reported; Django does not pass queries through the filter."""
        data = super().get_traceback_data()
        if "request_GET_items" in data:
            data["request_GET_items"] = [
                (name, self.filter.cleanse_setting(name, value))
                for name, value in data["request_GET_items"]
            ]
        return data

    def get_traceback_html(self) -> str:  # type: ignore[override] # text is enough
        """Return the report with local variables."""
        return redact(super().get_traceback_html())

    def get_traceback_text(self) -> str:  # type: ignore[override] # text is enough
        """Return the report without them."""
        return redact(super().get_traceback_text())


class ReportFilter(SafeExceptionReporterFilter):
    """Hides values by their names, where `redact` cannot recognise them.

    Django does so with settings and headers; here cookies, forms and local variables
    are treated alike.
    """

    hidden_settings = re.compile(
        SafeExceptionReporterFilter.hidden_settings.pattern
        + "|COOKIE|PROOF|SESSION|BROKER|DATABASE_URL",
        re.IGNORECASE,
    )

    def get_safe_cookies(self, request: HttpRequest) -> dict[str, str]:
        """Return the names of the cookies."""
        cookies = getattr(request, "COOKIES", {})
        return dict.fromkeys(cookies, self.cleansed_substitute)

    def get_post_parameters(self, request: HttpRequest | None) -> dict[str, Any]:
        """Return what a form sent."""
        posted = super().get_post_parameters(request).copy()
        for name in posted:
            posted[name] = self.cleanse_setting(name, posted[name])
        return posted

    def get_traceback_frame_variables(
        self, request: HttpRequest | None, tb_frame: FrameType
    ) -> ItemsView[str, object]:
        """Return the local variables of a function."""
        found = super().get_traceback_frame_variables(request, tb_frame)
        return {
            name: self.cleanse_setting(name, value) for name, value in found
        }.items()


# What the line of a request has beside its text. Nothing else that a caller adds is
# written: Django adds the request itself.
OF_REQUEST = ("method", "route", "status", "ms")


class JsonLine(logging.Formatter):
    """Formatter of lines as JSON, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "known", {}),
        }
        line |= {key: vars(record)[key] for key in OF_REQUEST if key in vars(record)}
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        if record.exc_text:
            line["exception"] = record.exc_text
        if record.stack_info:
            line["stack"] = record.stack_info
        return json.dumps({key: _plain(value) for key, value in line.items()})


def _plain(value: object) -> object:
    """Return a value for JSON: a number, or text without secrets."""
    return value if isinstance(value, (int, float)) else redact(str(value))
