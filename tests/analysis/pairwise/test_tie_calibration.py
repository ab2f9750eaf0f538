"""Accuracy with ties, its thresholds, and both at every level."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.pairwise.accuracy_differences import (
    best_epsilon,
    held_out_epsilons,
    predicted_pairs,
)
from analysis.reading.cells import CellGrid


def accuracy_with_ties(human, scores, epsilon):
    one_fold = np.zeros((1, len(human)), int)
    right, _, epsilon = predicted_pairs(human, scores, epsilon, one_fold)
    return (np.nan if np.isnan(epsilon) else right.mean()), epsilon


def small_grid(human, scores):
    human, scores = np.array(human, float), np.array(scores, float)
    cells = np.isfinite(human)
    return CellGrid(
        "q",
        tuple(f"s{i}" for i in range(len(human))),
        tuple(f"m{i}" for i in range(human.shape[1])),
        ("k",),
        cells,
        np.where(cells, human, 0.0),
        np.where(cells, scores, 0.0)[None],
        human[None],
        frozenset(),
    )


def pairs_of(grid, level, k=0):
    """Return people's preference and the metric's difference of all pairs of cells."""
    cells = np.argwhere(grid.cells)
    i, j = np.triu_indices(len(cells), 1)
    axis = {"story": 0, "within_method": 1}.get(level)
    if axis is not None:
        same = cells[i, axis] == cells[j, axis]
        i, j = i[same], j[same]
    human, scores = grid.human[grid.cells], grid.scores[k][grid.cells]
    return np.sign(human[i] - human[j]), scores[i] - scores[j]


values = st.lists(st.integers(0, 4), min_size=12, max_size=12)


@given(values, values)
def test_the_smallest_of_the_best_thresholds_by_definition(human, scores):
    people, metric = pairs_of(small_grid([human], [scores]), "pooled")
    by_threshold = {
        e: np.mean(people == np.where(abs(metric) <= e, 0, np.sign(metric)))
        for e in range(5)
    }
    best = max(by_threshold.values())
    smallest = min(e for e, v in by_threshold.items() if np.isclose(v, best))
    assert accuracy_with_ties(people, metric, "insample") == pytest.approx(
        (best, smallest)
    )


@given(
    st.lists(
        st.tuples(
            st.sampled_from([-1.0, 0.0, 1.0]), st.integers(-4, 4), st.integers(0, 2)
        ),
        min_size=4,
    )
)
def test_sorting_once_is_sorting_for_each_fold(points):
    human, scores, first = np.array(points, float).T
    folds = np.stack([first, np.roll(first, 1)]).astype(int)
    assert held_out_epsilons(human, scores, folds).tolist() == [
        [best_epsilon(human[f != k], scores[f != k]) for k in range(folds.max() + 1)]
        for f in folds
    ]
