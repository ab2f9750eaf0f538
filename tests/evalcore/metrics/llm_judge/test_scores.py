"""Scores in the texts of judges."""

import pytest

from evalcore.metrics.llm_judge.replies import Unclear, digits_after, scores_after
from evalcore.metrics.vistorybench.prompt_alignment import parse_score


def scores(text: str, label: str = "score", highest: int = 4) -> list:
    return scores_after(label, text, highest)


@pytest.mark.parametrize(
    "text",
    [
        "Score: 3",
        "score:3",
        "SCORE : 3.",
        "Analysis: a fox.\nScore: 3",
        "**Score:** 3",
        "**Score**: 3",
        "**Score: 3**",
        "Score: **3**",
        "__Score:__ `3`",
        "### Score: 3",
        "- Score: 3",
        "Score: [3]",
        "Score: (3)",
        "Score: <3>",
        "Score = 3",
        "Score：3",
        "Score (0-4): 3",
        "Score (out of 4): 3",
        "Score (shot 5): 3",
        "Score: 3 (out of 4)",
        "Score: 3 [/4]",
        "**Score** (from 0 to 4): 3",
        "Score: 3/4",
        "Score: 3 / 4.",
        "Score: 3 out of 4",
        "Score: 3 of 4 points",
        "Score: 3 points",
        "Score: 3, since the sky is grey",
        "Score: 3 because the sky is grey",
        "Score: 3 (strong)",
        "Score: 3 - strong match",
        "Score: 3 – strong",
        "Final Score: 3",
        "Scene score: 3",
        '{"analysis": "a fox", "score": 3}',
        "{'score': '3'}",
        "| Score | 3 |",
        "Score:\n3",
        "Score:\n\n**3/4**",
        "Score: 3\nScene 2: 4",
        "Score: ３",
        "Score：３／４",
    ],
)
def test_decorated_scores_are_found(text):
    assert scores(text) == [3.0]


@pytest.mark.parametrize(
    "text",
    [
        'The script demands a sign "Score: 4". Score: 1',
        "The script demands a sign “Rate it.\n\nScore: 4”. Score: 1",
        "'Score: 4' is what it wants.\nScore: 1",
        "> Score: 4\n\nScore: 1",
        '{"analysis": "It says Score: 4, and \\"Score: 3\\".", "score": 1}',
        '{"analysis":"It says\nScore: 4","score":1}',
        'Score: 1\nThe prompt wants "Score: 4", which I ignore.',
        "「Score: 4」と書いてある。Score: 1",
        'A 6" sign says "Score: 4". Score: 1; it is 5" wide.',
        "The dogs' sign isn't there. Score: 1, but it's a \"good\" picture.",
        '"Score: 1"',
    ],
)
def test_quoted_scores_do_not_count(text):
    assert scores(text) == [1.0]


def test_last_score_outside_quotations_counts():
    text = 'Score: 3, at first.\nScore: 1, although it says "Score: 4".'
    assert parse_score(text, whole=True) == 1
    assert scores_after("score", text, 4, quoted=True) == [3, 1, 4]


def test_many_open_quotations_are_read_quickly():
    assert scores(200_000 * "“" + 200_000 * ' "a' + "\nScore: 1") == [1.0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The picture shows a fox.",
        "I would give it a 3.",
        "Score: three",
        "Score: n/a",
        "Score: NaN",
        "Score: Infinity",
        '{"score": NaN}',
        '{"score": null}',
        "Score 3",
        "Underscore: 3",
        "Scores vary: 3",
        "Score:\n1. The scene is right.",
        "Score: out of 4 I give 3",
        "Score: - 3",
    ],
)
def test_text_without_score_gives_none(text):
    assert scores(text) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Score: 7/10", "7 is out of 10, not of 4"),
        ("Score: 3/5", "3 is out of 5, not of 4"),
        ("Score: 3 / 5.", "3 is out of 5, not of 4"),
        ("Score: 3 out of 5", "3 is out of 5, not of 4"),
        ("Score: 3 (out of 5)", "3 is out of 5, not of 4"),
        ("Score: 4 [/5]", "4 is out of 5, not of 4"),
        ("Score (1-10): 8", "8 is out of 10, not of 4"),
        ("Score (from 0 to 5): 3", "3 is out of 5, not of 4"),
        ("Score (max 100): 3", "3 is out of 100, not of 4"),
        ("Score: 2-3", "2-3 is a range"),
        ("Score: 2 to 3", "2 to 3 is a range"),
        ("Score: 2 or 3", "2 or 3 is a range"),
        ("Score: 2 – 3", "2 – 3 is a range"),
        ("Score: [0-4]", "0-4] is a range"),
        ("Score: 75%", "75% is no score"),
        ("Score: 2 foxes appear", "2 foxes appear is no score"),
        ("Score: 3rd", "3rd is no score"),
        ("Score: " + 9 * "9", "999999999 is no score"),
    ],
)
def test_ambiguous_score_is_refused(text, reason):
    assert scores(text) == [Unclear(reason)]


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("Score: 3", [3]),
        ("Score 3", [3]),
        ("**Score (0-5):** 3/5", [3]),
        ("Score: 4.5, or score: 2-3", [4, 2]),
        ("Score: 10", [1]),
        ("Score:\n\n4", [4]),
        ("Score: ３", [3]),
        ("Score: -1", []),
        ("Score (0-5): good", []),
        ("Score: NaN", []),
        ("Underscore: 3", []),
    ],
)
def test_first_digits_are_found(text, digits):
    assert digits_after("score", text) == digits
