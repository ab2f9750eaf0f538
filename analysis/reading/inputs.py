"""Read the four tables, long or wide, from files of any kind; refuse what is wrong."""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.problems import InputError, Problem, by_line, listed
from analysis.reading.column_checks import LARGEST_RATING, LARGEST_SCORE, TableCheck
from analysis.reading.column_cleaning import as_text, coded, numbers
from analysis.reading.files import Table, opened
from analysis.reading.rankings import check_orders, ordered_choices
from analysis.reading.scores import BASELINES, OTHER_NAME
from analysis.reading.shared_names import FILE
from analysis.reading.texts import UNTOLD
from analysis.results import Array
from analysis.tables import (
    ANSWER_OPTIONAL,
    CHOICE_COLUMNS,
    CHOICE_KEY,
    CHOICE_VALUES,
    IDENTITY_COLUMNS,
    MARKED_COLUMNS,
    MEAN_OF_RATERS,
    RANKING_COLUMNS,
    RANKING_KEY,
    RATING_COLUMNS,
    RATING_KEY,
    SCORE_COLUMNS,
    SCORE_KEY,
    SCORE_OPTIONAL,
)

# What exports call ids, and times and addresses, by words of the column's name.
IDS = frozenset({"guid", "hash", "id", "idx", "index", "ip", "uid", "uuid"})
TIMES = frozenset(
    {"date", "datetime", "duration", "elapsed", "seconds", "secs", "timestamp"}
)
# Names that end so are times: lead_time, created_at.
LAST_OF_TIMES = frozenset({"at", "time"})
UNNAMED = re.compile(r"(unnamed: ?[0-9]+)?", re.IGNORECASE)
# Of fewer rows, values that rise may be chance.
LEAST_ROWS = 10
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_id_or_time(name: str, values: Array, *, of_answers: bool) -> bool:
    """Say whether a column of numbers is an id or a time, by its name or its values.

    Ids are whole numbers whose column is called so (``annotation_id``, ``HITId``), or
    has no name, as the index of a frame that was written with it. Ten or more whole
    numbers that rise with every row are ids whatever their name.

    Examples
    --------
    >>> rows = np.arange(12.0)
    >>> is_id_or_time("ResponseId", rows % 5, of_answers=True)
    True
    >>> is_id_or_time("ID", rows / 20, of_answers=False)
    False
    >>> [is_id_or_time("n", rows, of_answers=answers) for answers in (True, False)]
    [True, False]
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if TIMES & {*words} or (words and words[-1] in LAST_OF_TIMES):
        return True
    known = values[np.isfinite(values)]
    if not (known == np.round(known)).all():
        return False
    is_named = bool(IDS & {*words}) or UNNAMED.fullmatch(name.strip()) is not None
    rises = len(values) >= LEAST_ROWS and bool((np.diff(values) > 0).all())
    return is_named or (of_answers and rises)


# 3, -0.5, 1e-3, and other notations of numbers: 0,5 or 1,000.25 or 12 %.
LOOKS_NUMERIC = re.compile(
    r"[+-]?[.,]*[0-9][0-9.,]*([eE][+-]?[0-9]+)?\s*%?|nan|[+-]?inf"
)
# Tables with both columns have one row a value.
OF_RATINGS, OF_SCORES = ("dimension", "rating"), ("metric", "score")
LONG = (OF_RATINGS, OF_SCORES, ("criterion", "rank"))
LEFT_OUT = "columns left out"
IDS_LEFT_OUT = "ids and times left out"


@dataclass(frozen=True)
class WideKeys:
    """Key columns of a wide table, and value columns that look like ids."""

    file: str
    method: str
    story: str
    values: Collection[str] = ()


def long_rows(
    raw: pd.DataFrame,
    keys: WideKeys,
    name: str,
    value: str,
    largest: float,
    limits: tuple[int, int] | None = None,
) -> pd.DataFrame:
    """Turn one column a dimension or metric into one row a value."""
    for pair in LONG:
        if set(pair) <= set(raw.columns):
            both = " and ".join(pair)
            what = f"one column a {name}; a table with {both} needs no --wide"
            raise InputError([Problem(keys.file, what, 1)])
    found = listed(raw.columns)
    wanted = [(keys.method, "methods")]
    if keys.story != "story":
        wanted.append((keys.story, "stories"))
    absent = [
        Problem(keys.file, f"the column of the {what}; found {found}", 1, column)
        for column, what in wanted
        if column not in raw
    ]
    absent += [
        Problem(keys.file, f"no column {usual!r} beside {name!r}", 1, usual)
        for usual, name in (("method", keys.method), ("story", keys.story))
        if name != usual and name in raw and usual in raw
    ]
    if absent:
        raise InputError(absent)
    raw = raw.rename(columns={keys.method: "method", keys.story: "story"})
    if "story" not in raw:
        raw["story"] = ""
    known = ["story", "method"]
    known += [c for c in ("annotator", *ANSWER_OPTIONAL, *SCORE_OPTIONAL) if c in raw]
    values = [
        column
        for column in raw.columns
        if column not in known and (column in keys.values or _is_numeric(raw[column]))
    ]
    ids = [
        column
        for column in values
        if column not in keys.values
        and is_id_or_time(
            str(column), numbers(raw[column])[0], of_answers=name == "dimension"
        )
    ]
    values = [column for column in values if column not in ids]
    if not values:
        ignored = f" beside ids and times ({listed(ids)})" if ids else ""
        what = f"at least one column of numbers{ignored}"
        raise InputError([Problem(keys.file, what, 1)])
    check = TableCheck(raw, keys.file, ())
    check.decimals(values)
    for column in values:
        check.number(column, required=False, largest=largest, limits=limits)
    if check.problems:
        raise InputError(by_line(check.problems))
    kept = check.frame[list(dict.fromkeys(known))]
    parts = []
    for column in values:
        part = kept.copy(deep=False)
        part[name] = column
        part[value] = check.frame[column]
        parts.append(part[part[value].notna()])
    long: pd.DataFrame = pd.concat(parts)
    long.attrs[LEFT_OUT] = tuple(
        str(column) for column in raw if column not in (*known, *values, *ids)
    )
    long.attrs[IDS_LEFT_OUT] = tuple(map(str, ids))
    return long


def left_out_columns(table: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns of a wide table that were taken for descriptions."""
    return tuple(table.attrs.get(LEFT_OUT, ()))


def left_out_ids(table: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns of a wide table that were taken for ids and times."""
    return tuple(table.attrs.get(IDS_LEFT_OUT, ()))


def _is_numeric(column: "pd.Series[Any]") -> bool:
    """Return whether a column holds numbers, including those with separators."""
    cells = coded(column)
    texts = [_plain(as_text(value)) for value in cells.values]
    filled = cells.mask(lambda value: as_text(value) != "")
    numeric = np.array([bool(LOOKS_NUMERIC.fullmatch(text)) for text in texts], bool)
    return bool(filled.any()) and 2 * numeric[cells.codes].sum() >= filled.sum()


def _plain(text: str) -> str:
    """Return a text with its signs and digits in ASCII."""
    return unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-").lower()


WITHOUT_SCORES = "metrics without scores"


def read_ratings(
    table: Table,
    *,
    wide: bool = False,
    method_column: str = "method",
    story_column: str = "story",
    value_columns: Collection[str] = (),
    scale: tuple[int, int] | None = None,
) -> pd.DataFrame:
    """Read ratings; a table with a row for each is never taken for a wide one."""
    raw, file = opened(
        table,
        "ratings",
        (method_column,) if wide else RATING_COLUMNS,
        index=(story_column,),
    )
    if wide and not {*OF_RATINGS} <= {*raw.columns}:
        keys = WideKeys(file, method_column, story_column, value_columns)
        raw = long_rows(raw, keys, "dimension", "rating", LARGEST_RATING, scale)
        if "annotator" not in raw:
            raw["annotator"] = MEAN_OF_RATERS
    return _of_file(check_ratings(raw, file=file, scale=scale), file)


def check_ratings(
    frame: pd.DataFrame, *, file: str, scale: tuple[int, int] | None = None
) -> pd.DataFrame:
    """Return a clean copy of a table of ratings, or raise `InputError`."""
    check = TableCheck(frame, file, RATING_COLUMNS)
    check.text(("method", "dimension", "annotator"), required=True)
    check.text(("story",), required=False)
    check.whole("shot", least=0)
    check.whole("round", least=1, empty="1")
    check.decimals(("rating",))
    check.number("rating", required=True, largest=LARGEST_RATING, limits=scale)
    check.flags()
    check.unique(RATING_KEY, unless="is_repeat")
    return check.result()


def read_marked_shots(table: Table) -> pd.DataFrame:
    """Read which shots people marked: ratings of 0 and 1, each of one shot."""
    raw, file = opened(table, "marked_shots", MARKED_COLUMNS)
    return _of_file(check_marked_shots(raw, file=file), file)


def check_marked_shots(frame: pd.DataFrame, *, file: str) -> pd.DataFrame:
    """Return a clean copy of a table of marked shots, or raise `InputError`."""
    TableCheck(frame, file, MARKED_COLUMNS)
    return check_ratings(frame, file=file, scale=(0, 1))


def read_choices(table: Table) -> pd.DataFrame:
    """Read choices; the two methods come back in alphabetical order."""
    raw, file = opened(table, "choices", CHOICE_COLUMNS)
    return _of_file(check_choices(raw, file=file), file)


def check_choices(frame: pd.DataFrame, *, file: str) -> pd.DataFrame:
    """Return a clean copy of a table of choices, or raise `InputError`."""
    check = TableCheck(frame, file, CHOICE_COLUMNS)
    check.text(
        ("story", "method_a", "method_b", "criterion", "annotator"), required=True
    )
    check.text(("left_method",), required=False)
    check.whole("round", least=1, empty="1")
    check.word("choice", CHOICE_VALUES)
    check.flags()
    data = check.frame
    same = (data["method_a"] == data["method_b"]) & (data["method_a"] != "")
    check.refuse(same, "method_b", "a method other than method_a")
    if "left_method" in data:
        left = data["left_method"]
        alien = (left != "") & (left != data["method_a"])
        alien &= left != data["method_b"]
        check.refuse(alien, "left_method", "one of the two methods")
    check.frame = ordered_choices(data)
    check.unique(CHOICE_KEY, unless="is_repeat")
    return check.result()


def read_rankings(table: Table) -> pd.DataFrame:
    """Read rankings: one row a method of an answer, rank 1 being the best."""
    raw, file = opened(table, "rankings", RANKING_COLUMNS)
    return _of_file(check_rankings(raw, file=file), file)


def check_rankings(frame: pd.DataFrame, *, file: str) -> pd.DataFrame:
    """Return a clean copy of a table of rankings, or raise `InputError`."""
    check = TableCheck(frame, file, RANKING_COLUMNS)
    check.text(("story", "method", "criterion", "annotator"), required=True)
    check.text(("slot",), required=False)
    check.whole("round", least=1, empty="1")
    check.whole("rank", least=1)
    check.flags()
    check.unique(RANKING_KEY)
    check_orders(check)
    clean = check.result()
    return clean.assign(rank=clean["rank"].astype(int))


def read_scores(
    table: Table,
    *,
    wide: bool = False,
    method_column: str = "method",
    story_column: str = "story",
    value_columns: Collection[str] = (),
) -> pd.DataFrame:
    """Read metric scores; an empty score is a missing value and gives no row.

    A table with a row for each score is never taken for a wide one.
    """
    raw, file = opened(
        table,
        "scores",
        (method_column,) if wide else SCORE_COLUMNS,
        index=(story_column,),
    )
    if wide and not {*OF_SCORES} <= {*raw.columns}:
        keys = WideKeys(file, method_column, story_column, value_columns)
        raw = long_rows(raw, keys, "metric", "score", LARGEST_SCORE)
    return _of_file(check_scores(raw, file=file), file)


def _of_file(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """Note what the table is called, for remarks that name it and its lines."""
    table.attrs[FILE] = file
    return table


def check_scores(frame: pd.DataFrame, *, file: str) -> pd.DataFrame:
    """Return a clean copy of a table of scores, or raise `InputError`."""
    check = TableCheck(frame, file, SCORE_COLUMNS)
    check.text(("method", "metric"), required=True)
    taken = check.frame["metric"].isin(BASELINES)
    once = taken & ~check.frame["metric"].duplicated()
    check.refuse(once, "metric", OTHER_NAME)
    check.text(("story", *IDENTITY_COLUMNS, "computed_at"), required=False)
    check.whole("shot", least=0)
    check.decimals(("score",))
    check.number("score", required=False, largest=LARGEST_SCORE)
    check.directions()
    check.unique(SCORE_KEY)
    clean = check.result()
    found = clean.dropna(subset=["score"])
    empty = set(clean["metric"]) - set(found["metric"])
    found.attrs[WITHOUT_SCORES] = tuple(sorted(empty))
    found.attrs[UNTOLD] = clean.attrs[UNTOLD]
    return found


def metrics_without_scores(scores: pd.DataFrame) -> tuple[str, ...]:
    """Return the metrics that a table names but has no score of."""
    return tuple(scores.attrs.get(WITHOUT_SCORES, ()))


TWIN_COLUMNS = ("story", "method", "twin", "metric", "score")
TWIN_KEY = ("story", "method", "shot", "twin", "metric", *IDENTITY_COLUMNS)


def read_twins(table: Table, metrics: Collection[str]) -> pd.DataFrame:
    """Read scores of degraded copies."""
    rows, file = opened(table, "twins", TWIN_COLUMNS)
    check = TableCheck(rows, file, TWIN_COLUMNS)
    check.text(("story", "method", "twin", "metric"), required=True)
    check.text(IDENTITY_COLUMNS, required=False)
    named = check.frame["metric"]
    unknown = ~named.isin(list(metrics)) & (named != "")
    check.refuse(unknown, "metric", f"one of {listed(sorted(metrics))}")
    check.whole("shot", least=0)
    for column in {"score", "original"} & {*check.frame.columns}:
        check.number(column, required=False, largest=LARGEST_SCORE)
    check.unique(TWIN_KEY)
    return check.result().dropna(subset=["score"])
