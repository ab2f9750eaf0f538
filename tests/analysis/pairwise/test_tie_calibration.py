"""Accuracy with ties, its thresholds, and both at every level."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.pairwise.tie_calibration import (
    best_epsilon,
    held_out_epsilons,
    level_accuracy,
    predicted_pairs,
)
from analysis.reading.cells import CellGrid
from analysis.statistics import COLUMNS
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
def test_independent_values_at_every_level(shared, name, checked):
    folder = shared / "data" / name
    expected = json.loads((folder / "expected.json").read_text())
    expected = expected.get("metrics", expected)
    ratings = pd.read_csv(folder / "ratings.csv")
    grid = grid_of(ratings, pd.read_csv(folder / "scores.csv"))
    grid = grid.with_metrics(tuple(m for m in grid.metrics if m in expected))
    compared = 0
    for row in level_accuracy(grid, level="method"):
        values = expected[row["metric"]]
        if "sys_pair_acc" in values:
            assert row["value"] == pytest.approx(values["sys_pair_acc"], abs=1e-9)
            assert row["n"] == 10
            compared += 1
    for level, key in KEYS.items():
        for k, zero in enumerate(level_accuracy(grid, level=level)):
            human, scores = pairs_of(grid, level, k)
            value, epsilon = accuracy_with_ties(human, scores, "insample")
            found = {
                f"acc_eq_{key}": value,
                f"eps_{key}": epsilon,
                f"acc_eq0_{key}": zero["value"],
            }
            if level == "pooled":
                found |= {
                    "ppa_global_strict": zero["ppa_strict"],
                    "ppa_global_half": zero["ppa_half"],
                    "ppa_global_n": zero["n_pairs"],
                }
            values = expected[zero["metric"]]
            for part in set(found) & set(values):
                if (zero["metric"], part) in EQUALLY_GOOD:
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


@given(values, values, st.sampled_from(sorted(KEYS)))
def test_levels_by_definition(human, scores, level):
    grid = small_grid(np.reshape(human, (4, 3)), np.reshape(scores, (4, 3)))
    (row,) = level_accuracy(grid, level=level)
    people, metric = pairs_of(grid, level)
    right = np.sign(metric) == people
    assert (row["value"], row["n"]) == (pytest.approx(right.mean()), len(people))
    decided = people != 0
    assert row["n_pairs"] == decided.sum()
    if decided.any():
        tied = metric[decided] == 0
        assert row["metric_tie_rate"] == pytest.approx(tied.mean())
        assert row["ppa_strict"] == pytest.approx(right[decided].mean())
        half = right[decided].mean() + tied.mean() / 2
        assert row["ppa_half"] == pytest.approx(half)


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


def test_what_has_no_pair_says_so():
    row = level_accuracy(small_grid([[1.0]], [[2.0]]), level="pooled")[0]
    assert set(row) == set(COLUMNS["accuracy_levels"])
    assert np.isnan(row["value"])
    assert row["reason"] == "no two values to compare at this level"
    row = level_accuracy(small_grid([[1.0, 1.0]], [[2.0, 3.0]]), level="story")[0]
    assert (row["value"], row["n"], row["n_pairs"]) == (0.0, 1, 0)
    assert np.isnan(row["ppa_half"])


def test_values_of_whole_methods_have_pairs_of_methods_only():
    grid = small_grid([[1, 2, 3]] * 2, [[1, 3, 2]] * 2)
    grid = dataclasses.replace(grid, method_level=frozenset({"k"}))
    row = level_accuracy(grid, level="method")[0]
    assert (row["value"], row["n"]) == (pytest.approx(2 / 3), 3)
    for level in KEYS:
        assert level_accuracy(grid, level=level)[0]["n"] == 0


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
