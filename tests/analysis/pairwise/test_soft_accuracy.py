"""Soft pairwise accuracy against Google's program, and its laws."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from analysis.inference.cluster_variance import ClusterVariances, variance_of_methods
from analysis.inference.resampling import cluster_counts, stream
from analysis.pairwise import soft_accuracy
from analysis.pairwise.soft_accuracy import (
    shared_pairs,
    soft_pairwise_accuracy,
    spa_differences,
)
from analysis.statistics import COLUMNS
from tests.analysis.correlations.test_metric_differences import two_metrics
from tests.analysis.pairwise.test_accuracy import grid_of

PAIRS = ((0, 1), (0, 2), (1, 2))


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


def flips_of(grid):
    rng = stream(0, "spa", grid.question)
    shape = (soft_accuracy.DRAWS, len(grid.stories))
    return rng.integers(0, 2, shape) * 2.0 - 1


def differences(grid, **options):
    sampling = {"resamples": 1, "confidence": 0.95, "seed": 0, **options}
    rows = spa_differences(grid, sampling=sampling)
    return {(row["metric_a"], row["metric_b"]): row for row in rows}


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


def test_methods_that_share_no_story_are_no_pair():
    """The others are scaled to the mean that they are: with one of 28 pairs less."""
    apart = {(s, s % 2) for s in range(20)}
    grid = two_metrics(n_stories=20, n_methods=8, holes=apart, digits=6)
    (row,) = differences(grid).values()
    assert row["n"] == 27
    pair = shared_pairs(grid)
    human, a, b = (
        soft_accuracy._flipped_p(values, grid.cells, pair, flips_of(grid))
        for values in (grid.human, *grid.scores)
    )
    each = np.abs(human - b) - np.abs(human - a)
    i, j = np.triu_indices(8, 1)
    scaled = np.zeros(28)
    scaled[np.isin(8 * i + j, 8 * pair[0] + pair[1])] = (each - each.mean()) * 28 / 27
    expected = ClusterVariances(
        variance_of_methods(scaled, 8), 0, 0, 8, 20, 1e-9, ("methods",)
    )
    assert row["difference"] == pytest.approx(each.mean())
    assert row["p_value"] == pytest.approx(expected.p_value(each.mean()))


def study(n_stories=12, n_methods=4, seed=0, **metrics):
    rng = np.random.default_rng(seed)
    keys = list(
        itertools.product((f"s{i}" for i in range(n_stories)), range(n_methods))
    )
    frame = pd.DataFrame(keys, columns=["story", "method"])
    rating = rng.integers(0, 5, len(frame)) + frame["method"]
    frame["method"] = [f"m{m}" for m in frame["method"]]
    ratings = frame.assign(dimension="d", annotator="Ann", rating=rating)
    scores = [frame.assign(metric=n, score=f(rating, rng)) for n, f in metrics.items()]
    return ratings, pd.concat(scores)


@pytest.mark.parametrize("gone", ["m0", "m1"])
def test_a_story_that_one_of_two_methods_lacks_says_nothing_of_them(gone):
    ratings, scores = study(
        n_methods=2, same=lambda r, _: r, noise=lambda r, rng: rng.normal(size=len(r))
    )
    ratings = ratings[(ratings["story"] != "s3") | (ratings["method"] != gone)]
    plain = measure(grid_of(ratings, scores), resamples=50)
    alone = scores["story"] == "s3"
    odd = scores.assign(score=scores["score"].where(~alone, 1e9))
    changed = ratings.assign(
        rating=ratings["rating"].where(ratings["story"] != "s3", 99)
    )
    assert measure(grid_of(changed, odd), resamples=50) == plain


def test_intervals():
    grid = grid_of(
        *study(n_stories=40, k=lambda r, rng: r + 3 * rng.normal(size=len(r)))
    )
    row = measure(grid, resamples=200)["k"]
    assert set(row) == set(COLUMNS["spa"])
    assert 0 <= row["low"] < row["value"] < row["high"] <= 1
    assert row == measure(grid, resamples=200)["k"]
    assert np.isnan(measure(grid)["k"]["low"])


def test_resamples_are_studies_of_the_stories_drawn(monkeypatch):
    grid = grid_of(*study(n_methods=3, k=lambda r, rng: r + rng.normal(size=len(r))))
    drawn = []
    monkeypatch.setattr(soft_accuracy, "PAIRS_AT_ONCE", 2)
    monkeypatch.setattr(
        soft_accuracy, "interval", lambda x, c: drawn.append(x) or (0.0, 0.0, "")
    )
    measure(grid, resamples=5)
    rng = stream(0, "spa stories", "d")
    expected = []
    for counts in (*cluster_counts(12, 5, rng), np.ones(12, int)):
        p = {}
        for side, values in (("people", grid.human), ("k", grid.scores[0])):
            repeated = np.repeat(values, counts, axis=0)
            d = np.stack([repeated[:, i] - repeated[:, j] for i, j in PAIRS])
            p[side] = norm.sf(d.sum(axis=1) / np.sqrt((d**2).sum(axis=1)))
        expected.append(1 - np.abs(p["people"] - p["k"]).mean())
    *resampled, plain = expected
    moved = np.array(resampled) - np.mean(resampled) + plain
    assert drawn[0] == pytest.approx(np.minimum(moved, 1))


def test_what_cannot_be_compared_says_why():
    one = measure(grid_of(*study(n_methods=1, k=lambda r, _: r)))["k"]
    assert np.isnan(one["value"])
    assert one["reason"] == "no two methods have a story in common"
    ratings, scores = study(k=lambda r, _: r)
    whole = ratings.assign(story="").drop_duplicates("method")
    row = measure(grid_of(whole, scores))["k"]
    assert np.isnan(row["value"])
    assert "method-level" in row["reason"]
