"""Variance components against a textbook, other programs and laws."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.planning import variance_components as components
from analysis.planning.sums_of_squares import estimate_components, rating_design
from analysis.planning.variance_components import (
    StudySize,
    reliability,
    variance_components,
)
from analysis.statistics import COLUMNS

# Brennan (2001), Generalizability Theory, table 3.1, synthetic data set no. 3: ten
# persons, four items on two occasions. Persons are methods here, items are stories,
# occasions are annotators.
BRENNAN = np.array(
    [
        [2, 4, 5, 5, 4, 4, 2, 3, 0, 6],
        [6, 5, 5, 9, 3, 4, 6, 4, 5, 8],
        [7, 6, 4, 8, 5, 4, 6, 4, 4, 7],
        [5, 7, 6, 6, 6, 7, 5, 5, 5, 6],
        [2, 6, 5, 5, 4, 6, 2, 6, 5, 6],
        [5, 7, 4, 7, 5, 4, 7, 6, 5, 8],
        [5, 5, 5, 7, 6, 7, 7, 6, 5, 8],
        [5, 7, 5, 6, 4, 8, 5, 4, 3, 6],
    ],
    float,
).reshape(2, 4, 10)
COMPONENTS = {
    "method": 0.5528,
    "story": 0.4417,
    "annotator": 0.0074,
    "method x story": 0.5750,
    "method x annotator": 0.1009,
    "story x annotator": 0.1565,
    "rest": 0.9352,
}


def frame(cube, holes=()):
    """Rows of an annotators-by-stories-by-methods array."""
    return pd.DataFrame(
        [
            {
                "dimension": "d",
                "story": f"s{s:03d}",
                "method": f"m{m:03d}",
                "annotator": f"a{a:03d}",
                "rating": float(value),
            }
            for (a, s, m), value in np.ndenumerate(cube)
            if (a, s, m) not in holes
        ]
    )


def table(rows, resamples=0, **options):
    found = variance_components(
        rows, question="d", resamples=resamples, confidence=0.95, seed=0, **options
    )
    assert all(set(row) == set(COLUMNS["variance"]) for row in found)
    return {row["component"]: row for row in found}


def test_published_crossed_study():
    found = table(frame(BRENNAN))
    for name, value in COMPONENTS.items():
        assert found[name]["value"] == pytest.approx(value, abs=5e-5), name
    assert found["rest"]["n"] == 80
    assert sum(row["share"] for row in found.values()) == pytest.approx(1)


def test_published_coefficients_of_the_same_study():
    rows = frame(BRENNAN)
    fit = estimate_components(rating_design(rows), rows["rating"].to_numpy()[:, None])
    parts = {source: matrix[0, 0] for source, matrix in fit.values.items()}
    found = reliability(parts, StudySize(2, 4, 10, 2, 2))
    # Brennan (2001), section 4.1: .64 and .55 for four items on two occasions.
    assert found["generalizability_method"] == pytest.approx(0.64, abs=0.005)
    assert found["dependability_method"] == pytest.approx(0.55, abs=0.005)


def anova(cube):
    """Textbook mean squares of a complete crossed design (Brennan, table 3.2)."""
    n = dict(zip("asm", cube.shape, strict=True))
    axes = {"a": 0, "s": 1, "m": 2}

    def mean(keep):
        gone = tuple(axes[f] for f in "asm" if f not in keep)
        return cube.mean(axis=gone, keepdims=True)

    def square(effect, keep):
        df = np.prod([n[f] - 1 for f in keep])
        times = np.prod([n[f] for f in "asm" if f not in keep])
        return times * (effect**2).sum() / df

    g = mean("")
    one = {f: mean(f) - g for f in "asm"}
    two = {p: mean(p) - one[p[0]] - one[p[1]] - g for p in ("as", "am", "sm")}
    rest = cube - sum(two.values()) - sum(one.values()) - g
    ms = {k: square(v, k) for k, v in {**one, **two, "asm": rest}.items()}
    pair = {p: (ms[p] - ms["asm"]) / n[(set("asm") - set(p)).pop()] for p in two}
    single = {
        f: (ms[f] - sum(ms[p] for p in two if f in p) + ms["asm"])
        / np.prod([n[o] for o in "asm" if o != f])
        for f in "asm"
    }
    return {
        "method": single["m"],
        "story": single["s"],
        "annotator": single["a"],
        "method x story": pair["sm"],
        "method x annotator": pair["am"],
        "story x annotator": pair["as"],
        "rest": ms["asm"],
    }


@given(st.integers(0, 10**6), st.tuples(*[st.integers(2, 5)] * 3))
def test_complete_data_give_the_analysis_of_variance(seed, shape):
    cube = np.random.default_rng(seed).integers(0, 9, shape).astype(float)
    if np.ptp(cube) == 0:
        return
    found = table(frame(cube))
    for name, value in anova(cube).items():
        assert found[name]["value"] == pytest.approx(value, abs=1e-8), name


def test_mixed_model_fitted_by_another_program():
    # REML equals the analysis of variance where data are complete and no estimate is
    # negative: Brennan's persons by items, occasions averaged.
    smf = pytest.importorskip("statsmodels.formula.api")
    cube = BRENNAN.mean(axis=0, keepdims=True)
    rows = frame(cube).assign(all=1)
    fit = smf.mixedlm(
        "rating ~ 1",
        rows,
        groups="all",
        re_formula="0",
        vc_formula={"m": "0 + C(method)", "s": "0 + C(story)"},
    ).fit(reml=True)
    found = table(rows.drop(columns="all"))
    named = dict(zip(fit.model.exog_vc.names, fit.vcomp, strict=True))
    assert found["method"]["value"] == pytest.approx(named["m"], rel=1e-3)
    assert found["story"]["value"] == pytest.approx(named["s"], rel=1e-3)
    assert found["rest"]["value"] == pytest.approx(fit.scale, rel=1e-3)


def test_interval_of_a_variance_is_satterthwaites():
    """Brennan 2001, equation 6.15, by Wilson and Hilferty's cube of a normal."""
    draws = np.tile([1.5, 2.5], 500)
    low, high, reason = components.variance_interval(2.0, draws, 0.9)
    df = 2 * (2.0 / 0.5) ** 2
    for bound, z in ((low, 1.6448536), (high, -1.6448536)):
        quantile = df * (1 - 2 / (9 * df) + z * math.sqrt(2 / (9 * df))) ** 3
        assert bound == pytest.approx(df * 2.0 / quantile, rel=2e-3)
    assert reason == ""
