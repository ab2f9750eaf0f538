"""Checks on the rows of answers that were collected elsewhere."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from analysis.problems import Problem, Problems, listed
from analysis.reading.texts import as_number, step_of, with_code_points
from analysis.tables import FLAGS, MEAN_OF_RATERS, RANKING_ANSWER
from annotate.kinds.ranking.kind import stored_order
from annotate.models import Annotator, Question
from annotate.models.studies import LETTERS
from annotate.responses.timing import LONGEST_SECONDS
from evalcore.importing.names import Names, Spellings, doubled
from evalcore.importing.score_writing import LINE, ScoreRow
from evalcore.importing.scores import table_rows
from evalcore.models import most_letters

if TYPE_CHECKING:
    import pandas as pd

COUNT = re.compile(r"0*[1-9][0-9]{0,3}(\.0+)?")
# The reader has already checked that this is a whole number.
FOUR_LETTERS = re.compile(r".{1,4}")
# Ratings that every database can store in its column.
LOWEST, HIGHEST = -1000, 1000
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LONGEST = {
    "annotator": most_letters(Annotator, "name"),
    "dimension": most_letters(Question, "key"),
    "criterion": most_letters(Question, "key"),
}
Methods = tuple[str, ...]
# Story, outputs, annotator and round.
SlotKey = tuple[str, Methods, str, str]


def table_answers(
    table: "pd.DataFrame", file: str
) -> tuple[list[ScoreRow], Problems[Problem]]:
    """Return the rows of a table, and problems with decimal commas in `seconds`."""
    from analysis.reading.column_checks import TableCheck

    check = TableCheck(table, file, ())
    if "seconds" in table:
        check.decimals(("seconds",))
    return table_rows(check.frame), check.problems


def slot_key(row: ScoreRow) -> SlotKey:
    """Return the key that all rows of one slot share."""
    return row["story"], row["outputs"], row["annotator"], row.get("round") or "1"


def row_problems(
    row: ScoreRow, names: Names, file: str, methods: tuple[str, ...], question: str
) -> list[Problem]:
    """Return the problems of one row, except those of its answer."""
    line = row[LINE]
    problems = []
    if not row["story"]:
        expected = _("a story; analyse means of methods with plumbline align")
        problems.append(Problem(file, expected, line, "story"))
    for column in methods:
        for problem in names.problems(file, line, row["story"], row[column], column):
            if problem not in problems:
                problems.append(problem)
    if row.get("shot") not in (None, ""):
        expected = _(
            "an answer about a whole output; analyse answers about shots with "
            "plumbline align"
        )
        problems.append(Problem(file, expected, line, "shot", str(row["shot"])))
    for flag in FLAGS:
        if row.get(flag):
            expected = _("an answer that counts; remove this row")
            problems.append(Problem(file, expected, line, flag, "true"))
    if row["annotator"] == MEAN_OF_RATERS:
        expected = _("an annotator; analyse mean ratings with plumbline align")
        problems.append(Problem(file, expected, line, "annotator", row["annotator"]))
    for column in ("annotator", question):
        if len(row[column]) > LONGEST[column]:
            what = _("a name of at most %(most)d letters") % {"most": LONGEST[column]}
            problems.append(Problem(file, what, line, column, row[column][:40] + "..."))
    for column, expected, is_valid in CELLS:
        value = str(row.get(column) or "")
        if value and not is_valid(value):
            value = with_code_points(value)
            problems.append(Problem(file, _(expected), line, column, value))
    return problems


def _is_seconds(text: str) -> bool:
    return 0 <= as_number(text) < LONGEST_SECONDS


def _is_time(text: str) -> bool:
    try:
        when = as_utc(text)
    except (ValueError, OverflowError):
        return False
    return EARLIEST <= when <= timezone.now() + timedelta(days=1)


WHOLE_NUMBER = gettext_noop("a whole number from 1 to 9999")
# Optional columns, what stands in their cells, and its test.
CELLS: tuple[tuple[str, str, Callable[[str], object]], ...] = (
    ("seconds", gettext_noop("a number of seconds from 0, such as 12.5"), _is_seconds),
    ("session", WHOLE_NUMBER, COUNT.fullmatch),
    ("round", WHOLE_NUMBER, FOUR_LETTERS.fullmatch),
    ("submitted_at", gettext_noop("a time such as 2025-06-01T12:00:00Z"), _is_time),
)


def as_utc(text: str) -> datetime:
    """Parse a time, as UTC if it names no zone."""
    when = datetime.fromisoformat(text)
    return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)


def spelling_problems(
    rows: list[ScoreRow], file: str, question: str
) -> Problems[Problem]:
    """Return annotators and questions that a table spells in two ways.

    Otherwise one person would count as two, and could rate an output twice.
    """
    problems: Problems[Problem] = Problems()
    for column in ("annotator", question):
        spellings = Spellings()
        for row in rows:
            if alike := spellings.note(row[column]):
                problems.append(doubled(file, row[LINE], column, row[column], alike))
    return problems


def step_problems(rows: list[ScoreRow], file: str) -> Problems[Problem]:
    """Return ratings that are not whole numbers, with the step of their scale."""
    given = [(row, float(row["rating"])) for row in rows if row["rating"] != ""]
    given = [(row, value) for row, value in given if math.isfinite(value)]
    step = step_of(value for _row, value in given)
    rule = _("a whole number")
    if step:
        times = round(1 / step)
        expected = _(
            "a whole number, since scales here have steps of 1, not of %(step)s: "
            "multiply all ratings and --scale by %(times)d, or analyse the ratings "
            "unchanged with plumbline align"
        ) % {"step": f"{step:g}", "times": times}
    else:
        expected = _("a whole number; analyse mean ratings with plumbline align")
    return Problems(
        Problem(file, expected, row[LINE], "rating", f"{value:g}", rule)
        for row, value in given
        if value % 1
    )


def question_texts(path: Path, asked: Collection[str]) -> dict[str, tuple[str, str]]:
    """Read titles and texts of questions by their keys (columns key, title, text).

    Raises
    ------
    analysis.problems.InputError
        The table has problems, or names a question that is not `asked`.
    """
    from analysis.reading.column_checks import TableCheck
    from analysis.reading.files import opened

    columns = ("key", "title")
    frame, file = opened(path, "questions", columns)
    check = TableCheck(frame, file, columns)
    check.text(columns, required=True)
    check.text(("text",), required=False)
    check.unique(("key",))
    unknown = ~check.frame["key"].isin(list(asked)) & (check.frame["key"] != "")
    expected = f"a question of the answers: {listed(sorted(asked))}"
    check.refuse(unknown, "key", expected)
    clean = check.result()
    texts = clean["text"] if "text" in clean else [""] * len(clean)
    return {
        str(key): (str(title), str(text))
        for key, title, text in zip(clean["key"], clean["title"], texts, strict=True)
    }


def side_problems(rows: list[ScoreRow], file: str) -> Problems[Problem]:
    """Return slots whose rows disagree about the method on the left."""
    first: dict[SlotKey, ScoreRow] = {}
    problems: Problems[Problem] = Problems()
    for row in rows:
        before = first.setdefault(slot_key(row), row)
        left = row.get("left_method", "")
        if left != before.get("left_method", ""):
            expected = _("the method on the left in line %(n)d") % {"n": before[LINE]}
            problems.append(Problem(file, expected, row[LINE], "left_method", left))
    return problems


def scale_problems(scale: tuple[int | None, int | None], file: str) -> list[Problem]:
    """Return why no database can hold the ratings of a scale."""
    low, high = scale
    if low is not None and high is not None and LOWEST <= low < high <= HIGHEST:
        return []
    expected = _("a scale between %(low)d and %(high)d")
    expected %= {"low": LOWEST, "high": HIGHEST}
    return [Problem(file, expected, value=f"{low}:{high}")]


def whole_rankings(rows: list[ScoreRow]) -> list[ScoreRow]:
    """Return the first row of each ranking, with its methods in order and the answer.

    Of ranks only the order counts, so that gaps between them are closed.
    """
    found = []
    for own in _by_ranking(rows):
        ranks = {row["method"]: int(row["rank"]) for row in own}
        outputs = tuple(sorted(ranks))
        lettered = dict(zip(LETTERS, map(ranks.__getitem__, outputs), strict=False))
        answer = stored_order(lettered)
        found.append(own[0] | {"outputs": outputs, "answer": answer})
    return found


def _by_ranking(rows: list[ScoreRow]) -> Iterable[list[ScoreRow]]:
    answers: dict[tuple[str, ...], list[ScoreRow]] = defaultdict(list)
    for row in rows:
        answers[tuple(str(row.get(key, "")) for key in RANKING_ANSWER)].append(row)
    return answers.values()


def length_problems(rows: list[ScoreRow], file: str) -> list[Problem]:
    """Return rankings of more outputs than a study can hold."""
    return [
        Problem(
            file,
            _(
                "a ranking of at most %(most)d methods; analyse longer ones with "
                "plumbline leaderboard --rankings"
            )
            % {"most": len(LETTERS)},
            own[0][LINE],
            "method",
            f"{len(own)} methods",
        )
        for own in _by_ranking(rows)
        if len(own) > len(LETTERS)
    ]
