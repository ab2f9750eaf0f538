"""The queue of writers to an SQLite file, also after a writer was killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from django.db import IntegrityError, connection, transaction

from evalcore.database.base import WritersLine
from evalcore.models import Method

ROOT = Path(__file__).resolve().parents[3]
HOLD = """
import sys, time
from evalcore.database.base import WritersLine
line = WritersLine(sys.argv[1], 5)
line.enter()
print("in", flush=True)
time.sleep(float(sys.argv[2]))
line.leave()
print("out", time.monotonic(), flush=True)
"""


@pytest.fixture
def file(tmp_path) -> str:
    return str(tmp_path / "own.sqlite3")


def hold(file: str, seconds: float) -> subprocess.Popen:
    """Return another process that has its turn now."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, file, str(seconds)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "in\n"
    return process


def test_next_process_gets_the_lock_after_the_first(file):
    other = hold(file, 0.5)
    line = WritersLine(file, 5)
    assert line.enter()
    entered = time.monotonic()
    _word, left = other.communicate()[0].split()
    assert entered > float(left) - 0.1
    line.close()


def test_killed_writer_frees_the_queue(file):
    other = hold(file, 60)
    threading.Timer(0.3, os.kill, [other.pid, signal.SIGKILL]).start()
    line = WritersLine(file, 5)
    began = time.monotonic()
    assert line.enter()
    assert 0.1 < time.monotonic() - began < 10
    other.communicate()
    line.close()


def test_threads_write_in_turn(file):
    inside, seen = [], []

    def work() -> None:
        line = WritersLine(file, 30)
        for _turn in range(20):
            assert line.enter()
            inside.append(1)
            seen.append(len(inside))
            inside.pop()
            line.leave()
        line.close()

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [1] * 100


def test_writer_behind_another_thread_times_out(file):
    first, second = WritersLine(file, 5), WritersLine(file, 0.2)
    assert first.enter()
    began = time.monotonic()
    assert not second.enter()
    assert 0.2 <= time.monotonic() - began < 5
    second.leave()  # it had no turn: the first one keeps its own
    assert not second.enter()
    first.leave()
    assert second.enter()
    first.close()
    second.close()


def test_lock_file_is_private(file):
    line = WritersLine(file, 5)
    line.enter()
    assert Path(f"{file}-line").stat().st_mode & 0o777 == 0o600
    line.close()


def can_write() -> bool:
    """Say whether somebody else would have a turn at the tests' database now."""
    line = WritersLine(str(connection.settings_dict["NAME"]), 0.05)
    entered = line.enter()
    line.close()
    return entered


@pytest.mark.django_db(transaction=True)
def test_transaction_holds_the_lock_until_its_end():
    if connection.vendor != "sqlite":
        pytest.skip("asks SQLite")
    assert can_write()
    with transaction.atomic():
        assert not can_write()
        with transaction.atomic():
            Method.objects.create(name="Alder")
        assert not can_write()
    assert can_write()
    with pytest.raises(IntegrityError), transaction.atomic():
        Method.objects.create(name="Alder")
    assert can_write()
    with transaction.atomic():
        connection.close()
    assert can_write()
    assert Method.objects.count() == 1
