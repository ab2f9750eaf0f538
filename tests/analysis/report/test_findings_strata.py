"""Sentences on pairs, ceilings, ranks, sides, groups and plans."""

import pandas as pd
import pytest

from tests.analysis.report.saying import limits, sentences

NAN = float("nan")


# Selection and ranks ------------------------------------------------------------------


def correlations(*changes):
    row = {
        "dimension": "q",
        "metric": "k",
        "level": "pooled",
        "coefficient": "kendall",
        "value": 0.4,
        "low": 0.3,
        "high": 0.5,
        "n": 100,
        "n_groups": 1,
        "p_value": 0.01,
    }
    return pd.DataFrame([row | change for change in changes])


def test_best_metric_may_depend_on_the_level():
    rows = [
        {"metric": m, "level": level, "value": v}
        for level, order in (("story", "abcd"), ("pooled", "bcda"))
        for m, v in zip(order, (0.5, 0.4, 0.3, 0.2), strict=True)
    ]
    texts = limits({"correlations": correlations(*rows)})
    assert (
        "q: the best metric depends on the statistic. a has rank 1 of 4 within "
        "stories, but rank 4 over all outputs together. These ranks are not tested."
    ) in texts
    same = [row | {"level": "pooled"} for row in rows[:4]]
    texts = limits({"correlations": correlations(*rows[:4], *same)})
    assert not any("depends on the statistic" in text for text in texts)


# Sides, groups, plans -----------------------------------------------------------------


def bias(*lows):
    return pd.DataFrame(
        {
            "question": list("pq"[: len(lows)]),
            "value": 0.6,
            "low": lows,
            "high": 0.65,
            "n": 200,
            "p_value": 0.03,
        }
    )


def test_side_preference_is_a_claim():
    (text,) = sentences({"position_bias": bias(0.55, 0.48)})
    assert text == (
        "Annotators prefer one side in p (left wins 60 % [55, 65] of 200 answers that "
        "choose a side). The intervals allow for clustered answers."
    )
    # With two questions, an interval that ends at .51 is not enough.
    assert sentences({"position_bias": bias(0.51)})
    assert sentences({"position_bias": bias(0.51, 0.51)}) == ()
    assert limits({"position_bias": bias(0.51, 0.51)})[0] == (
        "No question shows a side preference."
    )


@pytest.mark.parametrize(("low", "is_shown"), [(0.55, True), (0.49, False)])
def test_side_is_shown_by_the_balanced_share_and_its_clusters(low, is_shown):
    """The binomial test of the other share assumes independent answers."""
    table = bias(0.45).assign(
        p_value=0.2, adjusted=0.6, adjusted_low=low, adjusted_high=0.65
    )
    assert bool(sentences({"position_bias": table})) == is_shown


# A metric that leads question q by pairs of ratings.
VERDICT = {
    "question": "q",
    "metric": "k",
    "role": "exploratory",
    "source": "ratings",
    "level": "pairs",
    "statistic": "ppa_half",
    "value": 0.7,
    "low": 0.6,
    "high": 0.8,
    "cluster": NAN,
    "n": 90,
    "n_groups": 10,
    "chance": 0.5,
    "demanded": NAN,
    "n_family": 2,
    "p_adjusted": 0.01,
    "decided_by": "stories+methods",
    "verdict": "above chance",
    "reason": "",
    "n_better": NAN,
    "n_worse": NAN,
    "leads": True,
}


def test_largest_disagreement_is_that_of_the_named_metric():
    row = {
        "question": "q",
        "source": "ratings",
        "metric": "k",
        "kind": "pair",
        "value": 1.2,
        "story": "s1",
        "method": "A",
        "other_method": "B",
        "human": 1.5,
        "human_other": 3.25,
        "score": 0.9,
        "score_other": 0.4,
    }
    changes = (
        {"value": 1.1, "story": "s0"},
        {},
        {"kind": "cell", "value": 2.0, "story": "s2"},
        {"metric": "other", "value": 3.0, "story": "s3"},
    )
    table = pd.DataFrame([row | change for change in changes])
    shown = sentences({"disagreement": table, "verdicts": pd.DataFrame([VERDICT])})
    assert shown[-1] == (
        "q: k and people differ most on A and B in story s1. The metric prefers the "
        "first (0.9 against 0.4), people prefer the second (1.5 against 3.25)."
    )
    assert sentences({"disagreement": table}) == ()


def differences(*p_values):
    return pd.DataFrame(
        {
            "question": "q",
            "metric": "k",
            "value": -0.2,
            "low": -0.3,
            "high": -0.1,
            "n": 40,
            "tag": "part",
            "stratum_a": "core",
            "stratum_b": "hard",
            "method": "",
            "statistic": "kendall",
            "level": "story",
            "p_adjusted": p_values,
        }
    )


def test_groups_differ_after_adjustment_only():
    tables = {"strata_differences": differences(0.04, 0.06, NAN)}
    assert sentences(tables) == (
        "q: Kendall's tau-b of k within stories differs between part core and hard by "
        "−0.20 [−0.30, −0.10] (n = 40, adjusted p = 0.04).",
    )
    assert ": 1 of 2 differences." in limits(tables)[0]


def test_interval_with_0_shows_no_difference():
    tables = {"strata_differences": differences(0.01).assign(high=0.01)}
    assert sentences(tables) == ()


@pytest.mark.parametrize(
    ("question", "statistic", "begin", "unit"),
    [
        ("", "mean", "k: mean score of UNO differs", ""),
        (NAN, "drop_percent", "k: mean score of UNO differs", " % of core"),
        ("q", "mean", "q: mean rating of UNO differs", ""),
        ("q", "drop_percent", "q: mean rating of UNO differs", " % of core"),
    ],
)
def test_difference_of_means_names_the_method(question, statistic, begin, unit):
    table = differences(0.01).assign(
        question=question, statistic=statistic, method="UNO"
    )
    if question == "q":
        table["metric"] = ""
    (text,) = sentences({"strata_differences": table.assign(level="")})
    assert text.startswith(f"{begin} between part core and hard by −0.20 [")
    assert f"]{unit} (n = 40, adjusted" in text


def test_needed_stories_may_not_suffice():
    row = {
        "question": "q",
        "metric": "k",
        "statistic": "kendall",
        "level": "story",
        "grows": "stories",
        "target": 0.05,
        "value": 123.2,
        "reason": "",
    }
    never = {"question": "r", "value": NAN, "reason": "methods limit it"}
    texts = limits({"needed": pd.DataFrame([row, row | never])})
    assert texts[0] == (
        "q: a half-width of 0.05 for Kendall's tau-b of k within stories would need "
        "about 124 stories, all else being equal."
    )
    assert texts[1].endswith("cannot be guaranteed: methods limit it.")


@pytest.mark.parametrize(("low", "card"), [(0.01, sentences), (-0.01, limits)])
def test_gain_within_noise_is_not_shown(low, card):
    gain = pd.DataFrame(
        {
            "question": "q",
            "metric": "composite",
            "statistic": "gain",
            "source": "ratings",
            "against": ["k", "mean of components"],
            "value": [0.05, 0.9],
            "low": [low, 0.8],
            "high": [0.1, 1.0],
            "n": 30,
        }
    )
    (text, *_rest) = card({"calibration": gain})
    assert "etrics weighted to fit people" in text
    assert "over k" in text
    assert "0.90" not in text
