"""Object stores, such as `s3://bucket/folder`: errors in words, and copies of folders.

fsspec and the store's own client do the work. Credentials and endpoints are the
client's own: AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, GOOGLE_APPLICATION_CREDENTIALS, ...
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

# Addresses of this machine; `::` would chain one of them behind another.
LOCAL = ("file", "local", "memory", "data")
EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs"}
CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or AWS_PROFILE)",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
}
ENDPOINTS = {"s3": " and AWS_ENDPOINT_URL"}
# Files that are copied between reports of progress, and how many of them at once.
BATCH, AT_ONCE = 200, 16


class StoreError(OSError):
    """A store cannot be used; the message says why, and what would be right."""

    def __init__(self, text: str) -> None:
        super().__init__(errno.EIO, text)

    def __str__(self) -> str:
        return str(self.strerror)


class NotStoredError(StoreError):
    """The store answers, and has no such file."""


def is_address(text: str) -> bool:
    """Say whether a text is an address, not a path."""
    return "://" in text or text.startswith("runs:/")


def open_store(address: str, **options: object) -> tuple[Any, str]:
    """Return the client of an address's store, and the path in it."""
    scheme, _separator, path = address.partition("://")
    if scheme in LOCAL or "::" in address or not path.strip("/"):
        raise StoreError(f"{address}: expected an address such as s3://bucket/folder")
    with in_words(address):
        import fsspec

        store = fsspec.filesystem(scheme, use_listings_cache=False, **options)
        return store, str(store._strip_protocol(address)).rstrip("/")


@contextmanager
def in_words(address: str) -> Iterator[None]:
    """Raise what a client of a store raises as one sentence with the address."""
    scheme = address.partition("://")[0]
    extra = EXTRAS.get(scheme, "")
    try:
        yield
    except StoreError:
        raise
    except ImportError as error:
        how = f"run pip install 'plumbline[{extra}]'" if extra else str(error)
        what = f"a package for {scheme}:// is missing; {how}"
        raise StoreError(f"{address}: {what}") from error
    except FileNotFoundError as error:
        kind = StoreError if "bucket" in str(error) else NotStoredError
        what = f"there is no such bucket, folder or file ({error})"
        raise kind(f"{address}: {what}") from error
    except Exception as error:
        # Each client has error classes of its own.
        is_secret = isinstance(error, PermissionError) or "redential" in str(error)
        if is_secret and extra:
            what = f"access is refused ({error}). Set {CREDENTIALS[extra]}"
        else:
            endpoint = ENDPOINTS.get(extra, "")
            what = f"not usable ({error}). Check the address{endpoint}"
        raise StoreError(f"{address}: {what}") from error


@dataclass(frozen=True)
class StoredFile:
    """A file in a store, and its place in a copy of the folder."""

    path: str
    place: str
    size: int
    changed: float | None  # seconds, if the store says so


def files_below(address: str, beside: str = "") -> list[StoredFile]:
    """Return the files of a folder; of a single file, it and the one `beside` it."""
    store, root = open_store(address)
    with in_words(address):
        found: dict[str, dict[str, Any]] = store.find(root, detail=True)
        other = f"{root.rpartition('/')[0]}/{beside}"
        if [*found] == [root] and beside and store.exists(other):
            found[other] = store.info(other)
    files = []
    for path, about in found.items():
        inside = path.startswith(f"{root}/")
        place = path.removeprefix(f"{root}/") if inside else path.rpartition("/")[2]
        if not place.endswith("/"):  # some programs store folders as empty files
            at = about.get("LastModified") or about.get("mtime")
            changed = at.timestamp() if isinstance(at, datetime) else at
            files.append(StoredFile(path, place, int(about["size"]), changed))
    if not files:
        raise StoreError(f"{address}: there are no files")
    check_places(address, files)
    return files


def check_places(address: str, files: Iterable[StoredFile]) -> None:
    """Refuse names that are no files of one folder of this machine."""
    places = {file.place for file in files}
    for place in places:
        parts = PurePosixPath(place).parts
        is_one = "/".join(parts) == place and ".." not in parts and "\0" not in place
        above = {str(parent) for parent in PurePosixPath(place).parents}
        if not is_one or place.startswith("/") or above & places:
            text = f"{address}: {place!r} cannot be a file in a folder. Rename it"
            raise StoreError(text)


def copy_files(
    address: str,
    files: list[StoredFile],
    folder: Path,
    tell: Callable[[int, int], object],
) -> None:
    """Copy files into a folder; complete copies of an earlier attempt stay.

    Several are copied at once, in pieces. `tell` is called with the number of files
    copied and of all.
    """
    store, _root = open_store(address)
    for start in range(0, len(files), BATCH):
        batch = files[start : start + BATCH]
        lacking = [file for file in batch if not _is_copied(file, folder)]
        copies = [str(folder / file.place) for file in lacking]
        with in_words(address):
            if lacking:
                paths = [file.path for file in lacking]
                store.get(paths, copies, batch_size=AT_ONCE)
        for file, copy in zip(lacking, copies, strict=True):
            if os.path.getsize(copy) != file.size:
                raise StoreError(
                    f"{address}: {file.place} changed while it was copied. Try again"
                )
            if file.changed is not None:
                os.utime(copy, (file.changed, file.changed))
        tell(start + len(batch), len(files))


def _is_copied(file: StoredFile, folder: Path) -> bool:
    try:
        about = (folder / file.place).stat()
    except OSError:
        return False
    is_same = file.changed is not None and int(file.changed) == int(about.st_mtime)
    return is_same and about.st_size == file.size
