"""Write the tables of docs/reference/report-tables.md from the registry.

python -m tests.tables_page
"""

import re
from pathlib import Path

from analysis.statistics import TABLE_GROUPS, TABLES

PAGE = Path(__file__).resolve().parents[1] / "docs/reference/report-tables.md"
MARKED = re.compile(r"(<!-- of the registry -->\n)(.*)(<!-- end -->\n)", re.S)
HEAD = "| table | one row is | columns beside those above |\n|---|---|---|"


def documented() -> str:
    """Return every table of the registry, below the headings of a report."""
    parts = []
    for heading, names in TABLE_GROUPS.items():
        tables = [(name, TABLES[name]) for name in names]
        rows = [f"| `{name}` | {one.row} | {one.about} |" for name, one in tables]
        parts.append("\n".join([f"### {heading}\n", HEAD, *rows, ""]))
    return "\n".join(parts)


def with_registry(page: str) -> str:
    """Return a page with the tables of the registry in place of those it has."""
    return MARKED.sub(lambda found: f"{found[1]}{documented()}{found[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(with_registry(PAGE.read_text("utf-8")), encoding="utf-8")
