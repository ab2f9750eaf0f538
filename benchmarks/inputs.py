"""Time the way from a file of ratings to the matrices, and its memory.

Each size is read in a process of its own, so that the peak of memory is its own. The
named peer is plain ``pandas.read_csv``, which checks nothing. Run with one thread for
numbers that can be compared: OMP_NUM_THREADS=1.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from analysis.notes import Notes
from analysis.options import AlignOptions
from analysis.rankings.method_means import mean_ratings
from analysis.reading.cells import annotator_cells, rated_grid
from analysis.reading.inputs import read_ratings
from analysis.reading.kept_answers import kept_people

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
METHODS, ANNOTATORS = 50, 50
DIMENSIONS = ("quality", "alignment", "consistency")


def write_ratings(path: Path, n: int) -> None:
    """Write about n ratings: 17 of 50 annotators, three dimensions, 50 methods."""
    rng = np.random.default_rng(0)
    per_story = METHODS * 17 * len(DIMENSIONS)
    stories = max(1, round(n / per_story))
    who = np.argsort(rng.random((stories * METHODS, ANNOTATORS)), axis=1)[:, :17]
    index = pd.MultiIndex.from_product(
        [range(stories), range(METHODS), range(17), DIMENSIONS]
    ).to_frame(index=False)
    pd.DataFrame(
        {
            "story": "story-" + index[0].astype(str).str.zfill(4),
            "method": "method " + index[1].astype(str).str.zfill(2),
            "dimension": index[3],
            "annotator": np.repeat(who.ravel(), len(DIMENSIONS)),
            "rating": rng.integers(0, 5, len(index)),
        }
    ).to_csv(path, index=False)


def to_matrices(path: Path) -> dict[str, float]:
    """Read, check, sort and lay out one file; return seconds of each step."""
    seconds = {}
    start = time.perf_counter()
    ratings = read_ratings(path, scale=(0, 4))
    seconds["read and check"] = time.perf_counter() - start
    start = time.perf_counter()
    kept = kept_people(ratings, None, AlignOptions(), Notes()).ratings
    cells = annotator_cells(kept)
    seconds["sort and average"] = time.perf_counter() - start
    start = time.perf_counter()
    for name, rows in cells.groupby("dimension"):
        rated_grid(str(name), rows)
        mean_ratings(
            kept[kept["dimension"] == name],
            rows,
            parts=("stories",),
            confidence=0.95,
        )
    seconds["cells and means"] = time.perf_counter() - start
    seconds["all"] = sum(seconds.values())
    return seconds


def plain(path: Path) -> dict[str, float]:
    """Read a file with pandas alone."""
    start = time.perf_counter()
    pd.read_csv(path)
    return {"read_csv": time.perf_counter() - start}


WORK: dict[str, Callable[[Path], dict[str, float]]] = {
    "plumbline": to_matrices,
    "pandas": plain,
}


def measured(work: str, path: Path, repeats: int) -> dict[str, float]:
    """Return medians over fresh processes, and the peak of memory above the imports."""
    runs = []
    for _ in range(repeats):
        command = [sys.executable, __file__, "--work", work, str(path)]
        runs.append(json.loads(subprocess.check_output(command)))
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def once(work: str, path: Path) -> None:
    """Do the work in this process and print what it took."""
    before = memory("VmRSS")
    seconds = WORK[work](path)
    print(json.dumps({**seconds, "MB": memory("VmHWM") - before}))


def memory(kind: str) -> float:
    """Return this process's memory now (VmRSS) or at most (VmHWM), in MB."""
    # Not ru_maxrss: a process inherits that of the one that started it.
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(kind))
    return int(line.split()[1]) / 1024


def curve(sizes: list[int], repeats: int) -> None:
    """Print one line a size."""
    print(
        f"{'ratings':>9} {'file':>7} {'read':>7} {'sort':>7} {'cells':>7} {'all':>7} "
        f"{'MB':>6} | {'read_csv':>8} {'MB':>6} | {'read/peer':>9}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            path = Path(folder) / f"{n}.csv"
            write_ratings(path, n)
            own = measured("plumbline", path, repeats)
            peer = measured("pandas", path, repeats)
            steps = " ".join(
                f"{value:6.2f}s" for key, value in own.items() if key != "MB"
            )
            print(
                f"{n:>9} {path.stat().st_size / 1e6:5.1f}MB {steps} {own['MB']:6.0f} | "
                f"{peer['read_csv']:7.2f}s {peer['MB']:6.0f} | "
                f"{own['read and check'] / peer['read_csv']:9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--work", choices=WORK, help=argparse.SUPPRESS)
    parser.add_argument("path", nargs="?", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        once(given.work, given.path)
    else:
        curve(given.sizes, given.repeats)
