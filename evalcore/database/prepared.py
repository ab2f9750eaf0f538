"""Queries that are built once a process, and asked with other values each time.

Django builds the SQL of a query anew whenever it is asked, which takes several times as
long as the database needs to answer. What an annotator's every click asks is built
here once:

    OWN = Prepared(lambda person: Slot.objects.filter(annotator=person), person=int)
    OWN.rows(person=annotator.pk)

The query is written as anywhere else. What it is asked with stands in it as a value of
its own, by which its place in the SQL is found.

The few rows that every click writes are written so, too: `store(row, "state", "lease")`
is `row.save(update_fields=["state", "lease"])`, `add(*rows)` is `bulk_create`, and
`count(Unit, pk, "submitted", 1)` updates a number by an `F` expression.

Statements go to the database without detours: Django's cursor translates each for
SQLite every time, which takes as long as SQLite needs to answer, and wraps PostgreSQL's
once more. Where queries are logged or counted it is still used.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX
from django.db.models import DateTimeField, Field, Model, QuerySet
from django.db.models.query import (  # type: ignore[attr-defined]
    FlatValuesListIterable,
    ModelIterable,
    ValuesListIterable,
    get_related_populators,
)
from django.db.transaction import TransactionManagementError

Row = TypeVar("Row")
Convert = Callable[[Any, Any, Any], Any]

# Values that stand in no query by chance.
MARKS: dict[type, Callable[[int], Any]] = {
    int: lambda n: 8_071_935_426_000 + n,
    str: lambda n: f"mark {n} of 8071935426",
    datetime: lambda n: datetime(4071, 9, 3, 5, 42, 6, 807_190 + n, tzinfo=UTC),
}


PLAIN_WORD = re.compile("[a-z]*")


class Prepared(Generic[Row]):
    """A query with values to be filled in.

    Parameters
    ----------
    build
        Returns the query, of models or of lists of values, from the values.
    given
        The values' types by name: int for ids, str or datetime.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Any]], **given: type) -> None:
        self._build, self._given = build, given
        self._statement: _Statement | None = None
        self._model: type[Model] = Model

    def rows(self, **values: object) -> list[Row]:
        """Return what the query finds with these values."""
        if self._statement is None or self._statement.vendor != connection.vendor:
            self._statement = self._built()
        return self._statement.rows(values)

    def first(self, **values: object) -> Row | None:
        """Return the first row, which is read with the others; None: there is none."""
        found = self.rows(**values)
        return found[0] if found else None

    def one(self, **values: object) -> Row:
        """Return the one row that the query finds.

        Raises
        ------
        ObjectDoesNotExist
            It finds none.
        """
        found = self.rows(**values)
        if not found:
            raise self._model.DoesNotExist  # type: ignore[attr-defined]
        return found[0]

    def _built(self) -> "_Statement":
        marks = {
            name: MARKS[kind](number)
            for number, (name, kind) in enumerate(self._given.items())
        }
        query = self._build(**marks)
        self._model = query.model
        return _statement(query, marks)


@dataclass(frozen=True)
class _Statement:
    """The SQL of a query, where its values stand, and how its rows are read."""

    vendor: str
    sql: str
    params: tuple[object, ...]
    places: tuple[tuple[int, str], ...]
    locks: bool
    converters: tuple[tuple[int, Sequence[Convert], Any], ...]
    made: Callable[[Any], Any]

    def rows(self, values: dict[str, object]) -> list[Any]:
        if self.locks and connection.get_autocommit():
            raise TransactionManagementError("Rows are locked in a transaction only.")
        params: list[Any] = list(self.params)
        for place, name in self.places:
            params[place] = _adapted(values[name])
        found = rows_of(self.sql, params)
        return [self.made(row) for row in self._converted(found)]

    def _converted(self, found: list[Any]) -> Iterator[list[Any]]:
        if not self.converters:
            yield from found
            return
        for row in found:
            read = list(row)
            for place, functions, expression in self.converters:
                value = read[place]
                for convert in functions:
                    value = convert(value, expression, connection)
                read[place] = value
            yield read


def _statement(queryset: QuerySet[Any, Any], marks: dict[str, object]) -> _Statement:
    """Return what is asked by a query in which values are marked."""
    compiler = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
    sql, params = _with_constants(*compiler.as_sql())
    by_mark = {_adapted(mark): name for name, mark in marks.items()}
    places = [
        (place, by_mark[value])
        for place, value in enumerate(params)
        if isinstance(value, (int, str, datetime)) and value in by_mark
    ]
    if missing := marks.keys() - {name for _place, name in places}:
        raise ValueError(f"Not found in the query: {', '.join(sorted(missing))}.")
    columns = [column[0] for column in compiler.select]
    return _Statement(
        connection.vendor,
        sql,
        tuple(params),
        tuple(places),
        bool(queryset.query.select_for_update)
        and connection.features.has_select_for_update,
        tuple(
            (place, _faster(functions, expression), expression)
            for place, (functions, expression) in sorted(
                compiler.get_converters(columns).items()
            )
        ),
        _maker(queryset, compiler),
    )


def _with_constants(sql: str, params: Sequence[object]) -> tuple[str, list[object]]:
    """Write plain words among the values into the SQL; return the values that are left.

    SQLite finds a partial index only by words that stand in the query.
    """
    first, *rest = sql.split("%s")
    parts, left = [first], []
    for value, text in zip(params, rest, strict=True):
        if isinstance(value, str) and PLAIN_WORD.fullmatch(value):
            parts.append(f"'{value}'{text}")
        else:
            parts.append(f"%s{text}")
            left.append(value)
    return "".join(parts), left


def _adapted(value: object) -> object:
    """Return a value as the database takes it."""
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return value


def _faster(functions: Sequence[Convert], expression: Any) -> Sequence[Convert]:
    """Return what reads a column's values; times of SQLite, all in UTC, faster."""
    is_time = type(expression.output_field) is DateTimeField
    return [_read_time] if is_time and connection.vendor == "sqlite" else functions


def _read_time(
    value: str | datetime | None, _expression: object, _connection: object
) -> datetime | None:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value and value.replace(tzinfo=UTC)


def _maker(queryset: QuerySet[Any, Any], compiler: Any) -> Callable[[Any], Any]:
    """Return what makes of a row of the database what the query is to yield."""
    kind = queryset._iterable_class
    if issubclass(kind, FlatValuesListIterable):
        return _only
    if issubclass(kind, ValuesListIterable):
        return tuple
    if not issubclass(kind, ModelIterable):
        raise TypeError("Prepare a query of models or of lists of values.")
    model, columns = compiler.klass_info["model"], compiler.klass_info["select_fields"]
    first, last = columns[0], columns[-1] + 1
    names = [column[0].target.attname for column in compiler.select[first:last]]
    related = get_related_populators(
        compiler.klass_info, compiler.select, DEFAULT_DB_ALIAS
    )

    def made(row: Any) -> Any:
        found = model.from_db(DEFAULT_DB_ALIAS, names, row[first:last])
        for populator in related:
            populator.populate(row, found)
        for name, place in compiler.annotation_col_map.items():
            setattr(found, name, row[place])
        return found

    return made


def _only(row: Any) -> Any:
    return row[0]


def store(row: Model, *names: str) -> None:
    """Write fields of a row that is stored already.

    Raises
    ------
    ObjectDoesNotExist
        The row is stored no more.
    """
    sql, fields = _update(type(row), names)
    values = [_prepared(field, row, add=False) for field in fields]
    if not change(sql, [*values, row.pk]):
        raise type(row).DoesNotExist  # type: ignore[attr-defined]


def add(*rows: Model) -> None:
    """Store new rows of one table, and set their ids."""
    sql, fields = _insert(type(rows[0]), len(rows))
    values = [_prepared(field, row, add=True) for row in rows for field in fields]
    for row, (pk,) in zip(rows, rows_of(sql, values), strict=True):
        row.pk = pk
        row._state.adding, row._state.db = False, connection.alias


def count(model: type[Model], pk: int, name: str, added: int) -> None:
    """Add to a number of a row, which may be less than nothing."""
    change(_counting(model, name), [added, pk])


def _prepared(field: "Field[Any, Any]", row: Model, *, add: bool) -> Any:
    return field.get_db_prep_save(field.pre_save(row, add), connection)


def _key(model: type[Model]) -> str:
    """Return the column of a table's ids."""
    key = model._meta.pk
    assert key is not None
    assert key.column is not None
    return key.column


@lru_cache
def _update(
    model: type[Model], names: tuple[str, ...]
) -> tuple[str, "list[Field[Any, Any]]"]:
    quote = connection.ops.quote_name
    known = {field.name: field for field in model._meta.concrete_fields}
    fields = [known[name] for name in names]
    changes = ", ".join(f"{quote(str(field.column))} = %s" for field in fields)
    key = quote(_key(model))
    table = quote(model._meta.db_table)
    return f"UPDATE {table} SET {changes} WHERE {key} = %s", fields


@lru_cache
def _counting(model: type[Model], name: str) -> str:
    quote = connection.ops.quote_name
    column = quote(str(model._meta.get_field(name).column))  # type: ignore[union-attr]
    table, key = quote(model._meta.db_table), quote(_key(model))
    return f"UPDATE {table} SET {column} = {column} + %s WHERE {key} = %s"


@lru_cache
def _insert(model: type[Model], number: int) -> tuple[str, "list[Field[Any, Any]]"]:
    quote = connection.ops.quote_name
    fields = [one for one in model._meta.concrete_fields if not one.primary_key]
    columns = ", ".join(quote(str(field.column)) for field in fields)
    row = f"({', '.join(['%s'] * len(fields))})"
    key = quote(_key(model))
    table = quote(model._meta.db_table)
    rows = ", ".join([row] * number)
    return f"INSERT INTO {table} ({columns}) VALUES {rows} RETURNING {key}", fields


def rows_of(sql: str, params: Sequence[Any]) -> list[Any]:
    """Return the rows of a query with `%s` in the place of its values."""
    with _executed(sql, params) as done:
        found: list[Any] = done.fetchall()
    return found


def change(sql: str, params: Sequence[Any]) -> int:
    """Execute a statement that yields no rows; return how many it changed."""
    with _executed(sql, params) as done:
        number: int = done.rowcount
    return number


@contextmanager
def _executed(sql: str, params: Sequence[Any]) -> Iterator[Any]:
    """Yield a cursor that has executed the statement."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.queries_logged or connection.execute_wrappers:
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            yield cursor
        return
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors:
        if connection.vendor == "sqlite":
            yield connection.connection.execute(_for_sqlite(sql), params)
        else:
            with connection.create_cursor() as cursor:
                cursor.execute(sql, params)
                yield cursor


@lru_cache(maxsize=1000)
def _for_sqlite(sql: str) -> str:
    marked: str = FORMAT_QMARK_REGEX.sub("?", sql)
    return marked.replace("%%", "%")
