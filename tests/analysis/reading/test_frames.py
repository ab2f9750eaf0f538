"""Frames are taken as files are: the same checks, rows named by their position."""

import numpy as np
import pandas as pd
import pytest

from analysis.problems import InputError
from analysis.reading.files import placed_in
from analysis.reading.inputs import (
    read_choices,
    read_rankings,
    read_ratings,
    read_scores,
)


def ratings(**change):
    rows = {
        "story": ["s", "s", "t", "t"],
        "method": ["m", "n", "m", "n"],
        "dimension": "look",
        "annotator": "Ann",
        "rating": [1, 2, 3, 4],
    }
    return pd.DataFrame(rows | change)


def scores(**change):
    rows = {"story": ["s", "s"], "method": ["m", "n"], "metric": "k", "score": [0.1, 2]}
    return pd.DataFrame(rows | change)


def told(read, frame, name="ratings", **options):
    with pytest.raises(InputError) as error, placed_in(name):
        read(frame, **options)
    return error.value.lines()


A_NUMBER = "expected a number such as 3 or 0.75, without separators"


@pytest.mark.parametrize(
    ("column", "cells", "problem"),
    [
        ("rating", [1, 2, "good", 4], f".iloc[2]: rating: good: {A_NUMBER}"),
        ("rating", [1, None, 3, 4], f".iloc[1]: rating: (empty): {A_NUMBER}"),
        ("rating", [1, [2], 3, 4], f".iloc[1]: rating: [2]: {A_NUMBER}"),
        ("rating", [1, 2, np.inf, 4], f".iloc[2]: rating: inf: {A_NUMBER}"),
        ("rating", [1, 2, 3, 33], ".iloc[3]: rating: 33: expected a value from 0 to 4"),
        ("method", ["m", None, "m", "n"], ".iloc[1]: method: (empty): expected a name"),
        (
            "annotator",
            [{}, "Ann", "Ann", "Ann"],
            ".iloc[0]: annotator: {}: expected text, no list, record or bytes",
        ),
        (
            "is_gold",
            [True, "maybe", False, None],
            ".iloc[1]: is_gold: maybe: expected true or false",
        ),
    ],
)
def test_wrong_cell_is_named_by_frame_position_and_column(column, cells, problem):
    frame = ratings().astype(object).assign(**{column: pd.Series(cells, dtype=object)})
    assert told(read_ratings, frame, scale=(0, 4)) == [f"ratings{problem}"]


@pytest.mark.parametrize(
    ("frame", "problems"),
    [
        (
            ratings().drop(columns=["story", "rating"]),
            [
                f"{name}: expected a column of this name; found method, dimension, "
                "annotator"
                for name in ("story", "rating")
            ],
        ),
        (
            ratings().set_index(["story", "method"]),
            [
                f"{name}: expected a column, no index: give ratings.reset_index()"
                for name in ("story", "method")
            ],
        ),
        (
            pd.concat([ratings()], axis=1, keys=["people"]),
            ["('people', 'story'): expected one name a column, not 2 levels of names"],
        ),
        (
            pd.concat([ratings(), ratings()[["rating"]]], axis=1),
            ["rating: expected a column name once"],
        ),
        (
            ratings().rename(columns={"dimension": " rating "}),
            ["rating: expected a column name once"],
        ),
        (ratings().iloc[:0], ["expected at least one row, and a column"]),
        (pd.DataFrame(), ["expected at least one row, and a column"]),
        (pd.DataFrame(np.zeros((1, 1001))), ["expected at most 1,000 columns"]),
        ({"rating": [1]}, ["dict: expected a pandas DataFrame, or the path of a file"]),
    ],
)
def test_frame_of_another_shape_is_refused(frame, problems):
    assert told(read_ratings, frame) == [f"ratings: {problem}" for problem in problems]


@pytest.mark.parametrize(
    ("read", "rows"),
    [
        (read_ratings, ratings()),
        (read_ratings, ratings(story=[1, 1, 2, 2], round=[1, 1, 2, 2])),
        (read_ratings, ratings().astype({"rating": "Int64", "method": "category"})),
        (read_scores, scores(score=[0.5, None], higher_is_better=[True, True])),
        (
            read_choices,
            pd.DataFrame(
                [["s", "n", "m", "look", "Ann", "a"]],
                columns=[
                    *("story", "method_a", "method_b"),
                    *("criterion", "annotator", "choice"),
                ],
            ),
        ),
        (
            read_rankings,
            pd.DataFrame(
                {"story": "s", "method": ["m", "n"], "criterion": "look"}
                | {"annotator": "Ann", "rank": [2, 1]}
            ),
        ),
    ],
)
def test_frame_is_read_as_its_file_and_stays_unchanged(tmp_path, read, rows):
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    before = rows.copy()
    found = read(rows)
    pd.testing.assert_frame_equal(
        found.reset_index(drop=True), read(path).reset_index(drop=True)
    )
    pd.testing.assert_frame_equal(rows, before)
