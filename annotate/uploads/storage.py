"""Folders of uploads below DATA_DIR, and the space that they may take."""

import json
import shutil
import time
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from annotate.models import Upload
from annotate.uploads.names import RefusedUploadError

# Space that stays free for the database and for answers.
RESERVE_BYTES = 10**9
NEW_SECONDS = 3600
# Path, size, and time of the last change.
Listed = tuple[str, int, int]


def root() -> Path:
    """Return the folder of all uploads."""
    return Path(settings.DATA_DIR) / "uploads"


def folder(upload: Upload) -> Path:
    """Return the folder of one upload."""
    return root() / str(upload.pk)


def data_file(upload: Upload) -> Path:
    """Return the file that the received bytes are appended to."""
    return folder(upload) / "data"


def files_folder(upload: Upload) -> Path:
    """Return the folder with the unpacked files."""
    return folder(upload) / "files"


def thumbs_folder(upload: Upload) -> Path:
    """Return the folder with the pictures of the preview."""
    return folder(upload) / "thumbs"


def write_list(upload: Upload, files: list[Listed]) -> None:
    """Store the list of files beside the data."""
    folder(upload).mkdir(mode=0o700, parents=True)
    (folder(upload) / "list.json").write_text(json.dumps(files), "utf-8")
    data_file(upload).touch(0o600)


def read_list(upload: Upload) -> list[Listed]:
    """Return the list of files."""
    text = (folder(upload) / "list.json").read_text("utf-8")
    return [(str(path), int(size), int(at)) for path, size, at in json.loads(text)]


def remove(upload: Upload) -> None:
    """Remove everything that was stored for an upload."""
    shutil.rmtree(folder(upload), ignore_errors=True)


def remove_except(needed: set[int]) -> None:
    """Remove the folders of other uploads; a new one may have no row yet."""
    if not root().is_dir():
        return
    recently = time.time() - NEW_SECONDS
    for path in root().iterdir():
        is_old = path.stat().st_mtime < recently
        if path.name.isdecimal() and int(path.name) not in needed and is_old:
            shutil.rmtree(path, ignore_errors=True)


def check_space(needed: int) -> None:
    """Refuse what would fill the disk."""
    free = shutil.disk_usage(settings.DATA_DIR).free - RESERVE_BYTES
    if needed > free:
        raise RefusedUploadError(
            _(
                "The server has room for %(free)s MB, and this needs %(needed)s MB. "
                "Ask its administrator for space, or upload fewer files."
            )
            % {"free": f"{max(free, 0) // 10**6:,}", "needed": f"{needed // 10**6:,}"}
        )
