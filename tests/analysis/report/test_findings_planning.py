"""Sentences on plans, subsets and judges."""

import pandas as pd
import pytest

from tests.analysis.report.saying import limits, sentences

NAN = float("nan")


def variance(*rows):
    columns = ("question", "component", "value", "share", "low", "high")
    return pd.DataFrame([("q", *row) for row in rows], columns=columns)


def test_variance_names_the_largest_shares_and_the_methods():
    table = variance(
        ("method", 0.1, 0.05, 0.04, 0.2),
        ("story", 1.0, 0.5, 0.8, 1.2),
        ("annotator", 0.2, 0.1, 0.1, 0.3),
        ("rest", 0.7, 0.35, 0.6, 0.8),
        ("method x story", -0.1, 0.0, -0.2, 0.1),
    )
    empty = pd.DataFrame({"half_width": [], "low": []})
    assert sentences({"power": empty, "variance": table}) == (
        "q: of the variance of ratings, 50 % is story, 35 % is residual, 10 % is "
        "annotator and 5 % is method.",
    )


def subset(*rows):
    columns = ("subset", "metric", "statistic", "value", "low", "high")
    return pd.DataFrame([("lite", *row) for row in rows], columns=columns).assign(
        question=NAN, n=12
    )


def test_subset_ranks_as_all_stories_when_the_interval_is_above_zero():
    table = subset(
        ("cids", "kendall", 0.6, 0.2, 0.9),
        ("csd", "kendall", 0.8, 0.5, 1.0),
        ("occm", "kendall", 0.3, -0.1, 0.7),
        ("cids", "spearman", -0.9, -1, -0.8),
    )
    shown, not_shown = sentences({"subset": table}), limits({"subset": table})
    assert shown == (
        "lite ranks the methods as all stories do, by 2 of 3 scores (Kendall's tau-b "
        "from 0.60 [0.20, 0.90] (cids) to 0.80 [0.50, 1.00] (csd), n = 12 methods).",
    )
    assert not_shown[0] == (
        "No evidence that lite ranks the methods as all stories do, by 1 of 3 scores "
        "(Kendall's tau-b 0.30 [−0.10, 0.70] (occm), n = 12 methods)."
    )


def test_subset_of_three_methods_shows_nothing():
    """They are in order in every resample, so their interval has no width."""
    table = subset(("cids", "kendall", 1.0, 1.0, 1.0)).assign(n=3)
    shown, not_shown = (say({"subset": table}, 0) for say in (sentences, limits))
    assert shown == ()
    assert not_shown[0] == (
        "No evidence that lite ranks the methods as all stories do, by the only score "
        "(Kendall's tau-b 1.00 [1.00, 1.00] (cids), n = 3 methods; too few methods to "
        "show it)."
    )


@pytest.mark.parametrize(("high", "beats"), [(0.7, True), (0.8, False), (0.9, False)])
def test_subset_is_compared_with_random_ones(high, beats):
    table = subset(
        ("cids", "kendall", 0.8, 0.5, 1.0), ("cids", "kendall_random", 0.6, 0.4, high)
    )
    start = "" if beats else "No evidence that "
    text = f"{start}lite keeps the ranking better than random subsets of its size, by "
    found = (sentences if beats else limits)({"subset": table}, 0)
    assert any(one.startswith(text) for one in found)


def test_subset_changes_means_when_the_interval_excludes_zero():
    table = subset(
        ("cids", "difference_percent", -3.0, -4.0, -2.0),
        ("csd", "difference_percent", 2.0, 1.0, 3.0),
        ("occm", "difference_percent", 0.5, -6.0, 7.0),
    )
    shown, not_shown = sentences({"subset": table}), limits({"subset": table})
    assert shown == (
        "lite changes the mean of 2 of 3 scores, by at most −3.00 % [−4.00, −2.00] "
        "(cids).",
    )
    assert not_shown[0] == (
        "No evidence that lite changes the mean of 1 of 3 scores; a change of up to "
        "7.00 % remains possible."
    )


def gain(size, value, low, high, source="gain"):
    return {
        "question": NAN,
        "metric": "cids",
        "size": size,
        "statistic": "kendall",
        "source": source,
        "value": value,
        "low": low,
        "high": high,
    }


def test_stories_are_not_chosen_when_methods_are_too_few():
    why = "fewer than 6 methods: no half could check the other"
    rows = [gain(NAN, NAN, NAN, NAN, "") | {"reason": why} for _ in range(2)]
    table = pd.DataFrame(rows).assign(statistic="")
    assert sentences({"best_subset": table}) == ()
    assert f"No stories were chosen to represent all: {why}." in limits(
        {"best_subset": table}
    )


def test_chosen_stories_beat_random_ones_when_the_gain_is_above_zero():
    table = pd.DataFrame(
        [
            gain(5, 0.2, 0.1, 0.3),
            gain(10, 0.1, -0.1, 0.2),
            gain(10, 0.9, 0.8, 1.0, "heldout"),
        ]
    )
    shown, not_shown = (
        sentences({"best_subset": table}),
        limits({"best_subset": table}),
    )
    assert shown == (
        "5 chosen stories keep the ranking by cids better than random ones, on "
        "held-out methods (gain in Kendall's tau-b: 0.20 [0.10, 0.30]).",
    )
    assert "in 1 of 2 combinations of size and ranking" in not_shown[0]


def test_judge_varies_over_trials():
    columns = ("statistic", "method", "value", "low", "high")
    rows = [
        ("sd_output", NAN, 0.4, 0.3, 0.5),
        ("same_share", NAN, 0.25, 0.2, 0.3),
        ("noise_to_methods", NAN, 0.1, 0.05, 0.2),
        ("sd_output", "m", 9.0, 8.0, 10.0),
    ]
    table = pd.DataFrame(rows, columns=columns).assign(question="q", metric="gpt")
    assert sentences({"stability": table}) == (
        "q: Repeated scores of an output by gpt have a standard deviation of 0.40 "
        "[0.30, 0.50]. 25 % [20, 30] of outputs get identical scores. In a method's "
        "mean, this noise is 10 % [5, 20] of the spread between methods.",
    )
    assert sentences({"stability": table.assign(value=NAN)}) == ()


def judges(*rows):
    columns = ("metric_a", "metric_b", "level", "value", "low", "high")
    return pd.DataFrame(rows, columns=columns).assign(
        question="q", coefficient="kendall", n=90
    )


def test_judges_agree_when_the_interval_within_stories_is_above_zero():
    table = judges(
        ("people", "gpt", "method", 1.0, 0.9, 1.0),
        ("people", "gpt", "story", 0.4, 0.3, 0.5),
        ("gpt", "qwen", "pooled", 0.1, -0.1, 0.3),
    )
    shown, not_shown = sentences({"judges": table}), limits({"judges": table})
    assert shown == (
        "q: people and gpt agree within stories (Kendall's tau-b 0.40 [0.30, 0.50], "
        "n = 90).",
    )
    assert not_shown[0].startswith(
        "q: no evidence that gpt and qwen agree over all outputs together"
    )


@pytest.mark.parametrize(("n", "shown"), [(3, False), (4, False), (5, True)])
def test_judges_over_few_methods_show_nothing(n, shown):
    """Four methods in perfect order have p = 2 / 4!, five 2 / 5!."""
    table = judges(("gpt", "qwen", "method", 1.0, 1.0, 1.0)).assign(n=n)
    claims, others = (say({"judges": table}, 0) for say in (sentences, limits))
    assert bool(claims) is shown
    assert shown or others[0].endswith("too few methods to show agreement).")


def needed(*rows):
    columns = ("statistic", "level", "value", "reason")
    return pd.DataFrame(rows, columns=columns).assign(
        question="q", metric="k", grows="stories", target=0.051234
    )


def test_needed_numbers_name_one_coefficient_per_level():
    table = needed(
        ("kendall", "story", 10.2, NAN),
        ("pearson", "story", 99, NAN),
        ("gap", "story", 40, NAN),
    )
    assert limits({"needed": table}) == (
        "q: a half-width of 0.051 for Kendall's tau-b of k within stories would need "
        "about 11 stories, all else being equal.",
        "q: a half-width of 0.051 for the difference between the two best methods of k "
        "within stories would need about 40 stories, all else being equal.",
    )
