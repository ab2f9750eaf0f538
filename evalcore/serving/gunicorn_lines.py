"""The web server's own lines as JSON: gunicorn writes them before Django is there."""

from gunicorn.config import Config
from gunicorn.glogging import Logger

from evalcore.serving.json_lines import JsonLine


class JsonLines(Logger):  # type: ignore[misc] # untyped
    """Writes what gunicorn has to say as the rest of the log (`LOG_FORMAT=json`)."""

    def setup(self, cfg: Config) -> None:
        """Set its logs up, and how their lines are written."""
        super().setup(cfg)
        for log in (self.error_log, self.access_log):
            for handler in log.handlers:
                handler.setFormatter(JsonLine())
