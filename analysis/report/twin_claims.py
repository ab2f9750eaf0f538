"""What metrics do not see of outputs that were made worse on purpose, in words."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.pairwise.degraded_twins import MISSES
from analysis.report.language import counted, listed, say, texts
from analysis.report.wording import per_cent, records

# What twins show, by the names of `evalcore.twins`.
SHOWN = texts(
    {
        "shuffled": "shuffled shots",
        "foreign_shot": "shots of another story",
        "repeated_shot": "repeated shots",
        "blurred": "blurred pictures",
        "swapped_characters": "swapped characters",
    }
)
# By whether all, some or none of those that it misses score alike.
MISSED = texts(
    {
        "alike": "gives {twins} the same score in {n} of {outputs} ({share})",
        "some": "prefers {twins}, or scores them the same, in {n} of {outputs} "
        "({share})",
        "none": "prefers {twins} in {n} of {outputs} ({share})",
    }
)


def twin_claims(sanity: pd.DataFrame) -> Iterator[str]:
    """Say of each metric which degradations it is shown not to see."""
    missed = sanity[sanity["verdict"] == MISSES]
    for metric, rows in missed.groupby("metric", sort=True):
        told = listed([_clause(row) for row in records(rows)], " and ")
        yield say(
            "{metric} {clauses}, although these were made worse on purpose.",
            metric=metric,
            clauses=told,
        )


def _clause(row: Mapping[str, Any]) -> str:
    n, alike = int(row["n_missed"]), int(row["n_alike"])
    how = "none" if not alike else "alike" if alike == n else "some"
    noun = "story" if row["n"] == row["n_stories"] else "output"
    return say(
        MISSED[how],
        twins=twins_text(str(row["twin"])),
        n=n,
        outputs=counted(row["n"], noun),
        share=per_cent(row["value"], row["low"], row["high"]),
    )


def twins_text(twin: str) -> str:
    """Return what is shown of outputs that were degraded in a way.

    Examples
    --------
    >>> twins_text("repeated_shot"), twins_text("half_speed")
    ('repeated shots', 'twins with half speed')
    """
    if twin in SHOWN:
        return say(SHOWN[twin])
    return say("twins with {kind}", kind=twin.replace("_", " "))
