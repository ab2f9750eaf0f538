"""Sentences say what the tables say, and no more."""

import math

import pandas as pd
import pytest

from analysis.report.claims import both, flat, folded
from tests.analysis.report.saying import limits, sentences

NAN = float("nan")


def correlations(*changes):
    """One row for each dict of changes to a metric that agrees."""
    row = {
        "dimension": "beauty",
        "metric": "aesthetic",
        "level": "story",
        "coefficient": "kendall",
        "value": 0.5,
        "low": 0.2,
        "high": 0.7,
        "n": 40,
        "n_groups": 8,
        "p_value": 0.004,
    }
    return pd.DataFrame([row | change for change in changes])


NOISE = {"metric": "noise", "value": 0.1, "low": -0.2, "high": 0.4}


def comparisons(*p_values):
    """Compare aesthetic with as many others as there are adjusted p-values."""
    return pd.DataFrame(
        {
            "dimension": "beauty",
            "level": "story",
            "coefficient": "kendall",
            "metric_a": "aesthetic",
            "metric_b": list("xyz"[: len(p_values)]),
            "difference": 0.1,
            "p_value": p_values,
        }
    )


def test_an_established_metric_comes_with_level_coefficient_interval_and_n():
    table = correlations({}, NOISE)
    assert sentences({"correlations": table}, 1000) == (
        "beauty: aesthetic agrees with people inside stories: Kendall's tau-b 0.50 "
        "[0.20, 0.70], n = 40 cells of 8 stories, the highest of 2 metrics.",
    )


def test_equal_metrics_are_the_highest_together():
    table = correlations({}, {"metric": "beta"}, NOISE)
    (text,) = sentences({"correlations": table}, 1000)
    assert text.endswith(", together with beta the highest of 3 metrics.")


@pytest.mark.parametrize(
    ("change", "does"),
    [
        (
            {"level": "method", "n": 9, "p_value": 0.001},
            "was compared over few methods (Kendall's tau-b 0.50 [0.20, 0.70], n = 9 "
            "methods, p < 0.01)",
        ),
        (
            {"level": "method", "n": 10, "p_value": 0.33},
            "does not pass the permutation test (Kendall's tau-b 0.50 [0.20, 0.70], "
            "n = 10 methods, p = 0.33)",
        ),
        (
            {"n": 1, "n_groups": 1},
            "was compared inside one story only (Kendall's tau-b 0.50 [0.20, 0.70], "
            "n = 1 cell of 1 story)",
        ),
        (
            {"n": 15, "n_groups": 5, "value": 1.0, "low": 1.0, "high": 1.0},
            "was compared inside few stories (Kendall's tau-b 1.00 [1.00, 1.00], "
            "n = 15 cells of 5 stories)",
        ),
    ],
)
def test_an_interval_of_few_methods_or_stories_shows_nothing(change, does):
    table = correlations(change)
    assert sentences({"correlations": table}, 1000) == ()
    told = limits({"correlations": table}, 1000)
    assert any(x.endswith(f"The only metric, aesthetic, {does}.") for x in told)


def test_over_ten_methods_and_more_the_permutation_test_stands_beside():
    table = correlations({"level": "method", "n": 10, "p_value": 0.02})
    (text,) = sentences({"correlations": table}, 1000)
    assert text.endswith("[0.20, 0.70], n = 10 methods, p = 0.02.")


@pytest.mark.parametrize(
    ("p_values", "said"),
    [
        ((0.01, 0.2, NAN), "not separable from 2 of the 3 others (Holm, p > .05)."),
        ((0.06, 0.2), "not separable from any of the 2 others (Holm, p > .05)."),
        ((0.01, 0.05), "separable from the 2 others (Holm, p ≤ .05)."),
        ((0.3,), "not separable from the other (Holm, p > .05)."),
        ((NAN, NAN), "the highest of 2 metrics."),
    ],
)
def test_the_highest_metric_is_set_apart_only_by_the_tests(p_values, said):
    tables = {"correlations": correlations({}, NOISE)}
    elsewhere = comparisons(0.001).assign(level="pooled")
    undefined = comparisons(NAN).assign(difference=NAN)
    rows = pd.concat([comparisons(*p_values), elsewhere, undefined], ignore_index=True)
    (text,) = sentences(tables | {"metric_comparisons": rows}, 1000)
    assert text.endswith(f", {said}")


@pytest.mark.parametrize(
    ("value", "low", "high", "does"),
    [
        (0.6, -0.1, 0.9, "has an interval that includes 0"),
        (0.6, 0.0, 0.9, "has an interval that includes 0"),
        (-0.6, -0.9, -0.2, "disagrees with people"),
        (0.6, NAN, NAN, "has no interval"),
    ],
)
def test_without_an_interval_above_0_no_metric_is_said_to_agree(value, low, high, does):
    shaky = {"value": value, "low": low, "high": high}
    table = correlations(shaky, shaky | {"metric": "noise", "value": -1.0})
    assert sentences({"correlations": table}, 1000) == ()
    text = limits({"correlations": table}, 1000)[0]
    start = "beauty: no metric is shown to agree with people inside stories."
    assert text.startswith(start)
    assert f"The highest of 2 metrics, aesthetic, {does} (Kendall's" in text


def test_a_lower_metric_can_be_the_one_that_is_established():
    table = correlations({}, NOISE | {"value": 0.6, "high": 0.9})
    (text,) = sentences({"correlations": table}, 1000)
    assert "aesthetic agrees" in text
    assert text.endswith(
        "; noise is higher (0.60), but has an interval that includes 0."
    )


def test_a_coefficient_that_is_defined_at_another_level_only_is_taken_there():
    pooled = {"level": "pooled"}
    table = correlations(pooled, NOISE | pooled, {"coefficient": "pearson"})
    (text,) = sentences({"correlations": table}, 1000)
    assert "over all cells together: Kendall's tau-b" in text


def test_nothing_defined_is_said():
    table = correlations({"value": NAN, "low": NAN, "high": NAN})
    assert "no coefficient is defined" in limits({"correlations": table}, 1000)[0]


@pytest.mark.parametrize(
    ("low", "high", "is_shown", "said"),
    [
        (1, 1, True, ", and is shown to be ahead of every other method."),
        (pd.NA, pd.NA, False, ", but its rank has no interval."),
    ],
)
def test_the_first_of_a_leaderboard(low, high, is_shown, said):
    board = pd.DataFrame(
        {
            "criterion": ["q", "q"],
            "method": ["B", "A"],
            "rating": [900.0, 1100.0],
            "low": [800.0, 1000.0],
            "high": [1000.0, 1200.0],
            "rank": [2, 1],
            "rank_low": pd.array([low, low], dtype="Int64"),
            "rank_high": pd.array([high, high], dtype="Int64"),
            "n_comparisons": 64,
        }
    )
    card = sentences if is_shown else limits
    text = card({"leaderboard": board}, 1000)[0]
    start = "q: A stands first with a rating of 1100 [1000, 1200] from 64 comparisons"
    assert text.startswith(start + said)


def board(low, high):
    return pd.DataFrame(
        {
            "criterion": ["q", "q"],
            "method": ["B", "A"],
            "rating": [900.0, 1100.0],
            "low": [800.0, 1000.0],
            "high": [1000.0, 1200.0],
            "rank": [2, 1],
            "rank_low": low,
            "rank_high": high,
            "n_comparisons": 64,
        }
    )


def test_first_places_that_are_not_settled_are_told_in_one_sentence():
    both = pd.concat([board(1, 3), board(1, 2).assign(criterion="r")])
    assert sentences({"leaderboard": both}, 1000) == ()
    assert limits({"leaderboard": both}, 1000)[0] == (
        "The first place is not settled in q (A 1100 [1000, 1200], rank 1 to 3, 64 "
        "comparisons), r (A 1100 [1000, 1200], rank 1 to 2, 64 comparisons)."
    )


def test_many_questions_on_which_people_agree_are_one_sentence():
    table = pd.concat(
        [agreement(question=f"q{i}", value=0.4 + i / 100) for i in range(5)]
    )
    (text,) = sentences({"agreement": table}, 1000)
    assert text.startswith(
        "People agree beyond chance in 5 questions, from q0, ordinal"
    )


# Declared metrics ---------------------------------------------------------------------


def meant(*metrics, question="environment consistency"):
    return pd.DataFrame({"question": question, "metric": metrics})


def published(*rows):
    """Method-level coefficients of ViStoryBench's kind: metric, value, low, p."""
    return correlations(
        *[
            {
                "dimension": "environment consistency",
                "level": "method",
                "n": 23,
                "metric": metric,
                "value": value,
                "low": low,
                "high": 0.9,
                "p_value": p,
            }
            for metric, value, low, p in rows
        ]
    )


def test_a_metric_declared_beforehand_is_a_hypothesis_of_its_own():
    """.02 passes for it alone, and not for the best of five."""
    others = [(f"m{i}", 0.5 - i / 100, 0.1, 0.02) for i in range(4)]
    table = published(("CSD-self", 0.4, 0.1, 0.02), *others)
    tables = {"correlations": table, "hypotheses": meant("CSD-self")}
    (text,) = sentences(tables, 1000)
    assert text == (
        "environment consistency: CSD-self, declared for this question, "
        "agrees with people over method means: Kendall's tau-b 0.40 [0.10, 0.90], "
        "n = 23 methods, p = 0.02; last of 5."
    )
    told = limits(tables, 1000)[0]
    assert ": no other metric is shown to agree" in told


def test_what_a_question_is_called_declares_nothing():
    """Renaming a question changed the verdict: the family was chosen by its name."""
    others = [(f"m{i}", 0.5 - i / 100, 0.1, 0.02) for i in range(4)]
    table = published(("csd", 0.6, 0.1, 0.02), *others)
    assert sentences({"correlations": table}, 1000) == ()
    renamed = table.assign(dimension="appearance")
    tables = {
        "correlations": renamed,
        "hypotheses": meant("csd", question="appearance"),
    }
    (text,) = sentences(tables, 1000)
    assert text.startswith("appearance: csd, declared for this question, agrees with")


def test_two_declared_metrics_are_adjusted_over_both_and_the_best_over_all():
    table = published(
        ("csd", 0.4, 0.1, 0.03), ("csd_self", 0.3, 0.1, 0.04), ("best", 0.6, 0.2, 0.001)
    )
    tables = {"correlations": table, "hypotheses": meant("csd", "csd_self")}
    assert sentences(tables, 1000) == (
        "environment consistency: best agrees with people over method means: Kendall's "
        "tau-b 0.60 [0.20, 0.90], n = 23 methods, p < 0.01 (adjusted over 3 metrics: "
        "p < 0.01), the highest of 3 metrics.",
    )
    told = limits(tables, 1000)
    assert "csd, declared for this question, is not shown to agree" in told[0]
    assert "(adjusted over 2 declared metrics: p = 0.06); second of 3." in told[0]


def test_a_declared_metric_that_is_shown_is_not_denied_in_the_next_sentence():
    table = published(("csd", 0.6, 0.1, 0.03), ("other", 0.3, 0.1, 0.04))
    tables = {"correlations": table, "hypotheses": meant("csd")}
    assert len(sentences(tables, 1000)) == 1
    told = limits(tables, 1000)
    assert not any("no metric" in text or "no other" in text for text in told)


def test_stories_where_a_coefficient_is_undefined_are_told():
    means = pd.DataFrame({"dimension": ["beauty"], "n_stories": [40]})
    tables = {"correlations": correlations({}, NOISE), "method_means": means}
    (text,) = sentences(tables, 1000)
    assert "n = 40 cells of the 8 of 40 stories where it is defined" in text
    assert "fewer than half: aesthetic 8, noise 8." in limits(tables, 1000)[0]
    why = "32 of 40 stories left out: the metric's scores all the same in 32"
    groups = {"question": "beauty", "metric": ["aesthetic"], "level": "story"}
    groups = pd.DataFrame(groups).assign(n_groups=8, reason=why)
    (text,) = sentences(tables | {"groups": groups}, 1000)
    assert "it is defined (left out: the metric's scores all the same in 32)," in text
    full = tables | {"method_means": means.assign(n_stories=8)}
    assert "n = 40 cells of 8 stories," in sentences(full, 1000)[0]


def test_a_level_within_methods_alone_is_a_level():
    table = correlations({"level": "within_method"})
    assert (
        "agrees with people within methods"
        in sentences({"correlations": table}, 1000)[0]
    )


def agreement(**changes):
    row = {
        "question": "q",
        "statistic": "alpha_ordinal",
        "value": 0.4,
        "low": 0.3,
        "high": 0.5,
        "n_units": 9,
        "n_annotators": 3,
        "reason": "",
    }
    return pd.DataFrame([row | changes])


def test_who_shares_the_first_place_does_not_stand_first():
    board = pd.DataFrame(
        {
            "criterion": "q",
            "method": list("BAC"),
            "rating": [1010.0, 1010.0, 980.0],
            "low": 900.0,
            "high": 1100.0,
            "rank": [1, 1, 3],
            "rank_low": 1,
            "rank_high": 1,
            "n_comparisons": 9,
        }
    )
    assert sentences({"leaderboard": board}, 1000) == ()
    assert limits({"leaderboard": board}, 1000)[0] == (
        "q: no method stands first alone; A, B share the first place with a rating of "
        "1010 [900, 1100]."
    )


def test_people_who_agree():
    assert sentences({"agreement": agreement()}, 1000) == (
        "q: people agree beyond chance, ordinal alpha 0.40 [0.30, 0.50] "
        "(3 annotators, 9 units with two or more answers).",
    )


@pytest.mark.parametrize(
    ("value", "low", "high"), [(0.4, -0.1, 0.8), (-0.5, -0.8, -0.2), (0.4, NAN, NAN)]
)
def test_people_who_are_not_shown_to_agree(value, low, high):
    table = agreement(value=value, low=low, high=high)
    assert sentences({"agreement": table}, 1000) == ()
    text = limits({"agreement": table}, 1000)[0]
    why = "for want of an interval: " if math.isnan(low) else ""
    start = f"q: people are not shown to agree beyond chance, {why}ordinal"
    assert text.startswith(start)


def test_undefined_agreement_gives_its_reason_once():
    undefined = {"value": NAN, "low": NAN, "high": NAN, "reason": "no unit has two"}
    table = pd.concat([agreement(**undefined, question=name) for name in "pq"])
    assert sentences({"agreement": table}, 1000) == ()
    text = limits({"agreement": table}, 1000)[0]
    assert text == (
        "p, q: agreement of people beyond chance is undefined, since no unit has two."
    )


def test_intervals_with_0_are_counted_on_both_sides_of_it():
    table = correlations(
        {},
        NOISE,
        NOISE | {"value": -0.1},
        {"value": -0.5, "low": -0.8, "high": -0.1},
        {"low": NAN, "high": NAN},
    )
    around, below, chosen, last = limits({"correlations": table}, 1000)
    assert around.startswith("2 of 4 coefficients have an interval that includes 0")
    assert around.endswith(": they do not show agreement.")
    assert below.startswith("1 of 4 coefficients has an interval below 0")
    assert chosen.startswith("A metric that is named as the highest of several")
    assert last.startswith("Intervals come from this study's own answers")


def test_one_interval_with_0_is_one():
    said = limits({"correlations": correlations(NOISE)}, 1000)[1]
    assert said == (
        "1 of 1 coefficient has an interval that includes 0: it does not show "
        "agreement."
    )


@pytest.mark.parametrize("n", [2, 9])
def test_few_methods_are_a_limit(n):
    table = correlations({"level": "method", "n": n})
    assert limits({"correlations": table}, 1000)[0].startswith(f"Only {n} methods:")


def test_of_many_sentences_the_first_of_each_kind_stand_open():
    questions = [{"dimension": f"q{i}"} for i in range(9)]
    table = correlations(*questions)
    agreement = pd.DataFrame(
        {
            "question": ["p"],
            "statistic": "alpha_ordinal",
            "value": 0.5,
            "low": 0.4,
            "high": 0.6,
            "n_annotators": 3,
            "n_units": 9,
        }
    )
    said = both({"correlations": table, "agreement": agreement}, 1000, 0.95)
    first, more = folded(said.claims)
    assert (len(first), len(more)) == (6, 4)
    assert set(first) | set(more) == set(flat(said.claims))
    assert first[-1].startswith("p: people agree beyond chance")
    few = both({"correlations": table[:7], "agreement": agreement}, 1000, 0.95)
    assert folded(few.claims) == (flat(few.claims), ())


@pytest.mark.parametrize(
    "change", [{}, {"level": "method", "n": 1, "value": NAN, "low": NAN, "high": NAN}]
)
def test_a_coefficient_that_is_undefined_is_not_called_uninformative(change):
    told = limits({"correlations": correlations(change)}, 1000)
    assert not any("Only" in text for text in told)


def test_without_intervals_that_is_a_limit():
    table = correlations({"low": NAN, "high": NAN})
    assert limits({"correlations": table}, 1000)[-1].startswith(
        "No interval was computed"
    )


def test_ties_of_metrics_are_a_limit_but_not_those_of_the_constant():
    table = pd.DataFrame(
        {"metric": ["constant", "a", "b"], "metric_tie_rate": [1.0, 0.5, 0.1]}
    )
    assert limits({"pairwise_accuracy": table}, 1000)[0].startswith("1 of 2 rows")


def many_metrics(p_value):
    """One metric against eleven others, all with the same p-value."""
    names = [f"m{i:02}" for i in range(12)]
    row = {"dimension": "q", "level": "story", "coefficient": "kendall"}
    coefficients = pd.DataFrame(
        [
            row
            | {
                "metric": name,
                "value": 0.9 - i / 20,
                "low": 0.5 - i / 20,
                "high": 1.0,
                "n": 40,
                "n_groups": 8,
            }
            for i, name in enumerate(names)
        ]
    )
    pairs = pd.DataFrame(
        [
            row
            | {
                "metric_a": "m00",
                "metric_b": name,
                "difference": 0.1,
                "p_value": p_value,
                "p_adjusted": 1.0,
            }
            for name in names[1:]
        ]
    )
    return {"correlations": coefficients, "metric_comparisons": pairs}


def test_one_against_the_others_is_a_family_of_its_own():
    """Over all 66 pairs, .004 would be no evidence."""
    (text,) = sentences(many_metrics(0.004), 1000)
    assert text.endswith("separable from the 11 others (Holm, p ≤ .05).")


@pytest.mark.parametrize(
    ("name", "n", "told"),
    [
        ("method_means", 6, True),
        ("win_rates", 19, True),
        ("method_means", 20, False),
        ("method_means", 1, False),
        ("method_means", None, False),
    ],
)
def test_intervals_over_few_stories_are_called_too_narrow(name, n, told):
    stories = pd.array([n, n], "Int64")
    table = pd.DataFrame({"n_stories": stories, "low": [0.1, 0.2]})
    found = [text for text in limits({name: table}, 0) if text.startswith("Only")]
    assert (
        found
        == [
            f"Only {n} stories: intervals that draw stories are too narrow "
            "with so few, so what stands clear of its limit by little is "
            "open."
        ]
        * told
    )
    assert not limits({name: table.assign(low=float("nan"))}, 0)[0].startswith("Only")


def test_the_first_of_rankings():
    rows = board(1, 1).rename(columns={"n_comparisons": "n_rankings"})
    rows = rows.assign(n_stories=40)
    assert sentences({"ranking_leaderboard": rows}, 1000)[0] == (
        "q: A stands first with a rating of 1100 [1000, 1200] from 64 rankings, and is "
        "shown to be ahead of every other method."
    )


def test_rankings_over_few_stories():
    rows = board(1, 1).rename(columns={"n_comparisons": "n_rankings"})
    told = limits({"ranking_leaderboard": rows.assign(n_stories=5)}, 1000)
    assert any(text.startswith("Only 5 stories") for text in told)


def test_how_alike_people_rank():
    row = {
        "question": "q",
        "statistic": "kendall_between_annotators",
        "value": 0.4,
        "low": 0.2,
        "high": 0.6,
        "n_units": 30,
        "n_annotators": 5,
        "reason": "",
    }
    assert sentences({"agreement": pd.DataFrame([row])}, 1000) == (
        "q: people agree beyond chance, Kendall's tau of two annotators 0.40 "
        "[0.20, 0.60] (5 annotators, 30 units with two or more answers).",
    )
