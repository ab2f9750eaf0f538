"""Long work of a server: files sent in parts, and jobs that are waited for."""

import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from plumbline.client.sending import Connection, PlumblineError

LARGEST_PART = 4 * 2**20
Job = dict[str, Any]


class FailedError(PlumblineError):
    """A job of the server that failed; nothing was stored.

    Attributes
    ----------
    problems : list of str
        Everything that was wrong.
    """

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems) or "The server could not do it.")


@contextmanager
def zipped(folder: Path) -> Iterator[BinaryIO]:
    """Yield a zip with everything in a folder, or the file itself if it is one."""
    if folder.is_file():
        with folder.open("rb") as file:
            yield file
        return
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    if not paths:
        raise FileNotFoundError(f"{folder}: expected a folder with files in it")
    with tempfile.TemporaryFile() as packed:
        # Pictures are compressed already.
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
            for path in paths:
                archive.write(path, path.relative_to(folder).as_posix())
        yield packed


def size_of(file: BinaryIO) -> int:
    """Return the length of a file in bytes."""
    return file.seek(0, 2)


def send_file(connection: Connection, upload: Job, file: BinaryIO) -> None:
    """Send the bytes of an upload, from where the server has them."""
    at = int(upload["received"])
    while at < int(upload["total"]):
        file.seek(at)
        part = file.read(LARGEST_PART)
        path = f"/api/v1/uploads/{upload['id']}/part/"
        place = {"offset": at, "crc": zlib.crc32(part)}
        reply = connection.send("PUT", path, content=part, params=place)
        at = int(reply.json()["received"])


def wait_for(
    connection: Connection,
    path: str,
    *,
    is_over: Callable[[Job], bool],
    every: float,
) -> Job:
    """Ask for a job until it is over; return it.

    Raises
    ------
    FailedError
        The job failed or was cancelled.
    """
    while True:
        job: Job = connection.get(path)
        if job["state"] in ("failed", "cancelled"):
            found = job.get("found", {}).get("problems", [])
            raise FailedError([*filter(None, [job.get("error")]), *found])
        if is_over(job):
            return job
        time.sleep(every)
