"""Cleaning each different cell once gives what cleaning every cell gives."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.reading.column_cleaning import as_number, as_text, coded, numbers

CELLS = st.one_of(
    st.text(max_size=3),
    st.integers(-2, 3),
    st.floats(),
    st.booleans(),
    st.none(),
    st.just(10**400),
    st.just([1]),
    st.just(decimal.Decimal("1.5")),
)


@given(st.lists(CELLS, min_size=1, max_size=12))
def test_texts_and_numbers_are_those_of_each_cell(cells):
    column = pd.Series(cells, dtype=object)
    missing = column.isna()
    texts = coded(column).texts()
    expected = ["" if m else as_text(c) for c, m in zip(cells, missing, strict=True)]
    assert [texts.values[code] for code in texts.codes] == expected
    values, empty = numbers(column)
    each = [np.nan if m else as_number(c) for c, m in zip(cells, missing, strict=True)]
    np.testing.assert_array_equal(values, each)
    assert empty.tolist() == [text == "" for text in expected]


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("1e5", 1e5),
        (" 007 ", 7),
        ("+.5", 0.5),
        ("5.", 5),
        ("\t-0.0\n", 0),
        ("1e-400", 0),
        ("0.1", 0.1),
        ("1234567890123456789012", 1.2345678901234568e21),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (decimal.Decimal("0.25"), 0.25),
    ],
)
def test_cell_is_read_as_number(cell, number):
    assert as_number(cell) == number


@pytest.mark.parametrize(
    "cell",
    [
        "",
        "1_0",
        "１",
        "0x10",
        "1e",
        "--1",
        "1 2",
        "'-1",
        "1,0",
        "nan",
        "inf",
        "NA",
        "12 %",
        True,
        np.False_,
        None,
        [1],
        datetime.date(2026, 1, 1),
    ],
)
def test_cell_is_nan_when_not_a_number(cell):
    assert np.isnan(as_number(cell))
