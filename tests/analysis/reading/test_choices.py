"""Orientation and majorities."""

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from analysis.reading.rankings import ordered_choices

COLUMNS = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
answers = st.lists(st.sampled_from(["a", "b", "tie", "both_bad"]), min_size=1)


def rows_of(choices, story="s", a="x", b="y"):
    rows = [(story, a, b, "q", f"r{i}", choice) for i, choice in enumerate(choices)]
    return pd.DataFrame(rows, columns=COLUMNS)


@given(answers)
def test_turning_a_row_around_changes_nothing(choices):
    turned = [{"a": "b", "b": "a"}.get(choice, choice) for choice in choices]
    plain, swapped = rows_of(choices), rows_of(turned, a="y", b="x")
    pd.testing.assert_frame_equal(
        ordered_choices(plain), ordered_choices(swapped), check_dtype=False
    )
