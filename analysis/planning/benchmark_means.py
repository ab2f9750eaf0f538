"""Benchmarks laid out by story and method: means of some stories, and their order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.correlations.coefficients import correlate
from analysis.inference.resampling import interval
from analysis.inference.scaling import divided, unit_of
from analysis.options import COEFFICIENTS
from analysis.reading.cells import rated_grid
from analysis.reading.scores import ScoreTable, laid_out
from analysis.results import NAN, Array, Estimate, Mask, undefined
from analysis.sentences import sentence

SAME_MEANS = sentence("all means are the same")


@dataclass(frozen=True)
class BenchmarkScores:
    """One metric's scores, or people's ratings on one question, of a benchmark."""

    question: str
    metric: str
    stories: tuple[str, ...]
    methods: tuple[str, ...]
    values: Array
    higher_is_better: bool = True

    @property
    def of_methods(self) -> bool:
        """Whether there are no stories to choose from."""
        return self.stories == ("",)

    def part(self, stories: Mask) -> "BenchmarkScores":
        names = tuple(np.array(self.stories, object)[stories])
        return replace(self, stories=names, values=self.values[stories])

    def named(self, methods: Sequence[str]) -> "BenchmarkScores":
        where = [self.methods.index(name) for name in methods]
        return replace(self, methods=tuple(methods), values=self.values[:, where])

    def means(self) -> Array:
        """Return each method's mean over its stories; NaN without one."""
        return np.asarray(story_means(self.values, np.ones((1, len(self.stories))))[0])


def story_means(values: Array, weights: Array) -> Array:
    """Average over weighted stories: weights (B, S) to means (B, M)."""
    present = np.isfinite(values)
    count = weights @ present
    return divided(weights @ np.where(present, values, 0.0), count)


def score_boards(table: ScoreTable) -> list[BenchmarkScores]:
    """Lay out every metric of a table of scores."""
    found = []
    for metric in table.metrics:
        rows = table.cells[table.cells["metric"] == metric]
        stories = tuple(sorted(rows["story"].unique()))
        methods = tuple(sorted(rows["method"].unique()))
        values = laid_out(rows, "score", stories, methods)
        better = table.higher_is_better[metric]
        found.append(BenchmarkScores("", metric, stories, methods, values, better))
    return found


def rating_boards(by_annotator: pd.DataFrame) -> list[BenchmarkScores]:
    """Lay out people's cell means, of rows of `cells.annotator_cells`."""
    found = []
    for dimension, rows in by_annotator.groupby("dimension", sort=True):
        grid = rated_grid(str(dimension), rows)
        values = np.where(grid.cells, grid.human, np.nan)
        found.append(
            BenchmarkScores(grid.question, "", grid.stories, grid.methods, values)
        )
    return found


def weighted_correlations(a: Array, b: Array, weights: Array) -> dict[str, Array]:
    """Correlate rows of (B, M) under weights of the methods."""
    if not len(a):
        return {name: np.empty(0) for name in COEFFICIENTS}
    # Means of whole numbers of cells: what differs in the last bits is tied.
    a, b = np.round(a / unit_of(a), 12), np.round(b / unit_of(b), 12)
    found = correlate(a, b[None], weights[:, None, :], COEFFICIENTS)
    return {name: values[0, :, 0] for name, values in found.items()}


def correlated_means(a: Array, b: Array, weights: Array) -> dict[str, Array]:
    """Correlate over the methods that have both means."""
    known = np.isfinite(a) & np.isfinite(b)
    weights = np.where(known, weights, 0.0)
    return weighted_correlations(
        np.where(known, a, 0.0), np.where(known, b, 0.0), weights
    )


def mean_defined(values: Array) -> float:
    """Average the values that are defined; NaN where none is."""
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else NAN


def over_draws(
    draws: Array,
    confidence: float,
    value: float | None = None,
    *,
    why: str = SAME_MEANS,
) -> Estimate:
    """Return a value, or else the mean of the draws, with the interval of the draws."""
    found = mean_defined(draws) if value is None else value
    if np.isnan(found):
        return undefined(why)
    low, high, reason = interval(draws, confidence)
    return Estimate(found, low, high, reason=reason)


def random_subsets(S: int, n: int, times: int, rng: np.random.Generator) -> Array:
    """Draw `times` subsets of n of S stories, as weights (times, S)."""
    order = rng.random((times, S)).argsort(axis=1)
    chosen = np.zeros((times, S))
    np.put_along_axis(chosen, order[:, :n], 1.0, 1)
    return chosen
