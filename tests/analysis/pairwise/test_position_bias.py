"""Tests of position bias."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from analysis.pairwise.position_bias import position_bias, sides_of_annotators
from analysis.statistics import COLUMNS

ANSWERS = [
    "story",
    "method_a",
    "method_b",
    "criterion",
    "annotator",
    "choice",
    "left_method",
]
OPTIONS = {"confidence": 0.95}


def answers(n, choice, left, pair=("x", "y"), start=0):
    """Answers of n stories and as many annotators."""
    rows = [
        (f"s{i:03d}", *pair, "q", f"r{i % 7}", choice, left)
        for i in range(start, start + n)
    ]
    return pd.DataFrame(rows, columns=ANSWERS)


def test_counts_and_exact_p():
    rows = pd.concat(
        [
            answers(4, "a", "x"),
            answers(1, "b", "x"),
            answers(3, "b", "y"),
            answers(2, "a", "y"),
            answers(5, "tie", "x"),
            answers(6, "both_bad", "y"),
        ]
    )
    row = position_bias(rows, **OPTIONS)[0]
    assert set(row) == set(COLUMNS["position_bias"])
    assert (row["left_wins"], row["right_wins"], row["ties"]) == (7, 3, 5)
    assert (row["value"], row["n"], row["reason"]) == (0.7, 10, "")
    # 2 (120 + 45 + 10 + 1) / 1024, in the tables of the binomial distribution.
    assert row["p_value"] == pytest.approx(0.34375)
    # x on the left: 4 of 5; y on the left: 3 of 5.
    assert row["adjusted"] == pytest.approx((4 / 5 + 3 / 5) / 2)
    assert row["n_adjusted"] == 10


def test_stronger_method_on_the_left_is_no_bias():
    # x wins 8 of 10 on either side, and stands on the left in 40 of 50.
    rows = pd.concat(
        [
            answers(32, "a", "x"),
            answers(8, "b", "x", start=32),
            answers(8, "a", "y", start=40),
            answers(2, "b", "y", start=48),
        ]
    )
    row = position_bias(rows, **OPTIONS)[0]
    assert row["value"] == pytest.approx(34 / 50)
    assert row["p_value"] < 0.05
    assert row["adjusted"] == pytest.approx(0.5)
    assert row["adjusted_low"] < 0.5 < row["adjusted_high"] < row["high"]
    by_story = position_bias(rows, parts=("stories",), **OPTIONS)[0]
    assert by_story["low"] > 0.5
    assert by_story["adjusted_low"] < 0.5 < by_story["adjusted_high"]


def test_pairs_shown_in_one_order_say_nothing_adjusted():
    rows = pd.concat([answers(9, "a", "x"), answers(3, "b", "x")])
    row = position_bias(rows, **OPTIONS)[0]
    assert row["value"] == 0.75
    assert np.isnan([row[f"adjusted{end}"] for end in ("", "_low", "_high")]).all()
    assert row["n_adjusted"] == 0
    # Another pair, balanced: it alone is adjusted for.
    other = [answers(5, "a", "u", ("u", "v")), answers(5, "b", "v", ("u", "v"))]
    row = position_bias(pd.concat([rows, *other]), **OPTIONS)[0]
    assert (row["adjusted"], row["n_adjusted"]) == (1.0, 10)


def test_each_annotator_has_an_exact_test():
    """Intervals and p-values of statsmodels and scipy."""
    rows = pd.concat([answers(9, "a", "x"), answers(1, "b", "x", start=9)])
    rows["annotator"] = "Ann"
    even = pd.concat([answers(4, "a", "x"), answers(4, "b", "x", start=4)])
    even["annotator"] = "Bob"
    tied = answers(3, "tie", "x").assign(annotator="Eve")
    ann, bob = sides_of_annotators(pd.concat([rows, even, tied]), confidence=0.95)
    assert (ann["annotator"], ann["value"], ann["n"]) == ("Ann", 0.9, 10)
    low, high = proportion_confint(9, 10, method="beta")
    assert (ann["low"], ann["high"]) == pytest.approx((low, high))
    assert ann["p_value"] == pytest.approx(2 * 11 / 1024)
    assert ann["p_adjusted"] == pytest.approx(4 * 11 / 1024)
    assert (bob["annotator"], bob["value"], bob["p_value"]) == ("Bob", 0.5, 1)
