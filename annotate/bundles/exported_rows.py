"""Rows of a study as JSON Lines, with numbers of their own instead of ids."""

import json
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.db.models import ForeignKey

from annotate.bundles.parts import PARTS, PICTURES, Part, Selection
from annotate.models import Event, Unit
from annotate.studies.study_file import write_data

# Of events: secrets, traces of people, and ids of rows that stay behind.
SECRET = frozenset(
    {"account", "address", "codes", "link", "network", "page", "run", "visit"}
)
ROWS_AT_ONCE = 2000
Row = dict[str, Any]


def part_of(part: Part, column: Any) -> str:
    """Return the part that a reference of another part leads to, or ""."""
    name = column.related_model.__name__
    return part.parts.get(column.name) or (name if name in PARTS else "")


class ExportedRows:
    """The rows of a selection, read in one transaction."""

    def __init__(self, chosen: Selection) -> None:
        self.chosen = chosen
        self._numbers: dict[str, array[int]] = {}
        self._keys: dict[str, dict[Any, Any]] = {}
        self.counts: dict[str, int] = {}

    def lines(self, part: Part) -> Iterator[str]:
        """Yield the rows of a part as JSON; parts are read in their order."""
        rows = part.rows(self.chosen).order_by(part.key or "pk")
        self._note(part, rows)
        skipped = () if self.chosen.pictures else PICTURES.get(part.name, ())
        columns = [one for one in part.fields if one.name not in skipped]
        writers = [self._writer(part, one) for one in columns]
        further = self._many(part)
        names = [one.attname for one in columns]
        for number, (pk, *values) in enumerate(
            rows.values_list("pk", *names).iterator(ROWS_AT_ONCE), start=1
        ):
            row: Row = {} if part.key else {"id": number}
            for column, writer, value in zip(columns, writers, values, strict=True):
                row[column.name] = value if value is None else writer(value)
            for name, others in further.items():
                row[name] = others.get(pk, [])
            row = ADAPTED.get(part.name, _same)(row, self, pk)
            yield json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n"

    def _note(self, part: Part, rows: Any) -> None:
        """Give the rows of a part their numbers."""
        if part.key:
            self._keys[part.name] = dict(rows.values_list("pk", part.key))
            self.counts[part.name] = len(self._keys[part.name])
        else:
            pks = rows.values_list("pk", flat=True).iterator(ROWS_AT_ONCE)
            self._numbers[part.name] = array("q", pks)
            self.counts[part.name] = len(self._numbers[part.name])

    def pks(self, part: Part) -> list[int]:
        """Return the ids of a part's rows in the order of their numbers."""
        return self._numbers[part.name].tolist()

    def number(self, part: str, pk: int | None) -> Any:
        """Return the number or key of a row, or None if it is not in the bundle."""
        if pk is None:
            return None
        if part in self._keys:
            return self._keys[part].get(pk)
        known = self._numbers[part]
        place = bisect_left(known, pk)
        return place + 1 if place < len(known) and known[place] == pk else None

    def _writer(self, part: Part, column: Any) -> Callable[[Any], Any]:
        if isinstance(column, ForeignKey):
            other = part_of(part, column)
            return lambda pk: self.number(other, pk) if other else None
        return _plain

    def _many(self, part: Part) -> dict[str, dict[int, list[int]]]:
        """Return the many-to-many references of a part's rows, by field and id."""
        found = {}
        references: Sequence[Any] = part.model._meta.many_to_many
        for one in references:
            own, other = one.m2m_column_name(), one.m2m_reverse_name()
            name = part_of(part, one)
            links = one.remote_field.through._base_manager.filter(
                **{f"{one.m2m_field_name()}__in": part.rows(self.chosen)}
            )
            grouped = defaultdict(list)
            for pk, to in links.order_by(own, other).values_list(own, other):
                grouped[pk].append(self.number(name, to))
            found[one.name] = dict(grouped)
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return str(value) if isinstance(value, Decimal) else value


def _same(row: Row, _rows: ExportedRows, _pk: int) -> Row:
    return row


def _study(row: Row, _rows: ExportedRows, _pk: int) -> Row:
    """Leave codes that are worth money out, and what this server has drawn."""
    recruitment = {k: v for k, v in row["recruitment"].items() if k != "outcomes"}
    presentation = {k: v for k, v in row["presentation"].items() if k != "drawn"}
    definition = row["definition"]
    if recruitment != row["recruitment"]:
        definition = without_codes(definition)
    changed = {"recruitment": recruitment, "presentation": presentation}
    return row | changed | {"definition": definition}


def without_codes(definition: str) -> str:
    """Return a study file without the codes of its crowd platform."""
    import yaml

    data = yaml.safe_load(definition)
    if not (isinstance(data, dict) and (data.get("recruitment") or {}).get("outcomes")):
        return definition
    del data["recruitment"]["outcomes"]
    return write_data(data)


def _output(row: Row, _rows: ExportedRows, _pk: int) -> Row:
    """Leave the folder of an original out; that of a degraded copy is its seed."""
    return row if row["twin_of"] else row | {"source": ""}


def _run(row: Row, _rows: ExportedRows, _pk: int) -> Row:
    return row | {"options": {k: v for k, v in row["options"].items() if k != "since"}}


def _unit(row: Row, _rows: ExportedRows, pk: int) -> Row:
    """Write the order of three or more outputs, which follows from their ids."""
    if row["output_c"] and not row["arrangement"]:
        return row | {"arrangement": Unit.objects.get(pk=pk).base_order}
    return row


def _event(row: Row, rows: ExportedRows, _pk: int) -> Row:
    """Write numbers for slots and annotators in the details of an event."""
    details = {k: v for k, v in row["details"].items() if k not in SECRET}
    if row["kind"] == Event.Kind.SLOTS_LISTED:
        details["slots"] = [
            [rows.number("Slot", slot), state, rows.number("Annotator", who), ordinal]
            for slot, state, who, ordinal in details["slots"]
        ]
    if "holder" in details:
        details["holder"] = rows.number("Annotator", details["holder"])
    if isinstance(details.get("hidden"), list):
        details["hidden"] = [
            [rows.number("Slot", slot), views] for slot, views in details["hidden"]
        ]
    if row["kind"] == Event.Kind.PICTURE_REPLACED:
        closed = details.get("closed", [])
        details["closed"] = [rows.number("Slot", slot) for slot in closed]
    return row | {"details": details}


ADAPTED: dict[str, Callable[[Row, ExportedRows, int], Row]] = {
    "Study": _study,
    "Output": _output,
    "MetricRun": _run,
    "posted_runs": _run,
    "Unit": _unit,
    "Event": _event,
}
