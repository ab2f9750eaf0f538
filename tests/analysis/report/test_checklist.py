"""A reviewer's questions are answered with the report's own numbers."""

import pandas as pd

from analysis.report.checklist import answers

RUN = {
    "seed": "7",
    "resamples": "20",
    "confidence": "0.95",
    "excluded methods": "",
    "command": "x",
}
NAN = float("nan")


def asked(tables=None, notes=(), drawn=(), by_error=(), run=RUN):
    return dict(answers(tables or {}, notes, run, drawn, by_error))


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


def test_people_overlap_and_agreement():
    told = asked({"agreement": agreement()})
    assert told["How many annotators, units, answers?"] == (
        "q 3 annotators, 10 units with two or more answers, 30 answers"
    )
    assert told["How much overlap?"].startswith("3.0 answers")
    assert told["How well do people agree (ordinal alpha)?"] == "q 0.70 [0.60, 0.80]"


def test_nobody_is_invented_where_units_are_unknown():
    told = asked({"agreement": agreement(n_units=0, n_annotators=pd.NA, value=NAN)})
    assert told["How many annotators, units, answers?"].startswith("Not known")
    assert "How much overlap?" not in told


def test_exclusions_come_from_the_remarks():
    assert (
        "3 of 9 ratings left out"
        in asked(notes=["3 of 9 ratings left out."])["What was excluded?"]
    )
    assert asked()["What was excluded?"].startswith("Nothing was left out.")


def test_chance_is_the_constant_and_ties_are_of_the_others():
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
    told = asked({"pairwise_accuracy": pd.DataFrame(rows)})
    assert told["How often does a metric tie?"].startswith("20 % to 20 %")
    assert "50 % half, 0 % strict" in told["What is chance?"]


def test_leaderboard_says_whether_the_side_is_known_and_all_are_connected():
    board = pd.DataFrame(
        {
            "criterion": "q",
            "method": ["A", "B"],
            "rating": [1000.0, NAN],
            "rank_low": [1, None],
            "rank_high": [1, None],
        }
    )
    told = asked({"leaderboard": board})
    assert told["Are all methods connected by comparisons?"].startswith("Not in q")
    assert told["Does the side decide?"].startswith("Not known")
    assert told["Do ranks have intervals?"].startswith("Yes: 1 of 1")


def test_side_is_told_with_the_interval_that_draws_clusters():
    row = {"question": "q", "value": 0.6, "low": 0.45, "high": 0.75, "p_value": 1e-9}
    told = asked({"position_bias": pd.DataFrame([row])})
    assert told["Does the side decide?"] == "q 0.60 [0.45, 0.75]"
    bare = asked({"position_bias": pd.DataFrame([row | {"low": NAN, "high": NAN}])})
    assert "no interval that draws clusters" in bare["Does the side decide?"]


def test_intervals_and_seed():
    question = "What do the intervals draw?"
    told = asked(drawn=["stories for agreement"], by_error=["correlations"])
    assert told[question] == (
        "Whole clusters, 20 times at 0.95: stories for agreement. By a standard error "
        "for what the columns drawn and test name: correlations."
    )
    assert told["Can it be made again?"].startswith("Seed 7")
    assert asked()[question] == "There are none: the tables give the reasons."
    none = asked(run=RUN | {"resamples": "0"})
    assert none[question] == "There are none: --resamples 0."


def test_coefficients_over_other_stories_are_not_called_the_same():
    row = {"dimension": "q", "coefficient": "kendall", "level": "story", "value": 0.5}
    question = "The same items for all metrics?"
    rows = [row | {"metric": m, "n_groups": n} for m, n in (("a", 40), ("b", 12))]
    told = asked({"correlations": pd.DataFrame(rows)})[question]
    assert "not the same stories" in told
    assert "(12 to 40)" in told
    same = pd.DataFrame(rows).assign(n_groups=40)
    assert "stories" not in asked({"correlations": same})[question]


def test_best_are_those_of_the_statistic_that_leads():
    verdicts = pd.DataFrame(
        {"question": "q", "leads": [True, True, True, False], "n_better": [0, 0, 1, 0]}
    )
    told = asked({"verdicts": verdicts})["Which metrics does no other beat?"]
    assert told == "q 2 of 3; the table of verdicts names them."
    untested = verdicts.assign(n_better=NAN)
    told = asked({"verdicts": untested})
    assert told["Which metrics does no other beat?"].startswith("Not known")
