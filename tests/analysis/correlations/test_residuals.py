"""Correlation with the effects of methods and stories removed."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.correlations.levels import level_point, without_methods
from tests.analysis.correlations.test_levels import small
from tests.analysis.correlations.test_metric_differences import with_metrics

HOLES = [("s0", "m1"), ("s3", "m2"), ("s3", "m0")]


def residuals(values, cells, highest):
    """Return residuals of methods, stories and their products, by dummy variables."""
    story, method = np.nonzero(cells)
    S, M = cells.shape
    design = np.hstack([np.eye(S)[story], np.eye(M)[method]])
    y = values[cells]
    effects = np.linalg.lstsq(design, y, rcond=None)[0]
    s, m = (v - v.mean() for v in (effects[:S], effects[S:]))
    s, m = s[story] / abs(s).max(), m[method] / abs(m).max()
    steps = range(1, highest + 1)
    powers = [s**i * m**j for i in steps for j in steps]
    design = np.column_stack([design, *powers])
    left = np.full(cells.shape, np.nan)
    left[cells] = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return np.round(left, 9)  # ties are ties


# With 100 stories of 12 methods, sums of rounding errors are larger than 1e-15.
@pytest.mark.parametrize(
    ("holes", "n_stories", "n_methods", "highest"),
    [((), 8, 5, 1), (HOLES, 24, 5, 3), (HOLES, 100, 12, 5)],
)
def test_residual_coefficient_is_that_of_least_squares_residuals(
    holes, n_stories, n_methods, highest
):
    grid = small(holes=holes, n_stories=n_stories, n_methods=n_methods)
    rng = np.random.default_rng(2)
    grid = with_metrics(grid, rng.normal(size=grid.cells.shape))
    h, x = (residuals(v, grid.cells, highest) for v in (grid.human, grid.scores[0]))
    values, sizes = level_point(grid, "residual", ("pearson", "kendall"))
    for name, function in (("pearson", stats.pearsonr), ("kendall", stats.kendalltau)):
        inside = [
            function(h[s][there], x[s][there]).statistic
            for s, there in enumerate(grid.cells)
        ]
        assert values[name][0, 0] == pytest.approx(np.mean(inside))
    assert sizes["pearson"][0][0] == grid.cells.sum()


def test_metric_that_knows_methods_and_stories_alone_has_no_residual():
    grid = small(holes=HOLES, n_stories=8, n_methods=5)
    S, M = grid.cells.shape
    of_both = 0.1 * np.arange(S)[:, None] + 0.7 * np.arange(M)
    grid = with_metrics(grid, of_both)
    asked = grid, "residual", ("pearson",)
    sampling = {"resamples": 20, "confidence": 0.95, "seed": 0}
    spread = level_spread(*asked, ("stories", "methods"), sampling)
    found = level_estimates(*asked, spread, sampling)["a", "pearson"]
    assert np.isnan(found.value)
    assert "by more than their means" in found.reason


def test_bent_effects_of_methods_and_stories_leave_nothing():
    grid = small(n_stories=8, n_methods=5)
    s, m = np.arange(8)[:, None] - 3.5, np.arange(5) - 2.0
    bent = s + 3 * m + 0.1 * s * m
    values, _ = level_point(with_metrics(grid, bent), "residual", ("pearson",))
    assert np.isnan(values["pearson"][0, 0])


@pytest.mark.parametrize("axes", [(1,), (0, 1)])
def test_scores_without_effects_have_no_bends_of_rounding(axes):
    """Sums of scores that are centred by story, and by method, are 0 up to rounding."""
    grid = small(n_stories=10, n_methods=5)
    scores = np.random.default_rng(0).normal(size=grid.cells.shape)
    for axis in axes:
        scores = scores - scores.mean(axis=axis, keepdims=True)
    values = [
        level_point(with_metrics(grid, scores + c), "residual", ("pearson",))[0]
        for c in (0, 0.1, 1000)
    ]
    first, *others = (value["pearson"][0, 0] for value in values)
    assert others == pytest.approx([first] * 2)


def test_ranks_have_no_test_with_methods_and_stories_removed():
    grid = small(n_stories=8, n_methods=5)
    grid = with_metrics(grid, np.random.default_rng(0).normal(size=grid.cells.shape))
    asked = grid, "residual", ("kendall", "pearson")
    sampling = {"resamples": 20, "confidence": 0.95, "seed": 0}
    spread = level_spread(*asked, ("stories", "methods"), sampling)
    found = level_estimates(*asked, spread, sampling)
    ranks, tested = found["a", "kendall"], found["a", "pearson"]
    assert np.isfinite(ranks.value)
    assert np.isnan([ranks.p_value, ranks.low]).all()
    assert "only Pearson's r" in ranks.reason
    assert 0 < tested.p_value <= 1


def test_small_studies_keep_a_correlation_of_outputs():
    """Each side loses products of its own, which are not the other's."""
    rng, values = np.random.default_rng(0), []
    for _study in range(50):
        of_both = rng.normal(size=(6, 1)) + rng.normal(size=5)
        human = rng.normal(size=(6, 5))
        scores = 0.5 * human + np.sqrt(0.75) * rng.normal(size=(6, 5))
        grid = with_metrics(small(n_stories=6, n_methods=5), of_both + scores)
        grid = replace(grid, human=of_both + human)
        values.append(level_point(grid, "residual", ("pearson",))[0]["pearson"][0, 0])
    assert np.mean(values) == pytest.approx(0.45, abs=0.09)


def test_annotators_keep_their_deviations_from_the_mean():
    grid = small(n_stories=8, n_methods=5)
    left = without_methods(grid)
    assert left.votes.mean(axis=0) == pytest.approx(left.human)
