"""The command `meta`: one value for each metric over several studies."""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

import pandas as pd

from analysis.inference.meta_analysis import over_studies
from analysis.options import AlignOptions, OptionError
from analysis.problems import InputError, Problem
from analysis.reading.column_cleaning import key_texts
from analysis.reading.files import Table, opened
from analysis.result_tables.contract import Analysis, TableCollector
from analysis.results import NAN, TableRow
from analysis.tables import restored

# The table of a report that is read, and its columns.
TABLE = Path("tables", "meta_analysis.csv")
NAMES = ("metric", "statistic", "level", "part", "drawn", "reason")
NUMBERS = ("value", "low", "high", "n", "p_value", "error", "freedom")


def report_tables(reports: Mapping[str, Table] | Sequence[Table]) -> dict[str, Table]:
    """Return the table of each report's folder, by the name of its study."""
    if isinstance(reports, Mapping):
        return dict(reports)
    paths = [one for one in reports if isinstance(one, str | PathLike)]
    if len(paths) < len(reports):
        raise OptionError("reports: expected folders, or tables by the study's name")
    folders = [Path(fspath(path)).absolute() for path in paths]
    if len({*folders}) < len(folders):
        raise OptionError("reports: expected each report once")
    parts = 1 if len({one.name for one in folders}) == len(folders) else 2
    return {"/".join(one.parts[-parts:]): one / TABLE for one in folders}


def meta(studies: Mapping[str, Table], options: AlignOptions) -> Analysis:
    """Combine the values that reports of `align` give each metric."""
    if len(studies) < 2:
        raise OptionError("reports: expected at least two")
    every = [(name, list(_read(name, table))) for name, table in studies.items()]
    rows = over_studies(every, options.confidence)
    if not any(row["drawn"] == "studies" and row["reason"] == "" for row in rows):
        raise OptionError(
            "reports: expected a metric with a value and a standard error in two of "
            "them, by the same statistic"
        )
    found = TableCollector(options)
    found.extend("meta_analysis", rows, ("studies",))
    return found.finished()


def _read(study: str, table: Table) -> Iterator[TableRow]:
    """Yield the rows of a study's table, checked."""
    label = f"{study}/{TABLE.as_posix()}"
    if isinstance(table, str | PathLike) and not Path(fspath(table)).is_file():
        expected = "a report of `align` with metrics, which has this table"
        raise InputError([Problem(label, expected)])
    frame, _ = opened(table, label, (*NAMES, *NUMBERS))
    missing = [name for name in (*NAMES, *NUMBERS) if name not in frame]
    if missing:
        expected = f"the columns {', '.join((*NAMES, *NUMBERS))}"
        raise InputError([Problem(label, expected, 1, name) for name in missing])
    columns: dict[str, list[object]] = {}
    for name in NAMES:
        columns[name] = [*key_texts(frame[name]).fillna("").map(restored)]
    problems = []
    for name in NUMBERS:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        given = frame[name].astype(str).str.strip()
        wrong = numbers.isna() & ~given.str.lower().isin(("", "nan", "none", "<na>"))
        problems += [
            Problem(label, "a number", int(str(line)), name, given[line])
            for line in frame.index[wrong]
        ]
        columns[name] = [*numbers.astype(float)]
    if problems:
        raise InputError(problems)
    for values in zip(*columns.values(), strict=True):
        row: TableRow = dict(zip(columns, values, strict=True))
        yield row | {"tau_squared": NAN, "i_squared": NAN}
