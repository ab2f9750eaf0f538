"""The tables of the database, brought up to date by one process at a time.

Several processes and machines may start at once, while old ones are still serving.
"""

import fcntl
import logging
import os
import time
from collections.abc import Collection

from django.core.management import call_command
from django.db import OperationalError, connection, connections
from django.db.migrations.exceptions import NodeNotFoundError
from django.db.migrations.loader import MigrationLoader

logger = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 0.5
# A change of a table waits for who reads it, and everybody else waits behind that: so
# long at most. Then it stands back, so that they come to their turn, and tries again.
LOCK_TIMEOUT, STAND_BACK_SECONDS, TRIES = "3s", 5.0, 20
# PostgreSQL's codes for a lock not given in time, and for one that never could be.
REFUSED = ("55P03", "40P01")


def is_too_old(applied: Collection[tuple[str, str]], loader: MigrationLoader) -> bool:
    """Say whether only a part of a squashed migration was applied."""
    squashed = [set(one.replaces) for one in loader.replacements.values()]
    return any(
        len(those.intersection(applied)) in range(1, len(those)) for those in squashed
    )


def refuse_old_tables(using: str, **_kwargs: object) -> None:
    """Raise NodeNotFoundError if a pending squashed migration is partly applied.

    Django does so only where another migration depends on it, and else does nothing.
    """
    loader = MigrationLoader(connections[using])
    if is_too_old(loader.applied_migrations, loader):
        raise NodeNotFoundError("Squashed migrations are missing.", ("", ""))


def bring_up_to_date() -> None:
    """Apply the migrations that are missing; wait while another process does so."""
    if connection.vendor == "postgresql":
        try:
            _wait_for_turn()
            _migrate_patiently()
        finally:
            connection.close()  # with it goes the turn
        return
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    turn = os.open(f"{connection.settings_dict['NAME']}-migrations", flags, 0o600)
    with os.fdopen(turn, "w"):
        fcntl.flock(turn, fcntl.LOCK_EX)
        call_command("migrate", verbosity=0)


def _wait_for_turn() -> None:
    """Wait until no other process migrates, by polling without a lock."""
    with connection.cursor() as cursor:
        while True:
            cursor.execute("SELECT pg_try_advisory_lock(hashtext('migrations'))")
            if cursor.fetchone()[0]:
                return
            time.sleep(LOOK_AGAIN_SECONDS)


def _migrate_patiently() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
    for left in reversed(range(TRIES)):
        try:
            call_command("migrate", verbosity=0)
        except OperationalError as error:
            if not left or getattr(error.__cause__, "sqlstate", "") not in REFUSED:
                raise
            logger.warning(
                "A migration could not lock a table that is in use. Retrying in %.0f "
                "s.",
                STAND_BACK_SECONDS,
            )
            time.sleep(STAND_BACK_SECONDS)
        else:
            return
