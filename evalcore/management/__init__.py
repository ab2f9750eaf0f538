"""Commands, and why one could not use the database."""

from django.db import DatabaseError, Error, OperationalError, connection
from django.db.migrations.exceptions import NodeNotFoundError
from django.db.migrations.executor import MigrationExecutor

from evalcore.database import damage

# These commands bring the tables up to date; all others expect that somebody did.
MIGRATING = ("migrate", "serve", "restore")


TOO_OLD = (
    "The tables are of a version that this one cannot bring up to date. First run "
    "`python manage.py migrate` of a version that has the migration {name}."
)


def why_unprepared(error: Error | NodeNotFoundError, command: str) -> str | None:
    """Say what is wrong with the database, and what would help; None: nothing."""
    if isinstance(error, NodeNotFoundError):  # migrations that were squashed since
        return TOO_OLD.format(name="annotate 0014_study_plans")
    told = damage.message_of(error)
    if isinstance(error, DatabaseError) and damage.is_damage(error):
        return damage.describe(told)
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as second:
        reason = damage.message_of(second)
        if damage.is_damage(second):
            return damage.describe(reason)
        return f"The database cannot be reached ({reason})."
    if missing and command in MIGRATING:
        return (
            f"The migration {missing[0][0]} could not be applied; the database says: "
            f"{told}. What came before it stays, and it is tried again at the next "
            "start."
        )
    if missing:
        return (
            f"The database is not prepared for this version ({told}). Run "
            "`python manage.py migrate` once; `make run` does so by itself."
        )
    if isinstance(error, OperationalError):
        return f"The database did not do what it was asked ({told})."
    return None
