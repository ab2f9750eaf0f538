"""Ratings truly needed where the page said "about N more", in simulated studies.

    python -m benchmarks.still_needed [SCENARIO ...] [--studies 300]

The studies of `benchmarks/stopping.py` stop when their goal is reached. At a quarter,
half and three quarters of the answers at the stop, the same function as on the page
says how many more are needed. Prints the median and the middle 80 % of what was truly
needed, divided by what was said, and how often no number was said. Studies that never
stop are left out. The results are in `benchmarks/results/stopping.md`.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse

import numpy as np

from analysis.inference import confidence_sequences as sequences
from benchmarks.figures import head, row
from benchmarks.stopping import ALPHA, WORLDS, World, contributions, look, run, study

SHARES = (0.25, 0.5, 0.75)
USUAL = (
    "mean",
    "mean, one person after the other",
    "win rate",
    "top 2 of 5",
    "correlation",
    "accuracy",
)


def said(world: World, seed: int, n: int) -> int | None:
    """Return how many more answers the page says are needed after n; None if none."""
    data = study(world, seed)
    found = contributions(world, data, n)
    people = np.count_nonzero(np.bincount(data.person[:n]))
    if found is None or people < sequences.LEAST_PEOPLE:
        return None
    if found.n_stories.min() < sequences.LEAST_STORIES:
        return None
    ratio, _half, known = look(world, found)
    if world.goal in ("top", "accuracy"):
        wanted = known.errors.variance / ratio**2
    else:
        alpha = ALPHA / len(known.value)
        wanted = sequences.goal_variances(known.errors, world.size, alpha)
    more = sequences.needed(
        known,
        wanted,
        answers=n if world.goal != "correlation" else len(found.stories[0]),
        stories=(int(found.n_stories.max()), world.stories),
        people=int(people),
    )
    return more.answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", default=list(USUAL))
    parser.add_argument("--studies", type=int, default=300)
    given = parser.parse_args()
    head("study", "share of the answers", "n", "truly / said", "80 %", "no number")
    for name in given.scenarios:
        world = WORLDS[name]
        stops = {seed: run(world, seed, every=False) for seed in range(given.studies)}
        for share in SHARES:
            ratios, silent = [], 0
            for seed, stop in stops.items():
                if stop is None or stop.answers <= 0:
                    continue
                n = int(share * stop.answers)
                answers = said(world, seed, n)
                if not answers:
                    silent += 1
                else:
                    ratios.append((stop.answers - n) / answers)
            low, middle, high = (
                np.quantile(ratios, (0.1, 0.5, 0.9)) if ratios else [np.nan] * 3
            )
            total = len(ratios) + silent
            row(
                [
                    name,
                    share,
                    total,
                    f"{middle:.2f}",
                    f"{low:.2f} to {high:.2f}",
                    f"{silent / max(total, 1):.2f}",
                ]
            )


if __name__ == "__main__":
    main()
