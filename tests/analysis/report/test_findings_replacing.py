"""Sentences on whether metrics may take an annotator's place."""

import pandas as pd
import pytest

from analysis.report.findings_replacing import replacement_claims

NAN = float("nan")
ROW = {
    "question": "character",
    "metric": "cids",
    "source": "ratings",
    "annotator": "",
    "drawn": "stories",
    "epsilon": 0.1,
    "epsilon_needed": 0.131,
    "wins": 3,
    "n_annotators": 5,
    "n_more_stories": NAN,
    "verdict": "replaces",
    "reason": "",
}
UNKNOWN = {"wins": NAN, "epsilon": NAN, "verdict": "cannot be told"}


def sentences(*rows):
    table = pd.DataFrame([ROW | row for row in rows])
    verdicts = table[["question", "metric", "source"]].assign(
        leads=True, role="declared", value=0.5, verdict="above chance"
    )
    return list(replacement_claims(table, verdicts))


@pytest.mark.parametrize(
    ("row", "shown", "text"),
    [
        ({}, True, "place of 3 of 5 annotators (epsilon .1), for new stories"),
        ({"verdict": "does not", "wins": 0}, False, "worse than most"),
        (
            {"verdict": "cannot be told", "n_more_stories": 12},
            False,
            "about 12 more stories are needed.",
        ),
        ({"verdict": "cannot be told"}, False, "20 times the stories"),
        (
            UNKNOWN | {"reason": "no epsilon was declared"},
            False,
            "one of at least .14.",
        ),
        (
            UNKNOWN | {"reason": "no epsilon was declared", "epsilon_needed": 0.0},
            False,
            "any would let it",
        ),
        (
            UNKNOWN
            | {"reason": "2 annotators; at least three are needed"}
            | {"epsilon_needed": NAN},
            False,
            "not tested: 2 annotators; at least three are needed.",
        ),
    ],
)
def test_sentence_follows_the_row_of_all_annotators(row, shown, text):
    ((is_shown, sentence),) = sentences(row)
    assert sentence.startswith("character: ")
    assert (is_shown, text in sentence) == (shown, True), sentence


def test_metric_that_may_be_no_better_than_chance_replaces_nobody():
    table = pd.DataFrame([ROW])
    verdicts = table[["question", "metric", "source"]].assign(
        leads=True, role="exploratory", value=0.5, verdict="cannot be told"
    )
    ((shown, text),) = replacement_claims(table, verdicts)
    assert not shown
    assert "not shown to be better than chance (3 of 5" in text


def test_highest_of_several_metrics_is_not_adjusted_for():
    table = pd.DataFrame([ROW, ROW | {"metric": "csd"}])
    verdicts = table[["question", "metric", "source"]].assign(
        leads=True, role="exploratory", value=[0.5, 0.6], verdict="above chance"
    )
    ((shown, text),) = replacement_claims(table, verdicts)
    assert shown
    assert "highest of 2 metrics" in text


def test_refused_epsilon_has_its_reason():
    reason = "one annotator agrees in 72% of pairs: epsilon 0.3 reaches chance"
    row = {"reason": reason, "wins": NAN, "epsilon": 0.3, "verdict": "cannot be told"}
    ((shown, text),) = sentences(row)
    assert not shown
    assert text.endswith(f"not tested: {reason}.")


def test_many_questions_are_counted_in_one_sentence():
    rows = [{"question": f"q{k}"} for k in range(4)]
    rows[1] |= {"verdict": "does not"}
    rows[2] |= {"verdict": "cannot be told"}
    ((shown, text),) = sentences(*rows)
    assert shown
    assert text.startswith("In 2 of 4 questions")
    assert "q0 and q3. It may not in 1, and it cannot be told in 1." in text


def test_only_the_metric_of_the_verdict_is_named():
    table = pd.DataFrame([ROW, ROW | {"metric": "csd"}])
    verdicts = table[["question", "metric", "source"]].assign(
        leads=True, role=["exploratory", "declared"], value=0.5, verdict=""
    )
    ((_shown, text),) = replacement_claims(table, verdicts)
    assert "csd" in text
