"""Metrics that are one annotator more are seldom called better or worse than one."""

import numpy as np

from analysis.pairwise.human_ceiling import human_pairs
from analysis.pairwise.output_pairs import rating_pairs
from analysis.reading.cells import CellGrid

STORIES, METHODS = 30, 5


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
