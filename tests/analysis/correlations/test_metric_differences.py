"""Differences between two metrics' agreement with people."""

import numpy as np
import pytest
from scipy import stats

from analysis.correlations.level_estimates import coefficient_variances, level_spread
from analysis.correlations.levels import level_values
from analysis.correlations.metric_differences import metric_differences
from analysis.inference.resampling import no_draws
from analysis.options import COEFFICIENTS
from tests.analysis.correlations.test_levels import small

ALL = (*COEFFICIENTS, "kendall_c")
LEVELS = ("method", "story", "within_method", "pooled", "residual")
CROSSED = ("stories", "methods")


def with_metrics(grid, *scores):
    names = tuple("abcdefg"[: len(scores)])
    stacked = np.where(grid.cells, np.stack(scores), 0.0)
    return type(grid)(**{**vars(grid), "metrics": names, "scores": stacked})


def two_metrics(seed=1, digits=0, **options):
    grid = small(**{"n_methods": 6, **options})
    rng = np.random.default_rng(seed)
    noise = np.round(rng.uniform(0, 5, grid.cells.shape), digits)
    return with_metrics(grid, grid.human + noise / 4, noise)


def differences(grid, level, parts=CROSSED, resamples=99, seed=0, coefficients=ALL):
    sampling = {"resamples": resamples, "confidence": 0.95, "seed": seed}
    asked = grid, level, coefficients
    spread = level_spread(*asked, parts, sampling)
    rows = metric_differences(*asked, spread, sampling)
    return {(r["metric_a"], r["metric_b"], r["coefficient"]): r for r in rows}


def without(grid, kept):
    """Return the cells of some methods only."""
    return type(grid)(**{**vars(grid), "cells": grid.cells & (kept > 0)})


@pytest.mark.parametrize("level", LEVELS)
def test_difference_is_that_of_the_coefficients(level):
    grid = two_metrics(n_stories=12, digits=6)
    values = level_values(grid, level, no_draws(*grid.cells.shape), ALL)
    for (_, _, name), row in differences(grid, level).items():
        a, b = values[name][:, 0]
        assert row["difference"] == pytest.approx(a - b, abs=1e-9)
        assert row["low"] < row["difference"] < row["high"]


def test_inside_stories_both_metrics_are_held_against_the_same_stories():
    grid = two_metrics(n_stories=10, digits=6)
    scores = grid.scores.copy()
    scores[1, :4] = 1.0  # in four stories b ties all methods
    grid = with_metrics(grid, *scores)
    values = level_values(grid, "story", no_draws(*grid.cells.shape), ALL)
    shared = type(grid)(
        **{**vars(grid), "cells": grid.cells & (np.arange(10) > 3)[:, None]}
    )
    expected = level_values(shared, "story", no_draws(*grid.cells.shape), ALL)
    for (_, _, name), row in differences(grid, "story").items():
        assert row["n_groups"] == 6
        a, b = expected[name][:, 0]
        assert row["difference"] == pytest.approx(a - b, abs=1e-9)
        assert a != pytest.approx(values[name][0, 0])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("parts", [("stories",), ("methods",), ("units",), CROSSED])
def test_test_is_of_what_is_drawn(level, parts):
    grid = two_metrics(n_stories=12, digits=6)
    known = coefficient_variances(grid, level, ALL, parts, seed=0)["kendall"]
    row = differences(grid, level, parts)["a", "b", "kendall"]
    assert row["test"] == "+".join(parts)
    expected = known.of(0, 1)
    p_value = expected.p_value(row["difference"])
    assert row["p_value"] == pytest.approx(p_value, rel=1e-6, abs=0)
    assert row["high"] - row["low"] == pytest.approx(
        2 * np.sqrt(expected.variance) * stats.t.ppf(0.975, expected.freedom)
    )
