"""Files of typed tables: CSV, Parquet, JSON lines, and their description."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.tables import defused
from annotate.reports.downloads import plain_lines

if TYPE_CHECKING:
    import pyarrow as pa

PACKAGE = "datapackage.json"
# Rows in memory at once: a row group of Parquet.
BATCH = 20_000
Row = Sequence[object]


@dataclass(frozen=True)
class Table:
    """A table to write: its name, its Table Schema, and rows of cells."""

    name: str
    schema: dict[str, Any]
    rows: Iterable[Row]

    @property
    def columns(self) -> list[str]:
        return [field["name"] for field in self.schema["fields"]]


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which replaces the file when it is complete."""
    partial = path.with_name(f"{path.name}.part")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, pieces: Iterable[str], encoding: str = "utf-8") -> Path:
    with (
        whole_file(path) as partial,
        partial.open("w", encoding=encoding, newline="") as stream,
    ):
        stream.writelines(pieces)
    return path


def _write_csv(path: Path, table: Table, *, bom: bool) -> None:
    lines = plain_lines(table.columns, iter(table.rows))
    write_text(path, lines, "utf-8-sig" if bom else "utf-8")


def _write_jsonl(path: Path, table: Table, *, bom: bool) -> None:
    names = table.columns
    write_text(
        path,
        (
            json.dumps(dict(zip(names, map(_filled, row), strict=True)), **_PLAIN)
            + "\n"
            for row in table.rows
        ),
    )


_PLAIN: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False}


def _filled(cell: object) -> object:
    return None if cell == "" else cell


def _write_parquet(path: Path, table: Table, *, bom: bool) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    schema = arrow_schema(table.schema)
    cells = [_cells_of(field["type"]) for field in table.schema["fields"]]
    rows = iter(table.rows)
    with whole_file(path) as partial, parquet.ParquetWriter(partial, schema) as writer:
        while batch := list(islice(rows, BATCH)):
            columns = [
                pa.array([cell(value) for value in column], field.type)
                for cell, column, field in zip(
                    cells, zip(*batch, strict=True), schema, strict=True
                )
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _cells_of(kind: str) -> Callable[[Any], object]:
    """Return what turns a cell of a table into a value of a column."""
    if kind == "datetime":
        return lambda cell: datetime.fromisoformat(cell) if cell else None
    return _filled


def arrow_schema(schema: dict[str, Any]) -> "pa.Schema":
    """Return a Table Schema as one of Arrow; the fields' metadata have the rest of it.

    Texts with few values are dictionaries, which pandas reads as categories.
    """
    import pyarrow as pa

    types = {
        "string": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "datetime": pa.timestamp("us", tz="UTC"),
    }
    few = pa.dictionary(pa.int32(), pa.string())
    fields = []
    for field in schema["fields"]:
        is_few = field["type"] == "string" and "enum" in field.get("constraints", {})
        about = {
            name: value if isinstance(value, str) else json.dumps(value, **_PLAIN)
            for name, value in field.items()
            if name not in ("name", "type")
        }
        kind = few if is_few else types[field["type"]]
        fields.append(pa.field(field["name"], kind, metadata=about))
    return pa.schema(fields, metadata={"table_schema": json.dumps(schema, **_PLAIN)})


WRITERS: dict[str, Callable[..., None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "jsonl": _write_jsonl,
}


def write_tables(
    tables: Iterable[Table],
    out: Path,
    *,
    form: str,
    bom: bool = False,
    about: dict[str, Any],
) -> list[Path]:
    """Write tables into a folder; beside CSV and JSON lines, the package of them.

    Parquet has the schema in the file. `about` is what the package says of itself.
    """
    out.mkdir(parents=True, exist_ok=True)
    paths, resources = [], []
    for table in tables:
        path = out / f"{table.name}.{form}"
        WRITERS[form](path, table, bom=bom)
        paths.append(path)
        resources.append(resource(table, path.name, form))
    if form != "parquet":
        package = {**about, "resources": resources}
        text = json.dumps(package, ensure_ascii=False, indent=1) + "\n"
        paths.append(write_text(out / PACKAGE, [text]))
    return paths


def resource(table: Table, path: str, form: str) -> dict[str, Any]:
    """Return a table's entry in the package."""
    schema = deepcopy(table.schema)
    if form == "csv":  # cells that a spreadsheet would run have an apostrophe
        for field in schema["fields"]:
            limits = field.get("constraints", {})
            if field["type"] == "string" and "enum" in limits:
                limits["enum"] = [defused(value) for value in limits["enum"]]
                for one in field.get("categories", ()):
                    one["value"] = defused(one["value"])
    return {
        "name": table.name,
        "path": path,
        "profile": "tabular-data-resource",
        "format": form,
        "encoding": "utf-8",
        "schema": schema,
    }
