"""Queries whose SQL is compiled once per process and run with other values.

Django compiles the SQL of a query each time it runs, which takes several times as
long as the database needs to answer; built once, three times as many people can rate
(`benchmarks/human_pace.py --pause 0`). The queries of every click are compiled here:

    OWN = Prepared(lambda person: Slot.objects.filter(annotator=person), person=int)
    OWN.rows(person=annotator.pk)

The query is written as usual. It is compiled with unique placeholder values, which
mark the parameters in the SQL. `store`, `add` and `count` write the few rows of every
click in the same way.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.query import (  # type: ignore[attr-defined]
    ModelIterable,
    ValuesListIterable,
    get_related_populators,
)
from django.db.transaction import TransactionManagementError

Row = TypeVar("Row")
# Values that stand in no query by chance.
MARKS: dict[type, Callable[[int], Any]] = {
    int: lambda n: 8_071_935_426_000 + n,
    str: lambda n: f"mark {n} of 8071935426",
    datetime: lambda n: datetime(4071, 9, 3, 5, 42, 6, 807_190 + n, tzinfo=UTC),
}
PLAIN_WORD = re.compile("[a-z]*")


class Prepared(Generic[Row]):
    """A query with values to be filled in: `build` returns it from the values.

    Their types are given by name: int for ids, str or datetime.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Any]], **given: type) -> None:
        self._build, self._given = build, given
        self._sql = ""

    def rows(self, **values: object) -> list[Row]:
        """Return what the query finds with these values."""
        if not self._sql:
            self._compile()
        if self._locks and connection.get_autocommit():
            raise TransactionManagementError("Rows are locked in a transaction only.")
        params = list(self._params)
        for place, name in self._places:
            params[place] = _adapted(values[name])
        with executed(self._sql, params) as cursor:
            found = cursor.fetchall()
        return [self._made(self._converted(row)) for row in found]

    def first(self, **values: object) -> Row | None:
        """Return the first row, which is read with the others; None: there is none."""
        found = self.rows(**values)
        return found[0] if found else None

    def one(self, **values: object) -> Row:
        """Return the one row that the query finds; raise DoesNotExist for none."""
        found = self.rows(**values)
        if not found:
            raise self._model.DoesNotExist
        return found[0]

    def _compile(self) -> None:
        marks = {
            name: MARKS[kind](number)
            for number, (name, kind) in enumerate(self._given.items())
        }
        query = self._build(**marks)
        compiler = query.query.get_compiler(connection=connection)
        sql, self._params = _with_constants(*compiler.as_sql())
        names = {_adapted(mark): name for name, mark in marks.items()}
        self._places = [
            (place, names[value])
            for place, value in enumerate(self._params)
            if isinstance(value, (int, str, datetime)) and value in names
        ]
        if missing := marks.keys() - {name for _place, name in self._places}:
            raise ValueError(f"Not found in the query: {', '.join(sorted(missing))}.")
        self._locks = "FOR " in sql and query.query.select_for_update
        self._model: Any = query.model
        columns = [column[0] for column in compiler.select]
        self._converters = compiler.get_converters(columns).items()
        self._made = _maker(query, compiler)
        self._sql = sql

    def _converted(self, row: Sequence[Any]) -> Sequence[Any]:
        if not self._converters:
            return row
        read = list(row)
        for place, (functions, expression) in self._converters:
            for convert in functions:
                read[place] = convert(read[place], expression, connection)
        return read


def _with_constants(sql: str, params: Sequence[object]) -> tuple[str, list[object]]:
    """Write plain words among the values into the SQL; return the values that are left.

    SQLite finds a partial index only by words that stand in the query.
    """
    first, *rest = sql.split("%s")
    parts, left = [first], []
    for value, text in zip(params, rest, strict=True):
        is_word = isinstance(value, str) and PLAIN_WORD.fullmatch(value)
        parts.append(f"'{value}'{text}" if is_word else f"%s{text}")
        left += [] if is_word else [value]
    return "".join(parts), left


def _adapted(value: object) -> object:
    """Return a value as the database takes it."""
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return value


def _maker(query: QuerySet[Any, Any], compiler: Any) -> Callable[[Any], Any]:
    """Return what makes of a row of the database what the query is to yield."""
    kind = query._iterable_class
    if not issubclass(kind, ModelIterable):
        if not issubclass(kind, ValuesListIterable):
            return lambda row: row[0]  # a flat list
        return tuple
    model, columns = compiler.klass_info["model"], compiler.klass_info["select_fields"]
    first, last = columns[0], columns[-1] + 1
    names = [column[0].target.attname for column in compiler.select[first:last]]
    using = connection.alias
    related = get_related_populators(compiler.klass_info, compiler.select, using)

    def made(row: Any) -> Any:
        found = model.from_db(using, names, row[first:last])
        for populator in related:
            populator.populate(row, found)
        for name, place in compiler.annotation_col_map.items():
            setattr(found, name, row[place])
        return found

    return made


def store(row: Model, *names: str) -> None:
    """Write fields of a row, as `save(update_fields=names)`; raise DoesNotExist."""
    table, key, columns = _columns(type(row), names)
    changes = ", ".join(f"{column} = %s" for _field, column in columns)
    values = [_prepared(field, row, add=False) for field, _column in columns]
    sql = f"UPDATE {table} SET {changes} WHERE {key} = %s"
    with executed(sql, [*values, row.pk]) as cursor:
        if not cursor.rowcount:
            raise type(row).DoesNotExist  # type: ignore[attr-defined]


def add(*rows: Model) -> None:
    """Store new rows of one table, and set their ids, as `bulk_create`."""
    table, key, columns = _columns(type(rows[0]))
    names = ", ".join(column for _field, column in columns)
    one = f"({', '.join(['%s'] * len(columns))})"
    sql = f"INSERT INTO {table} ({names}) VALUES {', '.join([one] * len(rows))}"
    values = [_prepared(field, row, add=True) for row in rows for field, _ in columns]
    with executed(f"{sql} RETURNING {key}", values) as cursor:
        for row, (pk,) in zip(rows, cursor.fetchall(), strict=True):
            row.pk = pk
            row._state.adding, row._state.db = False, connection.alias


def count(model: type[Model], pk: int, name: str, added: int) -> None:
    """Add to a number of a row, which may be less than nothing."""
    table, key, ((_field, column),) = _columns(model, (name,))
    sql = f"UPDATE {table} SET {column} = {column} + %s WHERE {key} = %s"
    with executed(sql, [added, pk]):
        pass


def _prepared(field: Any, row: Model, *, add: bool) -> Any:
    return field.get_db_prep_save(field.pre_save(row, add), connection)


@lru_cache
def _columns(
    model: type[Model], names: tuple[str, ...] = ()
) -> tuple[str, str, list[tuple[Any, str]]]:
    """Return table, key and columns, quoted; without names, all but the key."""
    quote, meta = connection.ops.quote_name, model._meta
    fields = [meta.get_field(name) for name in names] or [
        one for one in meta.concrete_fields if not one.primary_key
    ]
    columns: list[tuple[Any, str]] = [(one, quote(one.column)) for one in fields]  # type: ignore[union-attr,arg-type]
    return quote(meta.db_table), quote(meta.pk.column), columns


@contextmanager
def executed(sql: str, params: Sequence[Any]) -> Iterator[Any]:
    """Yield a cursor that has executed a statement with `%s` for each value."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        yield cursor
