"""Formulas as MathML."""

import pytest

from analysis.report.page import math


def row(text):
    return str(math(text)).removeprefix("<math>").removesuffix("</math>")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SPA", "<mi>SPA</mi>"),
        ("c_k^2", "<msubsup><mi>c</mi><mi>k</mi><mn>2</mn></msubsup>"),
        ("∑_i", "<munder><mo>∑</mo><mi>i</mi></munder>"),
        ("∏_j^k", "<munderover><mo>∏</mo><mi>j</mi><mi>k</mi></munderover>"),
        ("frac{a b}{2}", "<mfrac><mrow><mi>a</mi><mi>b</mi></mrow><mn>2</mn></mfrac>"),
        ("sqrt{x}", "<msqrt><mi>x</mi></msqrt>"),
        ("bar{x}", "<mover><mi>x</mi><mo>¯</mo></mover>"),
        ('"two words"', "<mtext>two words</mtext>"),
        ("i < j", "<mi>i</mi><mo>&lt;</mo><mi>j</mi>"),
        ("x_{i_j}", "<msub><mi>x</mi><msub><mi>i</mi><mi>j</mi></msub></msub>"),
    ],
)
def test_formula_is_written_as_mathml(text, expected):
    assert row(text) == expected


def test_formula_may_be_a_block():
    assert math("n", display=True) == '<math display="block"><mi>n</mi></math>'
