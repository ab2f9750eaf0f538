"""One value over studies that differ."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects

from analysis.inference.meta_analysis import combined, over_studies

# Log risk ratios of BCG vaccination and their variances (Colditz et al. 1994), rounded:
# the first example of the R package metafor.
VALUES = [
    *(-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209),
    *(0.0120, -0.4694, -1.3713, -0.3394, 0.4459, -0.0173),
]
VARIANCES = [
    *(0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230),
    *(0.0040, 0.0564, 0.0730, 0.0124, 0.5325, 0.0714),
]


def test_value_is_that_of_metafor():
    """rma(yi, vi, method="DL"): -0.7141, tau^2 0.3088, I^2 92.12 %."""
    values, errors = np.array(VALUES), np.sqrt(VARIANCES)
    row = combined(values, errors, 0.95, 0.0)
    assert row["value"] == pytest.approx(-0.7141, abs=3e-4)
    assert row["tau_squared"] == pytest.approx(0.3088, abs=1e-3)
    assert row["i_squared"] == pytest.approx(0.9212, abs=1e-3)


def test_interval_is_that_of_statsmodels():
    values, errors = np.array(VALUES), np.sqrt(VARIANCES)
    row = combined(values, errors, 0.95, 0.0)
    other = combine_effects(values, errors**2, method_re="chi2", use_t=True)
    assert row["value"] == pytest.approx(other.mean_effect_re)
    assert row["error"] == pytest.approx(other.sd_eff_w_re_hksj)
    _fixed, _random, _fixed_hk, hartung_knapp = other.conf_int()
    assert (row["low"], row["high"]) == pytest.approx(hartung_knapp)
    t = abs(row["value"] / row["error"])
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(t, 12))


def test_studies_that_agree_too_well_differ_by_chance_alone():
    row = combined(np.array([0.5, 0.51, 0.49]), np.array([0.1, 0.2, 0.1]), 0.95, 0.0)
    assert row["tau_squared"] == row["i_squared"] == 0
    assert row["value"] == pytest.approx(
        np.average([0.5, 0.51, 0.49], weights=[4, 1, 4])
    )


def row_of(metric, value, error, part="look"):
    names = {"metric": metric, "statistic": "ppa_half", "level": "pairs", "part": part}
    return names | {"value": value, "error": error, "n": 1, "reason": "", "drawn": ""}


def test_study_enters_by_the_value_of_all_its_questions():
    studies = [
        ("one", [row_of("m", 0.6, 0.1), row_of("m", 0.7, 0.05, "")]),
        ("two", [row_of("m", 0.8, 0.05)]),
    ]
    *parts, whole = over_studies(studies, 0.95)
    assert [row["part"] for row in parts] == ["one", "two"]
    assert whole["value"] == pytest.approx(0.75)
    assert (whole["n"], whole["part"]) == (2, "")


def test_question_may_have_any_name():
    rows = [row_of("m", 0.6, 0.1, "all"), row_of("m", 0.7, 0.05, "")]
    *_parts, whole = over_studies([("one", rows), ("two", rows)], 0.95)
    assert whole["value"] == pytest.approx(0.7)


def test_studies_without_an_error_do_not_enter():
    studies = [
        ("one", [row_of("m", 0.6, 0.1), row_of("k", 0.6, 0.1)]),
        ("two", [row_of("m", 0.8, float("nan"))]),
    ]
    wholes = [row for row in over_studies(studies, 0.95) if not row["part"]]
    assert [np.isnan(row["value"]) for row in wholes] == [True, True]
    assert all("only one study" in row["reason"] for row in wholes)
