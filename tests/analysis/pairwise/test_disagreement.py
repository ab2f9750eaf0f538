"""Outputs and pairs on which a metric and people disagree."""

import numpy as np
import pandas as pd
import pytest

from analysis.pairwise import metric_errors as disagreement
from analysis.pairwise.metric_errors import cell_disagreement, pair_disagreement
from analysis.pairwise.output_pairs import rating_pairs
from analysis.statistics import COLUMNS
from tests.analysis.pairwise.test_accuracy import grid_of

UP, DOWN = {"k": True}, {"k": False}


def study(human, score, **more):
    frame = pd.DataFrame(
        [(s, m) for s in human for m in "abc"[: len(human[s])]],
        columns=["story", "method"],
    )
    flat = [x for values in human.values() for x in values]
    ratings = frame.assign(dimension="d", annotator="Ann", rating=flat)
    scores = frame.assign(
        metric="k", score=[float(x) for values in score.values() for x in values]
    )
    return grid_of(ratings, scores.assign(**more))


HUMAN = {"s": [1, 2, 3], "t": [4, 5, 6]}
# The metric loves s/a, which people like least, and dislikes t/c.
SCORE = {"s": [60, 20, 30], "t": [40, 50, 10]}


def test_cells_by_difference_of_ranks(monkeypatch):
    monkeypatch.setattr(disagreement, "MOST", 3)
    rows = cell_disagreement(study(HUMAN, SCORE), UP)
    assert set(rows[0]) == set(COLUMNS["disagreement"])
    found = [(r["story"], r["method"], round(r["value"] * 6)) for r in rows]
    assert found == [("s", "a", 5), ("t", "c", -5), ("s", "b", 0)]
    first = rows[0]
    assert (first["human"], first["score"], first["n"]) == (1.0, 60.0, 6)
    assert (first["kind"], first["other_method"]) == ("cell", "")
    assert np.isnan([first["human_other"], first["score_other"]]).all()


def test_pairs_in_which_the_metric_prefers_what_people_reject():
    pairs = rating_pairs(study(HUMAN, SCORE))
    rows = pair_disagreement(pairs, UP)
    # s: a over b and a over c; t: a over c and b over c; all against people.
    assert [(r["story"], r["method"], r["other_method"]) for r in rows] == [
        ("s", "a", "c"),
        ("t", "a", "c"),
        ("s", "a", "b"),
        ("t", "b", "c"),
    ]
    assert set(rows[0]) == set(COLUMNS["disagreement"])
    first = rows[0]
    assert (first["human"], first["human_other"]) == (1.0, 3.0)
    assert (first["score"], first["score_other"]) == (60.0, 30.0)
    # People: 2 is the largest difference (shared by two of six pairs), the metric's
    # 30 shares ranks 3 and 4.
    assert first["value"] == pytest.approx((5.5 - 0.5) / 6 + (3.5 - 0.5) / 6)
    assert first["n"] == 6
