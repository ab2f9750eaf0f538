"""Weights of learned metrics: search, checks, and missing requirements.

Nothing is ever downloaded. A file or folder is searched under its own name in the
folder of the environment variable `EVALCORE_WEIGHTS_DIR`; then, if a hub publishes it,
in the hub's cache on this machine. A file must have its published hash; one without a
published hash must keep the hash that it had at its first use (`first_uses`).
"""

import hashlib
import importlib.util
import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from evalcore.metrics.base import FatalError, MissingRequirement, MissingRequirements

VARIABLE = "EVALCORE_WEIGHTS_DIR"
# Hashes of files without a published one, in the format of sha256sum, which can check
# it. Lines are only appended: several workers may write, and the first line counts.
LOCK = "weights.lock"
HOW = "plumbline weights"
STACK = "make metrics, or pip install 'plumbline[metrics]'"
# How to obtain packages that neither installs.
PACKAGES = {
    "dover.models": (
        "pip install --no-deps git+https://github.com/VQAssessment/DOVER@f1ddc96, and "
        "decord, einops, scikit-video"
    ),
    "dreamsim": "pip install dreamsim==0.2.1 peft",
    "peft": "pip install dreamsim==0.2.1 peft",
}

logger = logging.getLogger(__name__)


class WeightsError(FatalError):
    """Weights are missing, altered, or of another network; the message names them."""


@dataclass(frozen=True)
class File:
    """A file as its authors published it."""

    path: str  # its place below the folder of weights, or of its package
    # Its address, with a pinned revision where the publisher has revisions; empty if it
    # comes with a package or an archive.
    url: str = ""
    sha256: str = ""  # its hash, or the first digits of it; empty if none is published
    size: int = 0  # its length in bytes; 0 if unknown
    # Hashes of other publications of the same weights, which are as good.
    also: tuple[str, ...] = ()

    def fault(self, path: Path, place: Path) -> str:
        """Return what is wrong with a file on this machine; empty if nothing.

        `place`: the folder of weights, with the hashes of first uses.
        """
        found = file_hash(path)
        first = self.sha256 or first_uses(place).get(self.path)
        if first is None:
            _record(place, self.path, found)
            return ""
        if found.startswith((first, *self.also)):
            return ""
        source = "as published" if self.sha256 else f"as at its first use ({LOCK})"
        return (
            f"{path}: its SHA-256 begins with {found[:8]}, not with {first[:8]} "
            f"{source}"
        )


@dataclass(frozen=True)
class Weights:
    """A file with weights, or a folder with a network's files."""

    path: str  # its place below the folder of weights, or of its package
    licence: str
    # The published files: one, or those of a folder that are read.
    files: tuple[File, ...] = ()
    # Its repository on the hub, the published revision, and its name there; for a
    # folder, the file that shows it is complete.
    hub: str = ""
    revision: str = ""
    hub_file: str = ""
    # Shell commands that fill the folder of weights where no file is published alone.
    steps: str = ""
    nested: str = ""  # another place where an archive often puts it
    package: str = ""  # import name of the package that has it, which is never imported

    @property
    def name(self) -> str:
        return f"{self.package}/{self.path}" if self.package else self.path

    @property
    def is_folder(self) -> bool:
        return Path(self.path).suffix == ""

    def find(self) -> Path | None:
        """Return the file or folder; None if it is not on this machine."""
        if self.package:
            path = _below(self.package, self.path)
            return path if path is not None and path.is_file() else None
        folder = os.environ.get(VARIABLE, "").strip()
        for place in filter(None, (self.path, self.nested)) if folder else ():
            path = Path(folder) / place
            shows = path / self.hub_file if self.is_folder else path
            if shows.is_file():
                return path
        return self._cached() if self.hub else None

    def _cached(self) -> Path | None:
        if importlib.util.find_spec("huggingface_hub") is None:
            return None
        from huggingface_hub import try_to_load_from_cache

        for revision in filter(None, (self.revision, "main")):
            cached = try_to_load_from_cache(self.hub, self.hub_file, revision=revision)
            if isinstance(cached, str):
                return Path(cached).parent if self.is_folder else Path(cached)
        return None

    def need(self) -> Path:
        """Return the file or folder; raise WeightsError if it is missing or altered."""
        path = self.find()
        if path is None:
            raise WeightsError(f"not here: {self.lack}")
        for file, found in self.found_files(path).items():
            if found is None:
                raise WeightsError(f"{path} lacks {Path(file.path).name} ({HOW})")
            if fault := file.fault(found, self.place(path)):
                again = "install the package" if self.package else "get it"
                how = self.lack if self.package else HOW
                raise WeightsError(f"{fault}; {again} again: {how}")
        return path

    def found_files(self, path: Path) -> dict[File, Path | None]:
        """Return its files with their places here; None for a missing one."""
        places = {
            file: path / Path(file.path).relative_to(self.path)
            if self.is_folder
            else path
            for file in self.files
        }
        return {file: one if one.is_file() else None for file, one in places.items()}

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of each file that is read, by its path."""
        path = self.need()
        if self.package or not self.files:
            return {self.name: file_hash(path)}
        found = self.found_files(path).items()
        return {file.path: file_hash(one) for file, one in found if one is not None}

    def digest(self) -> str:
        """Return the SHA-256 of the file, or over the folder's files that are read."""
        hashes = self.hashes()
        if not self.is_folder:
            return next(iter(hashes.values()))
        whole = hashlib.sha256()
        for path, sha256 in sorted(hashes.items()):
            whole.update(f"{Path(path).name} {sha256}\n".encode())
        return whole.hexdigest()

    def place(self, path: Path) -> Path:
        """Return the folder with the hashes of first uses: that of the weights."""
        folder = os.environ.get(VARIABLE, "").strip()
        return Path(folder) if folder and not self.package else path.parent

    @property
    def lack(self) -> MissingRequirement:
        what = f"package {self.package}" if self.package else self.path
        how = "make metrics" if self.package else HOW
        return MissingRequirement(what, how, self.licence)


def weights_of(metric: object) -> tuple[Weights, ...]:
    """Return the files that a metric reads; none for formulas and judges."""
    found: tuple[Weights, ...] = getattr(metric, "weights", ())
    return found


# Missing requirements ----------------------------------------------------------------


def missing_requirements(
    packages: Iterable[str] = (), weights: Iterable[Weights] = ()
) -> MissingRequirements:
    """Return the missing packages and weights, and how to obtain them."""
    absent = [name for name in packages if not _is_installed(name)]
    return MissingRequirements(
        [
            *(
                MissingRequirement(f"package {name}", PACKAGES.get(name, STACK))
                for name in absent
            ),
            *(one.lack for one in weights if one.find() is None),
        ]
    )


def requires(
    packages: Iterable[str] = (), weights: Iterable[Weights] = ()
) -> "staticmethod[[], MissingRequirements]":
    """Return a `missing` method for a metric with fixed requirements."""
    return staticmethod(partial(missing_requirements, packages, weights))


def _is_installed(name: str) -> bool:
    """Return whether a package is installed, without importing it or its parent."""
    package, _dot, module = name.partition(".")
    if not module:
        return importlib.util.find_spec(package) is not None
    below = _below(package, module)
    return below is not None and below.is_dir()


def _below(package: str, path: str) -> Path | None:
    """Return a place in an installed package; None without the package."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / path


# Hashes ------------------------------------------------------------------------------


def first_uses(place: Path) -> dict[str, str]:
    """Return the hashes that files without a published one had at their first use."""
    try:
        lines = (place / LOCK).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    uses: dict[str, str] = {}
    for line in lines:
        sha256, _space, path = line.partition("  ")
        uses.setdefault(path, sha256)
    return uses


def _record(place: Path, path: str, sha256: str) -> None:
    """Append the hash of a file's first use."""
    try:
        with open(place / LOCK, "a", encoding="utf-8") as lock:
            lock.write(f"{sha256}  {path}\n")
    except OSError as error:
        logger.warning("the first use of %s is not recorded: %s", path, error)


@lru_cache(maxsize=256)
def _hash_of(path: str, size: int, changed_ns: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file; cached."""
    status = path.stat()
    return _hash_of(str(path.resolve()), status.st_size, status.st_mtime_ns)


def fingerprint(*weights: Weights) -> str:
    """Return paths and first hash digits of weights, for encoders' ids."""
    return ", ".join(f"{one.path} {one.digest()[:16]}" for one in weights)
