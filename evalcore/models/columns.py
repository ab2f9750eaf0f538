"""What the tables say of their columns."""

from typing import cast

from django.db import models


def most_letters(table: type[models.Model], column: str) -> int:
    """Return how long the text in a column may be."""
    field = cast("models.CharField[str, str]", table._meta.get_field(column))
    assert field.max_length is not None
    return field.max_length
