"""Metrics that are equally good within a margin."""

import numpy as np
import pytest
from statsmodels.stats.weightstats import DescrStatsW

from analysis.correlations.equivalence import equivalence_rows
from analysis.pairwise.accuracy_differences import accuracy_differences
from analysis.pairwise.output_pairs import rating_pairs
from tests.analysis.correlations.test_metric_differences import two_metrics

KEYS = {"question": "look", "source": "ratings", "level": "pairs", "statistic": "acc"}


def comparison(a, b, difference, error=0.01, freedom=30.0, reason=""):
    names = {"metric_a": a, "metric_b": b, "difference": difference, "n": 9}
    known = {"error": error, "freedom": freedom, "test": "stories", "reason": reason}
    return KEYS | names | known


def rows_of(comparisons, declared=None, margin=0.05):
    options = {"margin": margin, "confidence": 0.95}
    return equivalence_rows(comparisons, declared or {}, **options)


@pytest.mark.parametrize("shift", [0.0, 0.2, 0.6])
def test_equivalence_is_that_of_statsmodels(shift):
    sample = np.random.default_rng(0).normal(shift, 1, 40)
    data = DescrStatsW(sample)
    (row,) = rows_of([comparison("a", "b", data.mean, data.std_mean, 39.0)], margin=0.5)
    p, *_tests = data.ttost_mean(-0.5, 0.5)
    low, high = data.tconfint_mean(alpha=0.1)
    assert row["p_value"] == pytest.approx(p)
    assert (row["low"], row["high"]) == pytest.approx((low, high))
    assert (row["verdict"] == "equivalent") == (low > -0.5 and high < 0.5)


def test_every_metric_is_compared_with_the_best_unless_several_are_declared():
    given = [
        comparison("a", "b", -0.3),
        comparison("a", "c", 0.1),
        comparison("b", "c", 0.4),
    ]
    best = [(row["metric_a"], row["metric_b"]) for row in rows_of(given)]
    assert best == [("a", "b"), ("b", "c")]
    (row,) = rows_of(given, {"look": ("a", "c")})
    assert (row["metric_a"], row["metric_b"]) == ("a", "c")


def test_verdict_follows_the_margin():
    given = [comparison("a", "b", x) for x in (0.0, 0.04, 0.2)]
    verdicts = [row["verdict"] for one in given for row in rows_of([one])]
    assert verdicts == ["equivalent", "cannot be told", "not equivalent"]


def test_both_verdicts_are_adjusted_over_the_pairs():
    near = [comparison("a", other, 0.07) for other in "bcdef"]
    assert {row["verdict"] for row in rows_of(near)} == {"cannot be told"}
    assert rows_of(near[:1])[0]["verdict"] == "not equivalent"


@pytest.mark.parametrize(("statistic", "most"), [("ppa_half", 1), ("kendall", 2)])
def test_bounds_are_possible_differences(statistic, most):
    one = comparison("a", "b", 0.3, error=5.0) | {"statistic": statistic}
    (row,) = rows_of([one])
    assert (row["low"], row["high"]) == (-most, most)


def test_comparison_without_a_standard_error_has_a_reason():
    nan = float("nan")
    row, *_others = rows_of(
        [
            comparison("a", "b", 0.1, nan, nan),
            comparison("a", "c", nan, nan, nan, "why"),
        ]
    )
    assert row["verdict"] == "cannot be told"
    assert "no standard error" in row["reason"]
    assert np.isnan(row["p_value"])


def test_equivalence_uses_the_error_of_the_comparisons_own_test():
    pairs = rating_pairs(two_metrics(n_stories=12))
    sampling = {"resamples": 50, "confidence": 0.9, "seed": 0}
    parts = ("stories", "methods")
    compared = accuracy_differences(pairs, epsilon="0", parts=parts, sampling=sampling)
    known = [row | {"level": "pairs"} for row in compared]
    for own, row in zip(compared, rows_of(known), strict=True):
        # A 90 % interval of the comparison is that of a test at 5 %.
        assert (row["low"], row["high"]) == pytest.approx((own["low"], own["high"]))
