"""One call of a command: its tables, as files or frames, and how to make it again."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import fspath
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.commands.defaults import VARIABLE, WIDE, drawn, report_date
from analysis.commands.given_tables import (
    DIRECTIONS,
    directed,
    is_path,
    isolated_remarks,
    named,
    read_table,
    remarks_on,
)
from analysis.options import AlignOptions, OptionError, Progress, silent
from analysis.reading.files import file_and_sheet
from analysis.report.writing import file_hashes, run_table

# Frames do not say from when they are.
NO_DATE = "unknown date"


@dataclass
class Request:
    """The tables and options of one command.

    Attributes
    ----------
    command
        Its name.
    tables
        Keyword to file, frame, or whatever else names a table; None for none.
    options
        As an analysis takes them.
    text
        How to ask the same again.
    further
        The keywords that this command alone knows.
    wide
        How wide tables are read.
    warn
        Called with each remark that should be shown at once.
    remarks
        On the tables that were read.
    """

    command: str
    tables: Mapping[str, Any]
    options: AlignOptions
    text: str
    further: Mapping[str, Any] = field(default_factory=dict)
    wide: Mapping[str, Any] = field(default_factory=lambda: WIDE)
    warn: Progress = silent
    remarks: list[str] = field(default_factory=list)

    def read(self, *kinds: str) -> dict[str, pd.DataFrame | None]:
        """Read the tables that keywords of their names give; None for others."""
        return {kind: self.table(kind) for kind in kinds}

    def table(self, kind: str, name: str = "") -> pd.DataFrame | None:
        """Read one table, whose keyword may have another name than its kind."""
        table = self.tables.get(name or kind)
        if table is None:
            return None
        own = vars(self.options)
        with named(table, name or kind):
            found = read_table(kind, table, {**self.wide, **own})
        alone = isolated_remarks(found, kind, own)
        self.remarks += remarks_on(found, kind) + alone
        if kind == "scores":
            ways = [self.further.get(name, ()) for name in DIRECTIONS]
            found, remarks = directed(found, *ways)
            self.remarks += remarks
        for remark in alone:
            self.warn(remark)
        return found

    def required(self, kind: str, name: str = "") -> pd.DataFrame:
        """Read a table without which the call means nothing."""
        found = self.table(kind, name)
        if found is None:
            raise OptionError(f"{name or kind}: expected a frame or a file, not None")
        return found

    def run(self) -> pd.DataFrame:
        """Return what is needed to make the same report again, as key and value."""
        paths = {
            name: file_and_sheet(Path(fspath(value)))[0]
            for name, value in self._inputs()
            if is_path(value)
        }
        hashes = file_hashes(paths)
        for name, value in self._inputs():
            if isinstance(value, pd.DataFrame):
                hashes[f"{name} (frame)"] = _digest(value)
        newest = max((path.stat().st_mtime for path in paths.values()), default=None)
        is_dated = newest is not None or VARIABLE in os.environ
        majority = bool(self.further.get("majority"))
        return run_table(
            self.options,
            hashes=hashes,
            date=report_date(newest) if is_dated else NO_DATE,
            command=self.text,
            resample_default=drawn(self.command, majority=majority),
        )

    def _inputs(self) -> Iterator[tuple[str, Any]]:
        """Yield the tables that are files or frames, and their keywords."""
        for name, value in self.tables.items():
            if is_path(value) or isinstance(value, pd.DataFrame):
                yield name, value


def _digest(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of the CSV file that ``frame.to_csv(index=False)`` writes."""
    text = frame.to_csv(index=False, lineterminator="\n")
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
