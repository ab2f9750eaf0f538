"""What is counted: an interval beside the truth, and studies of one kind.

An endless study has endlessly many of what is `drawn`; everything else is the same in
all studies of a world. The intervals of a study draw what is to `resample`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis.options import Sampling
from analysis.results import Estimate, TableRow

CONFIDENCE = 0.95

Parts = tuple[str, ...]
UNITS: Parts = ("units",)
STORIES: Parts = ("stories",)
STORIES_METHODS: Parts = ("stories", "methods")
STORIES_ANNOTATORS: Parts = ("stories", "annotators")

# What is resampled unless somebody asks for something else.
DEFAULTS = {
    "correlation": STORIES_METHODS,
    "spa": STORIES,
    "mean": STORIES,
    "agreement": UNITS,
    "leaderboard": STORIES_ANNOTATORS,
}


class Interval(NamedTuple):
    """One interval of one study, beside the truth."""

    statistic: str
    level: str
    value: float
    low: float
    high: float
    truth: float

    @property
    def exists(self) -> bool:
        return bool(np.isfinite(self.low))

    @property
    def holds(self) -> bool:
        return self.low <= self.truth <= self.high


def interval_of(e: Estimate, statistic: str, level: str, truth: float) -> Interval:
    return Interval(statistic, level, e.value, e.low, e.high, truth)


def interval_in(
    row: TableRow, value: str, statistic: str, level: str, truth: float
) -> Interval:
    """Read an interval from a row of a table, whose column `value` it belongs to."""
    found, low, high = (float(str(row[column])) for column in (value, "low", "high"))
    return Interval(statistic, level, found, low, high, truth)


@dataclass(frozen=True)
class Scenario:
    """Studies of one design; `study` draws one by its number, and its intervals."""

    family: str
    size: str
    drawn: Parts
    resample: Parts
    study: Callable[[int, Sampling], list[Interval]]

    @property
    def is_default(self) -> bool:
        return self.resample == DEFAULTS[self.family]

    def intervals(self, number: int, resamples: int) -> list[Interval]:
        sampling = Sampling(resamples=resamples, confidence=CONFIDENCE, seed=number)
        return self.study(number, sampling)
