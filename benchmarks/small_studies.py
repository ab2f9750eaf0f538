"""Does "you may stop" hold in the smallest studies? A look after every answer.

    python -m benchmarks.small_studies mean|correlation [--studies 400] [--seed 4242]

Twelve stories of four methods, five people who rate everything from 0 to 4. Answers tie
heavily (almost all are 2 or a neighbour), and a person may be very harsh: each with a
chance of one in five (*drawn*), or exactly one (*one*), who may also answer last
(*late*). Written apart from `benchmarks.stopping`; its results are on the same page.
"""

import argparse
import os
from typing import NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from scipy.stats import beta

from analysis.inference import confidence_sequences as sequences

METHODS, STORIES, PEOPLE, ALPHA = 4, 12, 5, 0.05
EFFECTS = np.array([-0.25, -0.1, 0.1, 0.25])


class World(NamedTuple):
    size: float
    ties: bool
    harsh: str
    late: bool


WORLDS = {
    "mean": [
        World(1.25, True, "drawn", False),
        World(1.5, True, "one", True),
        World(1.5, True, "drawn", False),
        World(1.5, False, "drawn", True),
    ],
    "correlation": [
        World(0.4, True, "drawn", False),
        World(0.6, True, "one", True),
        World(0.6, True, "drawn", False),
        World(0.6, False, "drawn", True),
    ],
}


def outputs(world: World, n: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Draw the outputs of n stories, and a metric's scores."""
    shape = n, METHODS
    good = EFFECTS + 0.35 * (rng.normal(size=(n, 1)) + rng.normal(size=shape))
    return 2.2 + good * (0.6 if world.ties else 1.5), good + 0.5 * rng.normal(
        size=shape
    )


def ratings(world: World, good: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray]:
    """Draw five people's ratings of all outputs, and who of them is harsh."""
    is_harsh = np.arange(PEOPLE) == PEOPLE - 1
    if world.harsh == "drawn":
        is_harsh = rng.random(PEOPLE) < 0.2
    severity = np.where(is_harsh, -1.8, 0.0) + 0.25 * rng.normal(size=PEOPLE)
    taste = 0.15 * rng.normal(size=(PEOPLE, 1, METHODS))
    noise = (0.35 if world.ties else 0.8) * rng.normal(size=(PEOPLE, *good.shape))
    felt = good + severity[:, None, None] + taste + noise
    return np.clip(np.round(felt), 0, 4), is_harsh


def truth(goal: str, world: World) -> np.ndarray:
    """Return the value over endless stories, on average over panels of five."""
    rng, found = np.random.default_rng(1), []
    for _ in range(300):
        good, scores = outputs(world, 400, rng)
        given, _harsh = ratings(world, good, rng)
        r = np.corrcoef(given.mean(0).ravel(), scores.ravel())[:1, 1]
        found.append(given.mean((0, 1)) if goal == "mean" else r)
    return np.mean(found, axis=0)


def run(goal: str, world: World, true: np.ndarray, rng) -> tuple[int, bool, bool]:
    """Return the answers at the stop (0: none), if it is false, if a look missed."""
    good, scores = outputs(world, STORIES, rng)
    given, is_harsh = ratings(world, good, rng)
    person, story, method = (axis.ravel() for axis in np.indices(given.shape))
    order = np.argsort(rng.random(len(person)) + 0.6 * world.late * is_harsh[person])
    person, story, method = person[order], story[order], method[order]
    value, has_missed = given[person, story, method], False
    for n in range(1, len(value) + 1):
        if np.count_nonzero(np.bincount(person[:n])) < sequences.LEAST_PEOPLE:
            continue
        known = person[:n], story[:n], method[:n], value[:n]
        found = contributions(goal, known, scores)
        if found is None or not np.isfinite(found.value).all():
            continue
        if np.min(found.n_stories) < sequences.LEAST_STORIES:
            continue
        errors = found.evidence().errors
        half = sequences.goal_half_widths(errors, world.size, ALPHA / len(true))
        away = np.abs(found.value - true)
        has_missed |= bool((away > half).any())
        if half.max() <= world.size * (1 + 1e-12):
            return n, bool((away > world.size).any()), has_missed
    return 0, False, has_missed


def contributions(goal: str, known: tuple[np.ndarray, ...], scores: np.ndarray):
    """Return what answers so far say; None if they say nothing yet."""
    person, story, method, value = known
    if goal == "mean":
        clusters = (story, STORIES), (person, PEOPLE)
        return sequences.mean_contributions(value, method, METHODS, *clusters, (0, 4))
    cell = story * METHODS + method
    full = np.bincount(cell, minlength=STORIES * METHODS) == PEOPLE
    kept, code = full[cell], np.cumsum(full) - 1
    human = np.bincount(code[cell[kept]], value[kept]) / PEOPLE
    if not full.any() or human.std() == 0:
        return None
    clusters = (story[kept], STORIES), (person[kept], PEOPLE)
    return sequences.correlation_contributions(
        human, scores.ravel()[full], code[cell[kept]], value[kept], *clusters
    )


def interval(k: int, n: int) -> str:
    """Return a share with its exact 95 % interval."""
    low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    return f"{k / n:.4f} [{low:.4f}, {high:.4f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("goal", choices=list(WORLDS))
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=4242)
    given = parser.parse_args()
    for world in WORLDS[given.goal]:
        true = truth(given.goal, world)
        rows = [
            run(given.goal, world, true, np.random.default_rng([given.seed, number]))
            for number in range(given.studies)
        ]
        n = len(rows)
        at = [stop for stop, _false, _missed in rows if stop]
        print(
            f"{given.goal} {tuple(world)}: stopped {len(at) / n:.3f}"
            f" after {np.mean(at or [0]):.0f}"
            f", false {interval(sum(row[1] for row in rows), n)}"
            f", missed at some look {interval(sum(row[2] for row in rows), n)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
