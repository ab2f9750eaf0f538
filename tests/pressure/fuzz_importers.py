"""Every importer and reader is given files that are wrong; it must say so in words.

    python -m tests.pressure.fuzz_importers --minutes 10
    python -m tests.pressure.fuzz_importers --only "picture, PNG" --seed 4711 --runs 1

Valid files of every format are changed at random (`mutations`) and imported. Allowed
are success and the error that is documented, which names a file. Anything else is
written down with the seed and the files: another exception, more than ten seconds, more
than a gigabyte, or a database that a failed import changed. A process that hangs or
dies is replaced, and that counts too.
"""

import argparse
import logging
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from faulthandler import cancel_dump_traceback_later, dump_traceback_later
from pathlib import Path
from typing import NoReturn

MOST_SECONDS, MOST_BYTES = 10, 10**9
# After so long a process that does not answer is ended.
HARD_SECONDS = 25
OUTCOMES = ACCEPTED, REFUSED, CRASHED = "accepted", "refused", "crashed"


class TooSlowError(BaseException):
    """An import took too long; no importer catches this."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--minutes", type=float, default=10, help="all importers together"
    )
    parser.add_argument("--only", default="", help="importers whose names begin so")
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--runs", type=int, default=10**9, help="of each importer")
    parser.add_argument("--keep", type=Path, help="folder for the files of crashes")
    return parser.parse_args()


@contextmanager
def limits() -> Iterator[None]:
    """End what takes too long, and begin to measure the memory anew."""
    Path("/proc/self/clear_refs").write_text("5")
    signal.signal(signal.SIGALRM, _too_slow)
    signal.alarm(MOST_SECONDS)
    dump_traceback_later(HARD_SECONDS, exit=True)
    try:
        yield
    finally:
        signal.alarm(0)
        cancel_dump_traceback_later()


def _too_slow(*_signal: object) -> NoReturn:
    raise TooSlowError(f"more than {MOST_SECONDS} seconds")


def memory(what: str) -> int:
    """Return how many bytes this process has in memory now, or had at most."""
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"^{what}:\s+(\d+) kB", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def rows() -> dict[str, list[tuple]]:
    """Return everything that the database holds."""
    from django.db import connection

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
    from django.db import transaction

    from tests.pressure.mutations import mutate

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


def work(
    name: str, options: argparse.Namespace, seed: int, end: float, report: int
) -> None:
    """Run one importer again and again; write a line for each run."""
    from django.conf import settings
    from django.db import connection

    from tests.pressure.importers import IMPORTERS

    root = Path(tempfile.mkdtemp())
    settings.MEDIA_ROOT = root / "media"
    before = rows()
    valid = root / "valid"
    valid.mkdir()
    outcome = run_once(IMPORTERS[name], valid, "", before)
    assert outcome[0] == ACCEPTED, f"{name}, what should be valid: {outcome}"
    last = options.seed + options.runs
    with os.fdopen(report, "w") as out:
        while seed < last and time.monotonic() < end:
            print("begun", seed, file=out, flush=True)
            folder = root / "files"
            folder.mkdir()
            outcome, why = run_once(IMPORTERS[name], folder, f"{name} {seed}", before)
            if outcome == CRASHED:
                keep(options, name, seed, folder, why)
            print(outcome, seed, file=out, flush=True)
            shutil.rmtree(folder)
            shutil.rmtree(settings.MEDIA_ROOT, ignore_errors=True)
            seed += 1
    connection.close()
    shutil.rmtree(root)


def keep(options, name: str, seed: int, folder: Path, why: str) -> None:
    """Write a crash down, with the files that made it."""
    print(f"\n{name}, seed {seed}\n{why}", flush=True)
    if options.keep:
        target = options.keep / f"{re.sub(r'[^a-zA-Z]+', '-', name)}-{seed}"
        shutil.rmtree(target, ignore_errors=True)
        pipes = [path for path in folder.rglob("*") if path.is_fifo()]
        for pipe in pipes:
            pipe.unlink()
        shutil.copytree(folder, target, symlinks=True)
        (target / "why.txt").write_text(why + "".join(f"\npipe: {p}" for p in pipes))


def supervise(name: str, options: argparse.Namespace, end: float) -> Counter:
    """Have one importer run in a process of its own, in another one if that dies."""
    from django.db import connections

    counted: Counter = Counter()
    seed = options.seed
    while time.monotonic() < end and seed < options.seed + options.runs:
        connections.close_all()
        read, written = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            status = 1
            try:
                work(name, options, seed, end, written)
                status = 0
            except BaseException:  # noqa: BLE001 told, and the process ends
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(status)
        os.close(written)
        begun = False
        with os.fdopen(read) as lines:
            for line in lines:
                begun = True
                word, number = line.split()
                seed = int(number) + 1
                if word != "begun":
                    counted[word] += 1
        _pid, status = os.waitpid(child, 0)
        if status == 0:
            break
        counted[CRASHED] += 1
        if not begun:
            break
        print(f"\n{name}, seed {seed - 1}: the process hung or died ({status})")
    return counted


def main() -> int:
    """Run all importers in turn; return how many crashes there were, as a status."""
    options = arguments()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")
    import django

    django.setup()
    from django.conf import settings
    from django.db import connection
    from django.test.utils import (
        setup_databases,
        setup_test_environment,
        teardown_databases,
    )

    from tests.pressure import importers

    logging.disable()
    os.environ["TQDM_DISABLE"] = "1"
    setup_test_environment()
    with tempfile.TemporaryDirectory() as folder:
        if connection.vendor == "sqlite":  # one in memory is not there for children
            connection.settings_dict["TEST"]["NAME"] = f"{folder}/fuzz.sqlite3"
        settings.MEDIA_ROOT = Path(folder) / "media"
        databases = setup_databases(verbosity=0, interactive=False)
        try:
            importers.prepare()
            chosen = [n for n in importers.IMPORTERS if n.startswith(options.only)]
            share = options.minutes * 60 / max(1, len(chosen))
            every = {}
            for name in chosen:
                every[name] = supervise(name, options, time.monotonic() + share)
        finally:
            teardown_databases(databases, verbosity=0)
    print(f"\n{'importer':40} {'runs':>7}", *(f"{o:>9}" for o in OUTCOMES))
    every["all"] = total = sum(every.values(), Counter())
    for name, counted in every.items():
        print(f"{name:40} {counted.total():7}", *(f"{counted[o]:9}" for o in OUTCOMES))
    return int(total[CRASHED] > 0)


if __name__ == "__main__":
    sys.exit(main())
