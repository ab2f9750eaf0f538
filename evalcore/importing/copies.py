"""Copies of folders in object stores and MLflow runs, for the time of an import.

An import that ends early keeps its copy, and the next one of the same address copies
only what is missing or changed.
"""

import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings

from evalcore.formats.score_table import SIDECAR
from evalcore.object_store import StoreError, copy_files, files_below

# A copy that no import used for so long is removed.
RETENTION_SECONDS = 7 * 24 * 3600
# Space that stays free for the database and for answers.
RESERVE_BYTES = 10**9
LOCK = "lock"
# Beginnings of the address of a run's files: MLflow's own, and one as of stores.
RUN = re.compile(r"runs:/+|mlflow://")


@contextmanager
def copied(address: str, *, tell: Callable[[str], object]) -> Iterator[Path]:
    """Yield the path of a copy of a folder or file; it is removed after a success."""
    root = Path(settings.DATA_DIR) / "fetched"
    _remove_old(root)
    home = root / hashlib.sha256(address.encode()).hexdigest()[:16]
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.utime(home)
    with (home / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            text = f"{address}: another import of this address is running"
            raise StoreError(text) from error
        of_run = RUN.match(address)
        yield (_of_run if of_run else _copy)(address, home, tell)
        shutil.rmtree(home)


def _copy(address: str, home: Path, tell: Callable[[str], object]) -> Path:
    files = files_below(address, beside=SIDECAR)
    name = address.rpartition("/")[2]
    is_file = address.endswith(f"://{files[0].path}")
    folder = home if is_file else home / name
    total = sum(file.size for file in files)
    free = shutil.disk_usage(home).free - RESERVE_BYTES
    here = sum(p.stat().st_size for p in home.rglob("*") if p.is_file())
    if total - here > free:
        raise StoreError(
            f"{address}: the copy needs {total / 1e9:.1f} GB in {home}, which has room "
            f"for {max(free, 0) / 1e9:.1f} GB. Free some, or import method by method"
        )
    tell(
        f"Copying {len(files):,} files ({total / 1e9:.2f} GB) to {home}; "
        "the copy is removed after the import."
    )
    told_at = time.monotonic()

    def tell_count(n: int, of: int) -> None:
        nonlocal told_at
        if time.monotonic() - told_at > 10:
            told_at = time.monotonic()
            tell(f"{n:,} of {of:,} files")

    copy_files(address, files, folder, tell_count)
    return folder / name if is_file else folder


def _of_run(address: str, home: Path, tell: Callable[[str], object]) -> Path:
    """Copy files of an MLflow run with MLflow's client, as MLFLOW_TRACKING_URI says."""
    try:
        from mlflow.artifacts import download_artifacts
    except ImportError as error:
        text = f"{address}: expected MLflow's client: pip install 'plumbline[mlflow]'"
        raise StoreError(text) from error
    tell(f"Copying {address} to {home}; the copy is removed after the import.")
    uri = RUN.sub("runs:/", address)
    try:
        return Path(download_artifacts(artifact_uri=uri, dst_path=str(home)))
    except Exception as error:  # whatever the client or the network raises
        why = str(error).partition("\n")[0]
        raise StoreError(f"{address}: MLflow's client says: {why}") from error


def _remove_old(root: Path) -> None:
    for home in root.glob("*"):
        with suppress(FileNotFoundError):  # another import removed it
            if home.stat().st_mtime < time.time() - RETENTION_SECONDS:
                shutil.rmtree(home)
