"""Names that tables should share, and do not."""

import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.notes import Notes
from analysis.problems import InputError
from analysis.reading.shared_names import (
    FILE,
    OF_STORIES,
    OUTPUT_NAMES,
    Nearest,
    check_shared_names,
)


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
        ("My Method", "my-method", "case and in spaces, hyphens or underscores"),
    ],
)
def test_names_that_differ_in_their_form_alone(name, near, differs):
    told = Nearest([near, "else", name[0]]).told(name)
    assert told == f"{near!r}, which differs only in {differs}"


def test_the_nearest_name_is_one_that_is_near():
    assert Nearest(["vq-diffusion", "uno"]).told("vq_difusion") == "'vq-diffusion'"
    assert Nearest(["vq-diffusion", "uno"]).told("kandinsky") == ""


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


def test_methods_and_stories_are_told_together_and_frames_have_no_lines():
    assert refused(table(["a"], ["s"]), table(["A"], ["S"])) == [
        "scores: method: A: expected a method of ratings; nearest: 'a', which differs "
        "only in case",
        "scores: story: S: expected a story of ratings; nearest: 's', which differs "
        "only in case",
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


def test_equal_names_and_methods_left_out_are_not_noted():
    assert noted(table(["a", "b"]), table(["b", "a"])) == ()
    assert noted(table(["a", "b", "c"]), table(["a", "b"]), ("c",)) == ()


def test_values_of_whole_methods_need_no_stories():
    people, whole = table(["a"], ["s", "t"]), table(["a"], [""])
    assert noted(people, whole) == noted(whole, people) == ()
    (note,) = noted(people, table(["a"], ["", "u"]), both=False)
    assert note.startswith("2 of 2 stories in ratings are not in scores")


def test_a_choice_names_two_methods_and_is_one_row():
    choices = pd.DataFrame(
        {"story": "s", "method_a": ["a", "x", "a"], "method_b": ["b", "y", "x"]}
    )
    (note,) = noted(choices, table(["a", "b"]))
    assert "2 of 4 methods in ratings are not in scores, so that 2 of 3 rows" in note


def test_tables_of_one_side_are_taken_together():
    notes = Notes()
    people = {"ratings": table(["a"], ["s"]), "choices": table(["b"], ["t"])}
    check_shared_names(people, {"tags": table(["-"], "st")}, OF_STORIES, notes)
    assert notes.sentences() == ()


@pytest.fixture
def files(tmp_path):
    (tmp_path / "ratings.csv").write_text(
        "story,method,dimension,annotator,rating,round\n"
        + "".join(
            f"s{s},{m},q,{a},{(s + ord(m)) % 5},{k}\n"
            for s in range(4)
            for m in "abc"
            for a in ("R1", "R2")
            for k in (1, 2)
        )
    )
    (tmp_path / "scores.csv").write_text(
        "story,method,metric,score\n"
        + "".join(f"s{s},{m},k,{s * ord(m)}\n" for s in range(4) for m in "abc")
    )
    for name, old, new in (
        ("people.csv", ",q,", ",Q,"),
        ("others.csv", ",k,", ",K,"),
        ("part.csv", "s", "S"),
    ):
        text = (tmp_path / ("ratings.csv" if "q" in old else "scores.csv")).read_text()
        head, rows = text.split("\n", 1)
        (tmp_path / name).write_text(f"{head}\n{rows.replace(old, new)}")
    (tmp_path / "tags.csv").write_text("story,part\nS0,lite\nS1,rest\n")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "given", "told"),
    [
        ("power", "ratings=ratings scores=part", "part.csv:2: story: S0: expected a"),
        ("align", "ratings=ratings scores=scores stories=tags", "tags.csv:2: story: S"),
        ("stability", "ratings=ratings people=people", "people.csv:2: dimension: Q: "),
        ("stability", "scores=scores other-scores=others", "others.csv:2: metric: K: "),
        ("subset", "scores=scores subset=others", "scores.csv:2: metric: k: expected "),
    ],
)
def test_every_command_refuses_tables_that_share_no_name(
    files, capsys, command, given, told
):
    options = ["--out", str(files / "out"), "--resamples", "20"]
    for one in given.split():
        option, name = one.split("=")
        options += [f"--{option}", str(files / f"{name}.csv")]
    assert main([command, *options]) == 2
    problem, *_ = capsys.readouterr().err.splitlines()
    assert problem.startswith(told)
    assert "which differs only in case" in problem
    assert not (files / "out").exists()


def test_a_subset_whose_stories_are_elsewhere_is_refused(files, capsys):
    given = [
        "subset",
        "--scores",
        files / "scores.csv",
        "--stories",
        files / "tags.csv",
    ]
    given += ["--tag", "part", "--value", "lite", "--out", files / "out"]
    assert main(list(map(str, given))) == 2
    assert capsys.readouterr().err.startswith(
        "scores.csv:2: story: s0: expected a story of the subset; nearest: 'S0', which"
    )
