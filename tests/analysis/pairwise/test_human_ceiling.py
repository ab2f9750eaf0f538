"""One annotator as a predictor of the others."""

import itertools

import numpy as np
import pandas as pd
import pytest

from analysis.pairwise.human_ceiling import human_pairs
from analysis.pairwise.output_pairs import choice_pairs, rating_pairs, restricted
from analysis.reading.rankings import ordered_choices
from analysis.reading.scores import score_table
from analysis.statistics import COLUMNS
from tests.analysis.pairwise.test_accuracy import grid_of

OPTIONS = {"parts": ("stories",), "with_intervals": True, "confidence": 0.95}


def measure(pairs, **options):
    rows = human_pairs(pairs, **{**OPTIONS, **options})
    assert all(set(row) == set(COLUMNS["human_pairs"]) for row in rows)
    return {row["metric"]: row for row in rows}


def rated(by_annotator, score):
    """Ratings of one story: annotator to the ratings of methods a, b, ..."""
    rows = [
        ("s", "abc"[m], "d", who, r)
        for who, ratings in by_annotator.items()
        for m, r in enumerate(ratings)
        if r is not None
    ]
    ratings = pd.DataFrame(
        rows, columns=["story", "method", "dimension", "annotator", "rating"]
    )
    scores = pd.DataFrame(
        {"story": "s", "method": list("abc")[: len(score)], "metric": "k"}
    ).assign(score=[float(x) for x in score])
    return rating_pairs(grid_of(ratings, scores))


def test_each_annotator_against_the_mean_of_the_others():
    pairs = rated({"Ann": [1, 2], "Bob": [1, 3], "Eve": [2, 1]}, [1, 2])
    found = measure(pairs)
    # Ann: others 1.5 < 2, right. Bob: others 1.5 = 1.5, no preference.
    # Eve: others 1 < 2.5, wrong.
    one = found["one annotator"]
    assert (one["value"], one["n"], one["n_annotators"]) == (0.5, 2, 3)
    assert one["acc_eq"] == pytest.approx(1 / 3)
    assert found["k"]["value"] == 1.0


def test_tie_of_the_annotator_is_half_a_hit():
    pairs = rated({"Ann": [1, 1], "Bob": [1, 2]}, [1, 1])
    one = measure(pairs)["one annotator"]
    # Ann ties, Bob prefers b; Bob's others tie: no preference. The metric ties, which
    # is right of those whose others tie.
    metric = measure(pairs)["k"]
    assert (metric["value"], metric["tie_rate"], metric["acc_eq"]) == (0.5, 1.0, 0.5)
    assert (one["value"], one["ppa_strict"], one["tie_rate"], one["n"]) == (
        0.5,
        0.0,
        1.0,
        1,
    )


def test_people_are_drawn_only_in_the_interval_of_one_annotator():
    rng = np.random.default_rng(0)
    cells = list(itertools.product(range(6), "abcde"))
    ratings = pd.DataFrame(
        [(s, m, "d", who, rng.integers(1, 6)) for s, m in cells for who in "ABCDE"],
        columns=["story", "method", "dimension", "annotator", "rating"],
    )
    scores = pd.DataFrame(cells, columns=["story", "method"]).assign(metric="k")
    scores["score"] = rng.normal(size=len(scores))
    pairs = rating_pairs(grid_of(ratings, scores))
    found = measure(pairs, parts=("stories", "methods"))
    assert {name: row["drawn"] for name, row in found.items()} == {
        "one annotator": "stories+methods+annotators",
        "k": "stories+methods",
    }


def test_choices_against_the_majority_of_the_others():
    columns = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    rows = [
        ("s", "x", "y", "q", who, c) for who, c in zip("ABC", "aab", strict=True)
    ] + [("t", "x", "y", "q", who, c) for who, c in zip("ABC", "bbb", strict=True)]
    choices = ordered_choices(pd.DataFrame(rows, columns=columns))
    scores = pd.DataFrame(
        list(itertools.product("st", "xy")), columns=["story", "method"]
    ).assign(metric="k", score=[1.0, 2.0, 1.0, 2.0])
    pairs = choice_pairs("q", choices, score_table(scores))
    one = measure(pairs)["one annotator"]
    # s: the others of A and of B are split: no preference. C says y, the others x.
    # t: three times right.
    assert (one["n"], one["value"]) == (4, 0.75)
    assert measure(restricted(pairs, {"t"}))["one annotator"]["value"] == 1.0
