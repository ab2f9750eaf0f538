"""Two sets of scores of the same outputs."""

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

import analysis
from analysis.reliability.matrices import icc, rating_reliability
from analysis.reliability.score_agreement import (
    ScorePairs,
    agreement_rows,
    difference_rows,
    paired,
)
from analysis.statistics import COLUMNS

# Bland and Altman (1986), table 1: peak expiratory flow of 17 subjects, in l/min, by
# the Wright meter and by the mini meter, first readings.
WRIGHT = "494 395 516 434 476 557 413 442 650 433 417 656 267 478 178 423 427"
MINI = "512 430 520 428 500 600 364 380 658 445 432 626 260 477 259 350 451"


def pairs(x, y, stories=None):
    codes = np.arange(len(x)) if stories is None else np.asarray(stories)
    outputs = pd.DataFrame({"story": codes, "method": "m"})
    return ScorePairs(outputs, np.asarray(x, float), np.asarray(y, float), codes)


def found(data, confidence=0.95):
    rows = list(agreement_rows(data, confidence))
    return {row["statistic"]: row for row in rows}


def test_limits_of_agreement_are_those_of_bland_and_altman():
    # The paper: mean difference (Wright - mini) -2.1, sd 38.8, limits -79.7 and 75.5
    # (mean -+ 2 sd); 95 % interval of the bias from -22.0 to 17.8, with t of 16.
    mini, wright = (np.array(text.split(), float) for text in (MINI, WRIGHT))
    rows = found(pairs(mini, wright))
    assert rows["mean_difference"]["value"] == pytest.approx(-2.1, abs=0.05)
    assert rows["sd_difference"]["value"] == pytest.approx(38.8, abs=0.05)
    bounds = rows["mean_difference"]["low"], rows["mean_difference"]["high"]
    assert bounds == pytest.approx((-22.0, 17.8), abs=0.11)
    spread = 1.96 * rows["sd_difference"]["value"]
    assert rows["limit_low"]["value"] == pytest.approx(-2.1176 - spread, abs=1e-3)
    assert rows["limit_high"]["value"] == pytest.approx(-2.1176 + spread, abs=1e-3)
    # The paper: r = .94 between the two meters.
    assert rows["pearson"]["value"] == pytest.approx(0.94, abs=0.005)
    expected = stats.spearmanr(mini, wright).statistic
    assert rows["spearman"]["value"] == pytest.approx(expected, abs=1e-12)


def test_icc_of_two_judges_is_that_of_mean_squares():
    # The first two judges of Shrout and Fleiss (1979), table 2. By hand: mean squares
    # of targets 4.68333, of judges 80.08333 and of error .68333, so that ICC(2,1) is
    # 4 / (4.68333 + .68333 + 2 (80.08333 - .68333) / 6).
    x, y = [9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2]
    value = found(pairs(x, y))["icc_2_1"]["value"]
    assert value == pytest.approx(4 / 31.83333, abs=1e-6)
    long = pd.DataFrame({"story": [*range(6)] * 2, "method": "", "rating": x + y})
    data = rating_reliability(long.assign(annotator=["a"] * 6 + ["b"] * 6))
    assert value == pytest.approx(float(icc(data, np.ones((1, 6)), "icc_2_1")[0]))


def test_ordinal_scores_have_quadratic_kappa_and_alpha():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 5, 60)
    y = np.clip(x + rng.integers(-1, 2, 60), 0, 4)
    rows = found(pairs(x, y, np.repeat(np.arange(12), 5)))
    table = np.zeros((5, 5))
    np.add.at(table, (x, y), 1)
    kappa = cohens_kappa(table, wt="quadratic").kappa
    assert rows["kappa_quadratic"]["value"] == pytest.approx(kappa, abs=1e-12)
    alpha = krippendorff.alpha(np.stack([x, y]), level_of_measurement="ordinal")
    assert rows["alpha_ordinal"]["value"] == pytest.approx(alpha, abs=1e-12)
    assert rows["share_equal"]["value"] == pytest.approx((x == y).mean())
    assert rows["kappa_quadratic"]["low"] < kappa < rows["kappa_quadratic"]["high"]
    assert "kappa_quadratic" not in found(pairs(rng.normal(size=30), np.arange(30)))


def test_interval_leaves_out_whole_stories():
    rng = np.random.default_rng(1)
    stories = np.repeat(np.arange(8), 4)
    x = rng.normal(size=32)
    y = x + rng.normal(size=8)[stories]  # the error is of stories
    row = found(pairs(x, y, stories))["mean_difference"]
    each = np.array([(y - x)[stories == s].mean() for s in range(8)])
    low, high = stats.t.interval(0.95, 7, each.mean(), stats.sem(each))
    assert (row["low"], row["high"]) == pytest.approx((low, high))
    assert found(pairs(x, y, stories), None)["pearson"]["low"] != row["low"]


def test_scores_that_do_not_vary_have_reasons_in_place_of_values():
    rows = found(pairs(np.ones(8), np.arange(8)))
    for name in ("pearson", "spearman"):
        assert np.isnan(rows[name]["value"])
        assert rows[name]["reason"] == "one side's scores are all the same"
    same = found(pairs(np.arange(8), np.arange(8)))
    assert same["icc_2_1"]["value"] == same["share_equal"]["value"] == 1
    assert np.isnan(same["icc_2_1"]["low"])
    assert same["icc_2_1"]["reason"].startswith("no interval: without any one story")
    few = found(pairs(np.arange(4), [0, 1, 3, 2]))["pearson"]
    assert np.isnan(few["low"])
    assert few["reason"] == "4 stories are too few"


def test_huge_scores_lose_no_digits():
    rng = np.random.default_rng(5)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40) / 10
    small, large = (found(pairs(x + c, y + c)) for c in (0, 1e6))
    for name in ("pearson", "icc_2_1", "sd_difference"):
        for bound in ("value", "low", "high"):
            assert large[name][bound] == pytest.approx(small[name][bound], rel=1e-7)


def test_outputs_with_the_largest_differences_come_first():
    one = pd.DataFrame({"story": list("abc"), "method": "m", "score": [1.0, 2.0, 3.0]})
    other = one.assign(score=[1.0, 2.5, 1.0])[::-1]
    rows = list(difference_rows(paired(one, other)))
    assert [(row["story"], row["difference"]) for row in rows] == [
        ("c", -2),
        ("b", 0.5),
    ]


def test_judge_asked_twice_is_compared_over_two_tables():
    rng = np.random.default_rng(0)
    cells = [(f"s{s}", m) for s in range(6) for m in ("UNO", "Sora")]
    first = pd.DataFrame(cells, columns=["story", "method"]).assign(metric="plot")
    first["score"] = rng.integers(0, 5, 12)
    again = first[:-1].assign(score=np.clip(first["score"][:-1] + 1, 0, 4))
    report = analysis.score_agreement(first, again, metrics="plot")
    table = report["score_agreement"]
    assert list(table) == list(COLUMNS["score_agreement"])
    assert set(table["identity_a"]) == {"scores"}
    assert set(table["identity_b"]) == {"other_scores"}
    assert set(table["n"]) == {11}
    with pytest.raises(analysis.OptionError, match="by two identities"):
        analysis.score_agreement(first)
    both = pd.concat([first.assign(judge="gpt"), again.assign(judge="qwen")])
    of_one = analysis.score_agreement(both)["score_agreement"]
    assert set(of_one["identity_a"] + of_one["identity_b"]) == {"gptqwen"}
    assert of_one["value"].tolist() == table["value"].tolist()
    # A judge that was replaced halfway: its two halves share no output.
    halves = again.assign(judge=["a"] * 5 + ["b"] * 6)
    three = pd.concat([first.assign(judge="gpt"), halves])
    report = analysis.score_agreement(three)
    compared = report["score_agreement"].drop_duplicates(["identity_a", "identity_b"])
    assert compared[["identity_a", "identity_b"]].to_numpy().tolist() == [
        ["gpt", "a"],
        ["gpt", "b"],
    ]
    assert "share no output: a and b." in " ".join(report.notes)
    with pytest.raises(analysis.OptionError, match="of the same outputs"):
        analysis.score_agreement(halves)
