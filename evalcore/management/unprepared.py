"""Why a command could not use the database, if it is not the command's own fault."""

from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor


def why_unprepared() -> str | None:
    """Say what is wrong with the database, and what would help; None: nothing."""
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except OperationalError as error:
        return f"The database cannot be reached ({' '.join(str(error).split())})."
    if missing:
        return (
            "The database is not prepared for this version. Run "
            "`python manage.py migrate` once; `make run` does so by itself."
        )
    return None
