"""Counts of intervals that cover the truth, over similar studies.

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

# What we call good.
CLAIM = (0.92, 0.98)


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

    def intervals(self, number: int, resamples: int) -> list[Interval]:
        sampling = Sampling(resamples=resamples, confidence=CONFIDENCE, seed=number)
        return self.study(number, sampling)


def print_counts(
    scenario: Scenario, studies: list[list[Interval]], seconds: float
) -> None:
    """Print for each statistic how many intervals hold the truth.

    Beside the coverage stands its Monte-Carlo standard error, and `!` where it is
    outside the claim; width, truth and bias are means over the intervals there are. A
    study without an interval has none that holds.
    """
    print(
        f"\n{scenario.family}, {scenario.size}; endlessly many "
        f"{'+'.join(scenario.drawn)}; resample {'+'.join(scenario.resample)} "
        f"({seconds:.0f} s)\n{'':30}{'level':9}coverage        width   truth    bias"
    )
    for key in dict.fromkeys((i.statistic, i.level) for one in studies for i in one):
        own = [[i for i in one if (i.statistic, i.level) == key] for one in studies]
        there = [i for one in own for i in one if i.exists]
        # The methods of a study are not independent: average inside it first.
        held = [np.mean([i.holds for i in one]) for one in own]
        coverage, error = np.mean(held), np.std(held) / np.sqrt(len(studies))
        width, truth, bias = np.mean(
            [(i.high - i.low, i.truth, i.value - i.truth) for i in there], axis=0
        )
        without = sum(map(len, own)) - len(there)
        mark = " " if CLAIM[0] <= coverage <= CLAIM[1] else "!"
        print(
            f"  {key[0]:28}{key[1]:9}{coverage:.3f} +- {error:.3f} {mark}"
            f"{width:8.3f}{truth:8.3f}{bias:+8.3f}"
            f"{f'  {without} without interval' if without else ''}",
            flush=True,
        )
