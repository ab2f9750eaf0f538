"""Which tables the page lists, under which headings, as texts."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.report.language import counted, retold, say, texts
from analysis.report.wording import MINUS
from analysis.results import column_texts
from analysis.statistics import IN_WORDS, TABLE_GROUPS, TABLES

FURTHER = texts("Further tables")
# A page with more cells would be slow: the longest tables are cut, and never to fewer
# rows than these. The files have them all.
MOST_CELLS = 28_000
LEAST_ROWS = 10


def listed_tables(
    tables: Mapping[str, pd.DataFrame], cells_above: int = 0
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the tables under the headings of their groups; unknown ones come last.

    `cells_above` are cells that the page holds already, which leave less room.
    """
    rows = _most_rows(list(tables.values()), MOST_CELLS - cells_above)
    further = {FURTHER: tuple(name for name in tables if name not in TABLES)}
    found = [
        (say(heading), [_listed(n, tables[n], rows) for n in names if n in tables])
        for heading, names in {**TABLE_GROUPS, **further}.items()
    ]
    return [group for group in found if group[1]]


def _most_rows(frames: Sequence[pd.DataFrame], room: int) -> int:
    """Return how many rows a table may have for all of them to fit."""
    rows = max(map(len, frames), default=0)
    while rows > LEAST_ROWS:
        if sum(min(rows, len(one)) * len(one.columns) for one in frames) <= room:
            return rows
        rows = rows * 4 // 5
    return LEAST_ROWS


def _listed(name: str, frame: pd.DataFrame, most: int) -> dict[str, Any]:
    numeric = [pd.api.types.is_numeric_dtype(frame[c]) for c in frame.columns]
    # What is printed alike in all rows is told by all of them.
    cells = {c: column_texts(frame[c])[:most] for c in frame.columns}
    cells |= {c: [*map(retold, cells[c])] for c in IN_WORDS.intersection(cells)}
    columns = [
        [text.replace("-", MINUS) if is_number else text for text in cells[c]]
        for c, is_number in zip(frame.columns, numeric, strict=True)
    ]
    known = name in TABLES
    title = TABLES[name].title if known else name.replace("_", " ").capitalize()
    return {
        "name": name,
        "total": len(frame),
        "count": counted(len(frame), "row"),
        "title": say(title),
        "columns": list(zip(frame.columns, numeric, strict=True)),
        "rows": [
            list(zip(row, numeric, strict=True)) for row in zip(*columns, strict=True)
        ],
    }
