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
    assert np.isnan(found(pairs(x, y, stories), None)["mean_difference"]["low"])


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
    with pytest.raises(analysis.OptionError, match="scores of two identities"):
        analysis.score_agreement(first)
    both = pd.concat([first.assign(judge="gpt"), again.assign(judge="qwen")])
    of_one = analysis.score_agreement(both)["score_agreement"]
    assert set(of_one["identity_a"] + of_one["identity_b"]) == {"gptqwen"}
    assert of_one["value"].tolist() == table["value"].tolist()


def test_tiny_differences_keep_their_digits():
    rng = np.random.default_rng(8)
    x, moved = rng.normal(size=(2, 40))
    for size in (1e-4, 1e-7, 1e-9):
        y = x + size * moved
        row = found(pairs(x, y))["sd_difference"]
        assert row["value"] == pytest.approx((y - x).std(ddof=1), rel=1e-9)
        assert row["low"] < row["value"] < row["high"]
    shifted = found(pairs(x, x + 0.1))  # differs by rounding alone
    assert shifted["sd_difference"]["value"] == 0


def test_sd_of_one_output_is_undefined():
    rows = found(pairs([1], [2]))
    for name in ("sd_difference", "limit_low", "limit_high", "pearson"):
        assert np.isnan(rows[name]["value"])
        assert rows[name]["reason"] == "only one output has both scores"


def test_interval_is_missing_where_stories_cannot_tell():
    x = np.arange(8)
    alone = found(pairs(x, x + 5 * (x == 3)))
    for name in ("sd_difference", "limit_low", "limit_high", "pearson", "icc_2_1"):
        assert np.isnan(alone[name]["low"])
        assert alone[name]["reason"] == "no interval: all that differs is in one story"
    # Without any one story alpha is the same, which is not that of all.
    same = found(pairs(np.ones(8), np.full(8, 2)))["alpha_ordinal"]
    assert np.isnan(same["low"])
    assert same["reason"].startswith("no interval: without any one story")


def test_bounds_of_limits_join_those_of_mean_and_sd():
    # Zou (2013), with the correlation of both over the leave-outs, by hand.
    rng = np.random.default_rng(4)
    d = rng.normal(0.5, 1, 12)
    rows = found(pairs(np.zeros(12) + np.arange(12), np.arange(12) + d))
    low, high = rows["mean_difference"]["low"], rows["mean_difference"]["high"]
    mean, sd = rows["mean_difference"]["value"], rows["sd_difference"]["value"]
    each = [np.delete(d, k) for k in range(12)]
    r = np.corrcoef([one.mean() for one in each], [one.std(ddof=1) for one in each])
    far = 1.96 * (rows["sd_difference"]["high"] - sd)
    up = np.sqrt((high - mean) ** 2 + far**2 + 2 * r[0, 1] * (high - mean) * far)
    limit = rows["limit_high"]
    assert limit["high"] == pytest.approx(mean + 1.96 * sd + up, rel=1e-9)
    assert low < mean < limit["low"] < limit["value"]


def test_interval_of_spearman_reaches_the_value_of_many_outputs():
    # Of normal scores with a correlation of .9999, Spearman's is .9999 over many
    # outputs, and lower over few, since neighbours that change places weigh more.
    rng = np.random.default_rng(12)
    held = 0
    for _study in range(40):
        x = rng.normal(size=60)
        y = 0.9999 * x + np.sqrt(1 - 0.9999**2) * rng.normal(size=60)
        row = found(pairs(x, y, np.repeat(np.arange(20), 3)))["spearman"]
        held += row["low"] <= 6 / np.pi * np.arcsin(0.9999 / 2) <= row["high"]
    assert held >= 33


def test_identities_without_common_outputs_are_named():
    rng = np.random.default_rng(2)
    cells = [(f"s{s}", m) for s in range(6) for m in ("UNO", "Sora")]
    rows = pd.DataFrame(cells, columns=["story", "method"]).assign(metric="plot")
    rows["score"] = rng.integers(0, 5, 12)
    parts = [rows[:6].assign(judge="a"), rows[6:].assign(judge="b")]
    with pytest.raises(analysis.OptionError, match="a and b are not compared"):
        analysis.score_agreement(pd.concat(parts))
    report = analysis.score_agreement(pd.concat([*parts, rows.assign(judge="c")]))
    table = report["score_agreement"]
    assert set(table["identity_a"] + table["identity_b"]) == {"ac", "bc"}
    assert any("a and b are not compared" in note for note in report.notes)
    both = pd.concat([rows.assign(judge="a"), rows.assign(judge="b")])
    fewer = analysis.score_agreement(both, exclude_methods="Sora")
    assert set(fewer["score_agreement"]["n"]) == {6}


def test_each_version_of_two_tables_is_compared_with_itself():
    cells = [(f"s{s}", m) for s in range(6) for m in ("UNO", "Sora")]
    rows = pd.DataFrame(cells, columns=["story", "method"]).assign(
        metric="plot", score=range(12)
    )
    table = pd.concat([rows.assign(metric_version=n) for n in "12"])
    compared = analysis.score_agreement(table, table)["score_agreement"]
    sides = compared[["metric", "identity_a", "identity_b"]].drop_duplicates()
    assert sides.to_numpy().tolist() == [
        ["plot (1)", "scores", "other_scores"],
        ["plot (2)", "scores", "other_scores"],
    ]


def test_options_that_mean_nothing_are_refused():
    rows = pd.DataFrame({"story": ["a"], "method": "m", "metric": "p", "score": [1.0]})
    with pytest.raises(analysis.OptionError, match="mix_identities: expected a second"):
        analysis.score_agreement(rows, mix_identities=True)
    with pytest.raises(analysis.OptionError, match="metrics: expected at least one"):
        analysis.score_agreement(rows, rows, metrics=[])
