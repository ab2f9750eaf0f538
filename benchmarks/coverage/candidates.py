"""Does the best of many metrics remain a candidate for best?

The true best metric follows people's opinion a little better than the others, which
are alike; an interval "holds" where the best remains, or, of the others, where the
metric is excluded. Metrics may have individual effects of methods.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.correlations.metric_differences import cluster_rows, metric_differences
from analysis.options import Sampling
from analysis.reading.cells import CellGrid
from benchmarks.coverage import counting, studies
from benchmarks.coverage.counting import Interval, Scenario

# Metrics, methods, standard deviation of own effects of methods, noise of the others
# beside that of the best, which is 1.
WORLDS = (
    (8, 10, 0.0, 1.0),
    (8, 10, 0.4, 1.0),
    (30, 10, 0.0, 1.0),
    (30, 10, 0.4, 1.0),
    (30, 5, 0.4, 1.0),
    (30, 23, 0.4, 1.0),
    (100, 10, 0.4, 1.0),
    (30, 23, 0.2, 2.0),
    (30, 10, 0.2, 2.0),
)
LEVEL, COEFFICIENT, STORIES = "story", "kendall", 40


def scenarios() -> Iterator[Scenario]:
    both = counting.STORIES_METHODS
    for world in WORLDS:
        K, M, own, noise = world
        size = f"{K} metrics, {STORIES} stories x {M} methods, own effects {own}"
        study = partial(candidates, world)
        yield Scenario(
            "candidates", f"{size}, others' noise {noise}", both, both, study
        )


def drawn(world: tuple[int, int, float, float], seed: int) -> CellGrid:
    """Draw people's values and the scores of metrics, the best first."""
    K, M, own, noise = world
    rng = np.random.default_rng([13, seed])
    quality = 0.6 * rng.normal(size=M) + 0.8 * rng.normal(size=(STORIES, M))
    human = quality + 0.5 * rng.normal(size=quality.shape)
    spread = np.where(np.arange(K) == 0, 1.0, noise)[:, None, None]
    liked = own * rng.normal(size=(K, 1, M))
    scores = quality + liked + spread * rng.normal(size=(K, STORIES, M))
    return studies.cell_grid(human, scores, tuple(f"m{k:03d}" for k in range(K)))


def candidates(
    world: tuple[int, int, float, float], number: int, sampling: Sampling
) -> list[Interval]:
    """Return whether the best remains, and whether others are excluded."""
    sampling["resamples"] = 1  # no test draws
    grid = drawn(world, number)
    asked = grid, LEVEL, (COEFFICIENT,)
    spread = level_spread(*asked, counting.STORIES_METHODS, sampling)
    rows = [
        {
            "dimension": grid.question,
            "level": LEVEL,
            "coefficient": name,
            "metric": metric,
            **one.columns(),
        }
        for (metric, name), one in level_estimates(*asked, spread, sampling).items()
    ]
    compared = metric_differences(*asked, spread, sampling)
    found = cluster_rows(pd.DataFrame(rows), pd.DataFrame(compared))
    return [
        Interval(
            "best remains" if is_best else "another is excluded",
            LEVEL,
            0.0,
            0.0,
            0.0,
            0.0 if bool(row["candidate"]) == is_best else 1.0,
        )
        for row in found
        for is_best in [row["metric"] == grid.metrics[0]]
    ]
