"""Lines of the log as JSON; `docs/observing.md` says what is in them."""

import json
import logging
from datetime import UTC, datetime

from gunicorn.config import Config
from gunicorn.glogging import Logger

from evalcore.serving.redacting import redact

# What the line of a request has beside its text. Nothing else that a caller adds is
# written: Django adds the request itself.
OF_REQUEST = ("method", "route", "status", "ms")


class JsonLine(logging.Formatter):
    """Writes a line as JSON, without secrets whoever made it."""

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
    """Return a value as JSON has it; what is no number is text, and has no secrets."""
    return value if isinstance(value, (int, float)) else redact(str(value))


class JsonLines(Logger):  # type: ignore[misc] # untyped
    """Writes gunicorn's own lines, which come before Django is there, alike."""

    def setup(self, cfg: Config) -> None:
        """Set its logs up, and how their lines are written."""
        super().setup(cfg)
        for log in (self.error_log, self.access_log):
            for handler in log.handlers:
                handler.setFormatter(JsonLine())
