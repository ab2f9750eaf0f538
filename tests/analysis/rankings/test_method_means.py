"""Mean ratings of methods: one interval, for other stories and annotators."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

import analysis
from analysis.rankings.method_means import Answers, Means, answers_of, mean_ratings
from analysis.reading.cells import annotator_cells
from tests.cases import slow

NAMES = ["story", "method", "dimension", "annotator", "rating"]


def rated(values, steps=None):
    """Ratings of shape (annotators, stories, methods)."""
    values = values if steps is None else np.clip(np.round(values), *steps)
    index = pd.MultiIndex.from_product([range(n) for n in values.shape]).to_frame(
        index=False, name=["annotator", "story", "method"]
    )
    rows = index.astype(str).assign(dimension="d", rating=values.ravel())
    return rows[NAMES]


def drawn(rng, annotators=6, stories=20, methods=3):
    """People who differ in level (.5) and in what they like (.4)."""
    return (
        3
        + 0.5 * rng.normal(size=(annotators, 1, 1))
        + 0.4 * rng.normal(size=(annotators, 1, methods))
        + 0.3 * rng.normal(size=(1, stories, methods))
        + 0.6 * rng.normal(size=(annotators, stories, methods))
    )


@pytest.mark.parametrize("level", [1.1, *slow(2.0, 2.9)])
def test_intervals_stay_inside_the_scale(level):
    values = drawn(np.random.default_rng(5), annotators=3, stories=4) - 3 + level
    ratings = rated(values, (1, 3))
    rows = analysis.align(ratings=ratings, scale=(1, 3))["method_means"]
    known = rows.dropna(subset=["low"])
    assert len(known)
    assert (known["low"] >= 1).all()
    assert (known["high"] <= 3).all()


def test_mean_of_ends_has_the_interval_of_a_share():
    """Independent answers 1 and 3 in 40 stories: Wilson's interval of their share."""
    rng = np.random.default_rng(6)
    ratings = rated(1.0 + 2 * (rng.random((1, 4000, 1)) < 0.3))
    (row,) = mean_ratings(
        ratings,
        annotator_cells(ratings),
        parts=("stories",),
        confidence=0.95,
        scale=(1, 3),
    )
    hits = int((ratings["rating"] == 3).sum())
    low, high = proportion_confint(hits, 4000, method="wilson")
    assert row.mean.low == pytest.approx(1 + 2 * low, rel=1e-4)
    assert row.mean.high == pytest.approx(1 + 2 * high, rel=1e-4)


def test_variance_of_a_method_with_few_stories_is_the_jackknifes():
    """Each story in turn is left out of the means of the methods it holds."""
    ratings = rated(drawn(np.random.default_rng(7), annotators=2, methods=2))
    late = (ratings["method"] == "1") & (ratings["story"].astype(int) >= 4)
    cells = annotator_cells(ratings[~late])
    covariance = Means(answers_of(cells)).covariance(("stories",))
    of_stories = cells.groupby(["method", "story"])["rating"].mean()
    expected = []
    for n, own in ((20, of_stories["0"]), (4, of_stories["1"])):
        without = (own.sum() - own) / (n - 1)
        expected.append((n - 1) / n * ((without - own.mean()) ** 2).sum())
    assert np.diag(covariance.kinds[0][0]) == pytest.approx(expected)
    assert covariance.kinds[0][1].number(np.eye(2)) == pytest.approx([20, 4])


def test_errors_of_a_mean_are_those_of_its_method_alone():
    ratings = rated(drawn(np.random.default_rng(8)))
    late = (ratings["method"] == "1") & (ratings["story"].astype(int) >= 4)
    seldom = (ratings["annotator"] == "2") & (ratings["story"].astype(int) % 3 > 0)
    cells = annotator_cells(ratings[~late & ~seldom])
    parts = ("stories", "annotators")
    found = Means(answers_of(cells)).errors(parts)
    for k, (_method, own) in enumerate(cells.groupby("method", sort=True)):
        alone = Means(answers_of(own)).covariance(parts).of(np.eye(1))
        assert found.variance[k] == pytest.approx(alone.variance[0])
        assert found.freedom[k] == pytest.approx(alone.freedom[0])


def test_errors_of_many_means_take_little_memory():
    """A thousand metrics of several methods have thousands of mean scores."""
    story, method = np.divmod(np.arange(12_000), 3000)
    names, score = tuple(map(str, range(3000))), np.arange(12_000.0) % 7
    answers = Answers(names, 4, 1, method, story, np.zeros_like(story), score)
    tracemalloc.start()
    assert (Means(answers).errors(("stories",)).variance > 0).any()
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()
