"""Names that tables should share, and do not."""

import pandas as pd
import pytest

from analysis.problems import InputError
from analysis.reading.shared_names import (
    FILE,
    OF_ANSWERS,
    OUTPUT_NAMES,
    check_shared_names,
    spelling_remarks,
)
from analysis.reading.texts import Nearest
from analysis.sentences import Notes


def table(methods, stories=("s",), file="", columns=("method",)):
    rows = [dict.fromkeys(columns, m) | {"story": s} for s in stories for m in methods]
    frame = pd.DataFrame(rows)
    frame.index += 2
    if file:
        frame.attrs[FILE] = file
    return frame


def noted(people, scores, *given, **named):
    notes = Notes()
    check_shared_names(
        {"ratings": people}, {"scores": scores}, OUTPUT_NAMES, notes, *given, **named
    )
    return notes.sentences()


def refused(people, scores):
    with pytest.raises(InputError) as caught:
        noted(people, scores)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("name", "near", "differs"),
    [
        ("A", "a", "case"),
        ("STRASSE", "Straße", "case"),
        ("my method", "my_method", "spaces, hyphens or underscores"),
        ("sd 1-1", "sd1‑1", "spaces, hyphens or underscores"),
        ("\uff35\uff2e\uff2f", "UNO", "the Unicode form of letters"),
        ("UNO\u200b", "UNO", "the Unicode form of letters"),
        ("12", "012", "zeros before numbers"),
        ("s7", "s007", "zeros before numbers"),
        ("My Method", "my-method", "case and in spaces, hyphens or underscores"),
    ],
)
def test_names_that_differ_in_their_form_alone(name, near, differs):
    told = Nearest([near, "else", name[0]]).describe(name)
    assert told == f"{near!r}, which differs only in {differs}"


def test_nearest_name_is_one_that_is_near():
    assert Nearest(["vq-diffusion", "uno"]).describe("vq_difusion") == "'vq-diffusion'"
    assert Nearest(["vq-diffusion", "uno"]).describe("kandinsky") == ""


def test_methods_of_which_none_meets_are_listed_with_their_lines():
    people = table(["a", "b", "c", "d"], file="ratings.csv")
    assert refused(people, table(["A", "x", "B", "C"], file="scores.csv")) == [
        "scores.csv:2: method: A: expected a method of ratings.csv; nearest: 'a', "
        "which differs only in case",
        "scores.csv:3: method: x: expected a method of ratings.csv; such as 'a'",
        "scores.csv:4: method: B: expected a method of ratings.csv; nearest: 'b', "
        "which differs only in case",
        "... and 1 more",
    ]


def test_names_of_which_some_meet_are_noted_on_both_sides():
    people = table(["a", "b", "U-NO"], ["s", "t"], "ratings.csv")
    scores = table(["a", "b", "UNO", "w", "x", "y", "z"], ["s"], "scores.csv")
    assert noted(people, scores) == (
        "1 of 3 methods in ratings.csv is not in scores.csv, so that 2 of 6 rows have "
        "no counterpart: 'U-NO' (nearest: 'UNO', which differs only in spaces, hyphens "
        "or underscores).",
        "5 of 7 methods in scores.csv are not in ratings.csv, so that 5 of 7 rows have "
        "no counterpart: 'UNO' (nearest: 'U-NO', which differs only in spaces, hyphens "
        "or underscores), 'w', 'x' and 2 more.",
        "1 of 2 stories in ratings.csv is not in scores.csv, so that 3 of 6 rows have "
        "no counterpart: 't'.",
    )
    assert len(noted(people, scores, both=False)) == 2


TEN = [f"{i:02}" for i in range(1, 11)]


def test_stories_read_as_numbers_are_refused_with_the_remedy():
    """pandas reads 01 to 10 as 1 to 10: story 10 alone would be left."""
    people = table(["a", "b"], TEN, file="ratings.csv")
    numbers = [str(i) for i in range(1, 11)]
    lines = refused(people, table(["a", "b"], numbers))
    assert lines[0] == (
        "scores: expected at least half of its 10 stories in ratings.csv, not 1"
    )
    assert lines[1] == (
        "scores: story: 1: expected a story of ratings.csv; nearest: '01', which "
        "differs only in zeros before numbers; ids that are read as numbers lose their "
        'zeros, which pandas.read_csv(..., dtype={"story": str}) keeps'
    )


@pytest.mark.parametrize("swapped", [True, False])
@pytest.mark.parametrize(
    ("one", "other", "is_refused"),
    [
        (TEN[:3], TEN, False),
        (TEN[:5], [*TEN[:2], "x", "y", "z"], True),
        (["a", "b"], ["a", *TEN], False),
        (["a", "b", "c"], ["a", *TEN], True),
    ],
)
def test_half_of_the_smaller_side_has_to_meet(one, other, is_refused, swapped):
    sides = [table(["m"], names) for names in (one, other)]
    if swapped:
        sides.reverse()
    if is_refused:
        assert "expected at least half of its" in refused(*sides)[0]
    else:
        noted(*sides)


def spelled(**tables):
    return [*spelling_remarks(tables, OF_ANSWERS)]


def test_names_spelled_twice_in_one_table_are_remarked_on():
    rows = table(["GPT-4o", "UNO", "gpt-4o"], file="choices.csv")
    rows["annotator"] = ["Anna@x.org", "anna@x.org", "Bob"]
    assert spelled(choices=rows) == [
        "choices.csv: methods written nearly alike are counted as different: 'gpt-4o' "
        "(nearest: 'GPT-4o', which differs only in case). If they are the same, write "
        "them alike.",
        "choices.csv: annotators written nearly alike are counted as different: "
        "'anna@x.org' (nearest: 'Anna@x.org', which differs only in case). If they are "
        "the same, write them alike.",
    ]
