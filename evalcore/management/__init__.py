"""Management commands, and their messages about database errors."""

from django.db import DatabaseError, Error, OperationalError, connection
from django.db.migrations.exceptions import NodeNotFoundError
from django.db.migrations.executor import MigrationExecutor

from evalcore.database import damage

# These commands migrate the database; all others need it to be migrated.
MIGRATING = ("migrate", "serve", "restore")


TOO_OLD = (
    "The database is too old for this version to upgrade. Install a version that still "
    "has the migration {name}, run `plumbline migrate` there, then upgrade."
)


def why_unprepared(error: Error | NodeNotFoundError, command: str) -> str | None:
    """Return what is wrong with the database, with a remedy; None if nothing."""
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
            f"The migration {missing[0][0]} failed. Message of the database: {told}. "
            "Earlier migrations stay applied; the next start tries this one again."
        )
    if missing:
        return (
            f"The database is not up to date with this version ({told}). Run "
            "`plumbline migrate` (`plumbline serve` does it automatically)."
        )
    if isinstance(error, OperationalError):
        return f"The database reported an error ({told})."
    return None
