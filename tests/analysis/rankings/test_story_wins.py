"""Stories in which one method is rated above another, counted by hand and by pandas."""

import pandas as pd

from analysis.rankings.rating_rankings import story_wins
from analysis.statistics import COLUMNS


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
