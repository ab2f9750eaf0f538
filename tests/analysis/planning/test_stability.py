"""A judge over trials, with people and with other judges."""

import numpy as np
import pandas as pd
import pytest

from analysis.planning.stability import judge_values, judges, rating_trials, stability
from analysis.reading.cells import annotator_cells
from analysis.reading.column_cleaning import kept_rows
from analysis.reading.scores import score_table
from analysis.statistics import COLUMNS

OPTIONS = {
    "levels": ("method", "story", "pooled"),
    "coefficients": ("kendall", "spearman", "pearson"),
    "parts": ("stories", "methods"),
    "confidence": 0.95,
    "seed": 0,
}
# Shrout and Fleiss (1979), table 2: six targets, four judges; ICC(2,1) = .29 and
# ICC(2,4) = .62 (their table 4).
SHROUT_FLEISS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]


def answers(cube, judge="gpt"):
    """Ratings of a rounds-by-stories-by-methods array."""
    return pd.DataFrame(
        [
            {
                "story": f"s{s}",
                "method": f"m{m}",
                "dimension": "scene",
                "round": k + 1,
                "annotator": judge,
                "rating": float(value),
            }
            for (k, s, m), value in np.ndenumerate(cube)
        ]
    )


def table(trials, resamples=0):
    rows = stability(trials, resamples=resamples, confidence=0.95, seed=0)
    assert all(set(row) == set(COLUMNS["stability"]) for row in rows)
    return {(row["metric"], row["method"], row["statistic"]): row for row in rows}


def simulated(K=5, S=8, M=3, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    true = 2 + rng.normal(size=(S, M)) + np.arange(M)
    return true + noise * rng.normal(size=(K, S, M))


def test_mean_deviation_and_bounds_over_trials():
    cube = simulated()
    found = table(rating_trials(answers(cube)))
    over_all, of_one = cube.mean(axis=(1, 2)), cube[:, :, 1].mean(axis=1)
    for method, means in (("", over_all), ("m1", of_one)):
        expected = {
            "mean": means.mean(),
            "sd": np.std(means, ddof=1),
            "sd_population": np.std(means),
            "minimum": means.min(),
            "maximum": means.max(),
            "coefficient_of_variation": np.std(means, ddof=1) / means.mean(),
        }
        for name, value in expected.items():
            assert found["gpt", method, name]["value"] == pytest.approx(value), name
    each = np.sqrt(cube.var(axis=0, ddof=1).mean())
    assert found["gpt", "", "sd_output"]["value"] == pytest.approx(each)
    assert found["gpt", "", "mean"]["n"] == 24
    assert found["gpt", "m1", "mean"]["n"] == 8


def test_reliability_of_trials_as_shrout_and_fleiss_print_it():
    cube = np.array(SHROUT_FLEISS, float).T[:, :, None]
    found = table(rating_trials(answers(cube)))
    assert found["gpt", "", "icc_2_1"]["value"] == pytest.approx(0.29, abs=0.005)
    assert found["gpt", "", "icc_2_k"]["value"] == pytest.approx(0.62, abs=0.005)


@pytest.mark.shared
def test_two_published_judges_of_vistorybench_agree(shared):
    gpt = pd.read_csv(shared / "published/vistorybench_lite_metrics.csv")
    qwen = pd.read_csv(shared / "published/vistorybench_qwen_prompt_alignment.csv")
    parts = ("average", "scene", "shot", "character_interaction", "individual_action")

    def long(wide, prefix, judge):
        kept = wide[["method", *(f"{prefix}_{part}" for part in parts)]]
        kept.columns = ["method", *parts]
        rows = kept.melt("method", var_name="question", value_name="value").dropna()
        return rows.assign(story="", metric=judge)

    both = pd.concat([long(gpt, "pa", "GPT-4.1"), long(qwen, "lite", "Qwen3-VL")])
    rows = judges(both, resamples=0, **OPTIONS)
    assert all(set(row) == set(COLUMNS["judges"]) for row in rows)
    found = {(r["question"], r["level"], r["coefficient"]): r for r in rows}
    # H.7: 34 methods, "high" Pearson and Spearman for the average, "moderate to
    # strong" for the parts; the numbers are lost in the text at hand. These are
    # pandas' on the same columns.
    assert found["average", "method", "pearson"]["n"] == 34
    assert found["average", "method", "pearson"]["value"] == pytest.approx(
        0.960032, abs=1e-6
    )
    assert found["average", "method", "spearman"]["value"] == pytest.approx(
        0.939028, abs=1e-6
    )
    values = [found[part, "method", "pearson"]["value"] for part in parts[1:]]
    assert values == pytest.approx([0.931161, 0.870352, 0.904886, 0.492985], abs=1e-6)
    assert "whole methods" in found["average", "story", "pearson"]["reason"]


@pytest.mark.shared
def test_agreement_with_people_is_that_of_the_metric(shared):
    from analysis.correlations.levels import level_values
    from analysis.inference.resampling import no_draws
    from analysis.reading.cells import common_grid

    folder = shared / "data/dsg"
    keys = ("dimension", "story", "method", "annotator")
    people = annotator_cells(kept_rows(pd.read_csv(folder / "ratings.csv"), keys))
    scores = pd.read_csv(folder / "scores.csv")
    one = scores[scores["metric"] == "dsg|pali17b"]
    answers = one.rename(columns={"metric": "annotator", "score": "rating"})
    answers = answers.assign(dimension="alignment")
    trials = rating_trials(
        pd.concat([answers.assign(round=1), answers.assign(round=2)])
    )
    values = judge_values(trials)
    rows = judges(values, people, resamples=0, **OPTIONS)
    found = {(r["level"], r["coefficient"]): r for r in rows}
    assert {r["metric_a"] for r in rows} == {"people"}
    # Published: pooled Spearman .571, tau-b .458.
    assert found["pooled", "spearman"]["value"] == pytest.approx(0.571, abs=5e-4)
    assert found["pooled", "kendall"]["value"] == pytest.approx(0.458, abs=5e-4)
    grid, _ = common_grid("alignment", people, score_table(one))
    once = no_draws(*grid.cells.shape)
    expected = level_values(grid, "story", once, ["kendall"])["kendall"][0, 0]
    assert found["story", "kendall"]["value"] == pytest.approx(expected)
