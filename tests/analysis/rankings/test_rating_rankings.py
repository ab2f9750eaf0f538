"""Means and ranks from ratings, against pandas, scipy and statsmodels."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from statsmodels.stats.multitest import multipletests

from analysis.rankings.method_means import mean_ranks, mean_ratings
from analysis.reading.cells import annotator_cells, human_cells
from analysis.reading.column_cleaning import kept_rows
from analysis.reading.kept_answers import RATING_KEYS


def simulated(n_stories=12, n_methods=4, n_annotators=5, share=0.8, seed=0):
    rng = np.random.default_rng(seed)
    keys = pd.MultiIndex.from_product(
        [range(n_stories), range(n_methods), range(n_annotators)],
        names=["story", "method", "annotator"],
    ).to_frame(index=False)
    keys = keys[rng.random(len(keys)) < share].reset_index(drop=True)
    rating = 2 + 0.4 * keys["method"] + rng.normal(0, 0.7, len(keys))
    rating += rng.normal(0, 0.6, n_annotators)[keys["annotator"]]
    rating += rng.normal(0, 0.8, n_stories)[keys["story"]]
    rating += rng.normal(0, 0.5, (n_stories, n_methods))[keys["story"], keys["method"]]
    keys = keys.astype(str).assign(dimension="d", rating=rating)
    return kept_rows(keys, RATING_KEYS)


def means(ratings, parts=()):
    cells = annotator_cells(ratings)
    return mean_ratings(ratings, cells, parts=parts, confidence=0.95)


def test_means_are_means_of_cells():
    ratings = simulated(share=0.6)
    cells = human_cells(annotator_cells(ratings)).groupby("method")["human"].mean()
    found = {one.method: one.mean.value for one in means(ratings)}
    assert found == pytest.approx(cells.to_dict())


def test_interval_of_a_mean_is_scipys_of_the_means_of_stories():
    """Neither other methods nor their stories widen it, or narrow it."""
    ratings = simulated(n_stories=12, share=1.1)
    few = (ratings["method"] == "0") & ~ratings["story"].isin(["1", "4", "7"])
    ratings = ratings[~few].reset_index(drop=True)
    cells = human_cells(annotator_cells(ratings))
    stories = cells.pivot(index="story", columns="method", values="human")
    for found in means(ratings, ("stories",)):
        own = stories[found.method].dropna()
        error = (found.mean.high - found.mean.low) / 2
        expected = own.sem() * t.ppf(0.975, len(own) - 1)
        assert error == pytest.approx(expected), found.method


@pytest.mark.slow
def test_ranks_say_what_comparisons_say():
    ratings = simulated(n_stories=20, n_methods=5)
    parts = ("stories", "annotators")
    ranks, compared = mean_ranks(annotator_cells(ratings), parts=parts, confidence=0.95)
    p = multipletests([row["p_value"] for row in compared], method="holm")[1]
    np.testing.assert_allclose([row["p_adjusted"] for row in compared], p)
    apart = {
        (row["method_a"], row["method_b"])[:: 1 if row["difference"] > 0 else -1]
        for row in compared
        if row["p_adjusted"] <= 0.05
    }
    assert 0 < len(apart) < 10
    for method, row in ranks.items():
        assert row["rank_low"] == 1 + sum(b == method for _, b in apart)
        assert row["rank_high"] == 5 - sum(a == method for a, _ in apart)
