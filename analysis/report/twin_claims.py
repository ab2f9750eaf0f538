"""What metrics do not see of outputs that were made worse on purpose, in words."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.pairwise.degraded_twins import MISSES
from analysis.printing import counted
from analysis.report.wording import per_cent, records

# What twins show, by the names of `evalcore.twins`.
SHOWN = {
    "shuffled": "shuffled shots",
    "foreign_shot": "shots of another story",
    "repeated_shot": "repeated shots",
    "blurred": "blurred pictures",
    "swapped_characters": "swapped characters",
}


def twin_claims(sanity: pd.DataFrame) -> Iterator[str]:
    """Say of each metric which degradations it is shown not to see."""
    missed = sanity[sanity["verdict"] == MISSES]
    for metric, rows in missed.groupby("metric", sort=True):
        told = " and ".join(_clause(row) for row in records(rows))
        yield f"{metric} {told}, although these were made worse on purpose."


def _clause(row: Mapping[str, Any]) -> str:
    n, alike = int(row["n_missed"]), int(row["n_alike"])
    verb = "prefers" if not alike else "prefers, or scores alike,"
    verb = "scores alike" if alike == n else verb
    of = counted(row["n"], "output")
    if row["n"] == row["n_stories"]:
        of = counted(row["n"], "story", "stories")
    share = per_cent(row["value"], row["low"], row["high"])
    return f"{verb} {_shown(str(row['twin']))} in {n} of {of} ({share})"


def _shown(twin: str) -> str:
    return SHOWN.get(twin, f"twins with {twin.replace('_', ' ')}")
