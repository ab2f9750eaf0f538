"""Draws, percentile intervals and bootstrap p-values."""

import numpy as np
import pytest

from analysis.inference.resampling import bootstrap_p, cluster_counts, draw, interval


def test_each_resample_draws_as_many_clusters_as_there_are():
    counts = cluster_counts(7, 50, np.random.default_rng(0))
    assert (counts.sum(axis=1) == 7).all()
    # Each cluster is left out of a resample with probability (6/7)^7 = .34.
    assert 0.2 < (counts == 0).mean() < 0.5


def test_only_asked_parts_are_drawn_and_units_are_existing_cells():
    cells = np.array([[True, False], [True, True]])
    draws = draw(
        ("units",),
        cells=cells,
        n_annotators=3,
        resamples=9,
        rng=np.random.default_rng(0),
    )
    assert (draws.stories == 1).all()
    assert (draws.methods == 1).all()
    assert draws.annotators is None
    assert (draws.units[:, 0, 1] == 0).all()
    assert (draws.units.sum(axis=(1, 2)) == 3).all()
    assert sum(len(chunk.stories) for chunk in draws.chunks(4)) == 9


def test_interval_is_empty_with_a_reason_when_most_draws_are_undefined():
    draws = np.array([1.0, 2, np.nan, np.nan, np.nan])
    low, high, reason = interval(draws, 0.95)
    assert np.isnan(low)
    assert np.isnan(high)
    assert reason == "no interval: undefined in 3 of 5 resamples"


@pytest.mark.parametrize(
    ("draws", "p"),
    [
        (np.ones(999), 2 / 1000),  # never 0
        (np.r_[-np.ones(25), np.ones(974)], 2 * 26 / 1000),
        (np.r_[-np.ones(500), np.ones(499)], 1.0),
        (np.zeros(99), 1.0),
    ],
)
def test_bootstrap_p(draws, p):
    assert bootstrap_p(draws) == pytest.approx(p)


def test_last_bits_do_not_decide_on_which_side_of_0_an_interval_ends():
    noisy = np.concatenate([np.full(50, 1e-16), np.full(45, -1e-16), np.full(5, 1.0)])
    low, high, _reason = interval(noisy, 0.95)
    assert (low, high) == (0.0, 1.0)


def test_interval_has_no_width_zero():
    """A value that resampling cannot move may be off by anything."""
    nearly = np.array([*np.ones(99), 1 + 1e-13])
    low, high, reason = interval(nearly, 0.95)
    assert np.isnan([low, high]).all()
    assert reason == "no interval: every resample gives the same value"
