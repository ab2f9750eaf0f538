"""The four tables that join data collection and statistics.

Ratings, choices, rankings and scores are tidy: one row an answer or a value, in
rankings one row a method of an answer. This module knows their columns and which texts
their cells may hold; it imports nothing of other rooms.
"""

import re
from io import TextIOBase

RATING_COLUMNS = ("story", "method", "dimension", "annotator", "rating")
MARKED_COLUMNS = ("story", "method", "shot", "dimension", "annotator", "rating")
RATING_KEY = ("story", "method", "shot", "round", "dimension", "annotator")
CHOICE_COLUMNS = ("story", "method_a", "method_b", "criterion", "annotator", "choice")
CHOICE_KEY = ("story", "method_a", "method_b", "round", "criterion", "annotator")
CHOICE_VALUES = ("a", "b", "tie", "both_bad")
RANKING_COLUMNS = ("story", "method", "criterion", "annotator", "rank")
# What tells one answer of a table of rankings from another, and one row of it.
RANKING_ANSWER = ("criterion", "story", "annotator", "round", "slot", "is_repeat")
RANKING_KEY = (
    "story",
    "method",
    "round",
    "criterion",
    "annotator",
    "slot",
    "is_repeat",
)
SCORE_COLUMNS = ("story", "method", "metric", "score")
# What made a score: the typed columns came after the first two.
TYPED_COLUMNS = (
    "profile",
    "weights",
    "precision",
    "judge",
    "judge_version",
    "settings",
    "identity",
)
IDENTITY_COLUMNS = ("metric_version", "backend", *TYPED_COLUMNS)
SCORE_KEY = ("story", "method", "shot", "metric", *IDENTITY_COLUMNS)
FLAGS = ("is_gold", "is_repeat", "excluded")
ANSWER_OPTIONAL = (
    "shot",
    "round",
    "session",
    "slot",
    "started_at",
    "submitted_at",
    "seconds",
    *FLAGS,
    "comment",
)
SCORE_OPTIONAL = ("shot", "higher_is_better", *IDENTITY_COLUMNS, "computed_at")

# What tells scores that name no version or backend from those of a metric that do.
UNVERSIONED = "no version"
# The annotator of a wide table without annotators.
MEAN_OF_RATERS = "mean"
# No database stores these: NUL and halves of a character.
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
# No XML, so no figure and no workbook, holds these, and no printed table shows them.
# Line ends and tabs do occur: in the headers of a form.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
# A spreadsheet takes text that begins so for a formula, some with signs of full width.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def defused(text: str) -> str:
    """Return a text as it can safely stand in a cell of a spreadsheet.

    What a spreadsheet would run as a formula gets an apostrophe before it; so does what
    could be mistaken for that, so that `restored` gives every text back.

    >>> defused("=1+2"), defused("UNO"), defused("'=1+2")
    ("'=1+2", 'UNO', "''=1+2")
    """
    return f"'{text}" if text.lstrip("'").startswith(FORMULA) else text


class Lines:
    """File for a CSV writer that turns its line ends into LF.

    So cells with a CR stand in quotes, as those with an LF do. With line ends of LF,
    the writers of Python before 3.13 leave a CR bare: a row begins there, and what
    begins with it may be a formula.
    """

    def __init__(self, out: TextIOBase) -> None:
        self.out = out

    def write(self, line: str) -> None:
        """Take a line that the writer has made."""
        self.out.write(line.removesuffix("\r\n") + "\n")


def restored(text: str) -> str:
    """Return what `defused` was given.

    >>> restored("'=1+2"), restored("'tis")
    ('=1+2', "'tis")
    """
    is_defused = text[:1] == "'" and text.lstrip("'").startswith(FORMULA)
    return text[1:] if is_defused else text


def is_text(text: str) -> bool:
    r"""Say whether every database can hold a text: no NUL, no half of a character.

    >>> is_text("狐狸"), is_text("\0"), is_text("\ud800")
    (True, False, False)
    """
    return _NOT_TEXT.search(text) is None


def control_character(name: str) -> str:
    r"""Return the first character that no name may have, as its code point, or "".

    >>> control_character("UNO\x01"), control_character("狐狸\n")
    ('U+0001', '')
    """
    found = _CONTROL.search(name)
    return f"U+{ord(found[0]):04X}" if found else ""


def is_name(text: str) -> bool:
    """Say whether a text can be a name in databases, tables, figures and files."""
    return is_text(text) and not control_character(text)
