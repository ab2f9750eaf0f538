"""Significance clusters."""

import itertools

import numpy as np
import pandas as pd
import pytest

from analysis.correlations.metric_differences import cluster_rows
from analysis.inference.cluster_variance import metric_pairs
from analysis.statistics import COLUMNS

FAMILY = {"dimension": "d", "level": "story", "coefficient": "kendall"}


def tables(values, p_adjusted):
    """Make both tables from values by metric and adjusted p by pair (1 if absent)."""
    correlations = pd.DataFrame(
        [
            {
                **FAMILY,
                "metric": m,
                "value": v,
                "low": v,
                "high": v,
                "n": 9,
                "reason": "all the same" if np.isnan(v) else "",
            }
            for m, v in values.items()
        ]
    )
    comparisons = pd.DataFrame(
        [
            {
                **FAMILY,
                "metric_a": a,
                "metric_b": b,
                "difference": values[a] - values[b],
                "p_value": p_adjusted.get(a + b, 1.0),
                "p_adjusted": p_adjusted.get(a + b, 1.0),
            }
            for a, b in itertools.combinations(sorted(values), 2)
        ],
        columns=[
            *FAMILY,
            "metric_a",
            "metric_b",
            "difference",
            "p_value",
            "p_adjusted",
        ],
    )
    return correlations, comparisons


def clusters(values, p_adjusted):
    return {
        row["metric"]: (row["cluster"], row["candidate"])
        for row in cluster_rows(*tables(values, p_adjusted))
    }


def test_cluster_begins_where_any_metric_of_the_one_above_is_better():
    """The rule of WMT23, section 6."""
    values = {"a": 0.9, "b": 0.8, "c": 0.5, "d": 0.4}
    # c is worse than a, though not than b; d is worse than a and b, not than c.
    p_values = {"ac": 0.01, "ad": 0.01, "bd": 0.01, "bc": 0.2, "cd": 0.3}
    assert clusters(values, p_values) == {
        "a": (1, True),
        "b": (1, True),
        "c": (2, False),
        "d": (2, False),
    }


def test_candidate_for_best_is_tested_one_sided_against_the_best():
    """Bonferroni over the others of half the two-sided p-value."""
    values = {"a": 0.9, "b": 0.8, "c": 0.5, "d": 0.4}
    rows = cluster_rows(*tables(values, {"ab": 0.5, "ac": 0.03, "ad": 0.04}))
    assert [row["p_best"] for row in rows] == pytest.approx([1.0, 0.75, 0.045, 0.06])
    assert [row["candidate"] for row in rows] == [True, True, False, True]


def test_many_metrics_are_compared_with_the_best_and_own_ones_two_by_two():
    names = [f"m{k:02d}" for k in range(30)]
    values = np.linspace(0, 0.5, 30)
    values[7] = 0.9
    pairs = metric_pairs(values, names, {"m03", "m10", "m20"})
    with_best = {(min(k, 7), max(k, 7)) for k in range(30) if k != 7}
    assert set(pairs) == with_best | {(3, 10), (3, 20), (10, 20)}
    assert len(metric_pairs(values[:20], names[:20], ())) == 190


def test_first_cluster_of_many_metrics_holds_the_candidates_for_best():
    values = {f"m{k:02d}": 0.9 - k / 50 for k in range(30)}
    correlations, comparisons = tables(values, {"m00m05": 0.001, "m00m29": 0.0001})
    with_best = comparisons[comparisons["metric_a"] == "m00"]
    found = {r["metric"]: r for r in cluster_rows(correlations, with_best)}
    assert {m for m, r in found.items() if r["cluster"] == 2} == {"m05", "m29"}
    assert not found["m05"]["candidate"]
    assert found["m06"]["candidate"]


def test_undefined_difference_of_the_best_two_leaves_the_worst_no_candidate():
    correlations, comparisons = tables(
        {"a": 0.6, "b": 0.55, "c": 0.1}, {"ac": 0.001, "bc": 0.001}
    )
    between = comparisons["metric_b"] == "b"
    comparisons.loc[between, ["difference", "p_value", "p_adjusted"]] = np.nan
    found = {r["metric"]: r for r in cluster_rows(correlations, comparisons)}
    assert {m: r["cluster"] for m, r in found.items()} == {"a": 1, "b": 1, "c": 2}
    assert [found[m]["candidate"] for m in "abc"] == [True, True, False]


def test_undefined_metrics_stand_last_without_a_cluster():
    rows = cluster_rows(*tables({"a": np.nan, "b": 0.9, "c": 0.2}, {"bc": 0.01}))
    assert [row["metric"] for row in rows] == ["b", "c", "a"]
    assert np.isnan(rows[2]["cluster"])
    assert rows[2]["candidate"] is None
    assert rows[2]["reason"] == "all the same"
    assert set(rows[0]) == set(COLUMNS["clusters"])
