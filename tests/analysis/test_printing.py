"""Numbers in tables say no more and no less than they are."""

import pandas as pd
import pytest

from analysis.report.tables import as_latex
from analysis.results import column_texts

NAN = float("nan")


@pytest.mark.parametrize(
    ("name", "values", "texts"),
    [
        ("n", [1.0, NAN, 12.0], ["1", "", "12"]),
        ("v", [-1.0, 0.5, 0.0], ["-1.000", "0.500", "0.000"]),
        ("epsilon", [1.06e-13, -2e-5, 0.0], ["1.1e-13", "-2.0e-05", "0.000"]),
        ("v", [0.0005, 2e12, 1.5], ["0.001", "2.0e+12", "1.500"]),
        ("p_value", [5.5e-6, 0.001, 1.0], ["<0.001", "0.001", "1.000"]),
        ("p_adjusted", [NAN, 0.0009, 0.2], ["", "<0.001", "0.200"]),
        ("rank", pd.array([1, pd.NA], dtype="Int64"), ["1", ""]),
        ("flag", [True, False], ["yes", "no"]),
        ("reason", ["x", None], ["x", ""]),
    ],
)
def test_texts_of_a_column(name, values, texts):
    assert column_texts(pd.Series(values, name=name)) == texts


def test_latex_sets_signs_bounds_and_powers_as_mathematics():
    frame = pd.DataFrame(
        {"p_value": [1e-6, 0.5], "e": [1.06e-13, -0.5], "flag": [True, False]}
    )
    assert as_latex(frame).splitlines()[4:6] == [
        r"$<0.001$ & $1.1 \times 10^{-13}$ & yes \\",
        r"0.500 & $-0.500$ & no \\",
    ]
