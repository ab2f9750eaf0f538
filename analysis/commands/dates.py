"""The date of a report: of its data, not of the run, so that two runs are identical.

Light on purpose: scipy reads SOURCE_DATE_EPOCH while it is imported and fails on what
is no whole number, so it is checked before the statistics are loaded.
"""

import os
from datetime import UTC, datetime

from analysis.options import OptionError

VARIABLE = "SOURCE_DATE_EPOCH"


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
