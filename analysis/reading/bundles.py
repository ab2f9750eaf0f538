"""Bundles: one zip with a study, its tables, pictures and checksums."""

import hashlib
import json
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, NoReturn

from analysis.options import VERSION
from analysis.problems import InputError, Problem, listed, shown

FORMAT = 1
MANIFEST = "manifest.json"
# What `align` and its relatives need beside tables.
OPTIONS = "analysis.json"
MAIN = "main"
BLOCK = 2**20
# Longest line and manifest that are read.
LONGEST_LINE, LONGEST_MANIFEST = 64 * 2**20, 256 * 2**20
# Unpacked files may be so many times as large.
MOST_RATIO, FREE_OF_RATIO = 100, 100 * 10**6
SHA256 = re.compile(r"[0-9a-f]{64}")
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,  # encrypted
    UnicodeDecodeError,
    ValueError,
)


class Bundle:
    """A bundle whose list of files was checked against its manifest."""

    def __init__(self, packed: zipfile.ZipFile, name: str) -> None:
        self._packed, self.name = packed, name
        self._entries = {entry.filename: entry for entry in packed.infolist()}
        self._check_entries()
        self.manifest = self._manifest()
        self.files: dict[str, dict[str, Any]] = self.manifest["files"]
        self._check_files()

    def refuse(
        self, expected: str, file: str = "", line: int | None = None
    ) -> NoReturn:
        """Raise the error of a file of this bundle."""
        where = f"{self.name}: {file}" if file else self.name
        raise InputError([Problem(where, expected, line)])

    def _check_entries(self) -> None:
        if len(self._entries) < len(self._packed.infolist()):
            self.refuse("each name once")
        for name, entry in self._entries.items():
            parts = PurePosixPath(name).parts
            is_inside = parts and not (name.startswith("/") or ".." in parts)
            if not is_inside or "\\" in name or name != "/".join(parts):
                self.refuse(f"names that stay inside its folder, not {shown(name)!r}")
            if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
                self.refuse("a file, no link or device", shown(name))
        size = sum(entry.file_size for entry in self._entries.values())
        packed = sum(entry.compress_size for entry in self._entries.values())
        if size > FREE_OF_RATIO and size > MOST_RATIO * packed:
            self.refuse(f"files of at most {MOST_RATIO} times its own size")

    def _manifest(self) -> dict[str, Any]:
        entry = self._entries.get(MANIFEST)
        if entry is None or entry.file_size > LONGEST_MANIFEST:
            self.refuse(f"a bundle, which has a {MANIFEST}")
        try:
            manifest = json.loads(self._packed.read(MANIFEST))
            number, made_by = manifest["format"], manifest["plumbline"]
        except (*BROKEN, LookupError, TypeError):
            self.refuse("what `plumbline export` wrote; it is damaged", MANIFEST)
        if number != FORMAT:
            self.refuse(
                f"format {FORMAT}, which this version ({VERSION}) reads; it has format "
                f"{shown(str(number))}, which Plumbline {shown(str(made_by))} reads"
            )
        wanted = {"study": str, "files": dict, "rows": dict, "views": list}
        for key, kind in wanted.items():
            if not isinstance(manifest.get(key), kind):
                self.refuse(f"{key!r}", MANIFEST)
        return dict(manifest)

    def _check_files(self) -> None:
        there = self._entries.keys() - {MANIFEST}
        if missing := sorted(self.files.keys() - there):
            self.refuse(f"all files of its manifest; it lacks {listed(missing)}")
        if more := sorted(there - self.files.keys()):
            self.refuse(f"no file that its manifest does not name: {listed(more)}")
        for name, told in self.files.items():
            is_told = isinstance(told, dict) and isinstance(told.get("sha256"), str)
            if not is_told or told.get("bytes") != self._entries[name].file_size:
                self.refuse("the size that the manifest tells; it was changed", name)

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open one file for reading."""
        if name not in self.files and name != MANIFEST:
            self.refuse(f"a file {name}")
        try:
            with self._packed.open(name) as stream:
                yield stream
        except InputError:
            raise
        except BROKEN:
            self.refuse("what the export wrote; it is damaged", name)

    def copy(self, name: str, target: Path) -> None:
        """Copy one file out of the bundle."""
        with self.open(name) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, BLOCK)

    def text(self, name: str) -> str:
        """Return a small file that is checked."""
        self.check(name)
        with self.open(name) as stream:
            return stream.read().decode()

    def check(self, *names: str) -> None:
        """Compare files, by default all, with their checksums."""
        for name in names or sorted(self.files):
            with self.open(name) as stream:
                # ZipExtFile is buffered, which its stub does not say.
                found = hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
            if found != self.files[name]["sha256"]:
                self.refuse("the SHA-256 of the manifest; it was changed", name)

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the objects of a JSON Lines file."""
        with self.open(name) as stream:
            number = 0
            while line := stream.readline(LONGEST_LINE):
                number += 1
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    row = None
                if not isinstance(row, dict):
                    self.refuse("a JSON object", name, number)
                yield row

    def tables(self, view: str, folder: Path) -> dict[str, Path]:
        """Unpack the tables of a view into a folder; return their files by name."""
        if view not in self.manifest["views"]:
            self.refuse(f"--view: one of {listed(self.manifest['views'])}")
        found = {}
        for name in self.files:
            place, _slash, file = name.partition("/")
            if place == "views" and view != MAIN:
                own, _slash, file = file.partition("/")
                place = "tables" if own == view else place
            elif view != MAIN and place == "tables" and name in self._of_views(view):
                continue
            if place != "tables" or "/" in file or not file.endswith(".csv"):
                continue
            self.check(name)
            self.copy(name, folder / file)
            found[file.removesuffix(".csv")] = folder / file
        return found

    def _of_views(self, view: str) -> set[str]:
        """Return the tables of the main view that another view has, too."""
        start = f"views/{view}/"
        own = (name for name in self.files if name.startswith(start))
        return {f"tables/{name.removeprefix(start)}" for name in own}


@contextmanager
def opened(path: Path) -> Iterator[Bundle]:
    """Open a bundle, and check its list of files."""
    try:
        packed = zipfile.ZipFile(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError([Problem(str(path), f"a readable file ({reason})")]) from error
    except BROKEN as error:
        raise InputError([Problem(path.name, "a whole zip")]) from error
    with packed:
        yield Bundle(packed, path.name)
