"""Do the 95 % intervals contain the truth? Simulated studies whose truth is known.

    python -m benchmarks.coverage [--studies 500] [--resamples 400] [--processes 2]
                                  [--only TEXT]

Every study is drawn from a model with story, method and annotator effects; its
intervals come from the functions behind `align`, `agreement` and `leaderboard`. The
truth is the value which an endless study would give: endless in what is drawn again,
and the same in everything else. Prints, for each statistic, how many intervals contain
it; `benchmarks/results/simulations.md` has the model and the results.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import functools
import multiprocessing
import time

from benchmarks.coverage import (
    agreement,
    candidates,
    correlations,
    equal_metrics,
    leaderboards,
    method_means,
)
from benchmarks.coverage.counting import Interval, Scenario, print_counts
from benchmarks.coverage.studies import STUDIES_IN_A_WORLD

FAMILIES = (
    correlations,
    agreement,
    leaderboards,
    method_means,
    equal_metrics,
    candidates,
)


def intervals(
    scenario: Scenario, resamples: int, numbers: range
) -> list[list[Interval]]:
    return [scenario.intervals(number, resamples) for number in numbers]


def count(scenario: Scenario, given: argparse.Namespace, pool) -> None:
    """Count in all studies; those of a world share a process, and so its truth."""
    start = time.perf_counter()
    worlds = [
        range(first, min(first + STUDIES_IN_A_WORLD, given.studies))
        for first in range(0, given.studies, STUDIES_IN_A_WORLD)
    ]
    job = functools.partial(intervals, scenario, given.resamples)
    studies = [study for part in pool.map(job, worlds, 1) for study in part]
    print_counts(scenario, studies, time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=400)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="families that begin so")
    given = parser.parse_args()
    with multiprocessing.Pool(given.processes) as pool:
        for family in FAMILIES:
            for scenario in family.scenarios():
                if scenario.family.startswith(given.only):
                    count(scenario, given, pool)


if __name__ == "__main__":
    main()
