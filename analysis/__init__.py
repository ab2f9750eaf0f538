"""Do they agree? Statistics of agreement between people and metrics, without Django.

Comes in: the tables of ratings, choices and scores, as files or frames.
Goes out: tables with intervals, and a report made of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.commands.alignment import agreement, align, leaderboard
    from analysis.commands.planning import power, stability, subset

__all__ = ["agreement", "align", "leaderboard", "power", "stability", "subset"]

_PLACES = {
    **dict.fromkeys(("agreement", "align", "leaderboard"), "alignment"),
    **dict.fromkeys(("power", "stability", "subset"), "planning"),
}


def __getattr__(name: str) -> object:
    """Load what is used, so that reading a table does not wait for scipy."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"analysis.commands.{_PLACES[name]}"), name)
