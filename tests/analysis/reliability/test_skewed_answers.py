"""Remarks on low alpha in spite of equal answers."""

import itertools

import numpy as np
import pandas as pd

import analysis

COLUMNS = ["story", "method", "dimension", "annotator", "rating"]


def rated(by_annotator):
    """Ratings of one method in as many stories as each annotator has numbers."""
    rows = [
        (f"s{s:03}", "m", "q", who, rating)
        for who, ratings in by_annotator.items()
        for s, rating in enumerate(ratings)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def remarks(ratings, scale=(1, 5)):
    report = analysis.agreement(ratings=ratings, scale=scale, resamples=0)
    return [note for note in report.notes if "alpha is low" in note]


def test_raters_who_never_agree_get_no_remark():
    """Quadratic AC2 is .87 for answers that are 3 and 4 in turn, and never the same."""
    never = {"Ann": [3, 4] * 11, "Bob": [4, 3] * 11}
    assert remarks(rated(never)) == []


def test_remark_needs_agreement_beside_a_frequent_answer():
    """Each of four raters has other stories below the ceiling: 80 % are 5."""
    below = np.full((4, 20), 5)
    for who, story in itertools.product(range(4), range(4)):
        below[who, 4 * who + story] = 1
    assert remarks(rated(dict(zip("abcd", below.tolist(), strict=True)))) == []


def test_remark_gives_both_shares():
    """Of 40 answers 38 are 5; of 20 pairs 18 are equal; alpha of these is -.03."""
    ann, bob = [5] * 20, [5] * 20
    ann[0], bob[1] = 4, 4
    (note,) = remarks(rated({"Ann": ann, "Bob": bob}))
    assert "95 % of the answers are the same" in note
    assert "the same answer in 90 % of cases" in note
    assert "(-0.03)" in note
