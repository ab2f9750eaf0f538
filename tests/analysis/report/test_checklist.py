"""Answers to reviewers' questions from the report."""

import pandas as pd

from analysis.report.checklist import answers
from analysis.report.uncertainty import IntervalSources

RUN = {
    "seed": "7",
    "resamples": "20",
    "confidence": "0.95",
    "excluded methods": "",
    "command": "x",
}
NAN = float("nan")


def answered(tables=None, notes=(), drawn=(), by_error=(), run=RUN):
    sources = IntervalSources(list(drawn), list(by_error))
    return dict(answers(tables or {}, notes, run, sources))


def agreement(**changes):
    row = {
        "question": "q",
        "statistic": "alpha_ordinal",
        "value": 0.7,
        "low": 0.6,
        "high": 0.8,
        "n_units": 10,
        "n_annotators": 3,
        "n_answers": 30,
    }
    return pd.DataFrame([row | changes])


def test_answers_name_people_overlap_and_agreement():
    found = answered({"agreement": agreement()})
    assert found["How many annotators, items and answers are there?"] == (
        "q: 3 annotators, 10 items with two or more answers, 30 answers"
    )
    assert found["How many answers does an item have?"].startswith("3.0 answers")
    assert found["How well do people agree (ordinal alpha)?"] == "q: 0.70 [0.60, 0.80]"


def test_people_are_unknown_when_units_are_unknown():
    found = answered({"agreement": agreement(n_units=0, n_annotators=pd.NA, value=NAN)})
    assert found["How many annotators, items and answers are there?"].startswith(
        "Unknown"
    )
    assert "How many answers does an item have?" not in found


def test_exclusions_come_from_the_remarks():
    assert (
        "3 of 9 ratings left out"
        in answered(notes=["3 of 9 ratings left out."])["What was left out?"]
    )
    assert answered()["What was left out?"].startswith("Nothing was left out.")


def test_chance_is_that_of_the_constant_baseline():
    row = {
        "question": "q",
        "metric": "k",
        "source": "ratings",
        "ppa_half": 0.7,
        "ppa_strict": 0.6,
        "metric_tie_rate": 0.2,
        "acc_eq": 0.5,
        "epsilon_in_sample": False,
    }
    constant = {
        "metric": "constant",
        "ppa_half": 0.5,
        "ppa_strict": 0.0,
        "metric_tie_rate": 1.0,
        "acc_eq": 0.2,
    }
    guess = constant | {"metric": "random (expected)", "metric_tie_rate": 0.0}
    rows = [row, row | constant, row | guess]
    found = answered({"pairwise_accuracy": pd.DataFrame(rows)})
    assert found["How often does a metric tie?"].startswith("In 20 % to 20 %")
    assert "50 % half, 0 % strict" in found["What is the chance level?"]


def test_leaderboard_names_unknown_sides_and_unconnected_questions():
    board = pd.DataFrame(
        {
            "criterion": "q",
            "method": ["A", "B"],
            "rating": [1000.0, NAN],
            "rank_low": [1, None],
            "rank_high": [1, None],
        }
    )
    found = answered({"leaderboard": board})
    assert found["Are all methods connected by comparisons?"].startswith("Not in q")
    assert found["Is there a side preference?"].startswith("Unknown")
    assert found["Do ranks have intervals?"].endswith("1 of 1.")


def test_side_preference_has_a_cluster_interval():
    row = {"question": "q", "value": 0.6, "low": 0.45, "high": 0.75, "p_value": 1e-9}
    found = answered({"position_bias": pd.DataFrame([row])})
    assert found["Is there a side preference?"] == "q: 0.60 [0.45, 0.75]"
    bare = answered({"position_bias": pd.DataFrame([row | {"low": NAN, "high": NAN}])})
    assert "no interval that allows for clusters" in bare["Is there a side preference?"]


def test_answers_name_intervals_and_seed():
    question = "How were the intervals computed?"
    found = answered(drawn=["stories for agreement"], by_error=["correlations"])
    assert found[question] == (
        "Percentiles of 20 resamples of whole clusters, confidence 0.95: stories for "
        "agreement. A standard error over the clusters that the columns drawn and test "
        "name: correlations."
    )
    assert found["Can this report be reproduced?"].startswith("Yes: seed 7")
    assert answered()[question] == "There are none; the tables give the reasons."
    none = answered(run=RUN | {"resamples": "0"})
    assert none[question] == "There are none (--resamples 0)."


def test_coefficients_over_other_stories_are_not_called_the_same():
    row = {"dimension": "q", "coefficient": "kendall", "level": "story", "value": 0.5}
    question = "Are all metrics compared on the same outputs?"
    rows = [row | {"metric": m, "n_groups": n} for m, n in (("a", 40), ("b", 12))]
    found = answered({"correlations": pd.DataFrame(rows)})[question]
    assert "rest on different stories" in found
    assert "(12 to 40)" in found
    same = pd.DataFrame(rows).assign(n_groups=40)
    assert "stories" not in answered({"correlations": same})[question]


def test_unbeaten_metrics_are_those_of_the_leading_statistic():
    verdicts = pd.DataFrame(
        {"question": "q", "leads": [True, True, True, False], "n_better": [0, 0, 1, 0]}
    )
    found = answered({"verdicts": verdicts})[
        "How many metrics are not significantly worse than any other?"
    ]
    assert found == "q: 2 of 3; the table of verdicts names them."
    untested = verdicts.assign(n_better=NAN)
    found = answered({"verdicts": untested})
    assert found[
        "How many metrics are not significantly worse than any other?"
    ].startswith("Unknown")
