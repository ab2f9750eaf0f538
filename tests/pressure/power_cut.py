"""Simulated power cuts of an SQLite database, and the answers that survive.

With a separate disk (see `site.Disk`) the copy holds what the system had handed to
the disk by then: what nobody has waited for is missing. Without one it is a copy of the
files as the system sees them, in a random order, while nothing is written. What follows
the last whole transaction of the log is torn at a random byte in both: it may be half
written.
"""

import random
import shutil
import sqlite3
import struct
import subprocess
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from tests.pressure.rater import Acknowledged
from tests.pressure.site import Disk, Site

NAME = "plumbline.sqlite3"
HEAD, FRAME_HEAD = 32, 24  # bytes, of the log and of each page in it


def cut(site: Site, dice: random.Random, folder: Path) -> Path:
    """Return the database as a power cut at this moment would leave it."""
    copy = folder / "cut"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    with site.held_still():
        if site.disk:
            copy_file(site.disk.image, folder / "image")
        else:
            copy_files(site.data / NAME, copy, dice)
    if site.disk:
        top = folder / "after"
        Disk.mount(folder / "image", top)
        copy_files(top / "data" / NAME, copy, dice)
        Disk.unmount(top)
    tear(copy / NAME, dice)
    return copy / NAME


def copy_files(database: Path, to: Path, dice: random.Random) -> None:
    """Copy a database; the index of its log may be there or not."""
    endings = ["", "-wal", *dice.choice([[], ["-shm"]])]
    dice.shuffle(endings)
    for ending in endings:
        path = database.with_name(f"{database.name}{ending}")
        if path.exists():
            copy_file(path, to / path.name)


def copy_file(path: Path, to: Path) -> None:
    """Copy a file by another process: one that closes a database's file unlocks it."""
    subprocess.run(["cp", path, to], check=True)


def tear(database: Path, dice: random.Random) -> None:
    """Cut the log after the last whole transaction, or corrupt the rest."""
    log = database.with_name(f"{database.name}-wal")
    if not log.exists():
        return
    content = log.read_bytes()
    kept = whole(content)
    left = content[kept : dice.randint(kept, len(content))]
    rubbish = dice.randbytes(len(left)) if dice.random() < 0.5 else left
    log.write_bytes(content[:kept] + rubbish)


def whole(content: bytes) -> int:
    """Return where the last transaction ends that is whole in a log."""
    if len(content) < HEAD:
        return 0
    page_size, salts = struct.unpack_from(">I", content, 8)[0], content[16:24]
    end = at = HEAD
    while at + FRAME_HEAD + page_size <= len(content):
        _page, pages_after = struct.unpack_from(">II", content, at)
        if content[at + 8 : at + 16] != salts:
            break  # of an earlier round
        at += FRAME_HEAD + page_size
        if pages_after:
            end = at
    return end


def missing(database: Path, told: Collection[Acknowledged]) -> list[str]:
    """Return what is wrong with a database that was left so."""
    try:
        return _lost(database, told)
    except sqlite3.Error as error:
        return [f"the database cannot be read: {error}"]


def _lost(database: Path, told: Collection[Acknowledged]) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        if found != ["ok"]:
            return found
        rows = connection.execute(
            "SELECT r.client_key, r.value, s.state FROM annotate_rating r"
            " JOIN annotate_slot s ON s.id = r.slot_id"
        )
        stored = {key: (value, state) for key, value, state in rows}
    lost = []
    for answer in told:
        value, state = stored.get(answer.key, (None, ""))
        if value != answer.value or (answer.submitted and state != "submitted"):
            lost.append(f"{answer} is {value} {state}")
    return lost
