"""What a backup costs those who save answers meanwhile, on this disk.

    python benchmarks/backup.py

A process writes to an SQLite file as the server does, a transaction every 20 ms, each
on the disk before the next (`synchronous=FULL`). Meanwhile nothing is done, or the file
is copied in one of two ways, or a video of 512 MB, written through piece by piece or at
its end; in turns, four times. The folder is removed.
"""

import multiprocessing
import os
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

TURNS, VIDEO, PIECE = 4, 512 << 20, 8 << 20
ROWS, BYTES = 200_000, 2000


def opened(folder: Path) -> sqlite3.Connection:
    file = sqlite3.connect(folder / "live.sqlite3", timeout=20, isolation_level=None)
    file.execute("PRAGMA journal_mode=WAL")
    file.execute("PRAGMA synchronous=FULL")
    return file


def fill(folder: Path) -> None:
    with closing(opened(folder)) as file:
        file.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x BLOB)")
        file.execute("BEGIN")
        insert = f"INSERT INTO t(x) VALUES(randomblob({BYTES}))"
        file.executemany(insert, [()] * ROWS)
        file.execute("COMMIT")
    with (folder / "video").open("wb") as video:
        for _ in range(VIDEO // PIECE):
            video.write(os.urandom(PIECE))
    os.sync()


def save(folder: Path, over, times) -> None:
    """Write small transactions until told to end; tell when each began and ended."""
    found = []
    with closing(opened(folder)) as file:
        while not over.is_set():
            began = time.monotonic()
            file.execute("BEGIN IMMEDIATE")
            file.execute("INSERT INTO t(x) VALUES(randomblob(300))")
            file.execute("UPDATE t SET x = randomblob(300) WHERE id = 1 + random() % 9")
            file.execute("COMMIT")
            found.append((began, time.monotonic()))
            time.sleep(0.02)
    times.put(found)


def nothing(_folder: Path) -> None:
    time.sleep(4)


def backup_api(folder: Path) -> None:
    with (
        closing(sqlite3.connect(folder / "live.sqlite3")) as source,
        closing(sqlite3.connect(folder / "copy")) as copy,
    ):
        copy.execute("PRAGMA synchronous=OFF")
        source.backup(copy)
    sync(folder / "copy")


def vacuum_into(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "live.sqlite3")) as source:
        source.execute(f"VACUUM INTO '{folder / 'copy'}'")
    sync(folder / "copy")


def piecewise(folder: Path) -> None:
    copy_video(folder, each=True)


def at_the_end(folder: Path) -> None:
    copy_video(folder, each=False)


def copy_video(folder: Path, *, each: bool) -> None:
    with (
        (folder / "video").open("rb") as video,
        (folder / "copy").open("wb", buffering=0) as copy,
    ):
        while piece := video.read(PIECE):
            copy.write(piece)
            if each:
                os.fsync(copy.fileno())
        os.fsync(copy.fileno())


def sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


WORK = {
    "nothing": nothing,
    "database, backup API": backup_api,
    "database, VACUUM INTO": vacuum_into,
    "video, 8 MB at a time": piecewise,
    "video, synced at its end": at_the_end,
}


def during(folder: Path, work) -> tuple[float, list[float]]:
    """Return how long the work took, and how long each save meanwhile."""
    (folder / "copy").unlink(missing_ok=True)
    over, times = multiprocessing.Event(), multiprocessing.Queue()
    writer = multiprocessing.Process(target=save, args=(folder, over, times))
    writer.start()
    time.sleep(0.5)
    began = time.monotonic()
    work(folder)
    ended = time.monotonic()
    over.set()
    saves = [end - start for start, end in times.get() if start < ended and end > began]
    writer.join()
    return ended - began, saves


def main() -> None:
    seconds: dict[str, list[float]] = {name: [] for name in WORK}
    saves: dict[str, list[float]] = {name: [] for name in WORK}
    with tempfile.TemporaryDirectory(prefix="plumbline-backup-") as name:
        fill(Path(name))
        for _ in range(TURNS):
            for what, work in WORK.items():
                took, found = during(Path(name), work)
                seconds[what].append(took)
                saves[what] += found
    print("meanwhile | seconds | saves | median, ms | p95, ms | longest, ms")
    for what, found in saves.items():
        p95 = statistics.quantiles(found, n=20)[-1]
        cells = (statistics.median(found), p95, max(found))
        told = " | ".join(f"{1000 * cell:.0f}" for cell in cells)
        middle = statistics.median(seconds[what])
        print(f"{what} | {middle:.1f} | {len(found)} | {told}")
    print(f"load {os.getloadavg()[0]:.0f}")


if __name__ == "__main__":
    main()
