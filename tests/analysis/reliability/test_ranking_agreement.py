"""Agreement of rankings, against Kendall's tau of scipy."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from analysis.reliability.ranking_annotators import ranking_agreement


def ranked(noise, n_stories=12, annotators=4, k=4, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for s, a in itertools.product(range(n_stories), range(annotators)):
        for rank, m in enumerate(np.argsort(np.arange(k) + noise * rng.normal(size=k))):
            rows.append((f"s{s}", f"m{m}", "q", f"a{a}", rank + 1))
    names = ["story", "method", "criterion", "annotator", "rank"]
    return pd.DataFrame(rows, columns=names)


def test_ranking_agreement_is_mean_tau_of_annotator_pairs():
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


def test_ranking_agreement_is_tau_b_when_ranks_tie():
    """Of two annotators and one story; pooled, sums of both are averaged."""
    rankings = ranked(1.0, n_stories=1, annotators=2, k=9, seed=2)
    rankings["rank"] = (rankings["rank"] + 2) // 3
    wide = rankings.pivot_table(index="method", columns="annotator", values="rank")
    row = ranking_agreement(rankings, question="q", resamples=0)
    assert row["value"] == pytest.approx(kendalltau(wide["a0"], wide["a1"])[0])


def test_ranking_agreement_has_a_reason_when_all_outputs_tie():
    row = ranking_agreement(ranked(1.0).assign(rank=1), question="q")
    assert np.isnan(row["value"])
    assert row["reason"] == "all outputs that two ranked tie"
