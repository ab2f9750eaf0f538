"""Unpacking of received files into a folder, safely."""

import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, BinaryIO

from django.conf import settings
from django.utils.translation import gettext as _

from analysis.problems import shown
from annotate.models import Upload
from annotate.uploads import storage
from annotate.uploads.names import (
    RefusedUploadError,
    check_unique,
    checked_parts,
    is_wanted,
)
from annotate.uploads.receiving import check_count, check_total
from evalcore.formats.file_checks import ignore
from evalcore.formats.folder_layouts import PICTURES, VIDEOS
from evalcore.object_store import StoreError, copy_files, files_below, is_address

TABLES = (".csv", ".tsv", ".xlsx", ".jsonl", ".parquet", ".json", ".txt")
# First bytes of other kinds of files, which people take for a zip.
OTHERS = (
    (0, b"%PDF", "PDF"),
    (0, b"\x1f\x8b", "gzip (.gz, .tgz)"),
    (0, b"BZh", "bzip2"),
    (0, b"\xfd7zXZ", "xz"),
    (0, b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (0, b"Rar!", "RAR"),
    (257, b"ustar", "tar"),
    (0, b"MZ", "Windows program"),
    (0, b"\x7fELF", "Linux program"),
)
# Unpacked files may be so many times as large; pictures are packed already.
MOST_RATIO, FREE_OF_RATIO = 100, 100 * 10**6
# Bytes of a zip's list of files for each file that is allowed.
LISTED_BYTES = 1000
BLOCK = 2**20
ENCRYPTED = 0x1
# Places in the record at a zip's end.
LIST_ENTRIES, LIST_SIZE = 4, 5


def unpack(upload: Upload, tell: Callable[[int, int], object] = ignore) -> Path:
    """Return the folder with the files of an upload; the received data are removed.

    `tell` is called with the number of files copied from an object store, and of all.
    """
    target = storage.files_folder(upload)
    if is_address(upload.entry):
        return _unpack_entry(upload, _copied(upload, tell), target)
    if upload.entry:
        path = Path(settings.UPLOAD_FOLDER) / upload.entry
        return _unpack_entry(upload, path, target)
    if not target.is_dir():
        files = storage.read_list(upload)
        check_complete(upload)
        draft = _empty(upload)
        with storage.data_file(upload).open("rb") as data:
            if len(files) == 1 and not _is_kept(data, files[0][0]):
                _unzip(data, draft)
            else:
                _split(data, files, draft)
        draft.rename(target)
    storage.data_file(upload).unlink(missing_ok=True)
    return target


def check_complete(upload: Upload) -> None:
    """Refuse data that are not there, as in a restored backup."""
    path = storage.data_file(upload)
    if not path.is_file() or path.stat().st_size != upload.total:
        raise RefusedUploadError(
            _("The files are not on this server any more. Upload them again.")
        )


def _copied(upload: Upload, tell: Callable[[int, int], object]) -> Path:
    """Return a copy of the folder or file at an address, made once."""
    copy, address = storage.folder(upload) / "copy", upload.entry
    if not copy.is_dir():
        draft = storage.folder(upload) / "copying"  # what is there is not copied again
        try:
            files = files_below(address)
            check_count(len(files))
            total = sum(file.size for file in files)
            check_total(total)
            storage.check_space(total)
            check_unique(checked_parts(file.place) for file in files)
            copy_files(address, files, draft, tell)
        except StoreError as error:
            raise RefusedUploadError(str(error)) from error
        draft.rename(copy)
    only = copy / address.rpartition("/")[2]
    return only if only.is_file() and len(list(copy.iterdir())) == 1 else copy


def _unpack_entry(upload: Upload, path: Path, target: Path) -> Path:
    """Return a folder of the server itself, or a zip there, unpacked."""
    if path.is_symlink() or not path.exists():
        raise RefusedUploadError(
            _("“%(name)s” is not in the server's folder any more.")
            % {"name": upload.entry}
        )
    if path.is_dir():
        check_count(sum(1 for _file in _files_below(path)))
        return path
    if not target.is_dir():
        draft = _empty(upload)
        with path.open("rb") as data:
            if _is_kept(data, path.name):
                shutil.copyfile(path, draft / path.name)
            else:
                _unzip(data, draft)
        draft.rename(target)
    return target


def _files_below(folder: Path) -> Iterator[str]:
    for _folder, _names, files in os.walk(folder):
        yield from files


def _empty(upload: Upload) -> Path:
    draft = storage.folder(upload) / "draft"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700, parents=True)
    return draft


def _is_kept(data: BinaryIO, name: str) -> bool:
    """Say whether a single file is a table or text; else it must be a zip."""
    start = data.read(512)
    data.seek(0)
    suffix = Path(name).suffix.lower()
    for at, mark, kind in OTHERS:
        if start[at:].startswith(mark):
            raise RefusedUploadError(
                _(
                    "“%(name)s” is a %(kind)s file. Pack the folder as a zip, or "
                    "choose the folder itself."
                )
                % {"name": shown(name), "kind": kind}
            )
    if suffix in PICTURES + VIDEOS:
        raise RefusedUploadError(
            _(
                "“%(name)s” is a single picture or video. Choose the folder that "
                "holds the methods."
            )
            % {"name": shown(name)}
        )
    if suffix in TABLES:
        return True
    if not start.startswith(b"PK"):
        raise RefusedUploadError(
            _(
                "“%(name)s” is neither a zip nor a table (.csv, .tsv, .xlsx, .json, "
                ".jsonl, .parquet or .txt)."
            )
            % {"name": shown(name)}
        )
    return False


def _split(data: BinaryIO, files: list[storage.Listed], target: Path) -> None:
    for path, size, _changed in files:
        out = target / path
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("wb") as file:
            _copy(data, file, size)


def _copy(source: IO[bytes], target: IO[bytes], size: int) -> None:
    while size:
        block = source.read(min(size, BLOCK))
        if not block:
            raise EOFError
        target.write(block)
        size -= len(block)


def _unzip(data: BinaryIO, target: Path) -> None:
    """Unpack a zip: every name is checked before the first file is written."""
    _check_end(data)
    try:
        with zipfile.ZipFile(data) as packed:
            for entry, parts in _checked(packed):
                out = target.joinpath(*parts)
                out.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(entry) as source, out.open("wb") as file:
                    _copy(source, file, entry.file_size)
    except RefusedUploadError:
        raise
    except NotImplementedError as error:
        raise RefusedUploadError(
            _("The zip is packed in a way that cannot be read. Pack it again as .zip.")
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise RefusedUploadError(
            _("The zip is damaged (%(reason)s). Pack it again, and upload that.")
            % {"reason": shown(str(error)) or _("it ends too early")}
        ) from error


def _check_end(data: BinaryIO) -> None:
    """Refuse a zip whose end is missing, or whose list would fill the memory."""
    # The only reader of this record, also of large files, is private.
    end = zipfile._EndRecData(data)  # type: ignore[attr-defined]
    if end is None:
        raise RefusedUploadError(
            _(
                "The zip is cut off: its end is missing. Pack or download it again, "
                "and upload that."
            )
        )
    if end[LIST_SIZE] > LISTED_BYTES * settings.UPLOAD_MAX_FILES:
        check_count(max(end[LIST_ENTRIES], settings.UPLOAD_MAX_FILES + 1))


def _checked(
    packed: zipfile.ZipFile,
) -> list[tuple[zipfile.ZipInfo, tuple[str, ...]]]:
    entries = [entry for entry in packed.infolist() if not entry.is_dir()]
    wanted = []
    for entry in entries:
        parts = checked_parts(entry.filename)
        mode = entry.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise RefusedUploadError(
                _("“%(name)s” is a link or device. A zip may hold only files.")
                % {"name": shown(entry.filename)}
            )
        if entry.flag_bits & ENCRYPTED:
            raise RefusedUploadError(
                _("The zip has a password. Pack it again without one.")
            )
        if is_wanted(parts):
            wanted.append((entry, parts))
    check_count(len(wanted))
    check_unique(parts for _entry, parts in wanted)
    size = sum(entry.file_size for entry, _parts in wanted)
    packed_size = sum(entry.compress_size for entry, _parts in wanted)
    if size > FREE_OF_RATIO and size > MOST_RATIO * packed_size:
        raise RefusedUploadError(
            _(
                "The zip unpacks to %(size)s MB, over %(ratio)s times its own size. "
                "Stories and pictures do not do that."
            )
            % {"size": f"{size // 10**6:,}", "ratio": MOST_RATIO}
        )
    if size > 2 * settings.UPLOAD_MAX_MB * 10**6:
        raise RefusedUploadError(
            _("The zip unpacks to %(size)s MB. The limit is %(most)s MB.")
            % {
                "size": f"{size // 10**6:,}",
                "most": f"{2 * settings.UPLOAD_MAX_MB:,}",
            }
        )
    storage.check_space(size)
    return wanted
