"""Tests between two metrics that agree with people equally well: each should hold.

A test "holds" where it does not reject, so that its coverage is 1 less the share of
rejections, nominally .95. Metrics may have individual effects of methods, and follow
the quality better in some stories than in others.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from analysis.correlations.level_estimates import level_spread
from analysis.correlations.metric_differences import metric_differences
from analysis.options import COEFFICIENTS, LEVELS, Sampling
from analysis.pairwise.accuracy_differences import accuracy_differences
from analysis.pairwise.output_pairs import rating_pairs
from analysis.pairwise.soft_accuracy import spa_differences
from analysis.reading.cells import CellGrid
from benchmarks.coverage import counting, studies
from benchmarks.coverage.counting import Interval, Parts, Scenario

SIZES = ((40, 5), (40, 8), (12, 12), (160, 10), (40, 25))
# Standard deviations of a metric's own effects: of methods, and of how much it follows
# the quality inside a story.
WORLDS = {
    "no effects": (0.0, 0.0),
    "methods .4": (0.4, 0.0),
    "methods .8": (0.8, 0.0),
    "stories": (0.0, 0.6),
    "methods .4, stories": (0.4, 0.6),
    "ties": (0.0, 0.0),
}


def scenarios() -> Iterator[Scenario]:
    both = counting.STORIES_METHODS
    for size in SIZES:
        for world in WORLDS:
            name = f"{size[0]} stories x {size[1]} methods, {world}"
            study = partial(tests, world, size, both)
            yield Scenario(
                "equal", name, counting.STORIES_METHODS, counting.STORIES_METHODS, study
            )


def drawn(world: str, size: tuple[int, int], seed: int) -> CellGrid:
    """Draw people's values and two metrics that follow them equally well."""
    rng, (n_stories, n_methods) = np.random.default_rng(seed), size
    quality = 0.6 * rng.normal(size=n_methods) + 0.8 * rng.normal(size=size)
    human = quality + 0.5 * rng.normal(size=size)
    of_methods, of_stories = WORLDS[world]
    follows = 1 + of_stories * rng.normal(size=(2, n_stories, 1))
    liked = of_methods * rng.normal(size=(2, 1, n_methods))
    scores = quality * follows + liked + rng.normal(size=(2, *size))
    if world == "ties":
        human, scores = np.clip(np.round(human + 3), 1, 5), np.round(scores * 1.5)
    return studies.cell_grid(human, scores, ("a", "b"))


def tests(
    world: str, size: tuple[int, int], parts: Parts, number: int, sampling: Sampling
) -> list[Interval]:
    """Return every test of a study, as an interval of its p-value and .05."""
    sampling["resamples"] = 1  # no test draws
    grid, rows = drawn(world, size, number), []
    for level in LEVELS:
        asked = grid, level, COEFFICIENTS
        spread = level_spread(*asked, parts, sampling)
        differences = metric_differences(*asked, spread, sampling)
        rows += [(str(row["coefficient"]), level, row) for row in differences]
    pairs = rating_pairs(grid)
    options = {"epsilon": "heldout", "parts": parts, "sampling": sampling}
    for row in accuracy_differences(pairs, **options):
        rows.append((str(row["statistic"]), "pairs", row))
    rows += [("spa", "", row) for row in spa_differences(grid, sampling=sampling)]
    p_values = [float(str(row["p_value"])) for *_, row in rows]
    return [
        Interval(name, level, p, 0.05, 1.0, p if np.isfinite(p) else 1.0)
        for (name, level, _), p in zip(rows, p_values, strict=True)
    ]
