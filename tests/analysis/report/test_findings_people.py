"""Who answers like chance, and what changes without them, in sentences."""

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


def said(annotators, without=None):
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


def test_choices_like_chance_are_told_with_what_shuffled_answers_have():
    """.31 - .02 (1 - .31) is .296."""
    honest = ABOVE | {"annotator": "R01", "value": 0.2, "verdict": "above chance"}
    open_ = ABOVE | {"annotator": "R02", "verdict": "cannot be told"}
    assert said([SHUFFLED, ABOVE, honest, open_]) == [
        "q: R07 answers like chance: agrees with the others in 30 %, and the same "
        "answers shuffled over the units would in 31 %. Above chance that is −0.02 "
        "[−0.09, 0.05], of the other annotators 0.18 in the median."
    ]


def test_ratings_against_the_others_are_told_once_for_all_questions():
    rows = [
        RATED | {"question": name, "verdict": "below chance"}
        for name in ("p", "q", "all questions")
    ]
    assert said(rows) == [
        "All questions together: R07 answers against the others: the ratings correlate "
        "with the others' means by −0.30 [−0.40, −0.20] (Spearman's rho), those of the "
        "other annotators by 0.18 in the median."
    ]
    # On ratings R07 is marked; of choices that says nothing.
    assert len(said([*rows, SHUFFLED, ABOVE])) == 2


def test_rankings_like_chance_are_told_with_tau():
    assert said([RANKED]) == [
        "q: R07 answers like chance: the orders agree with the others' by −0.02 "
        "[−0.09, 0.05] in the mean (Kendall's tau, 0 for random orders), those of the "
        "other annotators by 0.18 in the median."
    ]
    tau = {"statistic": "kendall_between_annotators"}
    (text,) = said([SHUFFLED], [ALPHA | tau, *ranks((1, 2, 3), (1, 2, 3))])
    assert text == (
        "q, without R07: Kendall's tau of two annotators is 0.31 instead of 0.24, and "
        "every method keeps its rank."
    )


def test_ratings_and_rankings_of_one_question_are_told_apart():
    tau = {"statistic": "kendall_between_annotators", "value": 0.5}
    without = [ALPHA, *ranks((1, 2, 3), (1, 2, 3))]
    without += [ALPHA | tau, *ranks((1, 2, 3), (1, 3, 2))]
    texts = said([SHUFFLED], without)
    assert ["nominal alpha is 0.31" in text for text in texts] == [True, False]
    assert "0.50 instead of 0.24, and 2 of 3 methods change" in texts[1]
    (text,) = said([SHUFFLED], without * 3)
    assert (
        "in 3 of 6 questions; agreement moves most here. q, without R07: Kend" in text
    )


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ((1, 2, 3), (1, 2, 3), "and every method keeps its rank."),
        (
            (1, 2, 3),
            (1, 3, 2),
            "and 2 of 3 methods change their rank, B most, from 2 to 3.",
        ),
        (
            (1, 2, 3),
            (3, 1, 1),
            "the first place goes from A to B, C, and 3 of 3 methods change their "
            "rank.",
        ),
        (
            (1, 2, 3),
            (1, 2, 2),
            "and 1 of 3 methods changes its rank, C from 3 to 2.",
        ),
        (
            (1, 2, 3),
            (1, 1, 3),
            "the first place goes from A to A, B, and 1 of 3 methods changes its rank.",
        ),
        ((1, 2, 3), (1, 2, float("nan")), "and not every method has a rank."),
    ],
)
def test_what_changes_without_them(before, after, text):
    found = said([SHUFFLED], [ALPHA, *ranks(before, after)])
    start = "q, without R07: nominal alpha is 0.31 instead of 0.24"
    assert len(found) == 1
    assert found[0].startswith(start)
    assert found[0].removeprefix(start).strip(" ,") == text


def test_alpha_that_is_gone_is_undefined():
    (text,) = said(
        [SHUFFLED], [ALPHA | {"value": float("nan")}, *ranks((1, 2, 3), (1, 2, 3))]
    )
    assert "nominal alpha is undefined instead of 0.24" in text
