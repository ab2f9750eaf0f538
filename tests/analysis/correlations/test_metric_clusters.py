"""Significance clusters."""

import itertools

import numpy as np
import pandas as pd

from analysis.correlations.metric_differences import cluster_rows
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


def test_undefined_metrics_stand_last_without_a_cluster():
    rows = cluster_rows(*tables({"a": np.nan, "b": 0.9, "c": 0.2}, {"bc": 0.01}))
    assert [row["metric"] for row in rows] == ["b", "c", "a"]
    assert np.isnan(rows[2]["cluster"])
    assert rows[2]["candidate"] is None
    assert rows[2]["reason"] == "all the same"
    assert set(rows[0]) == set(COLUMNS["clusters"])
