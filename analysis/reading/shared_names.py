"""Names that two tables should share: what does not meet, and what is nearest to it."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.problems import SHOWN_OF_A_KIND, InputError, Problem, Problems, shown
from analysis.reading.column_cleaning import Coded, Column, coded
from analysis.reading.files import ROW, address
from analysis.reading.texts import Nearest, without_zeros, written
from analysis.sentences import Notes, chained, counted, sentence

# Where a checked table notes which file it is from.
FILE = "file"
# Of two sides, so large a part of the names of the one with fewer has to meet.
LEAST_MET = 0.5
# What explains names that differ in this, as where a table was read with pandas.
LOST_ZEROS = (
    "ids that are read as numbers lose their zeros, which "
    'pandas.read_csv(..., dtype={{"{what}": str}}) keeps'
)
# What names an output, and the columns that have it.
OF_STORIES = {"story": ("story",)}
OUTPUT_NAMES = {"method": ("method", "method_a", "method_b"), **OF_STORIES}
PLURALS = {"story": "stories"}
# The same in the plural, and what else answers and scores name.
OF_ANSWERS = {
    sentence("methods"): OUTPUT_NAMES["method"],
    sentence("stories"): OUTPUT_NAMES["story"],
    sentence("annotators"): ("annotator",),
    sentence("questions"): ("dimension", "criterion"),
}
OF_METRICS = {
    sentence("methods"): OUTPUT_NAMES["method"],
    sentence("stories"): OUTPUT_NAMES["story"],
    sentence("metrics"): ("metric",),
}


def spelling_remarks(
    tables: Mapping[str, pd.DataFrame | None],
    columns: Mapping[str, Sequence[str]],
    excluded: Sequence[str] = (),
) -> Iterator[str]:
    """Remark on names that differ from others of the same kind in their form alone."""
    frames = {name: frame for name, frame in tables.items() if frame is not None}
    files = [str(frame.attrs.get(FILE, name)) for name, frame in frames.items()]
    for what, own in columns.items():
        names = dict.fromkeys(
            str(name)
            for frame in frames.values()
            for column in own
            if column in frame
            for name in frame[column].unique()
        )
        alike: dict[str, list[str]] = {}
        for name in names:
            if name and name not in excluded:
                alike.setdefault(written(name), []).append(name)
        pairs = [
            _with_nearest(name, Nearest([first]))
            for first, *others in alike.values()
            for name in others
        ]
        if not pairs:
            continue
        rest = len(pairs) - SHOWN_OF_A_KIND
        shown_names = sentence("{names}", names=pairs[:SHOWN_OF_A_KIND])
        if rest > 0:
            shown_names = sentence("{names} and {n} more", names=shown_names, n=rest)
        yield sentence(
            "{tables}: {what} written nearly alike are counted as different: "
            "{examples}. If they are the same, write them alike.",
            tables=chained("{first} and {second}", files),
            what=what,
            examples=shown_names,
        )


def check_shared_names(
    people: Mapping[str, pd.DataFrame | None],
    others: Mapping[str, pd.DataFrame | None],
    columns: Mapping[str, Sequence[str]],
    notes: Notes,
    excluded: Sequence[str] = (),
    *,
    both: bool = True,
) -> None:
    """Refuse tables with few common names, and note the names without a match."""
    sides = [
        {name: frame for name, frame in side.items() if frame is not None}
        for side in (people, others)
    ]
    if not all(sides):
        return
    problems: Problems[Problem] = Problems()
    for what, own in columns.items():
        first, second = (_Names(what, own, side, excluded) for side in sides)
        if not first.lines or not second.lines:
            continue
        met = first.lines.keys() & second.lines.keys()
        few, many = second, first
        if met and len(first.lines) < len(second.lines):
            few, many = first, second
        least = LEAST_MET * len(few.lines) if what in OUTPUT_NAMES else 1
        if len(met) < least and not (few.has_nameless or many.has_nameless):
            problems += few.problems(many)
        else:
            notes.extend(first.remarks(second))
            notes.extend(second.remarks(first) if both else ())
    if problems:
        raise InputError(problems)


class _Names:
    """The names of stories, methods or questions in the tables of one side."""

    def __init__(
        self,
        what: str,
        columns: Sequence[str],
        tables: Mapping[str, pd.DataFrame],
        excluded: Sequence[str],
    ) -> None:
        self.what = what
        names = [str(frame.attrs.get(FILE, name)) for name, frame in tables.items()]
        self.tables = chained("{first} and {second}", names)
        self._columns = [
            [_texts(frame[column]) for column in columns if column in frame]
            for frame in tables.values()
        ]
        # Of each name the place where it is first, and the line of a file.
        self.lines: dict[str, tuple[str, int | None]] = {}
        for (table, frame), own in zip(tables.items(), self._columns, strict=True):
            for cells in own:
                self._add(cells, frame, table)
        self.has_nameless = "" in self.lines
        for name in {"", *(excluded if what == "method" else ())} & self.lines.keys():
            del self.lines[name]

    def _add(self, cells: Coded, frame: pd.DataFrame, table: str) -> None:
        file = frame.attrs.get(FILE)
        codes, places = np.unique(cells.codes, return_index=True)
        for code, place in zip(codes, places, strict=True):
            line = int(frame.index[place]) if file else None
            first = str(file or table), line
            if line and frame.index.name == ROW:
                first = address(str(file), frame.index, line), None
            self.lines.setdefault(cells.values[code], first)

    def _missing_in(self, other: "_Names") -> list[str]:
        missing = self.lines.keys() - other.lines.keys()
        return sorted(missing, key=lambda name: (self.lines[name][1] or 0, name))

    def problems(self, other: "_Names") -> Problems[Problem]:
        """Return a problem of each name that the other side has not."""
        names, nearest = self._missing_in(other), Nearest(other.lines)
        rule = f"a {self.what} of {other.tables}"
        found: Problems[Problem] = Problems()
        if met := len(self.lines) - len(names):
            every = counted(len(self.lines), self.what, PLURALS.get(self.what, ""))
            expected = f"at least half of its {every} in {other.tables}, not {met}"
            found.append(Problem(self.tables, expected))
        for name in names[:SHOWN_OF_A_KIND]:
            file, line = self.lines[name]
            near = nearest.describe(name)
            some = f"nearest: {near}" if near else f"such as {min(other.lines)!r}"
            if any(without_zeros(name) == without_zeros(one) for one in other.lines):
                some += f"; {LOST_ZEROS.format(what=self.what)}"
            problem = Problem(file, f"{rule}; {some}", line, self.what, name, rule)
            found.append(problem)
        found.repeat(problem, max(0, len(names) - SHOWN_OF_A_KIND))
        return found

    def remarks(self, other: "_Names") -> Iterator[str]:
        """Say which names, and how many rows, the other side has not."""
        names = self._missing_in(other)
        if not names:
            return
        nearest = Nearest(other.lines)
        every = counted(len(self.lines), self.what, PLURALS.get(self.what, ""))
        near = [_with_nearest(name, nearest) for name in names[:SHOWN_OF_A_KIND]]
        rest = len(names) - SHOWN_OF_A_KIND
        examples = sentence("{names}", names=near)
        if rest > 0:
            examples = sentence("{names} and {n} more", names=near, n=f"{rest:,}")
        rows, total = self._rows_of({*names})
        yield sentence(
            "{n} of {every} in {tables} is not in {others}, so that {rows} of {total} "
            "rows have no counterpart: {examples}."
            if len(names) == 1
            else "{n} of {every} in {tables} are not in {others}, so that {rows} of "
            "{total} rows have no counterpart: {examples}.",
            n=f"{len(names):,}",
            every=every,
            tables=self.tables,
            others=other.tables,
            rows=f"{rows:,}",
            total=f"{total:,}",
            examples=examples,
        )

    def _rows_of(self, names: set[str]) -> tuple[int, int]:
        rows = total = 0
        for own in self._columns:
            has = np.any([cells.mask(lambda x: x in names) for cells in own], axis=0)
            rows, total = rows + int(has.sum()), total + len(has)
        return rows, total


def _texts(column: Column) -> Coded:
    return coded(column).texts()


def _with_nearest(name: str, nearest: Nearest) -> str:
    near = nearest.describe(name)
    name = repr(shown(name))
    return sentence("{name} (nearest: {near})", name=name, near=near) if near else name
