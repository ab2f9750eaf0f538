"""Weights of learned metrics: search, checks, and missing requirements.

Nothing is ever downloaded. A file or folder is searched under its own name in the
folder of the environment variable `EVALCORE_WEIGHTS_DIR`; then, if a hub publishes it,
in the hub's cache on this machine.
"""

import hashlib
import importlib.util
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from evalcore.metrics.base import FatalError, MissingRequirement, MissingRequirements

VARIABLE = "EVALCORE_WEIGHTS_DIR"


class WeightsError(FatalError):
    """Weights are missing, altered, or of another network; the message names them."""


@dataclass(frozen=True)
class Weights:
    """A file with weights, or a folder that a hub serves whole."""

    path: str
    licence: str  # licence of its authors
    # How the operator can obtain it, as a command or an address in words.
    origin: str
    # First digits of its published hash, which the file must match. All digits if the
    # file is a program, such as a TorchScript archive.
    sha256: str = ""
    hub: str = ""  # its repository on the hub, if the hub serves it
    # Its name in that repository; for a folder, the file that shows it is complete.
    hub_file: str = ""

    def find(self) -> Path | None:
        folder = os.environ.get(VARIABLE, "").strip()
        if folder:
            path = Path(folder) / self.path
            if (path / self.hub_file).is_file() if path.is_dir() else path.is_file():
                return path
        return self._cached() if self.hub else None

    def _cached(self) -> Path | None:
        if importlib.util.find_spec("huggingface_hub") is None:
            return None
        from huggingface_hub import try_to_load_from_cache

        cached = try_to_load_from_cache(self.hub, self.hub_file)
        if not isinstance(cached, str):
            return None
        whole = Path(self.path).suffix == ""
        return Path(cached).parent if whole else Path(cached)

    def need(self) -> Path:
        return _checked(self.find(), self.sha256, self.lack)

    @property
    def lack(self) -> MissingRequirement:
        return MissingRequirement(self.path, self.origin, self.licence)


@dataclass(frozen=True)
class PackagedWeights:
    """Weights inside an installed package."""

    package: str  # import name of the package, which is never imported
    path: str  # path below the package's folder
    licence: str
    sha256: str = ""

    def find(self) -> Path | None:
        spec = importlib.util.find_spec(self.package)
        if spec is None or spec.origin is None:
            return None
        path = Path(spec.origin).parent / self.path
        return path if path.is_file() else None

    def need(self) -> Path:
        return _checked(self.find(), self.sha256, self.lack)

    @property
    def lack(self) -> MissingRequirement:
        return MissingRequirement(
            f"package {self.package}", "make metrics", self.licence
        )


AnyWeights = Weights | PackagedWeights


def weights_of(metric: object) -> tuple[AnyWeights, ...]:
    """Return the files that a metric reads; none for formulas and judges."""
    found: tuple[AnyWeights, ...] = getattr(metric, "weights", ())
    return found


def _checked(path: Path | None, sha256: str, lack: MissingRequirement) -> Path:
    if path is None:
        raise WeightsError(f"not here: {lack}")
    if sha256 and not file_hash(path).startswith(sha256):
        raise WeightsError(
            f"{path}: its SHA-256 begins with {file_hash(path)[:8]}, not with "
            f"{sha256[:8]} as published; get it again: {lack}"
        )
    return path


def missing_requirements(
    packages: Iterable[str] = (), weights: Iterable[AnyWeights] = ()
) -> MissingRequirements:
    """Return the missing packages and weights, and how to obtain them."""
    absent = [name for name in packages if importlib.util.find_spec(name) is None]
    return MissingRequirements(
        [
            *(MissingRequirement(f"package {name}", "make metrics") for name in absent),
            *(one.lack for one in weights if one.find() is None),
        ]
    )


def requires(
    packages: Iterable[str] = (), weights: Iterable[AnyWeights] = ()
) -> "staticmethod[[], MissingRequirements]":
    """Return a `missing` method for a metric with fixed requirements."""
    return staticmethod(partial(missing_requirements, packages, weights))


def unobtainable(what: str, why: str) -> MissingRequirements:
    """Return a requirement that cannot be met on any machine."""
    return MissingRequirements(
        [
            MissingRequirement(
                what, f"{why}; values can be imported with manage.py import_scores"
            )
        ]
    )


@lru_cache(maxsize=256)
def _hash_of(path: str, size: int, changed_ns: int) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, or of a folder's content; cached."""
    if path.is_dir():
        whole = hashlib.sha256()
        for file in sorted(p for p in path.iterdir() if _counts(p)):
            whole.update(f"{file.relative_to(path)} {file_hash(file)}\n".encode())
        return whole.hexdigest()
    status = path.stat()
    return _hash_of(str(path.resolve()), status.st_size, status.st_mtime_ns)


def fingerprint(*weights: AnyWeights) -> str:
    """Return paths and first hash digits of weights, for encoders' ids."""
    return ", ".join(f"{one.path} {file_hash(one.need())[:16]}" for one in weights)


def _counts(file: Path) -> bool:
    return file.is_file() and not file.name.startswith(".") and file.suffix != ".md"
