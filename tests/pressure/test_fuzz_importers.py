"""Every importer and reader is given files that are wrong; it must say so in words.

Valid files of every format are changed at random (`mutations`) and imported. Allowed
are success and the error that is documented, which names a file. Anything else fails:
another exception, more than ten seconds, more than a gigabyte, or a database that a
failed import changed. `FUZZ=40000-40500` tries the files of these seeds.
"""

import os
import random
import re
import shutil
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest
from django.db import connection, transaction

from tests.pressure import importers
from tests.pressure.importers import IMPORTERS
from tests.pressure.mutations import mutate

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux", reason="/proc tells how much memory an import takes"
    ),
    pytest.mark.slow,
    pytest.mark.django_db,
]
MOST_SECONDS, MOST_BYTES = 10, 10**9
ACCEPTED, REFUSED, CRASHED = "accepted", "refused", "crashed"


class TooSlowError(BaseException):
    """An import took too long; no importer catches this."""


@contextmanager
def limits() -> Iterator[None]:
    """End what takes too long."""

    def too_slow(*_signal: object) -> NoReturn:
        raise TooSlowError(f"more than {MOST_SECONDS} seconds")

    signal.signal(signal.SIGALRM, too_slow)
    signal.alarm(MOST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def memory(what: str) -> int:
    """Return how many bytes this process has in memory now, or had at most."""
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"^{what}:\s+(\d+) kB", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def rows() -> dict[str, list[tuple]]:
    """Return everything that the database holds."""
    found = {}
    with connection.cursor() as cursor:
        for table in sorted(connection.introspection.table_names(cursor)):
            name = connection.ops.quote_name(table)
            cursor.execute(f"SELECT * FROM {name}")
            found[table] = sorted(cursor.fetchall(), key=repr)
    return found


def names_a_file(told: str, folder: Path, path: Path) -> bool:
    """Say whether a message names one of the files, or an option that is wrong."""
    named = {path.name, folder.name, *(one.name for one in folder.rglob("*"))}
    readable = {ascii(os.fsencode(one))[2:-1] for one in named} | named
    return "--" in told or any(one and one in told for one in readable)


def run_once(importer, folder: Path, seed: str, before: dict) -> tuple[str, str]:
    """Import files that a seed makes wrong; return what came of it, and why.

    Without a seed they stay as they are.
    """
    path = importer.write(folder)
    if seed:
        mutate(folder, random.Random(seed), is_whole=path == folder)
    resident = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the most it had is what it has now
    outcome, why = ACCEPTED, ""
    with transaction.atomic():
        try:
            with limits():
                importer.read(path)
        except importer.errors as error:
            outcome, why = REFUSED, str(error)
            status = getattr(error, "returncode", 2)
            if status != 2:
                outcome, why = CRASHED, f"status {status}: {why}"
            elif importer.names and not names_a_file(why, folder, path):
                outcome, why = CRASHED, f"names no file: {why}"
        except (Exception, TooSlowError) as error:  # noqa: BLE001 that is what is looked for
            outcome, why = CRASHED, "".join(traceback.format_exception(error))
        if outcome == REFUSED and rows() != before:
            outcome, why = CRASHED, "the database was changed"
        transaction.set_rollback(True)
    grown = memory("VmHWM") - resident
    if outcome != CRASHED and grown > MOST_BYTES:
        outcome, why = CRASHED, f"{grown:,} bytes of memory"
    return outcome, why


def test_valid_files_are_taken_and_wrong_ones_refused_in_words(tmp_path):
    first, _dash, last = os.environ.get("FUZZ", "1-1").partition("-")
    seeds = range(int(first), int(last or first) + 1)
    importers.prepare()
    before = rows()
    for name, importer in IMPORTERS.items():
        wrong = [(f"{name} {seed}", {ACCEPTED, REFUSED}) for seed in seeds]
        for seed, allowed in [("", {ACCEPTED}), *wrong]:
            folder = tmp_path / "files"
            folder.mkdir()
            outcome, why = run_once(importer, folder, seed, before)
            assert outcome in allowed, (name, seed, why)
            shutil.rmtree(folder)
