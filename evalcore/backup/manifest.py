"""What a backup holds: versions, counts of rows, and the SHA-256 of each file."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from evalcore.backup import files
from evalcore.media import file_digest

FORMAT = 1
NAME = "manifest.json"
# One line as `sha256sum` writes and checks it.
SUM_NAME = "manifest.sha256"
# Beside the backups of a folder: what they share.
STORE = "files"
KEY = "secret_key"
ROOTS = ("media", "reports")
SHA256 = re.compile("[0-9a-f]{64}")


class BackupError(ValueError):
    """A backup cannot be made or put back; the message says why."""


@dataclass(frozen=True)
class StoredFile:
    """A file of the server, by the name that it is put back under."""

    path: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Manifest:
    """All that is said of a backup.

    `missing` are the originals that the database refers to and that were not there, or
    damaged, when it was made.
    """

    version: str
    made_at: str
    engine: str
    database: StoredFile
    migrations: list[tuple[str, str]]
    rows: dict[str, int]
    files: list[StoredFile]
    missing: list[str]
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        """Write the manifest, and its own sum beside it."""
        data = json.dumps(asdict(self), indent=1, ensure_ascii=False).encode()
        sha256 = hashlib.sha256(data).hexdigest()
        files.write(folder / NAME, data)
        files.write(folder / SUM_NAME, f"{sha256}  {NAME}\n".encode())

    def hashes(self) -> set[str]:
        """Return the names that its files have in the store."""
        return {file.sha256 for file in self.files}


def read(folder: Path) -> Manifest:
    """Return the manifest of a backup.

    Raises
    ------
    BackupError
        It is not there, was changed, or is one that this version cannot read.
    """
    path = folder / NAME
    try:
        data = path.read_bytes()
        told = (folder / SUM_NAME).read_bytes().decode("ascii", "replace")
    except OSError as error:
        raise BackupError(
            f"{error.filename}: expected a backup's manifest ({error.strerror})."
        ) from error
    if told.split() != [hashlib.sha256(data).hexdigest(), NAME]:
        raise BackupError(f"{path} was changed or cut short: {SUM_NAME} says so.")
    try:
        return _manifest(json.loads(data))
    except (KeyError, TypeError, ValueError) as error:
        raise BackupError(
            f"{path} is no manifest that this version reads ({error}); "
            "restore with the version that made it, or a later one."
        ) from error


def _manifest(told: dict[str, Any]) -> Manifest:
    if told["format"] != FORMAT:
        raise ValueError(f"format {told['format']}, not {FORMAT}")
    database = _file(told["database"])
    listed = [_file(one) for one in told["files"]]
    if PurePosixPath(database.path).name != database.path:
        raise ValueError(f"a database at {database.path}")
    for file in listed:
        _check_path(file.path)
    return Manifest(
        **told
        | {
            "database": database,
            "files": listed,
            "migrations": [(app, name) for app, name in told["migrations"]],
        }
    )


def _file(told: dict[str, Any]) -> StoredFile:
    file = StoredFile(**told)
    if not SHA256.fullmatch(file.sha256):
        raise ValueError(f"{file.path} has no SHA-256")
    return file


def _check_path(text: str) -> None:
    """Refuse a name that leads elsewhere than to what a server keeps."""
    parts = text.split("/")
    is_below = len(parts) > 1 and parts[0] in ROOTS
    if not (is_below or text == KEY) or {"", ".", ".."} & set(parts):
        raise ValueError(f"a file at {text}")


def check_file(path: Path, file: StoredFile) -> None:
    """Compare a file with what the manifest says of it.

    Raises
    ------
    BackupError
        It is not there, or holds something else.
    """
    try:
        size = path.stat().st_size
        if size != file.bytes:
            what = f"has {size:,} bytes, not {file.bytes:,}"
        elif file_digest(path) != file.sha256:
            what = "does not hold what its SHA-256 says"
        else:
            return
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
    raise BackupError(f"{path} ({file.path}) {what}.")
