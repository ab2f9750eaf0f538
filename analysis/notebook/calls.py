"""One call from a notebook: its tables read and checked, and how to make it again."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypedDict

import pandas as pd

from analysis.commands.dates import VARIABLE, report_date
from analysis.commands.defaults import WIDE, drawn
from analysis.options import AlignOptions, OptionError, Scale
from analysis.problems import one_of
from analysis.reading.files import Table, file_and_sheet, placed_in

# Frames do not say from when they are.
NO_DATE = "unknown date"
NAMES = (
    "questions",
    "metrics",
    "exclude_methods",
    "levels",
    "coefficients",
    "split_by",
    "components",
)


class Options(TypedDict, total=False):
    """Keywords that every function takes: the options of the command line."""

    scale: Scale | None
    wide: bool
    method_column: str
    story_column: str
    value_columns: Sequence[str] | str
    questions: Sequence[str] | str | None
    metrics: Sequence[str] | str | None
    exclude_methods: Sequence[str] | str
    levels: Sequence[str] | str
    coefficients: Sequence[str] | str
    split_by: Sequence[str] | str | None
    components: Sequence[str] | str
    top: int
    top_confidence: float
    demanded: float
    epsilon: str
    resamples: int
    resample: str | None
    confidence: float
    seed: int
    figures: str
    language: str


class Call:
    """What one function was given.

    Parameters
    ----------
    command
        Its name.
    tables
        Keyword to file, frame, or whatever else names a table; None for none.
    further
        Its other keywords that no `Options` are.
    options
        Those.

    Attributes
    ----------
    options
        As an analysis takes them.
    remarks
        On the tables that were read.
    """

    def __init__(
        self,
        command: str,
        tables: Mapping[str, Any],
        further: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> None:
        _check_keywords(command, options)
        self.command = command
        self.remarks: list[str] = []
        self.given = {name: v for name, v in tables.items() if v is not None}
        self._further = further
        self._keywords = {**further, **options}
        self._wide = {name: options.get(name, WIDE[name]) for name in WIDE}
        self._wide["value_columns"] = names(self._wide["value_columns"])
        chosen = {name: v for name, v in options.items() if name not in WIDE}
        chosen |= {name: names(chosen[name]) for name in NAMES if chosen.get(name)}
        if "scale" in chosen:
            chosen["scale"] = _scale(chosen["scale"])
        self.options = AlignOptions(**chosen)

    def tables(self, *kinds: str) -> dict[str, pd.DataFrame | None]:
        """Read the tables that keywords of their names give; None for others."""
        return {kind: self.table(kind, self.given.get(kind)) for kind in kinds}

    def table(
        self, kind: str, table: Table | None, *, name: str = ""
    ) -> pd.DataFrame | None:
        """Read one table, which the call knows by another name than its kind."""
        from analysis.commands.given_tables import (
            DIRECTIONS,
            directed,
            isolated_remarks,
            read_table,
            remarks_on,
        )

        if table is None:
            return None
        with named(table, name or kind):
            found = read_table(kind, table, self._wide | vars(self.options))
        self.remarks += remarks_on(found, kind)
        self.remarks += isolated_remarks(found, kind, vars(self.options))
        if kind == "scores":
            ways = [names(self._further.get(name, ())) for name in DIRECTIONS]
            found, remarks = directed(found, *ways)
            self.remarks += remarks
        return found

    def required(self, kind: str, name: str = "") -> pd.DataFrame:
        """Read a table without which the call means nothing."""
        found = self.table(kind, self.given.get(name or kind), name=name)
        if found is None:
            raise OptionError(f"{name or kind}: expected a frame or a file, not None")
        return found

    def run(self) -> pd.DataFrame:
        """Return what is needed to make the same report again, as key and value."""
        from analysis.report.writing import file_hashes, run_table

        paths = {
            name: file_and_sheet(Path(fspath(value)))[0]
            for name, value in self._inputs()
            if not is_frame(value)
        }
        hashes = file_hashes(paths)
        hashes |= {f"{k} (frame)": _digest(v) for k, v in self._inputs() if is_frame(v)}
        newest = max((path.stat().st_mtime for path in paths.values()), default=None)
        is_dated = newest is not None or VARIABLE in os.environ
        return run_table(
            self.options,
            hashes=hashes,
            date=report_date(newest) if is_dated else NO_DATE,
            command=repr(self),
            resample_default=drawn(
                self.command, majority=bool(self._keywords.get("majority"))
            ),
        )

    def _inputs(self) -> Iterator[tuple[str, Any]]:
        """Yield the tables that are files or frames, and their keywords."""
        for name, value in self.given.items():
            if is_frame(value) or is_path(value):
                yield name, value

    def __repr__(self) -> str:
        given = {**self.given, **self._keywords}
        written = ", ".join(
            f"{name}={name if is_frame(value) else _written(value)}"
            for name, value in given.items()
        )
        return f"analysis.{self.command}({written})"


def names(given: Sequence[str] | str) -> tuple[str, ...]:
    """Return names as a tuple, one alone as well."""
    return (given,) if isinstance(given, str) else tuple(given)


def is_path(value: object) -> bool:
    """Say whether a table is a file."""
    return isinstance(value, str | PathLike)


def is_frame(value: object) -> bool:
    """Say whether a table is a frame."""
    return isinstance(value, pd.DataFrame)


@contextmanager
def named(table: object, name: str, rows: Sequence[str] = ()) -> Iterator[None]:
    """Name problems of what is no file by the keyword that gave it."""
    if is_path(table):
        yield
        return
    with placed_in(name, rows):
        yield


@contextmanager
def keywords() -> Iterator[None]:
    """Call options in messages what they are here: keywords, without dashes."""
    try:
        yield
    except OptionError as error:
        text = re.sub(
            r"--([a-z-]+)", lambda option: option[1].replace("-", "_"), str(error)
        )
        raise OptionError(text) from None


def _check_keywords(command: str, options: Mapping[str, object]) -> None:
    known = Options.__annotations__
    for name in options:
        if name not in known:
            raise TypeError(
                f"{command}() got an unexpected keyword {name!r}: expected "
                f"{one_of(name, known)}"
            )


def _scale(given: object) -> Scale | None:
    """Return a pair of a lower and a higher whole number, or refuse what is none."""
    pair = tuple(given) if isinstance(given, list | tuple) else ()
    if given is None:
        return None
    if len(pair) == 2 and all(isinstance(end, Integral) for end in pair):
        low, high = map(int, pair)
        if low < high:
            return low, high
    expected = "the lowest and the highest rating, as in (0, 4)"
    raise OptionError(f"scale: {given!r}: expected {expected}")


def _digest(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of the CSV file that ``frame.to_csv(index=False)`` writes."""
    text = frame.to_csv(index=False, lineterminator="\n")
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _written(value: object) -> str:
    return repr(fspath(value)) if isinstance(value, PathLike) else repr(value)
