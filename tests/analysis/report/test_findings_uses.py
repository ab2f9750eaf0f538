"""Answers that open a report: agreement, an annotator's place, favoured methods."""

import itertools

import pandas as pd
import pytest

from analysis.commands.alignment import leaderboard
from analysis.inference.meta_analysis import ALL
from analysis.options import AlignOptions
from analysis.report.findings_claims import favour_claims, whole_claims
from analysis.report.findings_uses import agree_claims, replacement_claims
from analysis.report.sections import USES, findings, opened, sample_line
from analysis.report.wording import MOST_NAMES
from analysis.verdicts import leading_metrics

NAN = float("nan")
OPEN = "cannot be told"
ROW = {
    "question": "character",
    "metric": "cids",
    "source": "ratings",
    "annotator": "",
    "n": 90,
    "drawn": "stories",
    "epsilon": 0.1,
    "epsilon_needed": 0.131,
    "wins": 3,
    "n_annotators": 5,
    "n_more_stories": NAN,
    "verdict": "replaces",
    "reason": "",
}
UNKNOWN = {"wins": NAN, "epsilon": NAN, "verdict": OPEN}
VERDICT = {
    "question": "character",
    "metric": "cids",
    "source": "ratings",
    "role": "declared",
    "statistic": "ppa_half",
    "leads": True,
    "value": 0.7,
    "low": 0.6,
    "high": 0.8,
    "verdict": "above chance",
    "reason": "",
}


def verdicts(*rows):
    return pd.DataFrame([VERDICT | row for row in rows])


def sentences(*rows, **verdict):
    table = pd.DataFrame([ROW | row for row in rows])
    keys = table[["question", "metric", "source"]].to_dict("records")
    return list(replacement_claims(table, verdicts(*(key | verdict for key in keys))))


@pytest.mark.parametrize(
    ("row", "shown", "text"),
    [
        ({}, True, "3 of 5 annotators replaced, margin ε = .1)"),
        ({"verdict": "does not", "wins": 0}, False, "May not take"),
        ({"verdict": OPEN, "n_more_stories": 12}, False, "about 12 more stories"),
        ({"verdict": OPEN}, False, "20 times the stories"),
        (UNKNOWN | {"reason": "no margin"}, False, "place: cids (character; margin"),
        (
            UNKNOWN | {"reason": "2 annotators", "epsilon_needed": NAN},
            False,
            "was not tested (2 annotators): cids (character).",
        ),
        (
            {"reason": "epsilon reaches chance", "wins": NAN, "verdict": OPEN},
            False,
            "was not tested (epsilon reaches chance)",
        ),
    ],
)
def test_sentence_follows_the_row_of_all_annotators(row, shown, text):
    ((is_shown, sentence),) = sentences(row)
    assert (is_shown, text in sentence) == (shown, True), sentence


def test_metric_that_may_be_no_better_than_chance_replaces_nobody():
    ((shown, text),) = sentences({}, verdict=OPEN)
    assert not shown
    assert "not shown to be better than chance: cids (character; 3 of 5" in text


def test_metrics_with_an_equal_reason_share_a_sentence():
    reason = UNKNOWN | {"reason": "2 annotators", "epsilon_needed": NAN}
    rows = [{"question": f"q{k}"} | reason for k in range(MOST_NAMES + 2)]
    (shown, text), (_, other) = sentences({"question": "a"}, *rows)
    assert shown
    assert "not over questions or metrics" in text
    assert other.endswith("cids (q0); cids (q1); cids (q2); 2 more.")


def test_annotators_with_few_items_are_counted():
    few = UNKNOWN | {"reason": "0 of 5 annotators have 20 items"}
    single = {"annotator": "Ann", "n": 13}
    ((_, text),) = sentences(few | {"epsilon_needed": NAN}, single, single | {"n": 7})
    assert text.endswith(
        "have 20 items): cids (character; no annotator has more than 13 items)."
    )


def test_leading_metrics_are_the_declared_ones_or_the_highest_above_chance():
    explored = {"role": "exploratory"}
    rows = [
        {"metric": "constant", "role": "baseline", "value": 0.9, "verdict": ""},
        {"metric": "one", "value": 0.6, **explored},
        {"metric": "two", "value": 0.7, **explored},
        {"metric": "three", "value": 0.8, "verdict": OPEN, **explored},
    ]
    keys = ("character", "ratings")
    assert leading_metrics(verdicts(*rows), *keys) == ("two",)
    rows.append({"metric": "made", "role": "composite", "value": 0.2, "verdict": OPEN})
    assert leading_metrics(verdicts(*rows), *keys) == ("made",)
    rows += [{"metric": "low", "value": NAN}, {"metric": "high", "value": 0.1}]
    assert leading_metrics(verdicts(*rows), *keys) == ("high", "low")
    assert leading_metrics(verdicts(*rows), "plot", "ratings") == ()
    assert leading_metrics(None, *keys) == ()


def test_first_answer_names_explored_metrics_where_the_declared_one_fails():
    failed = {"verdict": OPEN, "reason": "not_adjusted"}
    rows = [
        {"question": "a"},
        {"question": "b"} | failed,
        {"question": "b", "metric": "csd", "role": "exploratory", "value": 0.9},
        {"question": "c", "value": NAN, "verdict": OPEN, "reason": "undefined"},
    ]
    found = list(agree_claims(verdicts(*rows)))
    assert [shown for shown, _ in found] == [True, True, False, False]
    names = ["cids (a; 70 % [60, 80] of", "csd (b; 90", "cids (b; 70", "cids (c)."]
    for name, (_, text) in zip(names, found, strict=True):
        assert name in text


def test_every_question_of_the_first_screen_has_an_answer():
    columns = {"level": "pairs", "decided_by": "", "n": 9, "chance": 0.5}
    columns |= dict.fromkeys(("p_adjusted", "demanded", "cluster"), NAN)
    found = findings({"verdicts": verdicts({}).assign(**columns, n_family=1)}, 0.95)
    assert list(found.uses) == list(USES)
    assert [shown for (shown, _), *_ in found.uses.values()] == [True, *[False] * 3]


def test_explored_metrics_and_many_declared_ones_are_folded():
    few = [([(True, f"d{k}")], [(False, f"e{k}")]) for k in range(2)]
    first, folded = opened(few)
    assert [text for _, text in first] == ["d0", "d1"]
    assert [text for _, text in folded] == ["e0", "e1"]
    first, folded = opened([([(True, f"d{k}") for k in range(9)], [])])
    assert [text for _, text in first] == ["d0"]
    assert len(folded) == 8


@pytest.mark.parametrize(
    ("reason", "shown"), [("one story", "one story"), ("", "no intervals")]
)
def test_undefined_favours_share_their_reason(reason, shown):
    row = {"source": "ratings", "metric": "cids", "method": "UNO", "trained_on": False}
    row |= {"p_value": NAN, "p_adjusted": NAN, "value": 0.1, "reason": reason}
    table = pd.DataFrame([row | {"question": name} for name in "ab"])
    known = verdicts({"question": "a"}, {"question": "b"})
    ((is_shown, text),) = favour_claims(table, known)
    assert not is_shown
    assert text.endswith(f"({shown}): cids (a); cids (b).")


def test_trained_method_of_a_further_question_is_named():
    row = {"source": "ratings", "metric": "cids", "method": "UNO", "trained_on": False}
    row |= {"p_value": 0.01, "p_adjusted": 0.02, "reason": "", "low": 0.0, "high": 1.0}
    row |= {"score": 4, "human": 3, "difference": NAN}
    rows = [row | {"question": q, "value": 1 / ord(q)} for q in "abc"]
    rows[1]["trained_on"] = rows[2]["trained_on"] = True
    known = verdicts(*({"question": name} for name in "abc"))
    (_, first), (shown, trained) = favour_claims(pd.DataFrame(rows), known)
    assert first.count("trained on it") == 1
    assert shown
    assert trained.startswith("Methods declared as trained on a metric: c: cids")


def test_value_over_questions_is_untested_without_intervals():
    row = dict.fromkeys(("low", "high", "p_value", "p_adjusted"), float("nan"))
    row |= {"metric": "cids", "statistic": "ppa_half", "level": "pairs", "value": 0.7}
    table = pd.DataFrame([row | {"part": ALL, "over": "questions", "n": 2}])
    ((shown, text),) = whole_claims(table)
    assert not shown
    assert text.endswith("is 70 % over 2 questions, not tested against chance.")


def test_counts_of_one_are_singular():
    row = {"source": "ratings", "step": "analysed", "n_annotators": 1, "n_answers": 1}
    tables = {
        "method_means": pd.DataFrame({"dimension": ["look"], "method": "a"}),
        "sample_flow": pd.DataFrame([row]),
    }
    text = "1 question on 1 method and 1 story: 1 rating by 1 annotator."
    assert sample_line(tables, {"look": frozenset({"s"})}) == text


def test_first_line_counts_all_stories_of_sparse_comparisons():
    """Each pair of methods is compared on three stories of its own."""
    rows = [
        (f"s{3 * pair + k}", *methods, "best", who, "a")
        for pair, methods in enumerate(itertools.combinations("abcd", 2))
        for k in range(3)
        for who in ("Ann", "Bob")
    ]
    columns = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    choices = pd.DataFrame(rows, columns=columns)
    found = leaderboard(choices=choices, options=AlignOptions(resamples=0))
    assert found.tables["win_rates"]["n_stories"].max() == 3
    text = "1 question on 4 methods and 18 stories: 36 choices by 2 annotators."
    assert sample_line(found.tables, found.judged) == text
