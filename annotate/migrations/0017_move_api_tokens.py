"""Move the tokens of the former app: PostgreSQL wants rows after their columns."""

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, cast

from django.db import migrations

TABLE = "authtoken_token"


def move_tokens(apps: Any, schema_editor: Any) -> None:
    """Store the tokens of the former app as hashes; its table stays, empty.

    Programs keep them: they have every right and no end. Old programs may still read
    the table.
    """
    connection = schema_editor.connection
    if TABLE not in connection.introspection.table_names():
        return
    token = apps.get_model("annotate", "ApiToken")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT key, user_id, created FROM {TABLE}")
        rows = cursor.fetchall()
        token.objects.bulk_create(
            token(
                user_id=user,
                name="API token",
                secret_hash=sha256(key.encode()).hexdigest(),
                scope="manage",
                created_at=_aware(created),
            )
            for key, user, created in rows
        )
        cursor.execute(f"DELETE FROM {TABLE}")


def _aware(created: Any) -> datetime:
    """Return a time as the engine has it: SQLite's driver gives none with a zone."""
    at = datetime.fromisoformat(created) if isinstance(created, str) else created
    return cast("datetime", at if at.tzinfo else at.replace(tzinfo=UTC))


class Migration(migrations.Migration):
    dependencies = [("annotate", "0016_api_tokens")]

    operations = [migrations.RunPython(move_tokens, migrations.RunPython.noop)]
