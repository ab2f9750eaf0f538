"""Constraints of columns by name, and the longest texts."""

from collections.abc import Iterable
from typing import cast

from django.db import models
from django.db.models import Q
from django.db.models.expressions import BaseExpression


def once(name: str, *fields: str, where: Q | None = None) -> models.UniqueConstraint:
    """Return a constraint: no two rows (matching `where`) share these columns."""
    return models.UniqueConstraint(fields=fields, condition=where, name=name)


def holds(name: str, condition: Q | BaseExpression) -> models.CheckConstraint:
    """Return a constraint: every row meets a condition."""
    return models.CheckConstraint(condition=condition, name=name)


def known(name: str, **values: Iterable[str]) -> models.CheckConstraint:
    """Return a constraint: a column has one of these values."""
    ((column, those),) = values.items()
    return holds(name, Q(**{f"{column}__in": [*those]}))


def most_letters(table: type[models.Model], column: str) -> int:
    """Return the maximum length of the text in a column."""
    field = cast("models.CharField[str, str]", table._meta.get_field(column))
    assert field.max_length is not None
    return field.max_length
