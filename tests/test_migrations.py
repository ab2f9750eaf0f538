"""Old programs go on serving while a migration has changed the tables."""

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader

APPS = ("annotate", "evalcore")
# The last of each that came before this was promised.
BEFORE = {"annotate": "0009", "evalcore": "0003"}
# An old program reads, writes or looks up what these take away or call otherwise.
TAKING = (
    migrations.DeleteModel,
    migrations.RemoveField,
    migrations.RenameField,
    migrations.RenameModel,
    migrations.AlterModelTable,
)
# What is taken away though, by migration: since which version no program uses it.
UNUSED_SINCE: dict[tuple[str, str], str] = {}


def later_migrations() -> list[migrations.Migration]:
    known = MigrationLoader(None).disk_migrations
    return [
        known[app, name]
        for app, name in sorted(known)
        if app in APPS and name[:4] > BEFORE[app]
    ]


def why_not(operation, app: str, before) -> str | None:
    """Say what an old program could not live with; None: nothing.

    `before` is the state of the models that the operation changes.
    """
    if isinstance(operation, TAKING):
        return "takes something away that old programs use"
    if isinstance(operation, migrations.AddField):
        field = operation.field
        if not (field.null or field.has_db_default() or field.many_to_many):
            return f"{operation.name} has no db_default: old programs leave it out"
    if isinstance(operation, migrations.AlterField) and not operation.field.null:
        old = before.models[app, operation.model_name_lower].fields[operation.name]
        if old.null:
            return f"{operation.name} may not be empty any more: old programs leave it"
    return None


def all_that_is_wrong(migration: migrations.Migration) -> list[str]:
    app, told = migration.app_label, []
    state = MigrationLoader(None).project_state((app, migration.name), at_end=False)
    for operation in migration.operations:
        told.append(why_not(operation, app, state))
        operation.state_forwards(app, state)
    return [why for why in told if why]


@pytest.mark.parametrize("migration", later_migrations(), ids=str)
def test_old_programs_can_live_with_it(migration):
    if (migration.app_label, migration.name) in UNUSED_SINCE:
        return
    told = all_that_is_wrong(migration)
    assert not told, f"{migration}: {'; '.join(told)}"


def test_what_they_cannot_live_with_is_found():
    """Migrations from before the promise did some of it."""
    known = MigrationLoader(None).disk_migrations
    parts = known["evalcore", "0003_twin_parts"]
    assert all_that_is_wrong(parts) == [
        "parts has no db_default: old programs leave it out"
    ]
    later = migrations.Migration("0004_worker_for_judges", "evalcore")
    later.operations = [
        migrations.RemoveField("Output", "parts"),
        migrations.AlterField("Worker", "seen_at", models.DateTimeField()),
    ]
    assert all_that_is_wrong(later) == [
        "takes something away that old programs use",
        "seen_at may not be empty any more: old programs leave it",
    ]
