"""Write the tables of two pages of docs/reference from their declarations.

python -m tests.tables_page
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")
    django.setup()

from analysis.statistics import TABLE_GROUPS, TABLES
from annotate.kinds.registry import KINDS, kind_of_table
from annotate.reports import downloads, score_tables, story_tables
from annotate.reports.table_schema import ROWS

REFERENCE = Path(__file__).resolve().parents[1] / "docs/reference"
MARKED = re.compile(r"(<!-- of the registry -->\n)(.*)(<!-- end -->\n)", re.S)


def result_tables() -> str:
    """Return every table of the registry, below the headings of a report."""
    parts = []
    for heading, names in TABLE_GROUPS.items():
        rows = [_entry(name, TABLES[name].row, TABLES[name].about) for name in names]
        parts.append("\n".join([f"### {heading}\n", *rows, ""]))
    return "\n".join(parts)


def exported_tables() -> str:
    """Return a line for each exported table, with its columns."""
    rows = [_entry(name, row, _columns(name)) for name, row in ROWS.items()]
    return "\n" + "\n".join(rows) + "\n\n"


def _entry(table: str, row: str, columns: str) -> str:
    """Return what a row is and the columns, as an item of a list."""
    about = f". {columns[0].upper()}{columns[1:]}" if columns else ""
    return f"- `{table}`: {row}{about}"


def _columns(table: str) -> str:
    if table in downloads.WHOLE:
        return _listed(downloads.WHOLE[table])
    if table == "scores":
        return _listed(score_tables.SCORE_HEADER)
    if table == "stories":
        return f"`story`, *the tags*, `{story_tables.PROBABILITY}`"
    kind = kind_of_table(table)
    if table == kind.parts_table:
        return f"{_listed(kind.parts_columns)}, *those of answers*"
    of_shots = any(one.of_shots and one.table == table for one in KINDS.values())
    first, second, *rest = kind.columns
    shot = ["shot"] if of_shots else []
    own = f"{_listed([first, second, *shot, *rest])}, *those of answers*"
    return f"{own}, {_listed(kind.more_columns)}" if kind.more_columns else own


def _listed(names: "list[str] | tuple[str, ...]") -> str:
    return ", ".join(f"`{name}`" for name in names)


PAGES: dict[str, Callable[[], str]] = {
    "report-tables.md": result_tables,
    "input-tables.md": exported_tables,
}


def written(name: str) -> str:
    """Return a page with its tables in place of those it has."""
    page = (REFERENCE / name).read_text("utf-8")
    return MARKED.sub(lambda found: f"{found[1]}{PAGES[name]()}{found[3]}", page)


if __name__ == "__main__":
    for name in PAGES:
        (REFERENCE / name).write_text(written(name), encoding="utf-8")
