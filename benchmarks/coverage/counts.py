"""How many intervals contain the truth: one line for each statistic of a scenario."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.coverage.scenarios import Interval, Scenario

# What we call good.
CLAIM = (0.92, 0.98)


class Line(NamedTuple):
    """One line of the table: `coverage` with its Monte-Carlo standard `error`.

    `width`, `truth` and `bias` are means over the intervals there are; `without` says
    how many there are not.
    """

    family: str
    statistic: str
    level: str
    size: str
    drawn: str
    resample: str
    default: bool
    studies: int
    coverage: float
    error: float
    width: float
    truth: float
    bias: float
    without: int


def counted(scenario: Scenario, studies: list[list[Interval]]) -> Iterator[Line]:
    """Count intervals that hold the truth; a study without an interval has none."""
    for key in dict.fromkeys((i.statistic, i.level) for one in studies for i in one):
        own = [[i for i in one if (i.statistic, i.level) == key] for one in studies]
        there = [i for one in own for i in one if i.exists]
        # The methods of a study are not independent: average inside it first.
        held = [np.mean([i.holds for i in one]) for one in own]
        yield Line(
            scenario.family,
            *key,
            scenario.size,
            "+".join(scenario.drawn),
            "+".join(scenario.resample),
            scenario.is_default,
            studies=len(studies),
            coverage=float(np.mean(held)),
            error=float(np.std(held) / np.sqrt(len(studies))),
            width=float(np.mean([i.high - i.low for i in there])),
            truth=float(np.mean([i.truth for i in there])),
            bias=float(np.mean([i.value - i.truth for i in there])),
            without=sum(len(one) for one in own) - len(there),
        )


def print_lines(lines: list[Line], seconds: float) -> None:
    """Print the lines of one scenario; `!` marks coverage outside the claim."""
    of = lines[0]
    print(
        f"\n{of.family}, {of.size}; endlessly many {of.drawn}; "
        f"resample {of.resample} ({seconds:.0f} s)"
    )
    print(f"{'':30}{'level':9}coverage        width   truth    bias")
    for line in lines:
        outside = not CLAIM[0] <= line.coverage <= CLAIM[1]
        lost = f"  {line.without} without interval" if line.without else ""
        print(
            f"  {line.statistic:28}{line.level:9}"
            f"{line.coverage:.3f} +- {line.error:.3f}{' !' if outside else '  '}"
            f"{line.width:8.3f}{line.truth:8.3f}{line.bias:+8.3f}{lost}",
            flush=True,
        )


def write_lines(lines: list[Line], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Line._fields)
        for line in lines:
            writer.writerow([f"{v:.4f}" if isinstance(v, float) else v for v in line])
