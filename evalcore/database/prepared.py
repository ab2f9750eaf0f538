"""Queries that are built once a process, and asked with other values each time.

Django builds the SQL of a query anew whenever it is asked, which takes several times as
long as the database needs to answer. What an annotator's every click asks is built
here once:

    OWN = Prepared(lambda person: Slot.objects.filter(annotator=person), person=int)
    OWN.rows(person=annotator.pk)

The query is written as anywhere else. What it is asked with stands in it as a value of
its own, by which its place in the SQL is found.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import DateTimeField, Model, QuerySet
from django.db.models.query import (  # type: ignore[attr-defined]
    FlatValuesListIterable,
    ModelIterable,
    ValuesListIterable,
    get_related_populators,
)
from django.db.transaction import TransactionManagementError

from evalcore.database.executing import rows_of

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
