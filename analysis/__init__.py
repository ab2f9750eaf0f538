"""Do they agree? Statistics of agreement between people and metrics, without Django.

Comes in: the tables of ratings, choices and scores, as files or frames.
Goes out: tables with intervals, and a report made of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.notebook.functions import (
        agreement,
        align,
        late_entry,
        leaderboard,
        meta,
        power,
        score_agreement,
        stability,
        subset,
    )
    from analysis.notebook.matrices import correlation
    from analysis.notebook.predictions import prediction_powered
    from analysis.notebook.reports import Report
    from analysis.options import OptionError
    from analysis.problems import InputError

__all__ = [
    "InputError",
    "OptionError",
    "Report",
    "agreement",
    "align",
    "correlation",
    "late_entry",
    "leaderboard",
    "meta",
    "power",
    "prediction_powered",
    "score_agreement",
    "stability",
    "subset",
]

_PLACES = {
    **dict.fromkeys(__all__, "notebook.functions"),
    "InputError": "problems",
    "OptionError": "options",
    "Report": "notebook.reports",
    "correlation": "notebook.matrices",
    "prediction_powered": "notebook.predictions",
}


def __getattr__(name: str) -> object:
    """Load what is used, so that reading a table does not wait for scipy."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"analysis.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
