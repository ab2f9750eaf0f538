"""Remarks on metrics that are strongly opposed to people."""

from collections.abc import Iterable, Iterator

import numpy as np
from scipy.stats import spearmanr

from analysis.questions import QuestionData
from analysis.reading.cells import CellGrid
from analysis.reading.scores import ScoreTable
from analysis.results import Array
from analysis.sentences import sentence

# Coefficients from here down, of so many pairs of outputs, or methods, are remarked on.
STRONG, LEAST = -0.7, 10


def direction_hints(
    questions: Iterable[QuestionData], table: ScoreTable
) -> Iterator[str]:
    """Yield a remark for each metric that is strongly opposed to people."""
    lowest: dict[str, tuple[float, str]] = {}
    for question in questions:
        for metric, value in _coefficients(question):
            lowest[metric] = min(lowest.get(metric, (0, "")), (value, question.name))
    for metric, (value, name) in sorted(lowest.items()):
        if value <= STRONG and metric not in table.composites:
            yield sentence(
                "{metric} correlates {value} with people ({question}), higher being "
                "taken as better: is lower better? Set higher_is_better=false."
                if table.higher_is_better[metric]
                else "{metric} correlates {value} with people ({question}), lower "
                "being taken as better: is higher better? Set higher_is_better=true.",
                metric=metric,
                value=f"{value:.2f}",
                question=name,
            )


def _coefficients(question: QuestionData) -> Iterator[tuple[str, float]]:
    pairs, grid = question.pairs, question.grid
    people = pairs.sides[0] - pairs.sides[1]
    for k, metric in enumerate(pairs.metrics):
        if len(people) >= LEAST:
            yield metric, _spearman(*map(_both_ways, (people, pairs.scores[k])))
    if grid is None:
        return
    for k, metric in enumerate(grid.metrics):
        if metric not in pairs.metrics and len(grid.methods) >= LEAST:
            yield metric, _spearman(*_method_means(grid, k))


def _method_means(grid: CellGrid, k: int) -> tuple[Array, Array]:
    n = grid.cells.sum(axis=0)
    sums = grid.human.sum(axis=0), grid.scores[k].sum(axis=0)
    human, scores = (values[n > 0] / n[n > 0] for values in sums)
    return human, scores


def _both_ways(differences: Array) -> Array:
    """Return differences of first and second outputs, and of second and first."""
    return np.concatenate([differences, -differences])


def _spearman(human: Array, scores: Array) -> float:
    """Return the coefficient; 0 where values do not differ."""
    if not np.ptp(human) or not np.ptp(scores):
        return 0.0
    return float(spearmanr(human, scores).statistic)
