"""Sentences of pairs, ceilings, ranks, sides, groups and plans say what tables say."""

import pandas as pd
import pytest

from tests.analysis.report.saying import limits, sentences

NAN = float("nan")


def pairwise(*changes):
    row = {
        "question": "q",
        "metric": "k",
        "source": "choices",
        "ppa_strict": 0.6,
        "ppa_strict_low": 0.5,
        "ppa_strict_high": 0.7,
        "ppa_half": 0.7,
        "ppa_half_low": 0.6,
        "ppa_half_high": 0.8,
        "metric_tie_rate": 0.2,
        "n_pairs": 90,
        "acc_eq": 0.5,
    }
    return pd.DataFrame([row | change for change in changes])


def test_pairs_with_intervals_ties_chance_and_vistars_line():
    guess = {"metric": "random (expected)", "ppa_half": 0.95, "ppa_half_low": 0.9}
    constant = {"metric": "constant", "ppa_half": 0.9}
    (text,) = sentences({"pairwise_accuracy": pairwise({}, constant, guess)}, 1000)
    assert text == (
        "q: k prefers what the majority of annotators prefers in 70 % [60, 80] of 90 "
        "pairs that people do not tie, its ties being half (as misses: 60 % [50, 70]; "
        "it ties 20 %; chance is 50 %); whether it reaches the 75 % that VISTAR "
        "demands is open."
    )


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.76, 0.9, "stands above the 75 %"),
        (0.6, 0.74, "stands below the 75 %"),
        (0.7, 0.8, "is open"),
    ],
)
def test_the_line_of_vistar_is_passed_by_intervals(low, high, said):
    bounds = {"ppa_half_low": low, "ppa_half_high": high}
    table = pairwise(bounds | {"ppa_half": (low + high) / 2, "n_pairs": 900})
    assert said in sentences({"pairwise_accuracy": table}, 1000)[0]


@pytest.mark.parametrize(
    ("n", "right", "said"),
    [
        (2, 1.0, ""),
        (5, 1.0, ""),
        (6, 1.0, "is open"),
        (13, 1.0, "stands above"),
        (6, 0.0, ""),
    ],
)
def test_a_few_pairs_that_are_all_right_show_little(n, right, said):
    """They are right in every resample; the exact test says how many it takes."""
    names = ("ppa_half", "ppa_half_low", "ppa_half_high", "ppa_strict")
    row = dict.fromkeys(names, right) | {"n_pairs": n, "metric_tie_rate": 0.0}
    tables = {"pairwise_accuracy": pairwise(row)}
    if said:
        assert said in sentences(tables, 1000)[0]
    else:
        assert sentences(tables, 1000) == ()
        why = ": too few pairs to tell it from chance." if right else ": below chance."
        assert limits(tables, 1000)[0].endswith(why)


@pytest.mark.parametrize(
    ("low", "high", "why"),
    [
        (0.4, 0.8, ": the interval holds chance."),
        (NAN, NAN, ", without an interval."),
        (0.2, 0.4, ": below chance."),
        (0.5, 0.8, ": the interval holds chance."),
    ],
)
def test_pairs_that_show_nothing_are_a_limit(low, high, why):
    tables = {
        "pairwise_accuracy": pairwise({"ppa_half_low": low, "ppa_half_high": high})
    }
    assert sentences(tables, 1000) == ()
    text = limits(tables, 1000)[0]
    assert text.startswith(
        "q: no metric is shown to prefer what the majority of annotators prefers more "
        "often than chance. The only metric, k, does so in 70 %"
    )
    assert text.endswith(why)


def comparisons(*p_values, statistic="ppa_half", source="choices"):
    return pd.DataFrame(
        {
            "question": "q",
            "source": source,
            "statistic": statistic,
            "metric_a": "k",
            "metric_b": list("xyz"[: len(p_values)]),
            "p_value": p_values,
        }
    )


@pytest.mark.parametrize(
    ("p_values", "said"),
    [
        ((0.01, 0.04, 0.9), "separable from 1 of the 3 others (Holm, p ≤ .05)"),
        ((0.01, 0.01), "separable from the 2 others (Holm, p ≤ .05)"),
        ((0.06, 0.2), "not separable from any of the 2 others (Holm, p > .05)"),
        ((NAN,), "the highest of 2 metrics; "),
    ],
)
def test_the_highest_is_set_apart_by_the_test_of_what_is_quoted(p_values, said):
    tables = {
        "pairwise_accuracy": pairwise({}, {"metric": "x", "ppa_half": 0.6}),
        "accuracy_comparisons": comparisons(*p_values),
    }
    assert said in sentences(tables, 1000)[0]
    told = limits(tables, 1000)
    assert any("was chosen by the same data" in line for line in told)
    assert any("Tests against the others are adjusted" in line for line in told)


@pytest.mark.parametrize("other", [{"statistic": "ppa_strict"}, {"source": "ratings"}])
def test_tests_of_another_statistic_or_other_answers_do_not_count(other):
    tests = pd.concat([comparisons(0.9), comparisons(0.01, **other)])
    table = pairwise({}, {"metric": "x", "ppa_half": 0.6})
    tables = {"pairwise_accuracy": table, "accuracy_comparisons": tests}
    assert (
        ", not separable from the other (Holm, p > .05)" in sentences(tables, 1000)[0]
    )


def test_one_metric_was_not_chosen():
    told = limits({"pairwise_accuracy": pairwise({})}, 1000)
    assert not any("chosen" in line for line in told)


# The ceiling --------------------------------------------------------------------------


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


def agreement(**changes):
    row = {
        "question": "q",
        "statistic": "rater_vs_rest_kendall",
        "value": 0.8,
        "low": 0.7,
        "high": 0.9,
        "n_units": 95,
        "n_annotators": 3,
        "reason": "",
    }
    alpha = row | {"statistic": "alpha_ordinal"}
    return pd.DataFrame([row | changes, alpha])


def test_the_best_pooled_metric_against_one_annotator():
    told = sentences({"correlations": correlations({}), "agreement": agreement()}, 1000)
    assert told[1] == (
        "q: one annotator reaches 0.80 [0.70, 0.90] against the mean of the rest "
        "(Kendall's tau-b, 95 units); over the same cells together the highest metric, "
        "k, reaches 0.40 [0.30, 0.50]: 50 % of it."
    )


@pytest.mark.parametrize(
    ("change", "ceiling"),
    [
        ({"level": "story"}, {}),
        ({}, {"n_units": 300}),
        ({}, {"value": NAN}),
        ({}, {"value": 0.05}),
        ({"value": -0.2}, {}),
        ({"coefficient": "pearson"}, {}),
    ],
)
def test_what_cannot_be_compared_with_the_ceiling_is_not(change, ceiling):
    tables = {"correlations": correlations(change), "agreement": agreement(**ceiling)}
    for card in (sentences, limits):
        assert not any("one annotator" in text for text in card(tables, 1000))


def test_shots_and_rounds_are_no_ceiling_of_cells():
    """95 of 380 shots are complete, by chance as many as there are cells."""
    people = agreement()
    people.loc[people["statistic"] == "alpha_ordinal", "n_units"] = 380
    tables = {"correlations": correlations({}), "agreement": people}
    for card in (sentences, limits):
        assert not any("one annotator" in text for text in card(tables, 1000))


def test_a_metric_above_the_ceiling_is_said_to_be():
    tables = {"correlations": correlations({"value": 0.9}), "agreement": agreement()}
    assert sentences(tables, 1000)[1].endswith(": more than one annotator.")


# Selection and ranks ------------------------------------------------------------------


def test_of_many_metrics_the_p_values_are_adjusted():
    """.02 is shown alone, and not as the lowest of five."""
    rows = [
        {
            "level": "method",
            "n": 12,
            "metric": f"m{i}",
            "p_value": 0.02,
            "value": 0.5 - i / 100,
        }
        for i in range(5)
    ]
    assert sentences({"correlations": correlations(rows[0])}, 1000)
    tables = {"correlations": correlations(*rows)}
    assert sentences(tables, 1000) == ()
    assert (
        "does not pass the permutation test adjusted over 5 metrics"
        in (limits(tables, 1000)[0])
    )
    assert "would need more than 50 permutations" in limits(tables, 50)[0]


def test_a_rank_that_depends_on_the_level_is_told():
    rows = [
        {"metric": m, "level": level, "value": v}
        for level, order in (("story", "abcd"), ("pooled", "bcda"))
        for m, v in zip(order, (0.5, 0.4, 0.3, 0.2), strict=True)
    ]
    told = limits({"correlations": correlations(*rows)}, 1000)
    assert (
        "q: which metric is best depends on how one asks: a stands first of 4 inside "
        "stories, but last over all cells together."
    ) in told
    same = [row | {"level": "pooled"} for row in rows[:4]]
    told = limits({"correlations": correlations(*rows[:4], *same)}, 1000)
    assert not any("how one asks" in text for text in told)


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


def test_a_side_that_matters_is_a_claim_and_others_are_not():
    (text,) = sentences({"position_bias": bias(0.55, 0.48)}, 1000)
    assert text == (
        "The side matters in p (left wins 60 % [55, 65] of 200 answers that choose); "
        "intervals draw clusters of answers."
    )
    # Two questions are two chances: an interval that ends at .51 does not do.
    assert sentences({"position_bias": bias(0.51)}, 1000)
    assert sentences({"position_bias": bias(0.51, 0.51)}, 1000) == ()
    assert limits({"position_bias": bias(0.51, 0.51)}, 1000)[0] == (
        "2 of 2 questions do not show a preference for a side."
    )


@pytest.mark.parametrize(("low", "is_shown"), [(0.55, True), (0.49, False)])
def test_a_side_is_shown_by_the_balanced_share_and_its_clusters(low, is_shown):
    """The binomial test, of the other share, takes answers as independent."""
    table = bias(0.45).assign(
        p_value=0.2, adjusted=0.6, adjusted_low=low, adjusted_high=0.65
    )
    effect = pd.DataFrame({"question": ["p"], "elo": [-41.2]})
    told = sentences({"position_bias": table, "side_effect": effect}, 1000)
    assert bool(told) == is_shown
    if is_shown:
        assert ", worth −41 points of a rating)" in told[0]


def test_the_best_of_many_needs_more_than_one_that_was_declared():
    rows = [{"metric": f"m{i}", "ppa_half_low": 0.52} for i in range(8)]
    assert sentences({"pairwise_accuracy": pairwise(rows[0])}, 1000)
    told = limits({"pairwise_accuracy": pairwise(*rows)}, 1000)[0]
    assert told.endswith(
        ": not clear of chance once the choice among 8 is allowed for."
    )
    # One that was declared is one hypothesis, not one of eight.
    tables = {
        "pairwise_accuracy": pairwise(*rows),
        "hypotheses": pd.DataFrame({"question": ["q"], "metric": ["m0"]}),
    }
    (text,) = sentences(tables, 1000)
    assert text.startswith("q: m0, declared for this question, prefers")


def human_pairs(low, high):
    one = {
        "question": "q",
        "source": "ratings",
        "metric": "one annotator",
        "value": 0.72,
        "low": 0.7,
        "high": 0.74,
        "n": 50,
    }
    metric = one | {
        "metric": "k",
        "value": 0.62,
        "low": 0.6,
        "high": 0.64,
        "difference": (low + high) / 2,
        "difference_low": low,
        "difference_high": high,
    }
    guess = metric | {"metric": "random (expected)", "value": 0.9}
    return pd.DataFrame([one, metric, guess])


@pytest.mark.parametrize(
    ("low", "high", "card", "said"),
    [
        (-0.15, -0.05, sentences, ": 10 points [5, 15] lower."),
        (0.02, 0.06, sentences, ": 4 points [2, 6] higher."),
        (-0.03, 0.01, limits, "is open in q (k −1 points [−3, +1])."),
    ],
)
def test_one_annotator_is_the_ceiling_of_pairs(low, high, card, said):
    text = card({"human_pairs": human_pairs(low, high)}, 1000)[0]
    assert text.endswith(said)
    if card is sentences:
        assert "one annotator predicts the others in 72 % [70, 74] of 50" in text
        assert "the highest metric, k, in 62 % [60, 64]" in text


def strata(*p_values):
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
    tables = {"strata_differences": strata(0.04, 0.06, NAN)}
    assert sentences(tables, 1000) == (
        "q: Kendall's tau-b of k inside stories differs between part core and hard: by "
        "−0.20 [−0.30, −0.10], n = 40 (adjusted p = 0.04).",
    )
    assert limits(tables, 1000)[0].startswith("1 of 2 differences between groups")


def test_an_interval_with_0_shows_no_difference_whatever_the_test_says():
    tables = {"strata_differences": strata(0.01).assign(high=0.01)}
    assert sentences(tables, 1000) == ()


def test_a_difference_without_a_value_or_an_interval_is_not_shown():
    """A drop of a negative mean is undefined; one story has no interval."""
    for gone in ({"value": NAN, "low": NAN, "high": NAN}, {"low": NAN, "high": NAN}):
        tables = {"strata_differences": strata(0.01).assign(**gone)}
        assert sentences(tables, 1000) == ()
        assert limits(tables, 1000)[0].startswith("1 of 1 difference between")


@pytest.mark.parametrize(
    ("question", "statistic", "begin", "unit"),
    [
        ("", "mean", "k: mean score of UNO differs", ""),
        (NAN, "drop_percent", "k: mean score of UNO differs", " % of core"),
        ("q", "mean", "q: mean rating of UNO differs", ""),
        ("q", "drop_percent", "q: mean rating of UNO differs", " % of core"),
    ],
)
def test_a_mean_that_differs_names_its_method(question, statistic, begin, unit):
    table = strata(0.01).assign(question=question, statistic=statistic, method="UNO")
    if question == "q":
        table["metric"] = ""
    (text,) = sentences({"strata_differences": table.assign(level="")}, 1000)
    assert text.startswith(f"{begin} between part core and hard: by −0.20 [")
    assert f"]{unit}, n = 40 (adjusted" in text


def test_many_families_pass_some_by_chance():
    many = pd.concat([strata(0.5).assign(tag=f"t{i}") for i in range(40)])
    text = limits({"strata_differences": many}, 1000)[0]
    assert "each of 40 families" in text
    assert "in about 2 of these one would pass by chance" in text
    assert "families" not in limits({"strata_differences": strata(0.5)}, 1000)[0]


def test_many_differences_are_counted():
    told = sentences({"strata_differences": strata(*[0.01] * 9)}, 1000)
    assert len(told) == 5
    assert told[-1].startswith("5 further differences")


def test_what_is_needed_and_what_is_never_enough():
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
    told = limits({"needed": pd.DataFrame([row, row | never])}, 1000)
    assert told[0] == (
        "q: a half-width of 0.05 for Kendall's tau-b of k inside stories would need "
        "about 124 stories, all else as here."
    )
    assert told[1].endswith("cannot be promised: methods limit it.")


@pytest.mark.parametrize(("low", "card"), [(0.01, sentences), (-0.01, limits)])
def test_a_gain_within_noise_is_not_shown(low, card):
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
    (text, *_rest) = card({"calibration": gain}, 1000)
    assert "etrics weighted to fit people" in text
    assert "over k" in text
    assert "0.90" not in text
