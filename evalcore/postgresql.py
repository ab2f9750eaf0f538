"""What only PostgreSQL needs to be told."""

from django.db import connection
from django.db.models import Model


def analyze(*models: type[Model]) -> None:
    """Count the rows of tables that have just grown by many.

    PostgreSQL looks by itself only after a while, and never into an open transaction.
    Until then it takes the tables for small: a report right after an import was joined
    row by row and took many minutes. No other database needs it.
    """
    if connection.vendor != "postgresql":
        return
    tables = ", ".join(
        connection.ops.quote_name(model._meta.db_table) for model in models
    )
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {tables}")
