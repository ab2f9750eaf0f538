"""Features remembered by content, so that a picture passes an encoder once.

One file a feature, `FOLDER/<encoder>/<ab>/<hash of the item's key>`: a line with type
and shape, then the numbers. Files are written whole or not at all, and writing one
twice is harmless, so any number of processes and machines may share the folder. It can
be removed at any time; what is needed is computed again.
"""

import contextlib
import hashlib
import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from evalcore.metrics.base import Feature


class FeatureStore:
    """Features on disk, by encoder and item."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get_many(self, encoder: str, keys: Iterable[str]) -> dict[str, Feature]:
        root = f"{self._home(encoder)}{os.sep}"
        found = {}
        for key in keys:
            feature = _read(root + _place(key))
            if feature is not None:
                found[key] = feature
        return found

    def put_many(self, encoder: str, features: Mapping[str, Feature]) -> None:
        """Keep features; each is there completely or not at all."""
        home = self._home(encoder)
        if not home.is_dir():
            home.mkdir(parents=True, exist_ok=True)
            _write(home / "encoder.txt", f"{encoder}\n".encode())
        for key, feature in features.items():
            if feature.dtype.hasobject:
                raise TypeError(f"features are numbers or texts, not {feature.dtype}")
            shape = ",".join(map(str, feature.shape))
            head = f"{feature.dtype.str} {shape}\n".encode()
            _write(home / _place(key), head + feature.tobytes())

    def _home(self, encoder: str) -> Path:
        return self.folder / hashlib.sha256(encoder.encode()).hexdigest()[:16]


def _place(key: str) -> str:
    name = hashlib.sha256(key.encode()).hexdigest()
    return f"{name[:2]}{os.sep}{name}"


def _read(path: str) -> Feature | None:
    """Return a feature; None if it is not there, or cut short by a crash."""
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
    except FileNotFoundError:
        return None
    head, _newline, body = data.partition(b"\n")
    kind, _space, sizes = head.decode("ascii", "replace").partition(" ")
    try:
        dtype = np.dtype(kind)
        shape = tuple(int(size) for size in sizes.split(",") if size)
    except (TypeError, ValueError):
        return None
    if len(body) != dtype.itemsize * math.prod(shape):
        return None
    return np.frombuffer(body, dtype).reshape(shape)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):  # in its place by now
            os.unlink(temporary)
