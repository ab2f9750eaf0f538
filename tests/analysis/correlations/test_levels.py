"""Correlation at the three levels, with cluster intervals."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.correlations.level_estimates import (
    coefficient_variances,
    level_estimates,
    level_spread,
)
from analysis.correlations.levels import level_point, level_values
from analysis.inference.resampling import Draws, cluster_counts
from analysis.options import COEFFICIENTS
from analysis.reading.cells import annotator_cells, common_grid
from analysis.reading.column_cleaning import kept_rows
from analysis.reading.scores import score_table
from analysis.results import Groups
from tests.cases import slow

KEYS = ("dimension", "story", "method", "annotator")
ALL = (*COEFFICIENTS, "kendall_c")
CROSSED = ("stories", "methods")
LEVELS = ("method", "story", "within_method", "pooled")


def load(folder):
    ratings = pd.read_csv(folder / "ratings.csv")
    cells = annotator_cells(kept_rows(ratings, KEYS))
    table = score_table(pd.read_csv(folder / "scores.csv"))
    return common_grid(cells["dimension"][0], cells, table)[0]


def small(holes=(), seed=0, n_stories=6, n_methods=4, raters=3):
    rng = np.random.default_rng(seed)
    keys = [
        (f"s{s}", f"m{m}", f"r{a}")
        for s in range(n_stories)
        for m in range(n_methods)
        for a in range(raters)
        if (s, m) not in holes
    ]
    ratings = pd.DataFrame(keys, columns=["story", "method", "annotator"])
    ratings = ratings.assign(dimension="d", rating=rng.integers(0, 5, len(keys)))
    scores = ratings[["story", "method"]].drop_duplicates().assign(metric="k")
    scores["score"] = rng.integers(0, 4, len(scores)) / 2.0
    cells = annotator_cells(kept_rows(ratings, KEYS))
    return common_grid("d", cells, score_table(scores))[0]


def estimates(
    grid, level, parts=CROSSED, resamples=0, *, coefficients=ALL, confidence=0.95
):
    asked = grid, level, coefficients
    sampling = {"resamples": resamples, "confidence": confidence, "seed": 0}
    spread = level_spread(*asked, parts, sampling)
    return level_estimates(*asked, spread, sampling)


SHORT = {
    "kendall": "tau_b",
    "kendall_c": "tau_c",
    "spearman": "spearman",
    "pearson": "pearson",
}
# Keys of pairwise accuracy are tested with the modules that compute it.
ELSEWHERE = ("acc_eq", "eps", "SPA", "ppa")


@pytest.mark.shared
@pytest.mark.parametrize(("name", "keys"), [("dsg", 9 * 17), ("tifa", 5 * 6)])
def test_every_coefficient_of_the_independent_values(shared, name, keys):
    # Made by another program: _none pooled, _item by story, _sys within each method,
    # sys_ over methods. sys_tau and sys_pair_acc: no two method means tie, so the
    # share of pairs in the same order is (1 + tau) / 2.
    folder = shared / "data" / name
    expected = json.loads((folder / "expected.json").read_text())
    expected = expected.get("metrics", expected)
    grid = load(folder)
    found = {level: estimates(grid, level) for level in LEVELS}
    suffixes = {"_none": "pooled", "_item": "story", "_sys": "within_method"}
    for metric, values in expected.items():
        known = {}
        for suffix, level in suffixes.items():
            for coefficient, short in SHORT.items():
                known[short + suffix] = found[level][metric, coefficient].value
            known[f"n_groups{suffix}"] = found[level][metric, "kendall"].n_groups
        known["sys_pearson"] = found["method"][metric, "pearson"].value
        known["sys_tau"] = found["method"][metric, "kendall"].value
        known["sys_pair_acc"] = (1 + known["sys_tau"]) / 2
        for key, value in values.items():
            if not key.startswith(ELSEWHERE):
                assert known[key] == pytest.approx(value, abs=1e-9), (metric, key)
                keys -= 1
    assert keys == 0


@pytest.mark.shared
def test_intervals_of_statistics_md(shared):
    # Section 4, another program's 95 % intervals of dsg|pali17b, pooled tau-b: where
    # stories are drawn, and a bootstrap of both, which counts outputs three times.
    grid = load(shared / "data/dsg").with_metrics(("dsg|pali17b",))
    stories = estimates(grid, "pooled", ("stories",), 1000)["dsg|pali17b", "kendall"]
    assert stories.low == pytest.approx(0.401, abs=0.003)
    assert stories.high == pytest.approx(0.509, abs=0.003)
    rng = np.random.default_rng(0)
    both = Draws(cluster_counts(160, 1000, rng), cluster_counts(5, 1000, rng))
    drawn = level_values(grid, "pooled", both, ["kendall"])["kendall"][0]
    assert np.quantile(drawn, [0.025, 0.975]) == pytest.approx([0.381, 0.533], abs=0.01)


def wilson(value, variance, quantile):
    """Return statsmodels' bounds of a coefficient as the share (1 + r) / 2."""
    share = (1 + value) / 2
    n = share * (1 - share) * 4 / variance
    alpha = 2 * stats.norm.sf(quantile)
    bounds = proportion_confint(share * n, n, alpha=alpha, method="wilson")
    return tuple(2 * bound - 1 for bound in bounds)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("parts", [("stories",), ("methods",), ("units",), CROSSED])
def test_interval_and_test_are_of_one_variance(level, parts):
    grid = small(n_stories=9, n_methods=11, holes={(1, 1)})
    for (_, name), found in estimates(grid, level, parts, 99, confidence=0.9).items():
        known = coefficient_variances(grid, level, [name], parts, seed=0)[name].of(0)
        r, sd, t = found.value, np.sqrt(known.variance), stats.t(known.freedom)
        narrower = 1 if name.startswith("kendall") else np.sqrt(1 - r**2)
        p_value = 2 * t.sf(abs(r) * narrower / sd)
        assert found.p_value == pytest.approx(p_value)
        assert (found.low <= 0 <= found.high) == (p_value > 0.1)
        low, high = wilson(r, known.variance, t.ppf(0.95))
        if p_value > 0.1:
            low, high = min(low, 0), max(high, 0)
        elif r > 0:
            low = max(low, 1e-9)
        else:
            high = min(high, -1e-9)
        assert (found.low, found.high) == pytest.approx((low, high))
        assert found.drawn == "+".join(parts)


@pytest.mark.parametrize("n_methods", [4, 5, *slow(9), 10])
def test_few_method_means_have_an_exact_test_and_an_interval_that_follows(n_methods):
    """Scipy's exact p-value of the same order of means; of four it is .083 or more."""
    grid = small(n_stories=8, n_methods=n_methods)
    means = np.arange(n_methods) + 0.01 * np.arange(8)[:, None]
    wrong = means.copy()
    wrong[:, :2] = wrong[:, 1::-1]
    for human, scores in ((means, means), (means, wrong)):
        values = {"human": human, "scores": scores[None]}
        one = type(grid)(**{**vars(grid), **values})
        found = estimates(one, "method", CROSSED, 200)["k", "kendall"]
        exact = stats.kendalltau(human[0], scores[0], method="exact").pvalue
        if n_methods < 10:
            assert found.p_value == pytest.approx(exact)
        else:
            assert found.p_value < 0.05
        if n_methods == 4 and human is scores:
            assert found.reason == "no interval: every resample gives the same value"
            continue
        assert (found.low <= 0 <= found.high) == (found.p_value > 0.05)


@pytest.mark.parametrize(
    ("n_stories", "n_methods", "drawn", "reason"),
    [
        (6, 5, "stories+methods", ""),
        (6, 4, "stories", ""),
        (4, 5, "methods", ""),
        (4, 4, "", "4 methods are too few"),
    ],
)
def test_clusters_that_are_too_few_are_not_drawn(n_stories, n_methods, drawn, reason):
    grid = small(n_stories=n_stories, n_methods=n_methods)
    for level in ("story", "within_method", "pooled"):
        found = estimates(grid, level, CROSSED, 50)["k", "kendall"]
        assert (found.drawn, found.reason) == (drawn, reason)
        assert np.isfinite([found.low, found.high, found.p_value]).all() == bool(drawn)
        if drawn and drawn != "stories+methods":
            alone = estimates(grid, level, (drawn,), 50)["k", "kendall"]
            assert vars(found) == vars(alone)


@pytest.mark.parametrize("stories", [[2, 0, 1, 1, 0, 2], [1] * 6])
@pytest.mark.parametrize("level", LEVELS)
def test_resample_is_the_copied_data(level, stories):
    grid = small(holes={(0, 1), (3, 2), (5, 0)})
    methods = np.array([1, 2, 1, 0])
    drawn = Draws(np.array([stories] * 2), np.array([[0, 1, 3, 1], methods]))
    found = {k: v[:, 1:] for k, v in level_values(grid, level, drawn, ALL).items()}
    s, m = np.repeat(np.arange(6), stories), np.repeat(np.arange(4), methods)
    cells = grid.cells[np.ix_(s, m)]
    h, x = grid.human[np.ix_(s, m)], grid.scores[0][np.ix_(s, m)]
    if level == "pooled":
        groups = [(h[cells], x[cells])]
    elif level == "story":
        groups = [(h[i, c], x[i, c]) for i, c in enumerate(cells)]
    elif level == "within_method":
        groups = [(h[c, i], x[c, i]) for i, c in enumerate(cells.T)]
    else:
        n = cells.sum(axis=0)
        groups = [((h * cells).sum(axis=0) / n, (x * cells).sum(axis=0) / n)]
    groups = [(a, b) for a, b in groups if len(set(a)) > 1 and len(set(b)) > 1]
    scipy = {
        "kendall": stats.kendalltau,
        "spearman": stats.spearmanr,
        "pearson": stats.pearsonr,
        "kendall_c": lambda a, b: stats.kendalltau(a, b, variant="c"),
    }
    for name, function in scipy.items():
        expected = np.mean([function(a, b).statistic for a, b in groups])
        assert found[name][0, 0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("level", LEVELS)
def test_drawing_an_annotator_averages_him_that_often(level):
    grid = small()
    ones = np.ones((1, 6), int), np.ones((1, 4), int)
    drawn = Draws(*ones, annotators=np.array([[2, 0, 1]]))
    votes = (2 * grid.votes[0] + grid.votes[2]) / 3
    expected = level_values(
        type(grid)(**{**vars(grid), "human": np.round(votes, 9)}),
        level,
        Draws(*ones),
        COEFFICIENTS,
    )
    found = level_values(grid, level, drawn, COEFFICIENTS)
    for name in COEFFICIENTS:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-9)


@pytest.mark.parametrize(
    ("level", "reason"),
    [
        ("method", "the metric's scores are all the same"),
        ("pooled", "the metric's scores are all the same"),
        ("story", "in no story do both people and the metric distinguish two methods"),
        (
            "within_method",
            "in no method do both people and the metric distinguish two stories",
        ),
    ],
)
def test_constant_metric_is_undefined_with_a_reason(level, reason):
    grid = small()
    flat = type(grid)(**{**vars(grid), "scores": np.full_like(grid.scores, 0.1)})
    found = estimates(flat, level, resamples=20)
    for estimate in found.values():
        assert np.isnan(estimate.value)
        assert np.isnan(estimate.p_value)
        assert estimate.reason == reason


@pytest.mark.parametrize("n_cells", [1, 2])
def test_two_outputs_of_equal_scores_are_not_too_few(n_cells):
    grid = small()
    cells = np.zeros_like(grid.cells)
    cells[0, :n_cells] = True
    flat = {"scores": np.full_like(grid.scores, 0.1), "cells": cells}
    found = estimates(type(grid)(**{**vars(grid), **flat}), "pooled", resamples=0)
    reasons = {
        1: "fewer than two outputs",
        2: "the metric's scores are all the same",
    }
    assert {one.reason for one in found.values()} == {reasons[n_cells]}


def test_left_out_stories_are_counted_by_reason():
    grid = small(n_stories=4)
    human, scores, cells = grid.human.copy(), grid.scores.copy(), grid.cells.copy()
    human[1], scores[0, 2], cells[3, 1:] = 2, 0.1, False
    parts = {"human": human, "scores": scores, "cells": cells}
    _, sizes = level_point(type(grid)(**{**vars(grid), **parts}), "story", ["kendall"])
    ((n, groups),) = sizes["kendall"]
    assert n == 4
    assert groups == Groups("story", 1, too_few=1, people_same=1, metric_same=1)
