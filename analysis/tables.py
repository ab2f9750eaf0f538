"""The three tables that join data collection and statistics.

Ratings, choices and scores are tidy: one row an answer or a value. This module
knows their columns and what a problem in them looks like; it imports nothing else,
so that any part of the project may use it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

RATING_COLUMNS = ("story", "method", "dimension", "annotator", "rating")
RATING_KEY = ("story", "method", "shot", "round", "dimension", "annotator")
CHOICE_COLUMNS = ("story", "method_a", "method_b", "criterion", "annotator", "choice")
CHOICE_KEY = ("story", "method_a", "method_b", "round", "criterion", "annotator")
CHOICE_VALUES = ("a", "b", "tie", "both_bad")
SCORE_COLUMNS = ("story", "method", "metric", "score")
SCORE_KEY = ("story", "method", "shot", "metric", "metric_version", "backend")
FLAGS = ("is_gold", "is_repeat", "excluded")
ANSWER_OPTIONAL = (
    "shot", "round", "session", "slot", "started_at", "submitted_at", "seconds",
    *FLAGS, "comment",
)  # fmt: skip
SCORE_OPTIONAL = ("shot", "higher_is_better", "metric_version", "backend")

# The annotator of a wide table without annotators.
MEAN_OF_RATERS = "mean"
SHOWN_PROBLEMS = 20
# No database stores these: NUL and halves of a character.
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
# A spreadsheet takes text that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def defused(text: str) -> str:
    """Return a text as it can safely stand in a cell of a spreadsheet.

    What a spreadsheet would run as a formula gets an apostrophe before it; so does what
    could be mistaken for that, so that `restored` gives every text back.

    Examples
    --------
    >>> defused("=1+2"), defused("UNO"), defused("'=1+2")
    ("'=1+2", 'UNO', "''=1+2")
    """
    return f"'{text}" if text.lstrip("'").startswith(FORMULA) else text


def restored(text: str) -> str:
    """Return what `defused` was given.

    Examples
    --------
    >>> restored("'=1+2"), restored("'tis")
    ('=1+2', "'tis")
    """
    is_defused = text[:1] == "'" and text.lstrip("'").startswith(FORMULA)
    return text[1:] if is_defused else text


def is_text(text: str) -> bool:
    r"""Say whether every database can hold a text: no NUL, no half of a character.

    Examples
    --------
    >>> is_text("狐狸"), is_text("\0"), is_text("\ud800")
    (True, False, False)
    """
    return _NOT_TEXT.search(text) is None


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an input, and what would be right.

    Parameters
    ----------
    file
        File name or path.
    expected
        What was expected, in words that go on after "expected".
    line
        Line in the file, 1 being the header; None where lines do not apply.
    column
        Column name, or empty.
    value
        The offending text, or empty.
    """

    file: str
    expected: str
    line: int | None = None
    column: str = ""
    value: str = ""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        parts = [where, self.column, self.value, f"expected {self.expected}"]
        text = ": ".join(part for part in parts if part)
        return " ".join(text.splitlines())  # one line a problem, whatever a cell holds


def by_line(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems of one file in the order of its lines."""
    return sorted(problems, key=lambda problem: problem.line or 0)


class InputError(ValueError):
    """An input was refused.

    Parameters
    ----------
    problems
        Every reason.
    table
        What could be read of the input, for whoever can find more in it.
    """

    def __init__(self, problems: Iterable[Problem], table: object = None) -> None:
        self.problems: Sequence[Problem] = tuple(problems)
        self.table = table
        super().__init__("\n".join(self.lines()))

    def lines(self, limit: int | None = SHOWN_PROBLEMS) -> list[str]:
        """Return the first problems, one a line, and how many more there are."""
        if limit is None:
            limit = len(self.problems)
        shown = [str(problem) for problem in self.problems[:limit]]
        rest = len(self.problems) - limit
        more = "problem" if rest == 1 else "problems"
        return [*shown, f"... and {rest} more {more}"] if rest > 0 else shown
