"""Tests that the best few methods differ from all others."""

import numpy as np
import pandas as pd
import pytest

from analysis.rankings.method_verdicts import top_methods, top_rows

RANKS = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}


def pairs(**p_values):
    """All pairs, the first one ahead; `ba` names one that is behind."""
    rows = []
    for i, a in enumerate("abcd"):
        for b in "abcd"[i + 1 :]:
            ahead = b + a not in p_values
            p_value = p_values.get(a + b, p_values.get(b + a, 0.01))
            rows.append(
                {
                    "question": "q",
                    "source": "choices",
                    "part": 1,
                    "method_a": a,
                    "method_b": b,
                    "difference": 10.0 if ahead else -10.0,
                    "p_value": p_value,
                    "p_adjusted": min(1.0, 6 * p_value),
                }
            )
    return rows


def test_largest_p_of_all_that_cross_decides():
    found = top_methods(RANKS, pairs(ad=0.04, ab=0.9, cd=0.8), 2)
    assert found.methods == ("a", "b")
    assert found.p_value == 0.04


def test_pair_the_other_way_round_is_against_the_set():
    assert top_methods(RANKS, pairs(ca=0.2), 2).p_value == 1


def test_shared_place_makes_no_set():
    found = top_methods(RANKS | {"c": 2.0}, pairs(), 2)
    assert found.methods == ()
    assert np.isnan(found.p_value)


@pytest.mark.parametrize(("p_value", "verdict"), [(0.049, "apart"), (0.051, "open")])
def test_row_says_whether_the_set_is_shown(p_value, verdict):
    board = pd.DataFrame(
        {
            "criterion": "q",
            "method": list("abcd"),
            "rating": [4.0, 3, 2, 1],
            "rank": [1, 2, 3, 4],
            "n_comparisons": 9,
            "drawn": "stories",
            "part": 1,
        }
    )
    tables = {
        "leaderboard": board,
        "method_comparisons": pd.DataFrame(pairs(bc=p_value)),
    }
    (row,) = top_rows(tables, 2, 0.95)
    # ab differs at .06 only if that level is asked for.
    assert (row["n_inside"], row["n_inside_apart"]) == (1, 0)
    (loose,) = top_rows(tables, 2, 0.9)
    assert (loose["n_inside_apart"], loose["verdict"]) == (1, "apart")
    assert row["methods"] == "a, b"
    assert row["verdict"] == verdict
    assert row["p_value"] == pytest.approx(p_value)
    assert row["level"] == pytest.approx(0.05)
    assert (row["size"], row["n_methods"], row["drawn"]) == (2, 4, "stories")
    assert top_rows(tables, 4, 0.95) == []
