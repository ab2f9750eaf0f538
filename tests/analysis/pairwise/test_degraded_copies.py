"""Metrics on degraded copies: counts, intervals, verdicts."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from analysis.pairwise.metric_errors import sanity_rows
from analysis.problems import InputError
from analysis.reading.inputs import read_twins
from analysis.reading.scores import score_table
from analysis.statistics import COLUMNS
from analysis.verdicts import verdict_rows
from tests.analysis.test_verdicts import pairwise


def originals(n, methods=("UNO",), *, higher_is_better=True):
    rows = [(f"s{k}", m, "csd", 0.5) for k in range(n) for m in methods]
    frame = pd.DataFrame(rows, columns=["story", "method", "metric", "score"])
    return score_table(frame.assign(higher_is_better=higher_is_better))


def twins(scores, method="UNO", kind="blurred"):
    rows = [(f"s{k}", method, kind, "csd", score) for k, score in enumerate(scores)]
    return pd.DataFrame(rows, columns=["story", "method", "twin", "metric", "score"])


@pytest.mark.parametrize(
    ("scores", "missed", "alike", "verdict"),
    [
        ([0.6] * 9, 9, 0, "does not see"),
        ([0.5] * 9, 9, 9, "does not see"),
        # They differ by rounding only.
        ([0.5 - 1e-13] * 9, 9, 9, "does not see"),
        ([0.1] * 9, 0, 0, "sees"),
        ([0.1] * 8 + [0.6], 1, 0, "sees"),
        ([0.1] * 7 + [0.6, 0.7], 2, 0, "cannot be told"),
        ([0.6] * 5, 5, 0, "cannot be told"),
        ([0.6] * 6, 6, 0, "does not see"),
    ],
)
def test_interval_is_exact_with_one_output_a_story(scores, missed, alike, verdict):
    (row,) = sanity_rows(originals(9), twins(scores))
    n = len(scores)
    assert (row["n_missed"], row["n_alike"], row["n"]) == (missed, alike, n)
    low, high = proportion_confint(missed, n, method="beta")
    assert row["low"] == pytest.approx(np.nan_to_num(low))
    assert row["high"] == pytest.approx(np.nan_to_num(high, nan=1.0))
    assert row["low"] < row["high"]
    assert row["verdict"] == verdict


def sanity(*rows):
    usual = {"n_stories": 9, "n": 9, "n_alike": 0, "n_unknown": 0, "low": 0.66}
    usual |= {"high": 1.0, "value": 1.0, "n_missed": 9, "verdict": "does not see"}
    return pd.DataFrame([usual | row for row in rows], columns=list(COLUMNS["sanity"]))


def test_verdicts_name_the_degradation_that_is_seen_least():
    table = sanity(
        {"metric": "csd", "twin": "a", "n_missed": 3, "value": 1.0, "verdict": "sees"},
        {"metric": "csd", "twin": "b", "n_missed": 8, "value": 0.9},
        {"metric": "fid", "twin": "a", "n_missed": 0, "value": 0.0, "verdict": "sees"},
    )
    rows = verdict_rows(
        {
            "pairwise_accuracy": pairwise({}, {"metric": "fid"}, {"metric": "dino"}),
            "sanity": table,
        }
    )
    kept = ("twins", "n_twins", "n_twins_missed", "twins_verdict")
    found = {row["metric"]: [row.get(name) for name in kept] for row in rows}
    assert found["csd"] == ["b", 9, 8, "does not see"]
    assert found["fid"] == ["a", 9, 0, "sees"]
    assert found["dino"] == [None] * 4


def test_bad_twins_are_refused(tmp_path):
    path = tmp_path / "twins.csv"
    path.write_text(
        "story,method,twin,metric,score\n"
        "a,UNO,blurred,csd,0.5\na,UNO,blurred,csd,0.6\n"
        "a,UNO,,csd,0.5\nb,UNO,blurred,cds,1\nb,UNO,blurred,csd,high\n"
    )
    with pytest.raises(InputError) as caught:
        read_twins(path, {"csd", "fid"})
    assert caught.value.lines() == [
        "twins.csv:3: a / UNO / blurred / csd: expected a row that is there once; line "
        "2 has the same story, method, twin, metric",
        "twins.csv:4: twin: (empty): expected a name",
        "twins.csv:5: metric: cds: expected one of csd, fid",
        "twins.csv:6: score: high: expected a number such as 3 or 0.75, without "
        "separators",
    ]
