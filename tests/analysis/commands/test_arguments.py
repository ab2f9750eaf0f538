"""Values of options, as they are written."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.commands import option_values

name = st.text(
    st.characters(exclude_characters="\0\\\\", exclude_categories=["C", "Z"]),
    min_size=1,
)


@given(st.lists(name))
def test_names_come_back_as_they_were_written(names):
    assert list(option_values.split_names(option_values.join_names(names))) == names


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (option_values.scale, "0:4", (0, 4)),
        (option_values.scale, "-2:2", (-2, 2)),
        (option_values.count, "0", 0),
        (option_values.share, ".9", 0.9),
        (option_values.subset(("a", "b", "c")), "c, a", ("a", "c")),
    ],
)
def test_option_value_is_parsed(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (option_values.scale, "4:0"),
        (option_values.scale, "4"),
        (option_values.scale, "a:b"),
        (option_values.count, "-1"),
        (option_values.count, "1.5"),
        (option_values.count, ""),
        (option_values.share, "1"),
        (option_values.share, "nan"),
        (option_values.share, "x"),
        (option_values.subset(("a", "b")), "a,d"),
    ],
)
def test_option_value_is_refused_when_malformed(parse, text):
    with pytest.raises(argparse.ArgumentTypeError, match=r"write|first"):
        parse(text)
