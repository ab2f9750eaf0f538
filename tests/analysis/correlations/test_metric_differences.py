"""Differences between two metrics' agreement with people."""

import numpy as np
import pytest
from scipy import stats

from analysis.correlations.level_estimates import (
    coefficient_variances,
    level_spread,
    story_draws,
)
from analysis.correlations.levels import level_values
from analysis.correlations.metric_differences import metric_differences
from analysis.inference.cluster_variance import leave_outs
from analysis.inference.resampling import no_draws
from analysis.options import COEFFICIENTS
from tests.analysis.correlations.test_levels import small

ALL = (*COEFFICIENTS, "kendall_c")
LEVELS = ("method", "story", "within_method", "pooled")
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
@pytest.mark.parametrize("holes", [set(), {(0, 1), (3, 2)}])
def test_values_without_methods_are_those_of_the_rest(level, holes):
    grid = two_metrics(holes=holes, digits=1)
    found = coefficient_variances(grid, level, ALL, CROSSED, seed=0)
    for column, kept in enumerate(leave_outs(6)):
        rest = without(grid, kept)
        expected = level_values(rest, level, no_draws(*grid.cells.shape), ALL)
        for name in ALL:
            values = found[name].left_out[..., column]
            if level == "story":
                values = np.nanmean(values, axis=1)
            np.testing.assert_allclose(values, expected[name][:, 0], atol=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_the_difference_is_that_of_the_coefficients(level):
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
def test_the_test_is_of_what_is_drawn(level, parts):
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


@pytest.mark.parametrize(
    ("parts", "test"),
    [(CROSSED, "methods"), (("methods",), "methods"), (("stories",), "")],
)
def test_ratings_of_whole_methods_have_no_stories(parts, test):
    grid = two_metrics(n_stories=1, n_methods=8)
    whole = type(grid)(**{**vars(grid), "stories": ("",)})
    row = differences(whole, "method", parts)["a", "b", "kendall"]
    assert row["test"] == test
    assert bool(row["reason"]) == (not test)


def test_methods_without_a_cell_are_no_methods():
    grid = two_metrics()
    cells = np.column_stack([grid.cells, np.zeros(len(grid.cells), bool)])
    wide = type(grid)(
        **{
            **vars(grid),
            "methods": (*grid.methods, "empty"),
            "cells": cells,
            "human": np.pad(grid.human, ((0, 0), (0, 1))),
            "scores": np.pad(grid.scores, ((0, 0), (0, 0), (0, 1))),
            "votes": np.pad(
                grid.votes, ((0, 0), (0, 0), (0, 1)), constant_values=np.nan
            ),
        }
    )
    assert differences(wide, "story") == differences(grid, "story")


def test_stories_are_drawn_as_wholes_or_for_each_method():
    cells = np.ones((5, 3), bool)
    cells[0, 1] = False
    by_story, by_output = story_draws(cells, np.random.default_rng(0))
    assert (by_story.stories.sum(axis=1) == 5).all()
    assert by_story.units is None
    assert (by_output.units.sum(axis=1) == cells.sum(axis=0)).all()
    assert not by_output.units[:, 0, 1].any()
    assert (by_output.units[:, :, 0] != by_output.units[:, :, 2]).any()
