"""Time and space of stored features: one file an encoder against one file a feature.

Run `python benchmarks/features.py [PICTURES]`. The peer writes each feature with
`numpy.save`, below 256 folders, as many programs do.
"""

import argparse
import hashlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evalcore.metrics.feature_store import FeatureStore

# Name and length of the features of three networks: CLIP, CSD, SigLIP so400m.
ENCODERS = {"clip": 768, "csd": 768, "siglip": 1152}
BATCH = 64
ROUNDS = 3
SEED = 20260225


class FilesStore:
    """One file for each feature."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put_many(self, encoder: str, features: Mapping[str, np.ndarray]) -> None:
        for key, feature in features.items():
            path = self._path(encoder, key)
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, feature)

    def get_many(self, encoder: str, keys: Iterable[str]) -> dict[str, np.ndarray]:
        paths = {key: self._path(encoder, key) for key in keys}
        return {key: np.load(path) for key, path in paths.items() if path.is_file()}

    def _path(self, encoder: str, key: str) -> Path:
        name = hashlib.sha256(key.encode()).hexdigest()
        return self.folder / encoder / name[:2] / f"{name}.npy"


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(store: FeatureStore | FilesStore, pictures: int) -> dict[str, float]:
    """Return files, megabytes, and seconds to store and to find all features."""
    chance = np.random.default_rng(SEED)
    keys = [f"picture {number}" for number in range(pictures)]
    stored = 0.0
    for encoder, length in ENCODERS.items():
        for start in range(0, pictures, BATCH):
            some = keys[start : start + BATCH]
            numbers = chance.standard_normal((len(some), length), np.float32)
            features = dict(zip(some, numbers, strict=True))
            stored += seconds(lambda e=encoder, f=features: store.put_many(e, f))

    def find() -> None:
        for encoder in ENCODERS:
            for start in range(0, pictures, BATCH):
                some = keys[start : start + BATCH]
                assert len(store.get_many(encoder, some)) == len(some)

    found = statistics.median(seconds(find) for _ in range(ROUNDS))
    files = [path for path in store.folder.rglob("*") if path.is_file()]
    return {
        "files": len(files),
        "MB": sum(path.stat().st_size for path in files) / 1e6,
        "s to store": stored,
        "s to find all": found,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pictures", nargs="?", type=int, default=100_000)
    pictures = parser.parse_args().pictures
    results = {}
    for kind in (FeatureStore, FilesStore):
        with tempfile.TemporaryDirectory() as folder:
            results[kind.__name__] = measure(kind(Path(folder)), pictures)
    packed, files = results.values()
    print(f"{pictures} pictures, {len(ENCODERS)} encoders, batches of {BATCH}")
    for what in packed:
        ratio = packed[what] / files[what]
        print(
            f"{what:14} {packed[what]:12,.1f} {files[what]:12,.1f}  ratio {ratio:.5f}"
        )


if __name__ == "__main__":
    main()
