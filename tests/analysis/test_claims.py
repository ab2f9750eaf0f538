"""Sentences say what the tables say, and no more."""

import pandas as pd
import pytest

from analysis.claims import limits, sentences

NAN = float("nan")


def correlations(**changes):
    row = {
        "dimension": "beauty", "metric": "aesthetic", "level": "story",
        "coefficient": "kendall", "value": 0.5, "low": 0.2, "high": 0.7, "n": 40,
    }  # fmt: skip
    return pd.DataFrame([row, row | {"metric": "noise", "value": 0.1} | changes])


def test_the_best_metric_comes_with_level_coefficient_interval_and_n():
    (text,) = sentences({"correlations": correlations()})
    assert text == (
        "beauty: of 2 metrics, aesthetic agrees best with people inside stories: "
        "Kendall's tau-b 0.50 [0.20, 0.70], n = 40."
    )


def test_an_interval_with_0_is_said_to_establish_nothing():
    table = correlations(value=0.6, low=-0.1, high=0.9)
    (text,) = sentences({"correlations": table})
    assert "noise agrees best" in text
    assert text.endswith("Its interval includes 0, so even that is not established.")


def test_a_coefficient_that_is_defined_at_another_level_only_is_taken_there():
    table = correlations()
    table.loc[table["coefficient"] == "kendall", "level"] = "pooled"
    other = correlations().assign(coefficient="pearson")
    (text,) = sentences({"correlations": pd.concat([table, other])})
    assert "over all cells together: Kendall's tau-b" in text


def test_nothing_defined_is_said():
    table = correlations().assign(value=NAN)
    assert "no coefficient is defined" in sentences({"correlations": table})[0]


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1, 1, "1100, and in nearly every resample."),
        (1, 3, "1100 (rank 1 to 3)."),
        (pd.NA, pd.NA, "1100."),
    ],
)
def test_the_first_of_a_leaderboard(low, high, said):
    board = pd.DataFrame(
        {
            "criterion": ["q", "q"], "method": ["B", "A"], "rating": [900.0, 1100.0],
            "rank": [2, 1], "rank_low": pd.array([low, low], dtype="Int64"),
            "rank_high": pd.array([high, high], dtype="Int64"),
        }
    )  # fmt: skip
    (text,) = sentences({"leaderboard": board})
    assert text == f"q: A stands first with a rating of {said}"


def test_undefined_agreement_gives_its_reason():
    table = pd.DataFrame(
        {
            "question": ["q"], "statistic": ["alpha_ordinal"], "value": [NAN],
            "low": [NAN], "high": [NAN], "n_units": [0], "n_annotators": [1],
            "reason": ["one annotator"],
        }
    )  # fmt: skip
    assert sentences({"agreement": table}) == (
        "q: agreement of people is undefined: one annotator.",
    )


def test_few_methods_and_wide_intervals_are_limits():
    table = correlations(low=-0.1).assign(level="method", n=5)
    first, second, last = limits({"correlations": table})
    assert first.startswith("Only 5 methods")
    assert second.startswith("1 of 2 coefficients")
    assert last.startswith("Intervals come from resampling")


def test_without_intervals_none_are_explained():
    table = correlations(low=NAN, high=NAN).assign(low=NAN, high=NAN)
    assert limits({"correlations": table}) == ()


def test_ties_of_metrics_are_a_limit_but_not_those_of_the_constant():
    table = pd.DataFrame(
        {"metric": ["constant", "a", "b"], "metric_tie_rate": [1.0, 0.5, 0.1]}
    )
    assert limits({"pairwise_accuracy": table})[0].startswith("1 of 2 rows")
