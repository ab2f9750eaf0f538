"""A part of a benchmark against the whole."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.inference.resampling import unit_of
from analysis.planning import best_subset
from analysis.planning.best_subset import best_subsets, score_boards
from analysis.planning.subset import subset_rows
from analysis.reading.scores import score_table
from analysis.statistics import COLUMNS

# ViStoryBench, table S2: full, Lite, and their difference in per cent.
TABLE_S2 = {
    "csd_cross": (0.325, 0.373, 13.78),
    "csd_self": (0.569, 0.626, 9.55),
    "cids_self": (0.600, 0.620, 3.21),
    "occm": (62.487, 65.351, 4.48),
    "aesthetic": (4.894, 5.027, 2.68),
    "inception_score": (11.510, 9.787, -16.17),
}


def scores(values, metric="k", **columns):
    """Long scores of a stories-by-methods array."""
    rows = [
        {"story": f"s{s:02d}", "method": f"m{m:02d}", "metric": metric, "score": value}
        for (s, m), value in np.ndenumerate(values)
    ]
    return pd.DataFrame(rows).assign(**columns)


def simulated(S=24, M=12, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=M) + rng.normal(size=(S, 1)) + noise * rng.normal(size=(S, M))
    )


def compared(full, subset, resamples=0, seed=0):
    rows = subset_rows(
        full, subset, name="lite", resamples=resamples, confidence=0.95, seed=seed
    )
    assert all(set(row) == set(COLUMNS["subset"]) for row in rows)
    return {(row["metric"], row["statistic"]): row for row in rows}


def boards(*frames):
    return score_boards(score_table(pd.concat(frames)))


def published(shared, name):
    wide = pd.read_csv(shared / f"published/vistorybench_{name}_metrics.csv")
    wide = wide.drop(columns=["family", "base_model"])
    long = wide.melt("method", var_name="metric", value_name="score").dropna()
    return score_boards(score_table(long.assign(story="")))


@pytest.mark.shared
def test_vistorybench_prints_means_over_different_methods(shared):
    found = compared(published(shared, "full"), published(shared, "lite"))
    for metric, (full, lite, percent) in TABLE_S2.items():
        whole = found[metric, "mean_full_all_methods"]["value"]
        assert whole == pytest.approx(full, abs=0.002), metric
        part = found[metric, "mean_subset_all_methods"]["value"]
        assert part == pytest.approx(lite, abs=0.002), metric
        symmetric = found[metric, "difference_percent_symmetric_all_methods"]["value"]
        assert symmetric == pytest.approx(percent, abs=0.1), metric
        # 22 methods stand in the full table, 35 in the other: with the same ones ...
        assert found[metric, "kendall"]["n"] == 22
    same = found["csd_cross", "difference_percent_symmetric"]["value"]
    # ... the difference of style between the two sets is another one.
    assert same != pytest.approx(13.78, abs=1)
    assert found["csd_cross", "spearman"]["value"] > 0.9


def test_subset_of_stories():
    values = simulated()
    subset = [f"s{s:02d}" for s in range(6)]
    found = compared(boards(scores(values)), subset, resamples=200)
    whole, part, rest = values.mean(0), values[:6].mean(0), values[6:].mean(0)
    assert found["k", "mean_full"]["value"] == pytest.approx(whole.mean())
    percent = 100 * (part.mean() - whole.mean()) / abs(whole.mean())
    assert found["k", "difference_percent"]["value"] == pytest.approx(percent)
    tau = stats.kendalltau(whole, part)[0]
    assert found["k", "kendall"]["value"] == pytest.approx(tau)
    assert found["k", "kendall"]["low"] < tau <= found["k", "kendall"]["high"]
    others = stats.spearmanr(part, rest)[0]
    assert found["k", "spearman_others"]["value"] == pytest.approx(others)
    change = np.abs(stats.rankdata(whole) - stats.rankdata(part)).max()
    assert found["k", "largest_rank_change"]["value"] == change
    best = float(whole.argmax() == part.argmax())
    assert found["k", "top_kept"]["value"] == best


def best(values, sizes=(4,)):
    rows, stories = best_subsets(
        boards(scores(values)), sizes=sizes, confidence=0.95, seed=0
    )
    assert all(set(row) == set(COLUMNS["best_subset"]) for row in rows)
    assert all(set(row) == set(COLUMNS["subset_stories"]) for row in stories)
    return {(row["statistic"], row["source"]): row for row in rows}, stories


def test_best_subset_finds_the_stories_that_are_like_the_whole():
    rng = np.random.default_rng(3)
    noise = np.where(np.arange(24) < 6, 0.05, 2.0)[:, None]
    values = rng.normal(size=12) + noise * rng.normal(size=(24, 12))
    found, stories = best(values)
    chosen = [row["story"] for row in stories]
    assert len(set(chosen)) == 4
    assert found["kendall", "gain"]["value"] > 0.05
    assert found["kendall", "heldout"]["value"] > found["kendall", "random"]["value"]


def test_methods_of_the_check_had_no_part_in_the_choice(monkeypatch):
    seen = []

    def distances(cube):
        seen.append([set(cube[0, 0])])
        return real_distances(cube)

    def against_whole(values, subsets):
        seen[-1].append(set(values[0]))
        return real_against(values, subsets)

    real_distances = best_subset._distances
    real_against = best_subset._against_whole
    monkeypatch.setattr(best_subset, "_distances", distances)
    monkeypatch.setattr(best_subset, "_against_whole", against_whole)
    values = simulated(S=10, M=9)
    values = values / unit_of(values)
    best(values)
    # Last comes the choice on all methods, which is printed and not checked.
    assert seen.pop() == [set(values[0])]
    assert len(seen) == best_subset.SPLITS
    for chosen_on, held, same, random in seen:
        assert len(chosen_on) == 4
        assert chosen_on | held == set(values[0])
        assert not chosen_on & held
        assert same == chosen_on
        assert random == held
