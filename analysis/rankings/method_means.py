"""How people rate each method: means, spread over annotators, intervals."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.correlations.cell_means import method_means
from analysis.correlations.levels import CHUNK, can_vary
from analysis.inference.resampling import Draws, draw, estimate, stream
from analysis.reading.cells import CellGrid, rated_grid
from analysis.reading.kept_answers import are_means
from analysis.results import Array, Estimate


@dataclass(frozen=True)
class MethodMean:
    """One method's mean rating on one dimension.

    Attributes
    ----------
    method
        Its name.
    mean
        Mean of its cells; `n` is the number of stories, 0 for a method-level value.
    sd_annotators
        Standard deviation (n - 1) of the annotators' means of this method; NaN
        with one annotator.
    n_ratings, n_annotators
        Ratings and people behind it; None where only their mean is known.
    """

    method: str
    mean: Estimate
    sd_annotators: float
    n_ratings: int | None
    n_annotators: int | None


def mean_ratings(
    ratings: pd.DataFrame,
    by_annotator: pd.DataFrame,
    *,
    dimension: str,
    parts: tuple[str, ...],
    resamples: int,
    confidence: float,
    seed: int,
    judge: str = "",
) -> list[MethodMean]:
    """Average the cells of every method.

    Parameters
    ----------
    ratings, by_annotator
        Kept rows of one dimension, and their means over shots and rounds.
    dimension
        The question.
    parts
        Clusters to draw: stories, annotators or units.
    resamples, confidence, seed
        Number of resamples (0 for no intervals), coverage, seed.
    judge
        As for `analysis.reading.cells.rated_grid`.

    Returns
    -------
    list of MethodMean
        Sorted by method.
    """
    grid = rated_grid(dimension, by_annotator, judge=judge)
    means = grid.human.sum(axis=0) / grid.cells.sum(axis=0)
    draws = draw(
        parts,
        cells=grid.cells,
        n_annotators=len(grid.votes),
        resamples=resamples,
        rng=stream(seed, "means", dimension),
    )
    drawn = np.empty((0, len(grid.methods)))
    if can_vary(parts, grid, draws):
        size = max(1, CHUNK // grid.cells.size)
        drawn = np.concatenate([_drawn(grid, part) for part in draws.chunks(size)])
    own = by_annotator.groupby(["method", "annotator"])["rating"].mean()
    spread = own.groupby("method").std(ddof=1)
    people = own.groupby("method").size()
    answers = ratings.groupby("method").size()
    counted = not are_means(ratings)
    return [
        MethodMean(
            method,
            estimate(
                float(means[i]),
                drawn[:, i],
                confidence,
                n=0 if grid.human_is_method_level else int(grid.cells[:, i].sum()),
            ),
            float(spread[method]),
            int(answers[method]) if counted else None,
            int(people[method]) if counted else None,
        )
        for i, method in enumerate(grid.methods)
    ]


def _drawn(grid: CellGrid, draws: Draws) -> Array:
    """Return the mean of every method in every resample; NaN where it has no cell."""
    values, _, weights = method_means(grid, draws)
    return np.where(weights > 0, values, np.nan)
