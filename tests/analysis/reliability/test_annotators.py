"""Each annotator against the others."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.reading.column_cleaning import kept_rows
from analysis.reading.kept_answers import CHOICE_KEYS, RATING_KEYS
from analysis.reliability.annotators import choice_annotators, rating_annotators
from analysis.statistics import COLUMNS


def ratings(matrix):
    """Rows of a raters-by-outputs matrix; NaN is missing."""
    rows = [
        {
            "story": f"s{u // 4}",
            "method": f"m{u % 4}",
            "dimension": "d",
            "annotator": f"r{a}",
            "rating": value,
        }
        for a, values in enumerate(np.asarray(matrix, float))
        for u, value in enumerate(values)
        if np.isfinite(value)
    ]
    return kept_rows(pd.DataFrame(rows), RATING_KEYS)


def found(rows, resamples=0, function=rating_annotators, **options):
    table = function(rows, resamples=resamples, confidence=0.95, seed=0, **options)
    frame = pd.DataFrame(table, columns=list(COLUMNS["annotators"]))
    return frame.set_index(["annotator", "statistic"])


def test_statistics_by_hand():
    rows = found(ratings([[1, 2, 3, 4], [1, 3, 3, np.nan], [2, 3, 5, np.nan]]))
    # Others of r0: means 1.5, 3, 4 on three units; nobody else rated the fourth.
    value, n = rows["value"], rows["n"]
    assert value["r0", "n_answers"] == 4
    assert value["r0", "severity"] == pytest.approx((-0.5 - 1 - 1) / 3)
    assert n["r0", "severity"] == 3
    # Equal to one of two others on units 0 and 2, to none on unit 1.
    assert value["r0", "exact_agreement"] == pytest.approx((0.5 + 0 + 0.5) / 3)
    assert value["r0", "sd"] == pytest.approx(np.std([1, 2, 3, 4], ddof=1))
    assert value["r1", "most_frequent_share"] == pytest.approx(2 / 3)
    assert value["r0", "spearman_others"] == pytest.approx(1)


def test_correlations_as_scipy_computes_them():
    rng = np.random.default_rng(0)
    quality = rng.normal(2, 1, 60)
    matrix = np.clip(np.round(quality + rng.normal(0, 1, (5, 60))), 0, 4)
    matrix[rng.random(matrix.shape) < 0.4] = np.nan
    rows = found(ratings(matrix))
    for a in range(5):
        rest = np.delete(matrix, a, axis=0)
        shared = np.isfinite(matrix[a]) & np.isfinite(rest).any(axis=0)
        x, z = matrix[a, shared], np.nanmean(rest[:, shared], axis=0).round(9)
        tau, rho = stats.kendalltau(x, z).statistic, stats.spearmanr(x, z).statistic
        assert rows.loc[(f"r{a}", "kendall_others"), "value"] == pytest.approx(tau)
        assert rows.loc[(f"r{a}", "spearman_others"), "value"] == pytest.approx(rho)
        assert rows.loc[(f"r{a}", "spearman_others"), "n"] == shared.sum()


def choices(answers, left=None):
    rows = [
        {
            "story": f"s{u}",
            "method_a": "x",
            "method_b": "y",
            "criterion": "q",
            "annotator": f"r{a}",
            "choice": choice,
        }
        for u, unit in enumerate(answers)
        for a, choice in enumerate(unit)
    ]
    frame = pd.DataFrame(rows)
    if left is not None:
        frame["left_method"] = left
    return kept_rows(frame, CHOICE_KEYS)


def test_choices_by_hand():
    answers = [["a", "a", "a"], ["b", "a", "a"], ["tie", "a", "b"], ["a", "b", "b"]]
    rows = found(choices(answers), 50, choice_annotators)
    value = rows["value"]
    # r0 against the other two: they agree on units 0, 1 and 3; r0 is with them once.
    assert value["r0", "majority_agreement"] == pytest.approx(1 / 3)
    assert rows.loc[("r0", "majority_agreement"), "n"] == 3
    assert value["r0", "exact_agreement"] == pytest.approx(1 / 4)
    assert value["r0", "tie_share"] == pytest.approx(1 / 4)
    assert ("r0", "left_share") not in rows.index


def test_preference_of_a_side():
    left = ["x", "x", None, "y", "y", "x"]
    answers = [["a", "a"], ["a", "b"], ["b", "tie"]]
    rows = found(choices(answers, left), 0, choice_annotators)
    # r0: x left of s0, won; side of s1 unknown; y left of s2, won.
    assert rows.loc[("r0", "left_share"), "value"] == 1
    assert rows.loc[("r0", "left_share"), "n"] == 2
    # r1: x left of s0, won; y left of s1, won; a tie.
    assert rows.loc[("r1", "left_share"), "n"] == 2
    alone = found(choices([["tie"]], ["x"]), 0, choice_annotators)
    assert alone.loc[("r0", "left_share"), "reason"].startswith("no answer has a win")
    assert alone.loc[("r0", "majority_agreement"), "reason"].startswith("nobody else")
