"""Messages about many problems: each kind, its first places, their number."""

import pickle

import pytest

from analysis.problems import InputError, Problem, Problems, by_line, shown

WORD = "one of a, b, tie, both_bad"


def bad(line: int, column: str = "choice", expected: str = WORD) -> Problem:
    return Problem("c.csv", expected, line, column, "x")


def test_error_reaches_the_process_that_waits_for_it():
    """A pool of processes hands errors over as pickles."""
    error = InputError(map(bad, range(2, 402)), table=[1])
    told = pickle.loads(pickle.dumps(error))
    assert str(told) == str(error)
    assert (told.problems, told.problems.total, told.table) == (
        error.problems,
        400,
        [1],
    )


def test_frequent_problems_do_not_hide_other_kinds():
    error = InputError(
        [*map(bad, range(2, 402)), bad(5, "story", "a name"), bad(402, "round", "one")]
    )
    assert str(error).splitlines() == [
        f"c.csv:2: choice: x: expected {WORD}",
        f"c.csv:3: choice: x: expected {WORD}",
        f"c.csv:4: choice: x: expected {WORD}",
        "... and 397 more",
        "c.csv:5: story: x: expected a name",
        "c.csv:402: round: x: expected one",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"expected": "3 columns, not 4"}, {"expected": "3 columns, not 12"}),
        ({"expected": "the stored value -1e-05"}, {"expected": "the stored value 0.5"}),
        (
            {"expected": "a story of v; did you mean fox?", "rule": "a story of v"},
            {"expected": "a story of v", "rule": "a story of v"},
        ),
    ],
)
def test_kind_is_what_is_said_apart_from_the_place(one, other):
    assert Problem("a", line=1, **one).kind == Problem("b", line=2, **other).kind


def test_problems_are_kept_up_to_a_bound_but_all_counted():
    problems = Problems(bad(line) for line in range(100_000))
    assert len(problems) == 100
    assert problems.total == 100_000
    assert problems.kept()[-1] == "... and 99,900 more"
    kinds = Problems(bad(1, expected=chr(n)) for n in range(0x4E00, 0x4E00 + 5000))
    assert len(kinds) == 100
    assert kinds.lines()[-1] == "... and 4,900 more"


def test_counts_survive_being_joined_and_sorted():
    first = Problems(bad(line) for line in range(1000, 0, -1))
    second: Problems[Problem] = Problems([bad(0)])
    second += first
    assert second.total == 1001
    joined = InputError(by_line(second)).problems
    assert joined.total == 1001
    assert joined[0].line == 0
    assert joined.lines()[-1] == "... and 998 more"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("x" * 60, "x" * 60),
        ("x" * 31 + "y" * 30, "x" * 30 + "…" + "y" * 29),
        ("ab" * 10**7, "ab" * 15 + "…" + "b" + "ab" * 14),
        ("red\x1b[31m\r\n", r"red\x1b[31m\r\n"),
        ("UNO\u200b\xa0\ud800", r"UNO\u200b\xa0\ud800"),
        ("狐狸 ü", "狐狸 ü"),
    ],
)
def test_values_in_messages_are_short_and_printable(value, told):
    assert shown(value) == told
    problem = Problem("c.csv", "a name", 2, value, value)
    assert str(problem) == f"c.csv:2: {told}: {told}: expected a name"
