"""Distributions of ratings, against counts by hand."""

import pandas as pd

from analysis.reliability.matrices import rating_distribution
from analysis.statistics import COLUMNS


def ratings(*rows):
    return pd.DataFrame(rows, columns=["dimension", "method", "rating"])


def test_counts_and_shares_with_a_row_for_what_was_never_given():
    rows = rating_distribution(
        ratings(("q", "A", 1), ("q", "A", 1), ("q", "A", 3), ("q", "B", 3))
    )
    assert [tuple(row) for row in rows] == [COLUMNS["distributions"]] * 4
    assert [tuple(row.values()) for row in rows] == [
        ("q", "A", 1.0, 2, 2 / 3),
        ("q", "A", 3.0, 1, 1 / 3),
        ("q", "B", 1.0, 0, 0.0),
        ("q", "B", 3.0, 1, 1.0),
    ]
