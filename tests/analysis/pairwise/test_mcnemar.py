"""McNemar's test between two metrics."""

import itertools

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from analysis.inference.resampling import holm
from analysis.pairwise.accuracy_differences import mcnemar_tests
from analysis.pairwise.output_pairs import rating_pairs
from analysis.statistics import COLUMNS
from tests.analysis.pairwise.test_accuracy import grid_of

OPTIONS = {"parts": ("stories",), "resamples": 400, "confidence": 0.95, "seed": 0}


def study(n_stories, scores_of, seed=0):
    rng = np.random.default_rng(seed)
    keys = list(itertools.product((f"s{i:03d}" for i in range(n_stories)), "ab"))
    frame = pd.DataFrame(keys, columns=["story", "method"])
    rating = rng.permuted(np.tile([1.0, 2.0], (n_stories, 1)), axis=1).reshape(-1)
    ratings = frame.assign(dimension="d", annotator="Ann", rating=rating)
    scores = [
        frame.assign(metric=name, score=values)
        for name, values in scores_of(rating, rng).items()
    ]
    return rating_pairs(grid_of(ratings, pd.concat(scores)))


def noisy(rating, rng):
    return {
        name: rating + spread * rng.normal(size=len(rating))
        for name, spread in (("good", 0.3), ("fair", 1.0), ("poor", 3.0))
    }


def test_mcnemar_equals_statsmodels():
    pairs = study(80, noisy)
    rows = mcnemar_tests(pairs, **OPTIONS)
    assert [(r["metric_a"], r["metric_b"]) for r in rows] == [
        ("fair", "good"),
        ("fair", "poor"),
        ("good", "poor"),
    ]
    hit = dict(zip(pairs.metrics, np.sign(pairs.scores) == pairs.human, strict=True))
    for row in rows:
        a, b = hit[row["metric_a"]], hit[row["metric_b"]]
        table = [[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]]
        assert (row["only_a"], row["only_b"]) == (table[0][1], table[1][0])
        assert row["p_value"] == pytest.approx(mcnemar(table, exact=True).pvalue)
        assert row["difference"] == pytest.approx(a.mean() - b.mean())
        assert row["low"] <= row["difference"] <= row["high"]
        assert set(row) == set(COLUMNS["mcnemar"])
        # One pair a story: swapping stories is swapping pairs, up to chance.
        assert row["p_stories"] == pytest.approx(row["p_value"], abs=0.05)
    adjusted = holm(np.array([row["p_stories"] for row in rows]))
    assert [row["p_adjusted"] for row in rows] == adjusted.tolist()


def test_mcnemar_swaps_pairs_of_one_story_together():
    # Two stories of 15 pairs, in which one metric is always right, the other never.
    methods = "abcdef"
    keys = list(itertools.product(("s", "t"), methods))
    frame = pd.DataFrame(keys, columns=["story", "method"])
    value = frame["method"].map(methods.index).astype(float)
    ratings = frame.assign(dimension="d", annotator="Ann", rating=value)
    scores = pd.concat(
        [frame.assign(metric="up", score=value), frame.assign(metric="x", score=-value)]
    )
    row = mcnemar_tests(rating_pairs(grid_of(ratings, scores)), **OPTIONS)[0]
    assert (row["only_a"], row["only_b"], row["n"]) == (30, 0, 30)
    assert row["p_value"] < 1e-8
    assert row["p_stories"] == pytest.approx(0.5, abs=0.1)  # both or none swapped


def test_mcnemar_has_a_reason_when_nothing_can_be_tested():
    assert mcnemar_tests(study(5, lambda r, _: {"a": r}), **OPTIONS) == []
    pairs = study(5, noisy)
    undecided = pairs.__class__(**{**vars(pairs), "human": 0 * pairs.human})
    row = mcnemar_tests(undecided, **OPTIONS)[0]
    assert row["reason"] == "people prefer neither output of any pair"
    assert np.isnan([row["p_value"], row["p_stories"], row["difference"]]).all()
    row = mcnemar_tests(pairs, **{**OPTIONS, "resamples": 0})[0]
    assert np.isnan([row["p_stories"], row["p_adjusted"], row["low"]]).all()
    assert np.isfinite(row["p_value"])


def test_mcnemar_draws_other_clusters_when_annotators_are_named():
    pairs = study(40, noisy)
    by_story, and_people, people = (
        mcnemar_tests(pairs, **OPTIONS | {"parts": parts})
        for parts in (("stories",), ("stories", "annotators"), ("annotators",))
    )
    assert by_story == and_people == people
