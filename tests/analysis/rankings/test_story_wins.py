"""Stories in which one method is rated above another, counted by hand and by pandas."""

import itertools

import pandas as pd
import pytest

from analysis.rankings.rating_rankings import story_wins
from analysis.reading.cells import annotator_cells
from analysis.result_tables.columns import COLUMNS


def ratings(*rows):
    names = ["story", "method", "annotator", "rating"]
    return pd.DataFrame(rows, columns=names).assign(dimension="q")


def test_means_of_annotators_are_compared_story_by_story():
    rows = story_wins(
        ratings(
            ("s", "B", "Ann", 3),
            ("s", "B", "Bob", 4),
            ("s", "A", "Ann", 5),
            ("s", "A", "Bob", 1),  # 3.0 against 3.5
            ("t", "A", "Ann", 2),
            ("t", "B", "Ann", 1),
            ("u", "A", "Bob", 2),
            ("u", "B", "Ann", 2),
            ("v", "A", "Ann", 5),  # nobody rated B
            ("w", "C", "Ann", 5),
        ),
        question="q",
    )
    assert [tuple(row) for row in rows] == [COLUMNS["story_wins"]]
    assert tuple(rows[0].values()) == ("q", "A", "B", 1, 1, 1, 3)


def test_means_of_equal_sums_are_a_tie():
    """0.1 + 0.2 and 0.3 differ in the last bit."""
    rows = story_wins(
        ratings(("s", "A", "Ann", 0.1 + 0.2), ("s", "B", "Ann", 0.3)), question="q"
    )
    assert (rows[0]["wins_a"], rows[0]["ties"]) == (0, 1)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["dsg", "tifa"])
def test_real_ratings(name, shared):
    frame = pd.read_csv(shared / f"data/{name}/ratings.csv")
    question = frame["dimension"].iloc[0]
    rows = story_wins(annotator_cells(frame), question=question)
    means = frame.pivot_table(index="story", columns="method", values="rating")
    expected = {}
    for a, b in itertools.combinations(means.columns, 2):
        apart = (means[a] - means[b]).dropna().round(9)
        expected[a, b] = ((apart > 0).sum(), (apart == 0).sum(), (apart < 0).sum())
    assert len(rows) == 10
    assert {
        (row["method_a"], row["method_b"]): (row["wins_a"], row["ties"], row["wins_b"])
        for row in rows
    } == expected
