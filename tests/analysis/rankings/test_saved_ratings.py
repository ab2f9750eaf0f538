"""The share of ratings that metrics could save."""

import numpy as np
import pytest
from scipy.stats import pearsonr
from statsmodels.api import OLS

from analysis.rankings.saved_ratings import saved_ratings

S, M = 40, 3


@pytest.fixture
def cells():
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(3, S, M))
    human = 0.7 * scores[0] + rng.normal(size=(S, M)) + np.arange(M)
    return human, scores


def saved(human, scores, weight=None):
    S, M = human.shape
    group, story = np.tile(np.arange(M), S), np.repeat(np.arange(S), M)
    weight = np.ones(S * M) if weight is None else np.repeat(weight, M)
    flat = scores.reshape(len(scores), -1)
    return saved_ratings(human.ravel(), flat, group, story, weight, 0.95)


def test_correlation_is_that_within_methods(cells):
    human, scores = cells
    found = saved(human, scores)
    for k, own in enumerate(scores):
        within = [(x - x.mean(axis=0)).ravel() for x in (own, human)]
        assert found.correlation[k] == pytest.approx(pearsonr(*within)[0])


def test_value_is_that_of_regressions_without_each_story(cells):
    """Statsmodels predicts each story from the others, methods as indicators."""
    human, scores = cells
    methods, y = np.tile(np.eye(M), (S, 1)), human.ravel()
    rest = []
    for x in (methods, np.column_stack([methods, scores[0].ravel()])):
        errors = 0.0
        for story in range(S):
            out = np.repeat(np.arange(S), M) == story
            predicted = OLS(y[~out], x[~out]).fit().predict(x[out])
            errors += ((predicted - y[out]) ** 2).sum()
        rest.append(errors)
    found = saved(human, scores[:1])
    assert found.value[0] == pytest.approx(1 - rest[1] / rest[0])


def test_useless_metric_saves_nothing_and_a_perfect_one_all():
    rng = np.random.default_rng(2)
    human = rng.normal(size=(S, M))
    scores = np.stack([human, *rng.normal(size=(200, S, M))])
    found = saved(human, scores)
    assert found.value[0] == pytest.approx(1)
    assert found.value[1:].mean() < 0.005
    # The bounds are two-sided: half of 5 % begin above 0.
    assert (found.low[1:] > 0).mean() == pytest.approx(0.025, abs=0.03)


def test_stories_with_larger_weights_count_more(cells):
    human, scores = cells
    twice = np.repeat(np.arange(S), np.where(np.arange(S) < 20, 1, 3))
    weight = np.where(np.arange(S) < 20, 1.0, 3.0)
    doubled = saved(human[twice], scores[:, twice]).correlation
    # Squares of weights: variances of a mean, not copies of stories.
    assert saved(human, scores, weight).correlation == pytest.approx(doubled, abs=0.1)


def test_constant_metric_has_no_value(cells):
    human, _ = cells
    flat = np.broadcast_to(np.arange(M) / 3 + 0.1, (1, S, M))
    found = saved(human, flat)
    assert np.isnan([found.correlation, found.value, found.low, found.high]).all()
