"""Answers given twice by the same annotator."""

import numpy as np
import pandas as pd
import pytest

from analysis.reliability.retest import choice_repeats, rating_repeats
from analysis.sentences import Notes
from analysis.statistics import COLUMNS


def ratings(pairs, annotator="r0", **columns):
    """Rows of first and second ratings of outputs."""
    rows = [
        {
            "story": f"s{u}",
            "method": "m",
            "dimension": "d",
            "annotator": annotator,
            "rating": value,
            "is_repeat": repeat,
        }
        for u, both in enumerate(pairs)
        for value, repeat in zip(both, (False, True), strict=True)
    ]
    return pd.DataFrame(rows).assign(**columns)


def found(rows, resamples=0, function=rating_repeats):
    table = function(rows, resamples=resamples, confidence=0.95, seed=0)
    frame = pd.DataFrame(table, columns=list(COLUMNS["annotators"]))
    return frame.set_index(["annotator", "statistic"])


def quadratic_kappa(x, y):
    """Weighted kappa from the table of Cohen (1968), by its definition."""
    k = np.unique(np.concatenate([x, y]))
    observed = np.array([[np.mean((x == i) & (y == j)) for j in k] for i in k])
    chance = np.outer(observed.sum(axis=1), observed.sum(axis=0))
    weight = (k[:, None] - k[None, :]) ** 2
    return 1 - (weight * observed).sum() / (weight * chance).sum()


def test_statistics_by_hand():
    pairs = np.array([(0, 0), (1, 2), (2, 2), (3, 3), (4, 2), (4, 4)])
    value = found(ratings(pairs))["value"]
    assert value["r0", "n_answers"] == 6
    assert value["r0", "intra_rater_exact"] == pytest.approx(4 / 6)
    assert value["r0", "intra_rater_difference"] == pytest.approx(3 / 6)
    assert value["r0", "intra_rater_shift"] == pytest.approx(-1 / 6)
    kappa = quadratic_kappa(*pairs.T)
    assert value["r0", "intra_rater_kappa"] == pytest.approx(kappa)


def test_cohens_kappa_of_choices():
    answers = [("a", "a"), ("a", "a"), ("b", "b"), ("b", "a")]
    rows = ratings(answers).rename(
        columns={"dimension": "criterion", "rating": "choice", "method": "method_a"}
    )
    value = found(rows.assign(method_b="n"), 0, choice_repeats)["value"]
    # Margins: .5, .5 first and .75, .25 second; pe = .5, po = .75.
    assert value["r0", "intra_rater_kappa"] == pytest.approx(0.5)


def test_turned_pair_is_the_same_answer():
    row = {"story": "s", "criterion": "q", "annotator": "r0"}
    rows = pd.DataFrame(
        [
            {
                **row,
                "method_a": "x",
                "method_b": "y",
                "choice": "a",
                "is_repeat": False,
            },
            {**row, "method_a": "y", "method_b": "x", "choice": "b", "is_repeat": True},
        ]
    )
    value = found(rows, 0, choice_repeats)["value"]
    assert value["r0", "intra_rater_exact"] == 1


def test_repeats_are_noted_when_they_have_no_first_answer():
    rows = ratings([(0, 0), (1, 1), (2, 2), (3, 3)])
    other = ratings([(1, 1)]).assign(dimension="e")
    rows["excluded"] = [False, False, True, False, False, False, False, False]
    rows = pd.concat([rows.drop(index=4), other.drop(index=0)])
    notes = Notes()
    options = {"resamples": 0, "confidence": 0.95, "seed": 0, "notes": notes}
    table = pd.DataFrame(rating_repeats(rows, **options))
    # One was never given, one is excluded.
    assert notes.sentences() == (
        "d: 2 repeated answers without a first answer of the same annotator, so in no "
        "table.",
        "e: 1 repeated answer without a first answer of the same annotator, so in no "
        "table.",
    )
    assert set(table["question"]) == {"d"}
    complete = Notes()
    rating_repeats(ratings([(0, 0)]), **options | {"notes": complete})
    assert complete.sentences() == ()
