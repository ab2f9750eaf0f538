"""Default options, headings and dates of the commands.

Light: scipy reads SOURCE_DATE_EPOCH while it is imported and fails on what is no whole
number, so that the date is checked before the statistics are loaded.
"""

import os
from datetime import UTC, datetime

from analysis.options import OptionError

VARIABLE = "SOURCE_DATE_EPOCH"

DOES = {
    "align": "how well metrics agree with people",
    "agreement": "how well people agree with one another",
    "leaderboard": "a ranking from side-by-side answers, or from orders of several "
    "outputs",
    "power": "what larger studies than a pilot would show",
    "subset": "whether fewer stories keep the means and the order of the methods",
    "stability": "how stable a judge is over repeated trials, and whom it agrees with",
}
# How wide tables are read unless told.
WIDE = {
    "wide": False,
    "method_column": "method",
    "story_column": "story",
    "value_columns": (),
}
# What the first of them does without metrics.
OF_PEOPLE = "what people say of methods"
RESAMPLE_DEFAULTS = {
    "align": "stories+methods",
    "agreement": "units",
    "leaderboard": "stories+annotators",
    "power": "stories+methods",
    "subset": "stories+methods",
    "stability": "stories+methods",
}


def drawn(command: str, *, majority: bool = False) -> str:
    """Return the clusters that a command draws unless told.

    >>> drawn("leaderboard"), drawn("leaderboard", majority=True)
    ('stories+annotators', 'stories')
    """
    return "stories" if majority else RESAMPLE_DEFAULTS[command]


def title(command: str, *, with_metrics: bool = True) -> str:
    """Return the heading of a report that was given none.

    >>> title("align", with_metrics=False)
    'Report: what people say of methods'
    """
    if command == "align" and not with_metrics:
        return f"Report: {OF_PEOPLE}"
    return f"Report: {DOES[command]}"


def report_date(newest_input: float | None) -> str:
    """Return SOURCE_DATE_EPOCH, else the newest input's time, as ISO 8601."""
    stamp = os.environ.get(VARIABLE)
    try:
        seconds = (newest_input or 0.0) if stamp is None else int(stamp)
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError) as error:
        raise OptionError(
            f"{VARIABLE}: {stamp!r}: expected whole seconds since 1970"
        ) from error
