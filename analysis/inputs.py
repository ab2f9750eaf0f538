"""Read the three tables from CSV, JSONL or Parquet and refuse what is wrong.

Every reader returns a frame whose index is the line in the file (1 is the header) or
raises `InputError` with all problems; a frame that comes back is clean: text columns
are text, numbers are numbers, flags are booleans, keys are unique.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.files import read_file
from analysis.tables import (
    ANSWER_OPTIONAL,
    CHOICE_COLUMNS,
    CHOICE_KEY,
    CHOICE_VALUES,
    FLAGS,
    MEAN_OF_RATERS,
    RATING_COLUMNS,
    RATING_KEY,
    SCORE_COLUMNS,
    SCORE_KEY,
    SCORE_OPTIONAL,
    InputError,
    Problem,
    by_line,
    is_text,
    restored,
)

Mask = Any  # a boolean array or series, one entry a row

TRUE, FALSE = {"true", "1", "yes"}, {"false", "0", "no", ""}
MOST_FLOAT = 10**300
# 3, -0.5, 1e-3, and what is meant as a number: 0,5 or 1,000.25 or 12 %.
LOOKS_NUMERIC = r"[+-]?[0-9.,]*[0-9][0-9.,]*([eE][+-]?[0-9]+)?\s*%?|nan|[+-]?inf"


def read_ratings(
    path: Path | str,
    *,
    wide: bool = False,
    method_column: str = "method",
    story_column: str = "story",
    scale: tuple[int, int] | None = None,
) -> pd.DataFrame:
    """Read ratings.

    Parameters
    ----------
    path
        A .csv, .jsonl or .parquet file.
    wide
        One column a dimension instead of one row a rating. Without an annotator column
        the values are means over raters; without a story column they are method-level.
    method_column, story_column
        Names of the key columns of a wide table.
    scale
        Lowest and highest admitted rating.

    Returns
    -------
    pandas.DataFrame
        Columns of `analysis.tables.RATING_COLUMNS` and whatever else the file has.

    Raises
    ------
    InputError
        With every problem found.
    """
    raw = read_file(Path(path))
    if wide:
        keys = _WideKeys(Path(path).name, method_column, story_column)
        raw = _long(raw, keys, "dimension", "rating", limits=scale)
        if "annotator" not in raw:
            raw["annotator"] = MEAN_OF_RATERS
    return check_ratings(raw, file=Path(path).name, scale=scale)


def check_ratings(
    frame: pd.DataFrame, *, file: str, scale: tuple[int, int] | None = None
) -> pd.DataFrame:
    """Return a clean copy of a table of ratings, or raise `InputError`."""
    check = _Check(frame, file, RATING_COLUMNS)
    check.text(("method", "dimension", "annotator"), required=True)
    check.text(("story",), required=False)
    check.whole("shot", least=0)
    check.whole("round", least=1, empty="1")
    check.number("rating", required=True, limits=scale)
    check.flags()
    check.unique(RATING_KEY, unless="is_repeat")
    return check.result()


def read_choices(path: Path | str) -> pd.DataFrame:
    """Read choices; the two methods come back in alphabetical order.

    Raises
    ------
    InputError
        With every problem found.
    """
    return check_choices(read_file(Path(path)), file=Path(path).name)


def check_choices(frame: pd.DataFrame, *, file: str) -> pd.DataFrame:
    """Return a clean copy of a table of choices, or raise `InputError`."""
    check = _Check(frame, file, CHOICE_COLUMNS)
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
    check.frame = in_alphabetical_order(data)
    check.unique(CHOICE_KEY, unless="is_repeat")
    return check.result()


def in_alphabetical_order(choices: pd.DataFrame) -> pd.DataFrame:
    """Return the choices with method_a before method_b, answers turned to match."""
    data = choices.copy()
    swap = (data["method_a"] > data["method_b"]).to_numpy()
    first, second = data["method_a"].to_numpy(), data["method_b"].to_numpy()
    data["method_a"] = np.where(swap, second, first)
    data["method_b"] = np.where(swap, first, second)
    turned = data["choice"].replace({"a": "b", "b": "a"})
    data["choice"] = np.where(swap, turned, data["choice"])
    return data


def read_scores(
    path: Path | str,
    *,
    wide: bool = False,
    method_column: str = "method",
    story_column: str = "story",
) -> pd.DataFrame:
    """Read metric scores; an empty score is a missing value and gives no row.

    Raises
    ------
    InputError
        With every problem found.
    """
    raw = read_file(Path(path))
    if wide:
        keys = _WideKeys(Path(path).name, method_column, story_column)
        raw = _long(raw, keys, "metric", "score")
    return check_scores(raw, file=Path(path).name)


def check_scores(frame: pd.DataFrame, *, file: str) -> pd.DataFrame:
    """Return a clean copy of a table of scores, or raise `InputError`."""
    check = _Check(frame, file, SCORE_COLUMNS)
    check.text(("method", "metric"), required=True)
    check.text(("story", "metric_version", "backend"), required=False)
    check.whole("shot", least=0)
    check.number("score", required=False)
    check.flag("higher_is_better", default=True)
    check.one_direction()
    check.unique(SCORE_KEY)
    return check.result().dropna(subset=["score"])


class _Check:
    """Collects the problems of one table while its columns are made clean."""

    def __init__(self, frame: pd.DataFrame, file: str, columns: Sequence[str]) -> None:
        self.file = file
        self.frame = frame.copy()
        self.problems: list[Problem] = []
        missing = [column for column in columns if column not in frame]
        if missing:
            found = ", ".join(map(str, frame.columns)) or "none"
            raise InputError(
                Problem(file, f"a column of this name; found {found}", 1, column)
                for column in missing
            )

    def refuse(self, bad: Mask, column: str, expected: str) -> None:
        """Note a problem for each marked row."""
        for line, value in self.frame.loc[np.asarray(bad), column].items():
            shown = "" if pd.isna(value) else str(value)
            self.problems.append(
                Problem(self.file, expected, int(str(line)), column, shown or "(empty)")
            )

    def text(self, columns: Iterable[str], *, required: bool) -> None:
        """Make columns text without surrounding blanks."""
        for column in columns:
            if column not in self.frame:
                continue
            values = self.frame[column]
            clean = values.where(values.notna(), "").map(_as_text)
            self.frame[column] = clean
            self.refuse(
                ~clean.map(is_text), column, "text without NUL or broken letters"
            )
            if required:
                self.refuse(clean == "", column, "a name")

    def number(
        self, column: str, *, required: bool, limits: tuple[int, int] | None = None
    ) -> None:
        """Make a column numbers: finite, no separators, inside the limits."""
        raw = self.frame[column]
        empty = raw.isna() | (raw.map(_as_text) == "")
        try:
            values = pd.to_numeric(raw.where(~empty), errors="coerce").astype(float)
        except OverflowError:  # a whole number of hundreds of digits
            values = pd.to_numeric(raw.where(~empty).map(_no_giant), errors="coerce")
        finite = np.isfinite(values) & ~raw.map(lambda cell: isinstance(cell, bool))
        expected = "a number such as 3 or 0.75, without separators"
        self.refuse(~empty & ~finite, column, expected)
        if required:
            self.refuse(empty, column, expected)
        if limits is not None:
            low, high = limits
            outside = finite & ((values < low) | (values > high))
            self.refuse(outside, column, f"a value from {low} to {high}")
        self.frame[column] = values

    def whole(self, column: str, *, least: int, empty: str = "") -> None:
        """Make an optional column text of whole numbers, written in one way.

        A column with empty cells often comes as 1.0 instead of 1.
        """
        if column not in self.frame:
            return
        values = self.frame[column]
        clean = values.where(values.notna(), "").map(_as_text).replace("", empty)
        clean = clean.str.replace(r"\.0+$", "", regex=True)
        right = clean.str.fullmatch(r"[0-9]{1,9}") | (clean == "")
        numbers = pd.to_numeric(clean.where(right & (clean != "")))
        right &= ~(numbers < least)
        self.refuse(~right, column, f"a whole number from {least}")
        self.frame[column] = clean.where(
            ~right | (clean == ""), clean.str.lstrip("0").replace("", "0")
        )

    def word(self, column: str, words: Sequence[str]) -> None:
        """Accept certain words only."""
        values = self.frame[column].where(self.frame[column].notna(), "").map(_as_text)
        self.frame[column] = values
        self.refuse(~values.isin(words), column, f"one of {', '.join(words)}")

    def flags(self) -> None:
        """Make the flags of answers booleans."""
        for column in FLAGS:
            self.flag(column, default=False)

    def flag(self, column: str, *, default: bool) -> None:
        """Make a column booleans; an empty cell takes the default."""
        if column not in self.frame:
            return
        raw = self.frame[column]
        words = raw.where(raw.notna(), "").map(lambda v: _as_text(v).lower())
        self.refuse(~words.isin(TRUE | FALSE), column, "true or false")
        flags = words.isin(TRUE)
        self.frame[column] = flags | (words == "") if default else flags

    def one_direction(self) -> None:
        """Refuse a metric that is better when higher in one row and not in another."""
        data = self.frame
        if "higher_is_better" not in data:
            return
        key = [c for c in ("metric", "metric_version", "backend") if c in data]
        first = data.groupby(key, sort=False)["higher_is_better"].transform("first")
        turned = data["higher_is_better"] != first
        self.refuse(
            turned, "higher_is_better", "the direction of the metric's rows above"
        )

    def unique(self, key: Sequence[str], *, unless: str = "") -> None:
        """Refuse rows whose key occurred before."""
        columns = [column for column in key if column in self.frame]
        data = self.frame
        if unless and unless in data:
            data = data[~data[unless]]
        repeated = data.duplicated(columns, keep="first")
        if not repeated.any():
            return
        first = data.drop_duplicates(columns)
        lines = dict(
            zip(map(tuple, first[columns].to_numpy()), first.index, strict=True)
        )
        for line, row in data.loc[repeated.to_numpy(), columns].iterrows():
            self.problems.append(
                Problem(
                    self.file,
                    f"a row that is there once; line {lines[tuple(row)]} has the same "
                    f"{', '.join(columns)}",
                    int(str(line)),
                    value=" / ".join(map(str, row)),
                )
            )

    def result(self) -> pd.DataFrame:
        """Return the clean frame, or raise what was collected, by line."""
        if self.problems:
            raise InputError(by_line(self.problems), table=self.frame)
        return self.frame


def _no_giant(value: object) -> object:
    """Return a cell, infinity in the place of a whole number that no float holds."""
    giant = isinstance(value, int) and abs(value) > MOST_FLOAT
    return float("inf") if giant else value


def _as_text(value: object) -> str:
    """Return a cell as text; letters that look the same become the same."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = unicodedata.normalize("NFC", str(value).strip())
    return restored(text)


@dataclass(frozen=True)
class _WideKeys:
    """Where a wide table has its keys."""

    file: str
    method: str
    story: str


def _long(
    raw: pd.DataFrame,
    keys: _WideKeys,
    name: str,
    value: str,
    limits: tuple[int, int] | None = None,
) -> pd.DataFrame:
    """Turn one column a dimension or metric into one row a value.

    A column counts as values when at least half of its filled cells look like numbers;
    other columns (family, base model) describe the method and are left out.
    """
    found = ", ".join(map(str, raw.columns))
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
    values = [c for c in raw.columns if c not in known and _is_numeric(raw[c])]
    if not values:
        raise InputError([Problem(keys.file, "at least one column of numbers", 1)])
    check = _Check(raw, keys.file, ())
    for column in values:
        check.number(column, required=False, limits=limits)
    if check.problems:
        raise InputError(by_line(check.problems))
    parts = []
    for column in values:
        part = raw[list(dict.fromkeys(known))].copy()
        part[name] = column
        part[value] = raw[column]
        parts.append(part[raw[column].map(_as_text).to_numpy() != ""])
    long: pd.DataFrame = pd.concat(parts)
    return long


def _is_numeric(column: "pd.Series[Any]") -> bool:
    """Say whether a column is meant as numbers, those with separators included."""
    text = column[column.notna()].map(_as_text)
    filled = text[text != ""]
    if filled.empty:
        return False
    return bool(filled.str.fullmatch(LOOKS_NUMERIC).mean() * 2 >= 1)
