"""How alike annotators rank, against Kendall's tau of scipy."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from analysis.reliability.annotator_pairs import ranking_agreement


def ranked(noise, n_stories=12, annotators=4, k=4, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for s, a in itertools.product(range(n_stories), range(annotators)):
        for rank, m in enumerate(np.argsort(np.arange(k) + noise * rng.normal(size=k))):
            rows.append((f"s{s}", f"m{m}", "q", f"a{a}", rank + 1))
    names = ["story", "method", "criterion", "annotator", "rank"]
    return pd.DataFrame(rows, columns=names)


def test_it_is_the_mean_tau_of_all_pairs_of_annotators():
    rankings = ranked(2.0)
    row = ranking_agreement(rankings, question="q", resamples=300)
    wide = rankings.pivot_table(
        index=["story", "method"], columns="annotator", values="rank"
    )
    taus = [
        kendalltau(own[a], own[b])[0]
        for _, own in wide.groupby(level="story")
        for a, b in itertools.combinations(wide.columns, 2)
    ]
    assert row["value"] == pytest.approx(np.mean(taus))
    assert row["low"] < row["value"] < row["high"]
    assert (row["n_units"], row["n_annotators"], row["n_answers"]) == (72, 4, 288)


def test_strong_methods_are_no_chance():
    row = ranking_agreement(ranked(0.0), question="q", resamples=20)
    assert row["value"] == 1
    assert row["reason"] == "no interval: every resample gives the same value"
    guessed = ranking_agreement(ranked(1e6, n_stories=200), question="q", resamples=300)
    assert guessed["low"] < 0 < guessed["high"]
    assert abs(guessed["value"]) < 0.1


def test_names_of_methods_do_not_matter():
    rankings = ranked(2.0)
    other = rankings.assign(method=rankings["method"].map(lambda m: f"{9 - int(m[1])}"))
    rows = [ranking_agreement(r, question="q", resamples=50) for r in (rankings, other)]
    assert rows[0] == rows[1]


def test_one_annotator_a_story_has_a_reason():
    row = ranking_agreement(ranked(1.0, annotators=1), question="q")
    assert np.isnan(row["value"])
    assert row["reason"] == "no two annotators ranked the same two outputs"
    assert row["n_units"] == 0


def test_one_story_has_no_interval():
    row = ranking_agreement(ranked(1.0, n_stories=1), question="q")
    assert np.isfinite(row["value"])
    assert np.isnan(row["low"])
