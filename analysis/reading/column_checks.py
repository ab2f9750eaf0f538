"""Make the columns of one table clean, and collect what is wrong with its cells."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from analysis.problems import (
    KEPT_OF_A_KIND,
    InputError,
    Problem,
    Problems,
    by_line,
    listed,
)
from analysis.reading.column_cleaning import (
    Coded,
    as_text,
    coded,
    combined,
    has_decimal_comma,
    numbers,
    plain,
    why_no_decimal_comma,
    with_point,
)
from analysis.reading.csv_files import DECIMAL_COMMA
from analysis.reading.files import place
from analysis.reading.texts import UNTOLD, with_code_points
from analysis.tables import (
    ANSWER_OPTIONAL,
    FLAGS,
    IDENTITY_COLUMNS,
    SCORE_OPTIONAL,
    control_character,
    is_text,
)

Mask = Any  # a boolean array or series, one entry a row

NO_VALUES = ("-", "n/a", "na", "none", "null")
# Columns of values, which describe an output.
VALUES = ("rating", "choice", "rank", "score")
TRUE, FALSE = {"true", "1", "yes"}, {"false", "0", "no", ""}
# Squares of larger ratings would soon be infinite, and sums of larger scores: what is
# squared of these is scaled before.
LARGEST_RATING, LARGEST_SCORE = 1e100, 1e300
_WHOLE = re.compile("[0-9]{1,9}")


def _shown(value: Any) -> str:
    """Return a cell as a message shows it."""
    empty = pd.api.types.is_scalar(value) and pd.isna(value)
    return "(empty)" if empty else str(value) or "(empty)"


def _is_nested(value: object) -> bool:
    return not pd.api.types.is_scalar(value) or isinstance(value, bytes)


class TableCheck:
    """Collects the problems of one table while its columns are made clean."""

    def __init__(self, frame: pd.DataFrame, file: str, columns: Sequence[str]) -> None:
        self.file = file
        self.frame = frame.copy(deep=False)
        self.problems: Problems[Problem] = Problems()
        missing = [column for column in columns if column not in frame]
        if missing:
            found = listed(frame.columns)
            raise InputError(
                Problem(file, f"a column of this name; found {found}", 1, column)
                for column in missing
            )

    def refuse(
        self, bad: Mask, column: str, expected: str, *, is_name: bool = True
    ) -> None:
        """Note a problem for each marked row; of very many the first ones."""
        cells = self.frame.loc[np.asarray(bad), column]
        show = _shown if is_name else lambda value: with_code_points(_shown(value))
        self._note(
            (
                Problem(self.file, expected, int(str(line)), column, show(value))
                for line, value in cells.items()
            ),
            len(cells),
        )

    def _note(self, problems: Iterator[Problem], number: int) -> None:
        """Note so many problems that say the same; only the first ones are formed."""
        problem = None
        for problem in islice(problems, KEPT_OF_A_KIND):
            self.problems.append(problem)
        if problem is not None:
            self.problems.repeat(problem, max(0, number - KEPT_OF_A_KIND))

    def text(self, columns: Iterable[str], *, required: bool) -> None:
        """Make columns text without surrounding blanks."""
        for column in columns:
            if column not in self.frame:
                continue
            cells = coded(self.frame[column])
            nested = cells.mask(_is_nested)
            self.refuse(nested, column, "text, no list, record or bytes")
            clean = cells.texts()
            self.frame[column] = clean.column(self.frame.index)
            self.refuse(
                ~nested & ~clean.mask(is_text),
                column,
                "text without NUL or broken letters",
            )
            points = clean.mapped(lambda x: control_character(x) if is_text(x) else "")
            for point in dict.fromkeys(filter(None, points.values)):
                rule = f"a name without control characters; it has {point}"
                self.refuse(points.mask(point.__eq__), column, rule)
            if required:
                self.refuse(clean.mask(lambda text: text == ""), column, "a name")

    def number(
        self,
        column: str,
        *,
        required: bool,
        largest: float,
        limits: tuple[int, int] | None = None,
    ) -> None:
        """Make a column numbers: finite, no separators, inside the limits."""
        values, empty = numbers(self.frame[column])
        finite = np.isfinite(values)
        wrong = ~empty & ~finite
        expected = "a number such as 3 or 0.75, without separators"
        if wrong.any():
            cells = coded(self.frame[column])
            words = cells.mapped(lambda value: as_text(value).lower())
            flags = wrong & words.mask(lambda word: word in ("true", "false"))
            self.refuse(flags, column, "a number: 1 for true, 0 for false")
            nothing = (
                wrong & words.mask(lambda word: word in NO_VALUES) & (not required)
            )
            self.refuse(nothing, column, "a number, or an empty cell for none")
            rest = wrong & ~flags & ~nothing
            self.refuse(rest, column, expected, is_name=False)
        if required:
            self.refuse(empty, column, expected)
        if limits is None:
            giant = finite & (np.abs(values) > largest)
            bounds = f"from -{largest:g} to {largest:g}"
            self.refuse(giant, column, f"a number {bounds}")
        else:
            low, high = limits
            outside = finite & ((values < low) | (values > high))
            self.refuse(outside, column, f"a value from {low} to {high}")
        self.frame[column] = values

    def whole(self, column: str, *, least: int, empty: str = "") -> None:
        """Make an optional column text of whole numbers, written in one way."""
        if column not in self.frame:
            return
        given = coded(self.frame[column]).texts()
        texts = given.mapped(lambda text: re.sub(r"\.0+\Z", "", text or empty))

        def right(text: str) -> bool:
            return text == "" or (bool(_WHOLE.fullmatch(text)) and int(text) >= least)

        expected = f"a whole number from {least}"
        self.refuse(~texts.mask(right), column, expected, is_name=False)
        written = texts.mapped(
            lambda text: str(int(text)) if text and right(text) else text
        )
        self.frame[column] = written.column(self.frame.index)

    def decimals(self, columns: Iterable[str]) -> None:
        """Write the decimal commas of columns as points, where they are unambiguous."""
        if not self.frame.attrs.get(DECIMAL_COMMA):
            return
        own = {name: coded(self.frame[name]) for name in columns}
        refused = why_no_decimal_comma(
            value for cells in own.values() for value in cells.values
        )
        for name, cells in own.items():
            if not any(map(has_decimal_comma, cells.values)):
                continue
            if refused:
                self.refuse(cells.mask(has_decimal_comma), name, refused)
            pointed = [with_point(value) for value in cells.values]
            self.frame[name] = pd.Series(
                np.array(pointed, object)[cells.codes], self.frame.index
            )

    def word(self, column: str, words: Sequence[str]) -> None:
        """Accept certain words only."""
        given = coded(self.frame[column]).texts()
        self.frame[column] = given.column(self.frame.index)
        wrong = given.mask(lambda text: text not in words)
        self.refuse(wrong, column, f"one of {', '.join(words)}", is_name=False)

    def flags(self) -> None:
        """Make the flags of answers booleans; an empty cell is false."""
        for column in FLAGS:
            if column in self.frame:
                words = self._flag_words(column)
                self.frame[column] = words.mask(lambda word: word in TRUE)

    def directions(self) -> None:
        """Make the directions of metrics booleans."""
        data, column = self.frame, "higher_is_better"
        if column not in data:
            data.attrs[UNTOLD] = tuple(data["metric"].unique())
            return
        words = self._flag_words(column)
        given = pd.Series(words.mask(lambda word: word in TRUE), data.index, object)
        given[words.mask(lambda word: word == "")] = None
        is_given = given.notna()
        key = [c for c in ("metric", *IDENTITY_COLUMNS) if c in data]
        first = given.groupby([data[c] for c in key], sort=False).transform("first")
        of_metric = given.groupby(data["metric"], sort=False).transform("first")
        data.attrs[UNTOLD] = tuple(data.loc[of_metric.isna(), "metric"].unique())
        filled = given.where(is_given, first)
        filled = filled.where(filled.notna(), of_metric)
        data[column] = filled.where(filled.notna(), other=True).astype(bool)
        turned = is_given & (given != first)
        self.refuse(turned, column, "the direction of the metric's rows above")

    def _flag_words(self, column: str) -> Coded:
        """Return the words of a column of flags, and refuse others."""
        words = coded(self.frame[column]).mapped(lambda value: as_text(value).lower())
        unknown = words.mask(lambda word: word not in TRUE | FALSE)
        self.refuse(unknown, column, "true or false", is_name=False)
        return words

    def unique(self, key: Sequence[str], *, unless: str = "") -> None:
        """Refuse rows whose key occurred before."""
        columns = [column for column in key if column in self.frame]
        data = self.frame
        if unless and unless in data:
            data = data[~data[unless]]
        keys = pd.Series(combined(data[column] for column in columns))
        repeated = keys.duplicated(keep="first").to_numpy()
        if not repeated.any():
            return
        first = pd.Series(data.index[~repeated], keys[~repeated])
        earlier = first[keys[repeated]].to_numpy()
        rows = data.loc[repeated, columns]
        apart = self._apart(columns)
        hint = f", but another {apart}: let story name both, as {apart}/story"
        hint = hint if apart else ""
        self._note(
            (
                Problem(
                    self.file,
                    f"a row that is there once; {place(data.index, before)} has "
                    f"the same {', '.join(columns)}{hint}",
                    int(str(line)),
                    value=" / ".join(map(str, row)),
                )
                for (line, row), before in zip(rows.iterrows(), earlier, strict=True)
            ),
            len(rows),
        )

    def _apart(self, key: Sequence[str]) -> str:
        """Return a column without a meaning here that tells repeated rows apart."""
        known = {*key, *ANSWER_OPTIONAL, *SCORE_OPTIONAL, *VALUES}
        for column in self.frame.columns:
            if column not in known:
                parts = (self.frame[name] for name in (*key, column))
                if not pd.Series(combined(parts)).duplicated().any():
                    return str(column)
        return ""

    def result(self) -> pd.DataFrame:
        """Return the clean frame, or raise what was collected, by line."""
        for column in self.frame:
            self.frame[column] = plain(self.frame[column])
        if self.problems:
            raise InputError(by_line(self.problems), table=self.frame)
        return self.frame
