"""Migrations of earlier databases, while old programs are still serving."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection, migrations, models
from django.db.migrations.exceptions import NodeNotFoundError
from django.db.migrations.loader import MigrationLoader

from annotate.models import User
from evalcore.management import why_unprepared
from evalcore.models import Benchmark
from evalcore.serving import health
from tests.conftest import is_sqlite

APPS = ("annotate", "evalcore")
# The last of each that came before this was promised.
BEFORE = {"annotate": "0002", "evalcore": "0001"}
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


def all_that_is_wrong(migration: migrations.Migration, state) -> list[str]:
    app, wrong = migration.app_label, []
    for operation in migration.operations:
        wrong.append(why_not(operation, app, state))
        operation.state_forwards(app, state)
    return [why for why in wrong if why]


def test_later_migrations_leave_old_programs_at_work():
    loader = MigrationLoader(None)
    for (app, name), migration in sorted(loader.disk_migrations.items()):
        is_later = app in APPS and name[:4] > BEFORE[app]
        if is_later and (app, name) not in UNUSED_SINCE:
            state = loader.project_state((app, name), at_end=False)
            assert not all_that_is_wrong(migration, state), migration


def test_migrations_that_old_programs_cannot_live_with_are_found():
    later = migrations.Migration("0002_later", "evalcore")
    later.operations = [
        migrations.AddField("Output", "weight", models.IntegerField(default=1)),
        migrations.RemoveField("Output", "parts"),
        migrations.AlterField("Worker", "seen_at", models.DateTimeField()),
    ]
    assert all_that_is_wrong(later, MigrationLoader(None).project_state()) == [
        "weight has no db_default: old programs leave it out",
        "takes something away that old programs use",
        "seen_at may not be empty any more: old programs leave it",
    ]


# The tables of the last version before migrations were squashed (14 and 4 of them), and
# what that version had applied: as SQLite tells them, and as `pg_dump --schema-only`.
FOLDER = Path(__file__).parent / "unsquashed"


def run_script(sql: str) -> None:
    if is_sqlite():
        with closing(sqlite3.connect(connection.settings_dict["NAME"])) as opened:
            opened.executescript(sql)
    else:
        with connection.cursor() as cursor:
            cursor.execute(sql)


@pytest.fixture
def fresh_schema(transactional_db):
    """Return the schema that migrations create in an empty database."""
    return read_schema()


@pytest.fixture
def unsquashed(fresh_schema, tmp_path):
    """Use a database that the version before has migrated."""
    name = connection.settings_dict["NAME"]
    other = str(tmp_path / "file") if is_sqlite() else f"{name}_unsquashed"
    if not is_sqlite():
        run_script(f'CREATE DATABASE "{other}"')
    connection.close()
    connection.settings_dict["NAME"] = other
    run_script((FOLDER / f"{connection.vendor}.sql").read_text())
    yield
    connection.close()
    connection.settings_dict["NAME"] = name
    if not is_sqlite():
        run_script(f'DROP DATABASE "{other}"')


def parts_of(sql: str) -> list[str]:
    """Return the columns and constraints of a CREATE TABLE, in any order."""
    parts, depth = [""], 0
    for letter in sql[sql.index("(") + 1 : sql.rindex(")")]:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return sorted(part.strip() for part in parts)


SQLITE = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
POSTGRESQL = """
SELECT table_name || '.' || column_name, concat_ws(' ', data_type,
    character_maximum_length, is_nullable, column_default, identity_generation)
FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT conrelid::regclass || '.' || conname, pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
"""


def read_schema() -> dict[str, object]:
    """Return every table, column, index and constraint of a database, by its name."""
    with connection.cursor() as cursor:
        cursor.execute(SQLITE if is_sqlite() else POSTGRESQL)
        found = dict(cursor.fetchall())
    if not is_sqlite():
        return found
    return {
        name: parts_of(sql) if sql.startswith("CREATE TABLE") else sql
        for name, sql in found.items()
        if not name.startswith("sqlite_")
    }


ENTRY = """
INSERT INTO django_admin_log
    (object_repr, action_flag, change_message, user_id, action_time)
VALUES ('alice', 1, '', %s, CURRENT_TIMESTAMP)
"""


@pytest.mark.slow
@pytest.mark.postgresql
@pytest.mark.usefixtures("unsquashed")
def test_database_of_the_version_before_squashing_migrates(fresh_schema):
    user = User.objects.create(username="alice")
    with connection.cursor() as cursor:
        cursor.execute(ENTRY, [user.pk])
    Benchmark.objects.create(slug="bench", title="A benchmark")
    call_command("migrate", verbosity=0)
    # Old programs may still use these tables; names and secrets in them are gone.
    schema = read_schema()
    left = ("django_admin_log", "authtoken_token")
    ours = {name: of for name, of in schema.items() if not any(x in name for x in left)}
    assert ours == fresh_schema
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM django_admin_log")
        assert cursor.fetchone() == (0,)
    assert User.objects.get().username == "alice"
    assert Benchmark.objects.get().title == "A benchmark"
    assert not health.missing_migrations()


@pytest.mark.postgresql
@pytest.mark.usefixtures("unsquashed")
def test_older_database_is_refused_with_the_way_to_go():
    run_script("DELETE FROM django_migrations WHERE name = '0014_study_plans'")
    with pytest.raises(NodeNotFoundError) as raised:
        call_command("migrate", verbosity=0)
    assert "0014_study_plans" in why_unprepared(raised.value, "migrate")
