"""Values of options, as they are written."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.commands import arguments

name = st.text(
    st.characters(exclude_characters="\0\\\\", exclude_categories=["C", "Z"]),
    min_size=1,
)


@given(st.lists(name))
def test_names_come_back_as_they_were_written(names):
    assert list(arguments.split_names(arguments.join_names(names))) == names


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (arguments.scale, "0:4", (0, 4)),
        (arguments.scale, "-2:2", (-2, 2)),
        (arguments.count, "0", 0),
        (arguments.share, ".9", 0.9),
        (arguments.subset(("a", "b", "c")), "c, a", ("a", "c")),
    ],
)
def test_option_value_is_parsed(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (arguments.scale, "4:0"),
        (arguments.scale, "4"),
        (arguments.scale, "a:b"),
        (arguments.count, "-1"),
        (arguments.count, "1.5"),
        (arguments.count, ""),
        (arguments.share, "1"),
        (arguments.share, "nan"),
        (arguments.share, "x"),
        (arguments.subset(("a", "b")), "a,d"),
    ],
)
def test_option_value_is_refused_when_malformed(parse, text):
    with pytest.raises(argparse.ArgumentTypeError, match=r"write|first"):
        parse(text)
