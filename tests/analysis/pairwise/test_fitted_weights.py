"""Weights of a composite, fitted on some stories and judged on others."""

import itertools

import numpy as np
import pandas as pd
import pytest
from statsmodels.api import Logit

from analysis.pairwise import fitted_weights
from analysis.pairwise.fitted_weights import calibrate
from analysis.pairwise.output_pairs import rating_pairs
from analysis.statistics import COLUMNS
from tests.analysis.pairwise.test_accuracy import grid_of

OPTIONS = {
    "parts": ("stories", "methods"),
    "resamples": 300,
    "confidence": 0.95,
    "seed": 0,
}


def study(weights, n_stories=100, n_methods=5, noise=1.0, seed=0):
    """People rate a weighted sum of components, with noise."""
    rng = np.random.default_rng(seed)
    stories = [f"s{i:03d}" for i in range(n_stories)]
    keys = list(itertools.product(stories, (f"m{j}" for j in range(n_methods))))
    frame = pd.DataFrame(keys, columns=["story", "method"])
    parts = {name: rng.normal(size=len(frame)) for name in weights}
    value = sum(w * parts[name] for name, w in weights.items())
    rating = value + noise * rng.normal(size=len(frame))
    ratings = frame.assign(dimension="d", annotator="Ann", rating=rating)
    scores = [frame.assign(metric=name, score=x) for name, x in parts.items()]
    return rating_pairs(grid_of(ratings, pd.concat(scores)))


def table(pairs, **options):
    rows = calibrate(pairs, **{**OPTIONS, **options})
    assert all(set(row) == set(COLUMNS["calibration"]) for row in rows)
    return {(r["metric"], r["statistic"], r["against"]): r for r in rows}


def test_known_weights_are_found():
    found = table(study({"a": 3.0, "b": 1.0, "c": 0.0}, 100, n_methods=10))
    for metric, share in (("a", 0.75), ("b", 0.25), ("c", 0.0)):
        row = found[metric, "weight", ""]
        assert row["value"] == pytest.approx(share, abs=0.06)
        assert row["low"] - 0.02 <= share <= row["high"] + 0.02
        assert row["high"] - row["low"] < 0.15
    gain = found["composite", "gain", "a"]
    assert gain["low"] > 0
    assert gain["reason"] == ""
    composite = found["composite", "ppa_half", ""]["value"]
    assert composite > found["mean of components", "ppa_half", ""]["value"]
    assert gain["value"] == pytest.approx(
        composite - found["a", "ppa_half", ""]["value"]
    )


def test_fit_without_penalty_is_that_of_statsmodels(monkeypatch):
    monkeypatch.setattr(fitted_weights, "RIDGES", (0.0,))
    pairs = study({"a": 1.0, "b": -0.5}, n_stories=60)
    x = (pairs.scores / np.sqrt((pairs.scores**2).mean(axis=1, keepdims=True))).T
    beta = Logit(pairs.human > 0, x).fit(disp=0).params
    found = table(pairs)
    weights = [found[name, "weight", ""]["value"] for name in "ab"]
    assert weights == pytest.approx(beta / np.abs(beta).sum(), abs=1e-6)


def test_composite_of_a_pair_ignores_answers_about_its_methods():
    pairs = study({"a": 1.0, "b": 0.5}, 12, n_methods=7)
    about = (pairs.first == 2) | (pairs.second == 2)
    other = pairs.__class__(
        **{**vars(pairs), "human": np.where(about, -pairs.human, pairs.human)}
    )
    one, two = (
        fitted_weights._predictions(each, each.scores, np.random.default_rng(3))
        for each in (pairs, other)
    )
    assert np.ptp(one[1, about]) > 0
    np.testing.assert_allclose(one[:, about], two[:, about], rtol=1e-9)
    assert not np.allclose(one[1, ~about], two[1, ~about])


def test_composite_of_a_pair_ignores_answers_in_its_story(monkeypatch):
    monkeypatch.setattr(fitted_weights, "RIDGES", (1e-3,))
    pairs = study({"a": 1.0, "b": 0.5}, 12, n_methods=7)
    about = pairs.story == 3
    other = pairs.__class__(
        **{**vars(pairs), "human": np.where(about, -pairs.human, pairs.human)}
    )
    one, two = (
        fitted_weights._predictions(each, each.scores, np.random.default_rng(3))
        for each in (pairs, other)
    )
    np.testing.assert_allclose(one[:, about], two[:, about], rtol=1e-9)


@pytest.mark.parametrize(
    ("weights", "n_stories", "reason"),
    [
        ({"a": 1.0}, 20, "a composite needs two components"),
        ({"a": 1.0, "b": 1.0}, 3, "people have a preference in 3 stories"),
        ({"a": 1.0, "b": 1.0}, 20, "people have a preference among 4 methods"),
    ],
)
def test_too_little_to_fit_says_so(weights, n_stories, reason):
    pairs = study(weights, n_stories, n_methods=4 if "methods" in reason else 5)
    for row in calibrate(pairs, **OPTIONS):
        assert np.isnan(row["value"])
        assert row["reason"].startswith(reason)
