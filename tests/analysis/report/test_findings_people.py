"""Sentences on annotators at chance level, and on the changes without them."""

import pandas as pd
import pytest

from analysis.report.sections import findings

ROW = {"question": "q", "annotator": "R07", "reason": "", "n": 90, "p_value": 0.4}
SHUFFLED = ROW | {"statistic": "shuffled_agreement", "value": 0.31, "verdict": None}
ABOVE = ROW | {
    "statistic": "above_chance",
    "value": -0.02,
    "low": -0.09,
    "high": 0.05,
    "others": 0.184,
    "verdict": "like chance",
}
RATED = ABOVE | {
    "statistic": "spearman_others",
    "value": -0.3,
    "low": -0.4,
    "high": -0.2,
}
RANKED = ABOVE | {"statistic": "mean_kendall_others"}
LEFT = {"question": "q", "left_out": "R07", "n_answers": 9, "reason": "", "method": ""}
ALPHA = LEFT | {"statistic": "alpha_nominal", "value": 0.31, "value_all": 0.24}


def sentences(annotators, without=None):
    tables = {"annotators": pd.DataFrame(annotators)}
    if without:
        tables["without_marked"] = pd.DataFrame(without)
    found = findings(tables, 0.95).sections["people"]
    assert all(is_shown for is_shown, _text in found)
    return [text for _shown, text in found]


def ranks(before, after, **more):
    return [
        LEFT | {"statistic": "rank", "method": m, "value": b, "value_all": a} | more
        for m, a, b in zip("ABC", before, after, strict=True)
    ]


def test_choices_at_chance_level_are_compared_with_shuffled_answers():
    """.31 - .02 (1 - .31) is .296."""
    honest = ABOVE | {"annotator": "R01", "value": 0.2, "verdict": "above chance"}
    open_ = ABOVE | {"annotator": "R02", "verdict": "cannot be told"}
    assert sentences([SHUFFLED, ABOVE, honest, open_]) == [
        "q: R07 answers at chance level. The answers match the others' in 30 %; "
        "shuffled over the items, they would in 31 %. Agreement above chance is −0.02 "
        "[−0.09, 0.05]; the median of the other annotators is 0.18."
    ]


def test_ratings_below_chance_have_one_sentence_for_all_questions():
    rows = [
        RATED | {"question": name, "verdict": "below chance"}
        for name in ("p", "q", "all questions")
    ]
    assert sentences(rows) == [
        "All questions together: R07 answers contrary to the others. The ratings "
        "correlate with the others' means by −0.30 [−0.40, −0.20] (Spearman's rho); "
        "the median of the other annotators is 0.18."
    ]
    # A mark on ratings does not cover choices.
    assert len(sentences([*rows, SHUFFLED, ABOVE])) == 2


def test_rankings_at_chance_level_have_tau():
    assert sentences([RANKED]) == [
        "q: R07 answers at chance level. The rankings agree with the others' by −0.02 "
        "[−0.09, 0.05] on average (Kendall's tau, 0 for random orders); the median of "
        "the other annotators is 0.18."
    ]
    tau = {"statistic": "kendall_between_annotators"}
    (text,) = sentences([SHUFFLED], [ALPHA | tau, *ranks((1, 2, 3), (1, 2, 3))])
    assert text == (
        "q, without R07: Kendall's tau of two annotators is 0.31 instead of 0.24, and "
        "every method keeps its rank."
    )


def test_ratings_and_rankings_of_one_question_have_separate_sentences():
    tau = {"statistic": "kendall_between_annotators", "value": 0.5}
    without = [ALPHA, *ranks((1, 2, 3), (1, 2, 3))]
    without += [ALPHA | tau, *ranks((1, 2, 3), (1, 3, 2))]
    texts = sentences([SHUFFLED], without)
    assert ["nominal alpha is 0.31" in text for text in texts] == [True, False]
    assert "0.50 instead of 0.24. Rank changes: 2 of 3 methods" in texts[1]
    (text,) = sentences([SHUFFLED], without * 3)
    assert (
        "in 3 of 6 questions. Agreement changes most in this question. q, without R07: "
        "Kend" in text
    )


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ((1, 2, 3), (1, 2, 3), "and every method keeps its rank."),
        (
            (1, 2, 3),
            (1, 3, 2),
            "Rank changes: 2 of 3 methods; the largest is of B, from 2 to 3.",
        ),
        (
            (1, 2, 3),
            (3, 1, 1),
            "First place goes from A to B, C. Rank changes: 3 of 3 methods.",
        ),
        (
            (1, 2, 3),
            (1, 2, 2),
            "Rank changes: 1 of 3 methods; the largest is of C, from 3 to 2.",
        ),
        (
            (1, 2, 3),
            (1, 1, 3),
            "First place goes from A to A, B. Rank changes: 1 of 3 methods.",
        ),
        ((1, 2, 3), (1, 2, float("nan")), "and not every method has a rank."),
    ],
)
def test_changes_without_marked_annotators(before, after, text):
    found = sentences([SHUFFLED], [ALPHA, *ranks(before, after)])
    start = "q, without R07: nominal alpha is 0.31 instead of 0.24"
    assert len(found) == 1
    assert found[0].startswith(start)
    assert found[0].removeprefix(start).strip(" ,.") == text.strip(".")


def test_alpha_without_marked_annotators_may_be_undefined():
    (text,) = sentences(
        [SHUFFLED], [ALPHA | {"value": float("nan")}, *ranks((1, 2, 3), (1, 2, 3))]
    )
    assert "nominal alpha is undefined instead of 0.24" in text


def test_shares_are_compared_when_annotators_errors_matter():
    alike = {
        "question": "pan",
        "majority": 0.4,
        "dawid_skene": 0.45,
        "n_differ": 3,
    }
    rows = [
        alike | {"n": 48},
        alike | {"question": "zoom", "dawid_skene": 0.56, "n_differ": 9, "n": 48},
        {"question": "all questions", "annotator": "a", "n": 48},
    ]
    found = findings({"label_aggregation": pd.DataFrame(rows)}, 0.95)
    ((is_shown, text),) = found.sections["people"]
    assert is_shown
    assert text.startswith("zoom: 40 % of the items are true by the majority, and 56 %")
    assert text.endswith(
        "both decide otherwise on 9 of 48 items. The shares are at least "
        "ten points apart in 1 of 2 questions."
    )
    close = findings({"label_aggregation": pd.DataFrame(rows[:1])}, 0.95)
    assert not close.sections["people"]
