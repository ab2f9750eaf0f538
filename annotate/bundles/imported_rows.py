"""Rows of a bundle, stored under new ids."""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import ForeignKey, Model
from pydantic import TypeAdapter

from analysis.problems import shown
from analysis.reading.bundles import Bundle
from annotate.bundles.exported_rows import part_of
from annotate.bundles.parts import PARTS, Part
from annotate.models import Event, Slot
from annotate.models.slots import new_code
from annotate.studies.parts import TrainedOn

ROWS_AT_ONCE = 1000
# Rankings had no ties before, whatever their questions stored.
TIES = "0024_ties"
Row = dict[str, Any]
TRAINED_ON: TypeAdapter[TrainedOn] = TypeAdapter(TrainedOn)


class ImportedRows:
    """New ids of the rows of a bundle, within one transaction."""

    def __init__(self, bundle: Bundle, slugs: Mapping[str, str]) -> None:
        self.bundle, self.slugs = bundle, slugs
        self._pks: dict[str, Sequence[int]] = {}
        self._keys: dict[str, dict[Any, int]] = {}
        self._codes = _new_codes(bundle)
        self.has_new_codes = bool(self._codes)
        self.benchmark = ""

    def reuse(self, part: Part, pks: Sequence[int]) -> None:
        """Let references to a part's rows lead to rows that exist."""
        self._pks[part.name] = pks

    def store(self, part: Part) -> None:
        """Store the rows of a part."""
        number = self.bundle.manifest["rows"].get(part.name, 0)
        if part.key:
            self._store_shared(part)
            return
        self._pks[part.name] = _reserved(part.model, number)
        stored, many = 0, _many_of(part)
        rows = self._objects(part)
        while group := list(islice(rows, ROWS_AT_ONCE)):
            part.model._base_manager.bulk_create([row for row, _others in group])
            for name, through, own, other in many:
                through._base_manager.bulk_create(
                    through(**{own: row.pk, other: pk})
                    for row, others in group
                    for pk in others[name]
                )
            stored += len(group)
        if stored != number:
            self.bundle.refuse(f"{number} rows, as its manifest tells", part.file)

    def _store_shared(self, part: Part) -> None:
        """Store the rows whose key is new here."""
        rows, key, manager = self._objects(part), part.key, part.model._base_manager
        known: dict[Any, int] = {}
        while group := [row for row, _others in islice(rows, ROWS_AT_ONCE)]:
            wanted = [getattr(row, key) for row in group]
            here = manager.filter(**{f"{key}__in": wanted})
            old = {*here.values_list(key, flat=True)}
            manager.bulk_create([r for r in group if getattr(r, key) not in old])
            known |= dict(here.all().values_list(key, "pk"))
        self._keys[part.name] = known

    def _objects(self, part: Part) -> Iterator[tuple[Any, dict[str, list[int]]]]:
        """Yield a part's rows as objects, with their many-to-many references."""
        readers = {one.name: self._reader(part, one) for one in part.fields}
        attributes = {one.name: one.attname for one in part.fields}
        references = {
            one.name: part_of(part, one) for one in part.model._meta.many_to_many
        }
        known = readers.keys() | references.keys() | ({*()} if part.key else {"id"})
        empty = {
            one.attname: _nothing(one)
            for one in part.model._meta.concrete_fields
            if one.name in part.left_out
        }
        adapt = ADAPTED.get(part.name)
        for line, row in enumerate(self.bundle.rows(part.file), start=1):
            if more := sorted(row.keys() - known):
                told = f"columns that this version knows, not {shown(more[0])!r}"
                self.bundle.refuse(told, part.file, line)
            try:
                values = dict(empty)
                if not part.key:
                    if row.get("id") != line:
                        raise ValueError(f"id {line}")
                    values["pk"] = self._pks[part.name][line - 1]
                if adapt is not None:
                    adapt(row, self)
                for name, reader in readers.items():
                    if name in row:
                        values[attributes[name]] = reader(row[name])
                others = {
                    name: [self.pk(other, number) for number in row.get(name, [])]
                    for name, other in references.items()
                }
            except ValidationError as error:
                self.bundle.refuse("; ".join(error.messages), part.file, line)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                told = f"a row as it was exported ({shown(str(error))})"
                self.bundle.refuse(told, part.file, line)
            yield part.model(**values), others

    def pk(self, part: str, number: Any) -> int:
        """Return the new id of a row of a part."""
        if part in self._keys:
            return self._keys[part][number]
        known = self._pks[part]
        if type(number) is not int or not 1 <= number <= len(known):
            raise ValueError(f"{part} {number}: expected 1 to {len(known)}")
        return known[number - 1]

    def _reader(self, part: Part, column: Any) -> Callable[[Any], Any]:
        if isinstance(column, ForeignKey):
            other = part_of(part, column)

            def refer(number: Any) -> int | None:
                if number is None and column.null:
                    return None
                return self.pk(other, number)

            return refer

        def read(value: Any) -> Any:
            if value is None or value in column.empty_values:
                if value is None and not column.null:
                    raise ValueError(f"{column.name}: a value")
                return value
            found = column.clean(value, None)
            if isinstance(found, datetime) and found.tzinfo is None:
                raise ValueError(f"{column.name}: a time with its zone")
            return found

        return read

    # Names in rows beside references.

    def rename(self, slug: str) -> str:
        """Return the new name of a study."""
        return self.slugs[slug] if slug else ""

    def code(self, code: str) -> str:
        """Return the code of a slot, which is unique on a server."""
        return self._codes.get(code, code)


def _new_codes(bundle: Bundle) -> dict[str, str]:
    """Return new codes of all slots, if one of theirs is taken here."""
    rows = bundle.rows(PARTS["Slot"].file)
    codes = (str(row.get("code")) for row in rows)
    while group := list(islice(codes, ROWS_AT_ONCE)):
        if Slot.objects.filter(code__in=group).exists():
            every = bundle.rows(PARTS["Slot"].file)
            return {str(row.get("code")): new_code() for row in every}
    return {}


def _reserved(model: type[Model], number: int) -> Sequence[int]:
    """Return ids, in order, that no other row has or gets."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, 'id'))"
                " FROM generate_series(1, %s)",
                [table, number],
            )
            return array("q", sorted(pk for (pk,) in cursor.fetchall()))
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        last = (cursor.fetchone() or [0])[0]
    return range(last + 1, last + 1 + number)


def _many_of(part: Part) -> list[tuple[str, Any, str, str]]:
    """Return name, table and columns of a model's many-to-many references."""
    return [
        (
            one.name,
            one.remote_field.through,
            f"{one.m2m_field_name()}_id",
            f"{one.m2m_reverse_field_name()}_id",
        )
        for one in part.model._meta.many_to_many
    ]


def _nothing(column: Any) -> Any:
    """Return the empty value of a column that a bundle leaves out."""
    if column.null:
        return None
    return column.get_default() if column.get_internal_type() == "JSONField" else ""


def _benchmark(row: Row, rows: ImportedRows) -> None:
    row["slug"] = rows.benchmark


def _study(row: Row, rows: ImportedRows) -> None:
    row["slug"] = rows.rename(row["slug"])
    TRAINED_ON.validate_python(row.get("trained_on", {}))


def _question(row: Row, rows: ImportedRows) -> None:
    """Leave a ranking of an older version without ties."""
    if row["kind"] == "ranking":
        has_ties = TIES in rows.bundle.manifest["migrations"]["annotate"]
        row["allow_tie"] = has_ties and row["allow_tie"]


def _posted(row: Row, rows: ImportedRows) -> None:
    row["posted_to"] = rows.rename(row["posted_to"])


def _slot(row: Row, rows: ImportedRows) -> None:
    row["code"] = rows.code(row["code"])


def _event(row: Row, rows: ImportedRows) -> None:
    """Return the slots and annotators in an event's details to ids."""

    def pk(part: str, number: Any) -> int | None:
        return None if number is None else rows.pk(part, number)

    details = row["details"]
    if row["kind"] == Event.Kind.SLOTS_LISTED:
        details["slots"] = [
            [pk("Slot", slot), state, pk("Annotator", who), ordinal]
            for slot, state, who, ordinal in details["slots"]
        ]
    if "holder" in details:
        details["holder"] = pk("Annotator", details["holder"])
    if isinstance(details.get("hidden"), list):
        details["hidden"] = [
            [pk("Slot", slot), views] for slot, views in details["hidden"]
        ]
    if row["kind"] == Event.Kind.PICTURE_REPLACED:
        details["closed"] = [pk("Slot", slot) for slot in details.get("closed", [])]
    if "instead_of" in details:
        details["instead_of"] = rows.code(details["instead_of"])


ADAPTED: dict[str, Callable[[Row, ImportedRows], None]] = {
    "Benchmark": _benchmark,
    "Study": _study,
    "posted_runs": _posted,
    "posted_scores": _posted,
    "Question": _question,
    "Slot": _slot,
    "Event": _event,
}
