"""Orientation, majorities and win rates."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from analysis.choices import majority, ordered_choices, win_rates

COLUMNS = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
answers = st.lists(st.sampled_from(["a", "b", "tie", "both_bad"]), min_size=1)


def rows_of(choices, story="s", a="x", b="y"):
    rows = [(story, a, b, "q", f"r{i}", choice) for i, choice in enumerate(choices)]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_win_rates_by_votes_and_by_majority():
    table = win_rates(
        pd.concat(
            [
                rows_of(["a", "a", "b"], "s1"),
                rows_of(["a", "b", "tie"], "s2"),
                rows_of(["both_bad", "both_bad", "b"], "s3"),
                rows_of(["tie", "tie", "b"], "s4"),
            ]
        )
    )
    assert table.to_dict("records") == [
        {
            "criterion": "q", "method_a": "x", "method_b": "y",
            "wins_a": 3, "ties": 3, "wins_b": 4,
            "majority_wins_a": 1, "majority_ties": 3, "majority_wins_b": 0,
            "n_stories": 4,
        }
    ]  # fmt: skip


@given(answers)
def test_turning_a_row_around_changes_nothing(choices):
    turned = [{"a": "b", "b": "a"}.get(choice, choice) for choice in choices]
    plain, swapped = rows_of(choices), rows_of(turned, a="y", b="x")
    pd.testing.assert_frame_equal(
        ordered_choices(plain), ordered_choices(swapped), check_dtype=False
    )


@given(st.lists(st.integers(0, 6), min_size=4, max_size=4))
def test_a_majority_is_more_than_half(votes):
    verdict = majority(np.array(votes, float))
    total = sum(votes)
    assert (verdict == 1) == (2 * votes[0] > total)
    assert (verdict == -1) == (2 * votes[1] > total)
