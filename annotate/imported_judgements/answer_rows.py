"""What may stand in a row of answers that people gave elsewhere."""

import re
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from analysis.problems import Problem, Problems
from analysis.tables import FLAGS, MEAN_OF_RATERS
from annotate.models import Annotator, Question
from annotate.slots.timing import LONGEST_SECONDS
from evalcore.importing.names import Names
from evalcore.importing.score_changes import LINE, ScoreRow
from evalcore.models import most_letters

COUNT = re.compile(r"0*[1-9][0-9]{0,3}(\.0+)?")
# Of a whole number, which the reader has checked.
FOUR_LETTERS = re.compile(r".{1,4}")
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LONGEST = {
    "annotator": most_letters(Annotator, "name"),
    "dimension": most_letters(Question, "key"),
    "criterion": most_letters(Question, "key"),
}
Methods = tuple[str, ...]
# Story, outputs, annotator and round.
SlotKey = tuple[str, Methods, str, str]


def slot_key(row: ScoreRow) -> SlotKey:
    """Return what the rows of one slot share."""
    return row["story"], row["outputs"], row["annotator"], row.get("round") or "1"


def row_problems(
    row: ScoreRow, names: Names, file: str, methods: tuple[str, ...], question: str
) -> list[Problem]:
    """Return what is wrong with one row, apart from its answer."""
    line = row[LINE]
    problems = []
    if not row["story"]:
        what = "a story; method-level means are analysed by python -m analysis"
        problems.append(Problem(file, what, line, "story"))
    for column in methods:
        for problem in names.problems(file, line, row["story"], row[column], column):
            if problem not in problems:
                problems.append(problem)
    for flag in FLAGS:
        if row.get(flag):
            what = "an answer that counts; leave such rows out"
            problems.append(Problem(file, what, line, flag, "true"))
    if row["annotator"] == MEAN_OF_RATERS:
        what = "an annotator; means of raters are analysed by python -m analysis"
        problems.append(Problem(file, what, line, "annotator", row["annotator"]))
    for column in ("annotator", question):
        if len(row[column]) > LONGEST[column]:
            what = f"a name of at most {LONGEST[column]} letters"
            problems.append(Problem(file, what, line, column, row[column][:40] + "..."))
    for column, what, right in (
        ("seconds", "a number of seconds from 0", _is_seconds),
        ("session", "a whole number from 1 to 9999", COUNT.fullmatch),
        ("round", "a whole number from 1 to 9999", FOUR_LETTERS.fullmatch),
        ("submitted_at", "a time such as 2025-06-01T12:00:00Z", _is_time),
    ):
        value = str(row.get(column) or "")
        if value and not right(value):
            problems.append(Problem(file, what, line, column, value))
    return problems


def _is_seconds(text: str) -> bool:
    right = re.fullmatch(r"[0-9]+(\.[0-9]*)?", text)
    return right is not None and float(text) < LONGEST_SECONDS


def _is_time(text: str) -> bool:
    try:
        when = as_utc(text)
    except (ValueError, OverflowError):
        return False
    return EARLIEST <= when <= timezone.now() + timedelta(days=1)


def as_utc(text: str) -> datetime:
    """Parse a time; one without zone is taken as UTC."""
    when = datetime.fromisoformat(text)
    return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)


def two_sides(rows: list[ScoreRow], file: str) -> Problems[Problem]:
    """Refuse a slot in which one method stood left for one criterion only."""
    first: dict[SlotKey, ScoreRow] = {}
    problems: Problems[Problem] = Problems()
    for row in rows:
        before = first.setdefault(slot_key(row), row)
        left = row.get("left_method", "")
        if left != before.get("left_method", ""):
            what = f"the method that stood left in line {before[LINE]}"
            problems.append(Problem(file, what, row[LINE], "left_method", left))
    return problems
