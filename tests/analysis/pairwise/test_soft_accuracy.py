"""Soft pairwise accuracy against Google's program, and its laws."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from analysis.pairwise.soft_accuracy import soft_pairwise_accuracy, spa_differences
from tests.analysis.correlations.test_metric_differences import two_metrics
from tests.analysis.pairwise.test_accuracy import grid_of


def measure(grid, **options):
    options = {"resamples": 0, "confidence": 0.95, "seed": 0, **options}
    return {row["metric"]: row for row in soft_pairwise_accuracy(grid, **options)}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "key"), [("dsg", "SPA_1000perm_seed4"), ("tifa", "SPA")]
)
def test_independent_values(shared, name, key):
    folder = shared / "data" / name
    expected = json.loads((folder / "expected.json").read_text())
    expected = expected.get("metrics", expected)
    ratings = pd.read_csv(folder / "ratings.csv")
    found = measure(grid_of(ratings, pd.read_csv(folder / "scores.csv")))
    for metric, values in expected.items():
        assert found[metric]["value"] == pytest.approx(values[key], abs=0.02), metric
        assert found[metric]["n"] == 10


def differences(grid, **options):
    sampling = {"resamples": 1, "confidence": 0.95, "seed": 0, **options}
    rows = spa_differences(grid, sampling=sampling)
    return {(row["metric_a"], row["metric_b"]): row for row in rows}


def test_no_metric_is_compared_when_all_have_values_of_methods_alone():
    grid = two_metrics(n_stories=4, n_methods=3, digits=6)
    of_methods = replace(grid, method_level=frozenset(grid.metrics))
    assert differences(of_methods) == {}
    assert measure(of_methods) == {}


@pytest.mark.parametrize("hole", [[], [(0, 1), (3, 2)]])
def test_differences_are_those_of_the_values_and_tested_over_methods(hole):
    grid = two_metrics(n_stories=20, n_methods=8, holes=set(hole), digits=6)
    values = measure(grid)
    (row,) = differences(grid).values()
    assert row["difference"] == pytest.approx(
        values["a"]["value"] - values["b"]["value"]
    )
    assert (row["test"], row["n"], row["reason"]) == ("methods", 28, "")
    assert row["low"] < row["difference"] < row["high"]
