"""Agreement against published values, other programs and laws."""

import json

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.reading.column_cleaning import kept_rows
from analysis.reliability.agreement import (
    RATING_STATISTICS,
    STATISTICS,
    agreement,
)
from analysis.reliability.chance_corrected import alpha_value
from analysis.reliability.matrices import rating_reliability

KEYS = ["story", "method", "shot", "annotator"]


def ratings(matrix, **columns):
    """Rows of a raters-by-units matrix; None and NaN are missing."""
    rows = [
        {"story": f"s{u:04d}", "annotator": f"r{a}", "rating": value}
        for a, values in enumerate(matrix)
        for u, value in enumerate(values)
        if value is not None and not np.isnan(value)
    ]
    return pd.DataFrame(rows).assign(method="m", dimension="d", **columns)


def reliability(matrix, scale=None):
    return rating_reliability(kept_rows(ratings(matrix), KEYS), scale)


def value(data, name):
    return float(STATISTICS[name](data, np.ones((1, len(data.per_unit))))[0])


def table(data, statistics=RATING_STATISTICS, resamples=0, parts=("units",)):
    rows = agreement(
        data,
        statistics,
        parts=parts,
        resamples=resamples,
        confidence=0.95,
        seed=0,
        question="d",
    )
    return {row.statistic: row for row in rows}


@pytest.mark.shared
def test_krippendorffs_canonical_matrices(shared):
    cases = json.loads((shared / "data/agreement_cases.json").read_text())["cases"]
    for case in cases:
        data = reliability(case["data"])
        for level, expected in case["alpha"].items():
            if level == "ratio":
                continue
            found = value(data, f"alpha_{level}")
            assert found == pytest.approx(expected, abs=1e-6), case["name"]
            row = table(data, (f"alpha_{level}",))[f"alpha_{level}"]
            assert row.estimate.value == pytest.approx(expected, abs=1e-6)


@pytest.mark.shared
def test_gwet_and_fleiss_as_irrcac_computes_them(shared):
    cases = json.loads((shared / "data/agreement_cases.json").read_text())["cases"]
    case = next(case for case in cases if "irrCAC" in case)
    data, expected = reliability(case["data"]), case["irrCAC"]
    assert value(data, "ac1") == pytest.approx(expected["gwet_AC1"], abs=1e-5)
    quadratic = expected["gwet_AC2_quadratic"]
    assert value(data, "ac2_quadratic") == pytest.approx(quadratic, abs=1e-5)
    assert value(data, "fleiss_kappa") == pytest.approx(expected["fleiss"], abs=1e-5)


@pytest.mark.shared
def test_published_agreement_of_dsg(shared):
    # statistics.md section 9, computed with krippendorff and pingouin.
    rows = pd.read_csv(shared / "data/dsg/ratings.csv")
    found = table(rating_reliability(kept_rows(rows, KEYS)))
    expected = {
        "alpha_nominal": 0.3969,
        "alpha_ordinal": 0.6854,
        "alpha_interval": 0.6844,
        "icc_2_1": 0.6811,
        "icc_2_k": 0.9144,
    }
    for name, number in expected.items():
        assert found[name].estimate.value == pytest.approx(number, abs=5e-5)
    spearman = found["rater_vs_rest_spearman"].estimate.value
    assert spearman == pytest.approx(0.792, abs=5e-4)
    tau = found["rater_vs_rest_kendall"].estimate.value
    assert tau == pytest.approx(0.683, abs=5e-4)
    assert (found["icc_2_1"].estimate.n, found["icc_2_1"].n_answers) == (796, 3980)
    assert (found["ac1"].estimate.n, found["ac1"].n_answers) == (800, 3995)


matrices = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(
            st.one_of(st.none(), st.integers(0, 4)), min_size=raters, max_size=raters
        ),
        min_size=3,
        max_size=12,
    )
)


def as_floats(units):
    return np.array(units, float).T


@given(matrices)
def test_alpha_equals_the_krippendorff_package(units):
    matrix = as_floats(units)
    counted = matrix[:, np.isfinite(matrix).sum(axis=0) >= 2]
    values = counted[np.isfinite(counted)]
    if len(set(values)) < 2:
        return
    data = reliability(matrix)
    for level in ("nominal", "ordinal", "interval"):
        expected = krippendorff.alpha(matrix, level_of_measurement=level)
        assert value(data, f"alpha_{level}") == pytest.approx(expected, abs=1e-12)
        assert alpha_value(data, level) == pytest.approx(expected, abs=1e-12)


@given(matrices)
def test_ordinal_alpha_ignores_monotone_relabelling(units):
    matrix = as_floats(units)
    if not np.isfinite(matrix).any():
        return
    plain, bent = reliability(matrix), reliability(np.exp2(matrix))
    assert value(plain, "alpha_ordinal") == pytest.approx(
        value(bent, "alpha_ordinal"), abs=1e-9, nan_ok=True
    )


@given(matrices, st.integers(0, 4))
def test_constant_annotator_makes_nobody_agree_perfectly(units, constant):
    """If others gave a unit something else, there is disagreement: alpha below 1.

    And where all agreed before, alpha cannot rise above that.
    """
    matrix = as_floats(units)
    joined = np.vstack([matrix, np.full(matrix.shape[1], float(constant))])
    differs = (np.isfinite(matrix) & (matrix != constant)).any()
    data = reliability(joined)
    for level in ("nominal", "ordinal", "interval"):
        found = value(data, f"alpha_{level}")
        # Without another value anywhere, nothing varies, and there is no alpha.
        assert found < 1 if differs else np.isnan(found)


@pytest.mark.parametrize(
    ("matrix", "name", "reason"),
    [
        ([[1, 2], [None, None]], "alpha_ordinal", "no unit has two answers"),
        ([[3, 3], [3, 3]], "alpha_ordinal", "all answers are the same"),
        (
            [[3, 3], [3, 3]],
            "ac1",
            "all answers are the same, and no scale names other categories",
        ),
        (
            [[1, 2, None], [1, None, 2]],
            "icc_2_1",
            "only one unit was rated by all 2 annotators",
        ),
        (
            [[1, 2, None], [1, None, 2], [None, 3, 4]],
            "icc_2_1",
            "no unit was rated by all 3 annotators",
        ),
        # (R - E) / R of Shrout and Fleiss with R = 0, and then -1 / -0.5 = 2.
        (
            [[0, 1], [1, 0]],
            "icc_2_1",
            "the estimated variance of the ratings is not positive",
        ),
        (
            [[0, 1], [1, 0]],
            "icc_2_k",
            "the estimated variance of the ratings is not positive",
        ),
        (
            [[4, 3, 3], [3, 3, 3]],
            "rater_vs_rest_spearman",
            "for each annotator, the own ratings or the means of the others are all "
            "the same",
        ),
        (
            [[3, 3], [4, 4]],
            "rater_vs_rest_kendall",
            "each annotator gave one rating throughout",
        ),
    ],
)
def test_undefined_is_empty_with_a_reason(matrix, name, reason):
    row = table(reliability(np.array(matrix, float)), resamples=10)[name].estimate
    assert np.isnan(row.value)
    assert np.isnan(row.low)
    assert row.reason == reason
