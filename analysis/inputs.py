"""Read the three tables from CSV, JSONL or Parquet and refuse what is wrong.

Every reader returns a frame whose index is the line in the file (1 is the header) or
raises `InputError` with all problems; a frame that comes back is clean: text columns
are text, numbers are numbers, flags are booleans, keys are unique.
"""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.tables import (
    ANSWER_OPTIONAL,
    CHOICE_COLUMNS,
    CHOICE_KEY,
    CHOICE_VALUES,
    FLAGS,
    RATING_COLUMNS,
    RATING_KEY,
    SCORE_COLUMNS,
    SCORE_KEY,
    SCORE_OPTIONAL,
    InputError,
    Problem,
)

Mask = Any  # a boolean array or series, one entry a row

TRUE, FALSE = {"true", "1", "yes"}, {"false", "0", "no", ""}
MEAN_OF_RATERS = "mean"


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
    raw = _read(Path(path))
    if wide:
        raw = _long(raw, path, method_column, story_column, "dimension", "rating")
        if "annotator" not in raw:
            raw["annotator"] = MEAN_OF_RATERS
    return check_ratings(raw, file=Path(path).name, scale=scale)


def check_ratings(
    frame: pd.DataFrame, *, file: str, scale: tuple[int, int] | None = None
) -> pd.DataFrame:
    """Return a clean copy of a table of ratings, or raise `InputError`."""
    check = _Check(frame, file, RATING_COLUMNS)
    check.text(("method", "dimension", "annotator"), required=True)
    check.text(("story", "shot", "round"), required=False)
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
    return check_choices(_read(Path(path)), file=Path(path).name)


def check_choices(frame: pd.DataFrame, *, file: str) -> pd.DataFrame:
    """Return a clean copy of a table of choices, or raise `InputError`."""
    check = _Check(frame, file, CHOICE_COLUMNS)
    check.text(
        ("story", "method_a", "method_b", "criterion", "annotator"), required=True
    )
    check.text(("round", "left_method"), required=False)
    check.word("choice", CHOICE_VALUES)
    check.flags()
    data = check.frame
    if not check.problems:
        same = data["method_a"] == data["method_b"]
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
    raw = _read(Path(path))
    if wide:
        raw = _long(raw, path, method_column, story_column, "metric", "score")
    return check_scores(raw, file=Path(path).name)


def check_scores(frame: pd.DataFrame, *, file: str) -> pd.DataFrame:
    """Return a clean copy of a table of scores, or raise `InputError`."""
    check = _Check(frame, file, SCORE_COLUMNS)
    check.text(("method", "metric"), required=True)
    check.text(("story", "shot", "metric_version", "backend"), required=False)
    check.number("score", required=False)
    check.flag("higher_is_better", default=True)
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
            if required:
                self.refuse(clean == "", column, "a name")

    def number(
        self, column: str, *, required: bool, limits: tuple[int, int] | None = None
    ) -> None:
        """Make a column numbers: finite, no separators, inside the limits."""
        raw = self.frame[column]
        empty = raw.isna() | (raw.map(_as_text) == "")
        values = pd.to_numeric(raw.where(~empty), errors="coerce").astype(float)
        finite = np.isfinite(values)
        expected = "a number such as 3 or 0.75, without separators"
        self.refuse(~empty & ~finite, column, expected)
        if required:
            self.refuse(empty, column, expected)
        if limits is not None:
            low, high = limits
            outside = finite & ((values < low) | (values > high))
            self.refuse(outside, column, f"a value from {low} to {high}")
        self.frame[column] = values

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

    def unique(self, key: Sequence[str], *, unless: str = "") -> None:
        """Refuse rows whose key occurred before."""
        if self.problems:
            return
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
            raise InputError(sorted(self.problems, key=lambda p: p.line or 0))
        return self.frame


def _as_text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


# Reading ----------------------------------------------------------------------


def _read(path: Path) -> pd.DataFrame:
    """Read a file as it stands, by its suffix."""
    readers = {".csv": _read_csv, ".jsonl": _read_jsonl, ".parquet": _read_parquet}
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise InputError([Problem(str(path), "a .csv, .jsonl or .parquet file")])
    try:
        frame = readers[suffix](path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError([Problem(str(path), f"a readable file ({reason})")]) from error
    if frame.empty:
        raise InputError([Problem(path.name, "at least one row below the header", 1)])
    return frame


def _decode(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError([Problem(path.name, "UTF-8 text", line)]) from error


def _read_csv(path: Path) -> pd.DataFrame:
    reader = csv.reader(io.StringIO(_decode(path), newline=""), strict=True)
    problems: list[Problem] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    header: list[str] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        start = reader.line_num + 1
        for row in reader:
            if row and len(row) != len(header):
                expected = f"{len(header)} columns as in the header, not {len(row)}"
                problems.append(Problem(path.name, expected, start))
            elif row:
                rows.append(row)
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        problems.append(Problem(path.name, f"CSV ({error})", reader.line_num))
    doubled = sorted({name for name in header if header.count(name) > 1})
    problems += [
        Problem(path.name, "a column name once", 1, name or "(empty)")
        for name in doubled
    ]
    if problems:
        raise InputError(problems)
    return pd.DataFrame(rows, columns=header, index=lines, dtype=object)


def _read_jsonl(path: Path) -> pd.DataFrame:
    problems: list[Problem] = []
    rows: list[dict[str, object]] = []
    lines: list[int] = []
    for line, text in enumerate(_decode(path).splitlines(), start=1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except json.JSONDecodeError as error:
            expected = f"a JSON object ({error.msg}, column {error.colno})"
            problems.append(Problem(path.name, expected, line))
            continue
        if isinstance(row, dict):
            rows.append(row)
            lines.append(line)
        else:
            problems.append(Problem(path.name, "a JSON object", line))
    if problems:
        raise InputError(problems)
    return pd.DataFrame(rows, index=lines, dtype=object)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(path)
    except ValueError as error:
        raise InputError([Problem(path.name, f"a Parquet file ({error})")]) from error
    frame = frame.astype(object)
    frame.index = pd.RangeIndex(2, len(frame) + 2)
    return frame


def _long(
    raw: pd.DataFrame,
    path: Path | str,
    method_column: str,
    story_column: str,
    name: str,
    value: str,
) -> pd.DataFrame:
    """Turn one column a dimension or metric into one row a value.

    A column counts as values when at least half of its filled cells are numbers; other
    columns (family, base model) describe the method and are left out.
    """
    if method_column not in raw:
        found = ", ".join(map(str, raw.columns))
        raise InputError(
            [Problem(Path(path).name, f"the column of the methods; found {found}", 1,
                     method_column)]
        )  # fmt: skip
    raw = raw.rename(columns={method_column: "method", story_column: "story"})
    if "story" not in raw:
        raw["story"] = ""
    keys = ["story", "method"]
    keys += [c for c in ("annotator", *ANSWER_OPTIONAL, *SCORE_OPTIONAL) if c in raw]
    values = [c for c in raw.columns if c not in keys and _is_numeric(raw[c])]
    if not values:
        raise InputError(
            [Problem(Path(path).name, "at least one column of numbers", 1)]
        )
    parts = []
    for column in values:
        part = raw[list(dict.fromkeys(keys))].copy()
        part[name] = column
        part[value] = raw[column]
        parts.append(part[raw[column].map(_as_text).to_numpy() != ""])
    long: pd.DataFrame = pd.concat(parts)
    return long


def _is_numeric(column: "pd.Series[Any]") -> bool:
    filled = column[column.notna() & (column.map(_as_text) != "")]
    if filled.empty:
        return False
    numbers = pd.to_numeric(filled, errors="coerce").notna().sum()
    return bool(numbers * 2 >= len(filled))
