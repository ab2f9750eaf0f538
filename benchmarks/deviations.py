"""Do claims on whom a metric favours, on equal metrics and on residuals hold?

    python -m benchmarks.deviations CLAIM [--studies 400] [--seed 70]

Studies with known truth. `methods`: people rate from 1 to 5, are unequally severe and
have favourites; mean scores lie on a line of what people say on average, except that
the metric may favour the first method by half a point. `residuals`: scores share the
effects of methods and stories with people, and of single outputs nothing or something;
where both sides are bounded, these effects are bent alike on both.
`equivalents`: the accuracies of two metrics differ by just the margin. `studies`: one
value over studies that differ.
"""

import argparse
import os
from typing import NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from scipy.special import ndtr

from analysis.correlations.equivalence import EQUIVALENT, equivalence_rows
from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.correlations.levels import level_point
from analysis.correlations.method_deviation import method_deviations, rated_cells
from analysis.inference.cluster_variance import CROSSED
from analysis.inference.meta_analysis import combined
from analysis.pairwise.accuracy_differences import (
    accuracy_differences,
    accuracy_variances,
)
from analysis.pairwise.output_pairs import rating_pairs
from analysis.reading.cells import CellGrid
from analysis.results import Estimate

LEVEL = 0.05
SEVERITY, TASTE, NOISE = 0.4, 0.2, 0.6


class World(NamedTuple):
    methods: int
    stories: int
    people: int
    raters: int
    favour: float = 0.0
    spread: float = 0.6


def grid_of(votes: np.ndarray, scores: np.ndarray) -> CellGrid:
    """Return the cells of votes, (A, S, M), and scores, (K, S, M)."""
    _, S, M = votes.shape

    def names(n: int) -> tuple[str, ...]:
        return tuple(f"{i:03}" for i in range(n))

    return CellGrid(
        "look",
        names(S),
        names(M),
        names(len(scores)),
        np.ones((S, M), bool),
        np.nanmean(votes, axis=0),
        scores,
        votes,
        frozenset(),
    )


def expected(good: np.ndarray) -> np.ndarray:
    """Return the mean rating of outputs over people."""
    spread = np.sqrt(SEVERITY**2 + TASTE**2 + NOISE**2)
    steps = np.arange(1.5, 5)
    return 1 + ndtr((good[..., None] - steps) / spread).sum(axis=-1)


def outputs(world: World, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw how good the outputs of n stories are."""
    of_methods = world.spread * np.linspace(-1, 1, world.methods)
    shape = n, world.methods
    own = 0.4 * rng.normal(size=(n, 1)) + 0.4 * rng.normal(size=shape)
    return 3 + of_methods + own


def scored(
    world: World, good: np.ndarray, rng: np.random.Generator, noise: float = 0.8
) -> np.ndarray:
    """Draw the scores of a metric that knows people's means, and has a favourite."""
    scores = 10 + 3 * (expected(good) + noise * rng.normal(size=good.shape))
    scores[:, 0] += 3 * world.favour
    return scores


def study(world: World, rng: np.random.Generator) -> CellGrid:
    """Draw one study."""
    good = outputs(world, world.stories, rng)
    A, shape = world.people, good.shape
    felt = good + NOISE * rng.normal(size=(A, *shape))
    felt += SEVERITY * rng.normal(size=(A, 1, 1))
    felt += TASTE * rng.normal(size=(A, 1, world.methods))
    votes = np.clip(np.round(felt), 1, 5)
    order = rng.random((A, shape[0])).argsort(axis=0)
    votes[order >= world.raters] = np.nan
    return grid_of(votes, scored(world, good, rng)[None])


def true_deviations(world: World, rng: np.random.Generator) -> np.ndarray:
    """Return the deviations over endless stories and people."""
    good = outputs(world, 100_000, rng)
    h = expected(good).mean(axis=0)
    x = scored(world, good, rng, noise=0.0).mean(axis=0)
    found = []
    for m in range(world.methods):
        others = np.arange(world.methods) != m
        line = np.polyfit(x[others], h[others], 1)
        found.append(np.polyval(line, x[m]) - h[m])
    return np.array(found)


def of_methods(given: argparse.Namespace) -> None:
    """Print false flags and coverage of deviations."""
    worlds = [
        World(methods, stories, people, raters, favour)
        for methods in (5, 8, 23)
        for stories, people, raters in ((20, 3, 3), (60, 12, 3), (40, 20, 20))
        for favour in (0.0, 0.5)
    ]
    print("methods stories people raters favour: flags, coverage, not placed, found")
    for world in worlds:
        truth = true_deviations(world, np.random.default_rng(1))
        flags, covered, values, found = [], [], [], []
        for number in range(given.studies):
            rng = np.random.default_rng([given.seed, number])
            known = rated_cells(study(world, rng), given.parts, None)
            rows = method_deviations(known, confidence=1 - LEVEL)
            value, low, high, p = (
                np.array([row.get(name, np.nan) for row in rows])
                for name in ("value", "low", "high", "p_adjusted")
            )
            values.append(value)
            is_false = np.ones(len(p), bool) if not world.favour else truth * value < 0
            flags.append(bool(((p <= LEVEL) & is_false).any()))
            covered.append(
                np.where(np.isfinite(value), (low <= truth) & (truth <= high), np.nan)
            )
            found.append(p[0] <= LEVEL and value[0] > 0)
        covered = np.array(covered, float)
        error = np.nanstd(np.nanmean(covered, axis=1)) / np.sqrt(given.studies)
        print(
            *world[:5],
            f": {_share(np.mean(flags), given.studies)}"
            f", {np.nanmean(covered):.3f} ({error:.3f})"
            f" first {np.nanmean(covered[:, 0]):.3f}"
            f", {np.mean(np.isnan(values)):.3f}, {np.mean(found):.3f}"
            f", bias {np.nanmean(np.array(values) - truth, axis=0)[[0, -1]].round(3)}",
            flush=True,
        )


def of_residuals(given: argparse.Namespace) -> None:
    """Print errors of the test, and coverage, with method and story removed."""
    print("methods stories: type-I error, bounded, steeper, cut off; coverage, truth")
    for methods, stories in ((5, 20), (5, 60), (8, 40), (12, 100), (23, 20), (23, 60)):
        world = World(methods, stories, 3, 3)
        true = _residual_truth(world)
        wrong, bent, steep, cut, covered = [], [], [], [], []
        for number in range(given.studies):
            rng = np.random.default_rng([given.seed, number])
            nothing, some = _residual_estimates(_residual_study(world, rng))
            (bounded,) = _residual_estimates(_bounded_study(world, rng))
            wrong.append(nothing.p_value <= LEVEL)
            bent.append(bounded.p_value <= LEVEL)
            (bounded,) = _residual_estimates(_bounded_study(world, rng, 1.2))
            steep.append(bounded.p_value <= LEVEL)
            (bounded,) = _residual_estimates(
                _bounded_study(world, rng, 1.2, is_rounded=False)
            )
            cut.append(bounded.p_value <= LEVEL)
            covered.append(some.low <= true <= some.high)
        shares = (
            _share(np.mean(x), given.studies)
            for x in (wrong, bent, steep, cut, covered)
        )
        print(methods, stories, ":", *shares, round(true, 3), flush=True)


def _residual_estimates(grid: CellGrid) -> list[Estimate]:
    sampling = {"resamples": 200, "confidence": 1 - LEVEL, "seed": 0}
    asked = grid, "residual", ("pearson",)
    spread = level_spread(*asked, CROSSED, sampling)
    found = level_estimates(*asked, spread, sampling)
    return [found[metric, "pearson"] for metric in grid.metrics]


def _residual_study(world: World, rng: np.random.Generator) -> CellGrid:
    """Draw a study with a metric that knows methods and stories alone, and another."""
    shape = world.stories, world.methods
    common = world.spread * rng.normal(size=shape[1])
    common = 3 + common + 0.5 * rng.normal(size=(shape[0], 1))
    own = 0.5 * rng.normal(size=shape)
    felt = common + own + 0.3 * rng.normal(size=(world.people, 1, 1))
    felt = felt + NOISE * rng.normal(size=(world.people, *shape))
    scores = np.stack([common, common + own]) + 0.5 * rng.normal(size=(2, *shape))
    return grid_of(np.clip(np.round(felt), 1, 5), scores)


def _bounded_study(
    world: World,
    rng: np.random.Generator,
    spread: float = 0.8,
    *,
    is_rounded: bool = True,
) -> CellGrid:
    """Draw a study where people and the metric reach the upper end of one scale.

    Scores are rounded as ratings are, or only cut off at the ends.
    """
    shape = world.stories, world.methods
    of_stories = rng.normal(size=(shape[0], 1))
    common = 4 + spread * (rng.normal(size=shape[1]) + of_stories)
    felt = common + NOISE * rng.normal(size=(world.people, *shape))
    scores = common + NOISE * rng.normal(size=(1, *shape))
    scores = np.round(scores) if is_rounded else scores
    return grid_of(np.clip(np.round(felt), 1, 5), np.clip(scores, 1, 5))


def _residual_truth(world: World) -> float:
    """Return the coefficient over endless stories, on average over sets of methods."""
    large, found = world._replace(stories=500), []
    for number in range(200):
        grid = _residual_study(large, np.random.default_rng([1, number]))
        values, _ = level_point(grid, "residual", ("pearson",))
        found.append(values["pearson"][1, 0])
    return float(np.mean(found))


def of_equivalents(given: argparse.Namespace) -> None:
    """Print how often metrics that differ by the margin are called equivalent."""
    print("methods stories: equivalent at the margin, at 3 times the margin; margin")
    sampling = {"resamples": 200, "confidence": 1 - LEVEL, "seed": 0}
    for methods in (5, 8, 23):
        for stories in (20, 60):
            world = World(methods, stories, 3, 3)
            margin, found = _true_difference(world), []
            for number in range(given.studies):
                rng = np.random.default_rng([given.seed, number])
                pairs = rating_pairs(_two_metrics(world, rng))
                rows = accuracy_differences(
                    pairs, epsilon="0", parts=CROSSED, sampling=sampling
                )
                rows = [row | {"level": "pairs"} for row in rows[:1]]
                how = {"confidence": 1 - LEVEL}
                found.append(
                    [
                        equivalence_rows(rows, {}, margin=m, **how)[0]["verdict"]
                        == EQUIVALENT
                        for m in (margin, 3 * margin)
                    ]
                )
            shares = [_share(x, given.studies) for x in np.mean(found, axis=0)]
            print(methods, stories, ":", *shares, round(margin, 3), flush=True)


def _two_metrics(world: World, rng: np.random.Generator) -> CellGrid:
    """Draw a study whose second metric is noisier than the first."""
    shape = world.stories, world.methods
    good = 3 + world.spread * rng.normal(size=shape[1]) + 0.5 * rng.normal(size=shape)
    felt = good + NOISE * rng.normal(size=(world.people, *shape))
    noise = np.array([0.5, 0.8])[:, None, None] * rng.normal(size=(2, *shape))
    return grid_of(np.clip(np.round(felt), 1, 5), good + noise)


def _true_difference(world: World) -> float:
    large, found = world._replace(stories=200), []
    for number in range(200):
        pairs = rating_pairs(_two_metrics(large, np.random.default_rng([1, number])))
        known = accuracy_variances(pairs, "ppa_half", epsilon="0", parts=CROSSED)
        found.append(known.values[0] - known.values[1])
    return float(np.mean(found))


def of_studies(given: argparse.Namespace) -> None:
    """Print the coverage of one value over studies."""
    print("studies between: coverage, false claims")
    for k in (2, 3, 5, 10):
        for between in (0.0, 0.05, 0.15):
            hit, wrong = [], []
            for number in range(10 * given.studies):
                rng = np.random.default_rng([given.seed, number])
                errors = rng.uniform(0.03, 0.12, k)
                values = 0.5 + rng.normal(size=k) * np.sqrt(errors**2 + between**2)
                row = combined(values, errors, 1 - LEVEL, 0.5)
                hit.append(row["low"] <= 0.5 <= row["high"])
                wrong.append(row["p_value"] <= LEVEL)
            shares = (_share(np.mean(x), len(x)) for x in (hit, wrong))
            print(k, between, ":", *shares, flush=True)


def _share(value: float, n: int) -> str:
    return f"{value:.3f} ({np.sqrt(value * (1 - value) / n):.3f})"


RUNS = {
    "methods": of_methods,
    "residuals": of_residuals,
    "equivalents": of_equivalents,
    "studies": of_studies,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("claim", choices=list(RUNS))
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=70)
    parser.add_argument("--parts", nargs="+", default=["stories", "annotators"])
    given = parser.parse_args()
    RUNS[given.claim](given)


if __name__ == "__main__":
    main()
