"""Pairwise prediction accuracy and acc_eq."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.pairwise.accuracy import pair_agreement
from analysis.pairwise.output_pairs import choice_pairs, rating_pairs
from analysis.reading.cells import annotator_cells, common_grid
from analysis.reading.column_cleaning import kept_rows
from analysis.reading.rankings import ordered_choices
from analysis.reading.scores import score_table

RATING_KEYS = ["dimension", "story", "method", "annotator"]
SCORE_KEYS = ["metric", "story", "method"]


def grid_of(ratings, scores):
    cells = annotator_cells(kept_rows(ratings, RATING_KEYS))
    table = score_table(kept_rows(scores, SCORE_KEYS))
    return common_grid(cells["dimension"][0], cells, table)[0]


def measure(pairs, **options):
    options = {
        "epsilon": "0",
        "parts": ("stories",),
        "resamples": 0,
        "confidence": 0.95,
        "seed": 0,
        **options,
    }
    return {row.metric: row for row in pair_agreement(pairs, **options)}


@pytest.mark.shared
@pytest.mark.parametrize("name", ["dsg", "tifa"])
def test_independent_values(shared, name):
    folder = shared / "data" / name
    expected = json.loads((folder / "expected.json").read_text())
    expected = expected.get("metrics", expected)
    ratings = pd.read_csv(folder / "ratings.csv")
    pairs = rating_pairs(grid_of(ratings, pd.read_csv(folder / "scores.csv")))
    tuned, plain = measure(pairs, epsilon="insample"), measure(pairs)
    compared = 0
    for metric, values in expected.items():
        found = {
            "acc_eq_item": tuned[metric].acc_eq.value,
            "eps_item": tuned[metric].epsilon,
            "acc_eq0_item": plain[metric].acc_eq.value,
            "ppa_within_item_strict": plain[metric].strict.value,
            "ppa_within_item_half": plain[metric].half.value,
            "ppa_n_pairs": plain[metric].n_pairs,
            "ppa_metric_ties": plain[metric].tie_rate * plain[metric].n_pairs,
        }
        for key in set(found) & set(values):
            assert found[key] == pytest.approx(values[key], abs=1e-9), (metric, key)
            compared += 1
        assert tuned[metric].in_sample
    assert compared == {"dsg": 63, "tifa": 15}[name]


def sampled(human, score):
    """Four stories of three methods."""
    keys = list(itertools.product((f"s{i}" for i in range(4)), "abc"))
    frame = pd.DataFrame(keys, columns=["story", "method"])
    ratings = frame.assign(dimension="d", annotator="Ann", rating=human)
    return ratings, frame.assign(metric="k", score=score)


twelve = st.lists(st.integers(0, 3), min_size=12, max_size=12)


@pytest.mark.slow
@settings(max_examples=15)  # each makes seven analyses
@given(twelve, twelve, st.randoms())
def test_laws(human, score, random):
    ratings, scores = sampled(human, np.array(score, float))
    plain = measure(rating_pairs(grid_of(ratings, scores)))["k"]

    def other(ratings, scores):
        return measure(rating_pairs(grid_of(ratings, scores)))["k"]

    order = random.sample(range(12), 12)
    assert str(other(ratings.iloc[order], scores.iloc[order[::-1]])) == str(plain)
    curved = scores.assign(score=np.exp(scores["score"]))
    assert str(other(ratings, curved)) == str(plain)
    names = dict(zip("abc", random.sample("abc", 3), strict=True))
    renamed = [f.assign(method=f["method"].map(names)) for f in (ratings, scores)]
    assert str(other(*renamed)) == str(plain)
    constant = ratings.assign(annotator="Bob", rating=2)
    assert str(other(pd.concat([ratings, constant]), scores)) == str(plain)
    if plain.n_pairs:
        perfect = other(ratings, scores.assign(score=np.array(human, float)))
        assert perfect.strict.value == perfect.acc_eq.value == 1.0
        opposite = other(ratings, scores.assign(score=-np.array(score, float)))
        half = opposite.half.value + plain.half.value
        assert half == pytest.approx(1.0)


def test_held_out_epsilon_comes_from_the_other_stories_only():
    """Two stories: the best threshold of either is wrong for the other."""
    methods = "abc"
    human = {"s1": [0, 0, 0], "s2": [0, 1, 2]}
    score = {"s1": [0.0, 1.0, 2.0], "s2": [0.0, 1.0, 2.0]}
    keys = list(itertools.product(human, range(3)))
    frame = pd.DataFrame(
        [(s, methods[m]) for s, m in keys], columns=["story", "method"]
    )
    ratings = frame.assign(
        dimension="d", annotator="Ann", rating=[human[s][m] for s, m in keys]
    )
    scores = frame.assign(metric="k", score=[score[s][m] for s, m in keys])
    pairs = rating_pairs(grid_of(ratings, scores))
    # s1 wants all differences to be ties (2), s2 none of them (0).
    assert measure(pairs, epsilon="heldout")["k"].acc_eq.value == 0.0
    assert measure(pairs, epsilon="insample")["k"].acc_eq.value == 0.5


def test_dropped_pairs_and_metrics_of_choices_are_named():
    rows = [(s, "x", "y", "q", "Ann", "a") for s in ("s1", "s2")]
    choices = pd.DataFrame(
        rows,
        columns=["story", "method_a", "method_b", "criterion", "annotator", "choice"],
    )
    scores = pd.DataFrame(
        [
            ("s1", "x", "full", 1.0),
            ("s1", "y", "full", 2.0),
            ("s2", "x", "full", 1.0),
            ("s2", "y", "full", 2.0),
            ("s1", "x", "part", 1.0),
            ("s1", "y", "part", 2.0),
            ("s2", "x", "part", 1.0),
            ("s9", "x", "stray", 1.0),
            ("", "x", "fid", 1.0),
            ("", "y", "fid", 2.0),
        ],
        columns=["story", "method", "metric", "score"],
    )
    pairs = choice_pairs("q", ordered_choices(choices), score_table(scores))
    assert pairs.metrics == ("full", "part")
    assert pairs.notes == (
        "metric fid has method-level scores, which say nothing of a pair inside a "
        "story.",
        "metric stray scores no compared pair of outputs.",
        "metrics are compared with each other on 1 of 2 compared pairs, which all of "
        "them score (part lacks 1); each is held against people on all that it scores.",
    )
    full = scores[scores["metric"] == "full"]
    assert choice_pairs("q", ordered_choices(choices), score_table(full)).notes == ()
