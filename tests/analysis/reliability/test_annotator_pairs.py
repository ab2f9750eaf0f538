"""Each two annotators, against krippendorff and scipy on the answers of these two."""

import itertools

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from analysis.reliability import annotator_pairs as module
from analysis.reliability.annotator_pairs import annotator_pairs, ranking_pairs
from analysis.reliability.matrices import choice_reliability, rating_reliability
from tests.analysis.reliability.test_ranking_agreement import ranked

SAMPLING = {"resamples": 0, "confidence": 0.95, "seed": 0}


def rated(n_people=4, n_stories=15, missing=0.2, seed=0):
    rng = np.random.default_rng(seed)
    rows = [
        (f"s{s}", m, "q", f"p{a}", int(np.clip(s % 4 + rng.integers(-1, 2), 0, 4)))
        for a, s, m in itertools.product(range(n_people), range(n_stories), "xy")
        if rng.random() >= missing
    ]
    return pd.DataFrame(
        rows, columns=["story", "method", "dimension", "annotator", "rating"]
    )


def pairs(rows, statistic="alpha_ordinal", **options):
    data = (choice_reliability if "choice" in rows else rating_reliability)(rows)
    options = SAMPLING | options
    found, _notes = annotator_pairs(data, statistic, question="q", **options)
    return {(row["annotator_a"], row["annotator_b"]): row for row in found}


def wide(rows, value="rating"):
    keys = [c for c in ("story", "method", "method_a", "method_b") if c in rows]
    return rows.pivot(index=keys, columns="annotator", values=value)


def test_each_pair_has_the_alpha_of_its_two_rows_over_what_both_answered():
    rows = rated()
    found, table = pairs(rows), wide(rows)
    assert list(found) == list(itertools.combinations(["p0", "p1", "p2", "p3"], 2))
    for (a, b), row in found.items():
        both = table[[a, b]].dropna()
        alpha = krippendorff.alpha(both.to_numpy().T, level_of_measurement="ordinal")
        assert row["value"] == pytest.approx(alpha)
        assert row["n"] == len(both) < len(table)
        assert np.isnan(row["low"])


def test_choices_are_nominal():
    rng = np.random.default_rng(1)
    rows = [
        (f"s{s}", "x", "y", "q", f"p{a}", rng.choice(["a", "b", "tie"]))
        for a, s in itertools.product(range(3), range(30))
    ]
    names = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    rows = pd.DataFrame(rows, columns=names)
    table = wide(rows, "choice").apply(lambda x: pd.factorize(x, sort=True)[0])
    for (a, b), row in pairs(rows, "alpha_nominal").items():
        alpha = krippendorff.alpha(
            table[[a, b]].to_numpy().T, level_of_measurement="nominal"
        )
        assert row["value"] == pytest.approx(alpha)


def test_rankings_have_the_tau_of_the_two():
    rankings = ranked(2.0)
    found, _notes = ranking_pairs(rankings, question="q", **SAMPLING)
    table = rankings.pivot_table(
        index=["story", "method"], columns="annotator", values="rank"
    )
    assert len(found) == 6
    for row in found:
        taus = [
            kendalltau(own[row["annotator_a"]], own[row["annotator_b"]])[0]
            for _, own in table.groupby(level="story")
        ]
        assert row["value"] == pytest.approx(np.mean(taus))
        assert (row["n"], row["statistic"]) == (72, "kendall_between_annotators")
    few, _notes = ranking_pairs(ranked(2.0, n_stories=1), question="q", **SAMPLING)
    assert {row["reason"] for row in few} == {module.TOO_FEW}


def test_of_too_few_common_units_there_is_a_reason_and_no_value():
    rows = rated(missing=0)
    gone = (rows["annotator"] == "p3") & ~rows["story"].isin(["s0", "s1"])
    alone = rows["annotator"] == "p2"
    rows.loc[alone, "story"] = "other " + rows["story"]
    found = pairs(rows[~gone])
    assert set(found) == {("p0", "p1"), ("p0", "p3"), ("p1", "p3")}
    row = found["p0", "p3"]
    assert np.isnan(row["value"])
    assert (row["n"], row["reason"]) == (4, module.TOO_FEW)
    at_limit = rows["annotator"].eq("p3") & rows["story"].isin(
        [f"s{i}" for i in range(5)]
    )
    row = pairs(rows[~rows["annotator"].eq("p3") | at_limit])["p0", "p3"]
    assert row["n"] == module.FEW_UNITS
    assert np.isfinite(row["value"])


def test_of_many_pairs_intervals_and_rows_without_a_value_are_left_out(monkeypatch):
    rows = rated()
    few = rows[rows["annotator"].ne("p3") | rows["story"].eq("s1")]
    monkeypatch.setattr(module, "MOST_DRAWN", 5)
    found = pairs(few, resamples=50)
    assert found["p0", "p1"]["reason"] == module.NOT_DRAWN
    assert np.isnan(found["p0", "p1"]["low"])
    assert found["p0", "p3"]["reason"] == module.TOO_FEW
    monkeypatch.setattr(module, "MOST_PAIRS", 5)
    found = pairs(few, resamples=50)
    assert len(found) == 3
    assert found["p0", "p1"]["reason"] == ""
    monkeypatch.setattr(module, "MOST_PAIRS", 2)
    data = rating_reliability(few)
    found, (note,) = annotator_pairs(data, "alpha_ordinal", question="q", **SAMPLING)
    assert found == []
    assert "since 3 pairs of them answered enough in common, and at most 2" in note


@pytest.mark.shared
def test_raters_of_dsg(shared):
    rows = pd.read_csv(shared / "data/dsg/ratings.csv")
    found, table = pairs(rows), wide(rows)
    assert len(found) == 10
    for (a, b), row in found.items():
        both = table[[a, b]].dropna().to_numpy().T
        alpha = krippendorff.alpha(both, level_of_measurement="ordinal")
        assert row["value"] == pytest.approx(alpha, abs=1e-9)
