"""Metrics that are one annotator more are seldom called better or worse than one."""

import numpy as np
import pytest

from analysis.pairwise.human_ceiling import human_pairs
from analysis.pairwise.output_pairs import rating_pairs
from analysis.reading.cells import CellGrid

STORIES, METHODS = 30, 5
STUDIES = 120


def simulated(rng, annotators, *, quality, taste, each=None):
    """Ratings 0 to 4 by some annotators, and by one more, whose are the scores.

    `quality` spreads how noisy annotators are, `taste` is the standard deviation of
    what each of them likes of a method; `each` is how many of them a story has.
    """
    shape = annotators + 1, STORIES, METHODS
    quality_of_method = 0.6 * rng.normal(size=METHODS)
    truth = quality_of_method + 0.6 * rng.normal(size=shape[1:])
    noise = 0.8 * np.exp(quality * rng.normal(size=(annotators + 1, 1, 1)))
    liked = taste * rng.normal(size=(annotators + 1, 1, METHODS))
    rated = np.clip(np.round(2 + truth + liked + noise * rng.normal(size=shape)), 0, 4)
    votes = rated[:-1]
    if each:
        order = np.argsort(rng.random((annotators, STORIES)), axis=0)
        votes = np.where((order < each)[:, :, None], votes, np.nan)
    return CellGrid(
        "q",
        tuple(f"s{s}" for s in range(STORIES)),
        tuple("abcde"),
        ("one more",),
        np.ones(shape[1:], bool),
        np.nanmean(votes, axis=0),
        rated[-1:],
        votes,
        frozenset(),
    )


def compared(grid, parts=("stories",)):
    pairs = rating_pairs(grid)
    return human_pairs(pairs, parts=parts, with_intervals=True, confidence=0.95)[1]


def shares(annotators, parts=("stories",), **world):
    rows = [
        compared(simulated(np.random.default_rng([7, k]), annotators, **world), parts)
        for k in range(STUDIES)
    ]
    better = sum(row["difference_low"] > 0 for row in rows)
    worse = sum(row["difference_high"] < 0 for row in rows)
    return better / STUDIES, worse / STUDIES


@pytest.mark.slow
@pytest.mark.parametrize(
    ("annotators", "each"), [(5, None), (10, None), (10, 4), (20, None)]
)
@pytest.mark.parametrize(("quality", "taste"), [(0.0, 0.0), (0.3, 0.0), (0.3, 0.4)])
def test_one_more_annotator_is_no_better_or_worse(annotators, each, quality, taste):
    """Each error at .05 or below but for noise: two standard errors of .02."""
    better, worse = shares(annotators, quality=quality, taste=taste, each=each)
    assert max(better, worse) <= 0.09
    assert better + worse <= 0.11


def test_methods_that_are_drawn_make_it_more_cautious():
    grid = simulated(np.random.default_rng(1), 10, quality=0.0, taste=0.0)
    liked = grid.scores + np.array([0, 2, -2, 1, -1])
    grid = CellGrid(**{**vars(grid), "scores": liked})
    these, other = (compared(grid, p) for p in (("stories",), ("stories", "methods")))
    assert these["difference"] == other["difference"]
    widths = [row["difference_high"] - row["difference_low"] for row in (these, other)]
    assert widths[0] < widths[1]
    assert these["drawn"] == "stories+annotators"
    assert other["drawn"] == "stories+methods+annotators"


def test_test_and_interval_of_the_difference_agree():
    for k in range(30):
        grid = simulated(np.random.default_rng([3, k]), 6, quality=0.5, taste=0.8)
        row = compared(grid)
        outside = row["difference_low"] > 0 or row["difference_high"] < 0
        assert outside == (row["p_value"] < 0.05)
        assert -1 <= row["difference_low"] <= row["difference_high"] <= 1


def test_four_annotators_are_too_few_to_compare_with():
    row = compared(simulated(np.random.default_rng(1), 4, quality=0, taste=0))
    assert np.isfinite(row["difference"])
    assert np.isnan(row["difference_low"])
    assert np.isnan(row["p_value"])
    assert row["reason"] == "4 annotators are too few"


def test_a_metric_that_guesses_is_shown_to_be_worse():
    grid = simulated(np.random.default_rng(1), 10, quality=0.2, taste=0.2)
    noise = np.random.default_rng(2).normal(size=grid.scores.shape)
    row = compared(CellGrid(**{**vars(grid), "scores": noise}))
    assert row["difference_high"] < 0
    assert row["p_value"] < 0.01
