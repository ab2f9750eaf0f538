"""Williams' test of two metrics."""

import json

import numpy as np
import pytest

from analysis.correlations.metric_differences import williams_rows, williams_t
from analysis.statistics import COLUMNS
from tests.analysis.correlations.test_metric_differences import (
    two_metrics,
    with_metrics,
)


@pytest.mark.shared
def test_williams_t_equals_published_cases(shared):
    cases = json.loads((shared / "data/agreement_cases.json").read_text())["williams"]
    for case in cases:
        t, p_value = williams_t(case["r12"], case["r13"], case["r23"], case["n"])
        assert t == pytest.approx(case["t"], abs=1e-9)
        assert p_value == pytest.approx(2 * case["p_one_sided"], abs=1e-9)


def test_williams_rows_have_columns_and_reasons():
    grid = two_metrics(n_methods=6)
    flat = np.ones_like(grid.human)
    rows = williams_rows(with_metrics(grid, *grid.scores, flat))
    assert [(row["metric_a"], row["metric_b"]) for row in rows] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    assert all(set(row) == set(COLUMNS["williams"]) for row in rows)
    assert rows[0]["reason"] == ""
    assert rows[0]["p_adjusted"] == rows[0]["p_value"]  # the only test
    assert rows[1]["reason"] == "the metric's scores are all the same"
    few = williams_rows(two_metrics(n_methods=3))
    assert few[0]["reason"] == "3 methods: four at least are needed"
