"""Scores of any size: results do not depend on their unit."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from analysis.commands.alignment import align
from analysis.correlations.coefficients import correlate
from analysis.options import COEFFICIENTS, AlignOptions
from tests.analysis.commands.test_alignment import study
from tests.cases import slow

ALL = (*COEFFICIENTS, "kendall_c")
LEVELS = ("method", "story", "within_method", "pooled")
# Binary exponents from the smallest number above 0 to nearly the largest.
exponents = st.integers(-1070, 1000)


def pearson(x, y, weights=None):
    x, y = np.array(x, float), np.array(y, float)
    w = np.ones(len(x)) if weights is None else np.array(weights, float)
    found = correlate(x[None], y[None, None], w[None, None], ["pearson"])
    return float(found["pearson"][0, 0, 0])


def exact_pearson(x, y):
    """Pearson's r in fractions, rounded at the end only; NaN where a side is constant.

    What `scipy.stats.pearsonr` computes, but of numbers that are 1e600 apart, too.
    """
    x, y = ([Fraction(value) for value in values] for values in (x, y))
    x, y = ([v - sum(values) / len(values) for v in values] for values in (x, y))
    xy, xx, yy = (
        sum(a * b for a, b in zip(*two, strict=True))
        for two in ((x, y), (x, x), (y, y))
    )
    if not xx or not yy:
        return math.nan
    return math.copysign(math.sqrt(xy * xy / (xx * yy)), xy)


OPTIONS = AlignOptions(
    resamples=30, levels=LEVELS, coefficients=ALL, components=("blur", "cids")
)
# Binary exponents: tiny, small, where decimals are few, where they are none, and huge.
SCALES = [-900, *slow(-30, 14), 45, *slow(900)]
# Columns in units of the scores.
OF_MEANS = ("value", "low", "high")
IN_UNITS = {
    "disagreement": ("score", "score_other"),
    "pairwise_accuracy": ("epsilon",),
    "method_scores": OF_MEANS,
}


def scaled(scores, exponent):
    return scores.assign(score=np.ldexp(scores["score"], exponent))


@cache
def aligned(exponent):
    ratings, choices, scores = study(n_stories=12, dimensions=("aesthetics",))
    tags = pd.DataFrame({"story": [f"{s:02}" for s in range(12)]})
    tags["set"] = ["core", "hard"] * 6
    return align(
        ratings=ratings,
        choices=choices,
        scores=scaled(scores, exponent),
        tags=tags,
        options=OPTIONS,
    )


@pytest.mark.slow
@pytest.mark.parametrize("exponent", SCALES)
def test_no_table_depends_on_the_unit_of_the_scores(exponent):
    plain, found = aligned(0), aligned(exponent)
    assert plain.tables.keys() == found.tables.keys()
    for name, expected in plain.tables.items():
        back = found.tables[name].copy()
        in_units = IN_UNITS.get(name, ())
        if name == "by_method":
            metrics = {*plain.tables["method_scores"]["metric"]}
            in_units = [c for c in back if c.partition(" ")[0] in metrics]
        for column in in_units:
            back[column] = np.ldexp(back[column], -exponent)
        if name == "method_deviation":
            # The scores behind choices are shares of pairs won.
            rated = back["question"].eq("aesthetics")
            back.loc[rated, "score"] = np.ldexp(back.loc[rated, "score"], -exponent)
        if name in ("strata", "strata_differences"):
            means = back["statistic"].eq("mean") & back["metric"].ne("")
            for column in OF_MEANS:
                back.loc[means, column] = np.ldexp(back.loc[means, column], -exponent)
        pd.testing.assert_frame_equal(
            back, expected, rtol=1e-6, atol=1e-9, check_dtype=False, obj=name
        )
