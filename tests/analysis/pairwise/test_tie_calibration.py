"""Accuracy with ties, its thresholds, and both at every level."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.correlations.levels import method_means
from analysis.inference.resampling import no_draws
from analysis.pairwise.accuracy_differences import (
    best_epsilon,
    held_out_epsilons,
    predicted_pairs,
)
from analysis.reading.cells import CellGrid
from tests.analysis.pairwise.test_accuracy import grid_of

KEYS = {"pooled": "none", "story": "item", "within_method": "sys"}


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


# Google's mt-metrics-eval gives these. One threshold differs: for meteor on tifa,
# 0 and 8.9e-6 are right equally often within methods, and the average of floats over
# methods there is larger at the second in its last bit. The smaller one is ours.
EQUALLY_GOOD = {("meteor", "eps_sys")}


@pytest.mark.shared
@pytest.mark.parametrize(("name", "checked"), [("dsg", 117), ("tifa", 44)])
def test_accuracy_with_ties_has_independent_values_at_every_level(
    shared, name, checked
):
    folder = shared / "data" / name
    expected = json.loads((folder / "expected.json").read_text())
    expected = expected.get("metrics", expected)
    ratings = pd.read_csv(folder / "ratings.csv")
    grid = grid_of(ratings, pd.read_csv(folder / "scores.csv"))
    people, means, _ = method_means(grid, no_draws(*grid.cells.shape))
    i, j = np.triu_indices(len(grid.methods), 1)
    compared = 0
    for k, metric in enumerate(grid.metrics):
        values, found = expected.get(metric, {}), {}
        of_methods = (
            np.sign(people[0, i] - people[0, j]),
            means[k, 0, i] - means[k, 0, j],
        )
        found["sys_pair_acc"], _ = accuracy_with_ties(*of_methods, "0")
        for level, key in KEYS.items():
            pairs = pairs_of(grid, level, k)
            tuned = accuracy_with_ties(*pairs, "insample")
            found[f"acc_eq_{key}"], found[f"eps_{key}"] = tuned
            found[f"acc_eq0_{key}"], _ = accuracy_with_ties(*pairs, "0")
        human, scores = pairs_of(grid, "pooled", k)
        clear = human != 0
        strict, _ = accuracy_with_ties(human[clear], scores[clear], "0")
        found["ppa_global_strict"], found["ppa_global_n"] = strict, clear.sum()
        found["ppa_global_half"] = strict + (scores[clear] == 0).mean() / 2
        for part in set(found) & set(values):
            if (metric, part) in EQUALLY_GOOD:
                assert found[part] == 0
                continue
            assert found[part] == pytest.approx(values[part], abs=1e-9), part
            compared += 1
    assert compared == checked


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
def test_smallest_of_the_best_thresholds_by_definition(human, scores):
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
