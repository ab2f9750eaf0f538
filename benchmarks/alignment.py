"""Time comparisons of metrics: against nlpstats, and whole alignments by size.

    python benchmarks/alignment.py [tests|data|sizes] [rows ...]

`tests` needs nlpstats beside numpy and pandas, in any environment. `data` aligns the
published data sets, `sizes` simulated studies of up to a million ratings; both run the
command line as users do.

In `tests` both sides have one thread for each matrix product; Plumbline adds threads of
its own where work is independent.
"""

import os

# As it was given: what is run as users do must not notice.
ENVIRONMENT = dict(os.environ)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import importlib.util
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

from analysis.correlations.level_estimates import level_spread
from analysis.correlations.levels import level_values
from analysis.correlations.metric_differences import metric_differences
from analysis.inference.resampling import draw, stream
from analysis.options import Sampling
from analysis.reading.cells import CellGrid
from benchmarks.cell_grids import cell_grid

METHODS, STORIES, DRAWS = 50, 200, 1000
SAMPLING = Sampling(resamples=DRAWS, confidence=0.95, seed=0)
# Draws that the peer makes at each level; its time is scaled to DRAWS.
PEER_DRAWS = {"method": 100, "story": 3, "pooled": 100}
LEVELS = {"method": "system", "story": "input", "pooled": "global"}
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
DATA = ROOT.parent / "shared" / "data"


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """Return the median time, after one call that is not timed."""
    work()
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return float(np.median(found))


def simulated_grid(n_stories: int = STORIES, n_methods: int = METHODS) -> CellGrid:
    rng = np.random.default_rng(0)
    human = np.round(rng.integers(0, 201, (n_stories, n_methods)) / 50, 9)
    scores = rng.normal(size=(2, n_stories, n_methods)) + human * 0.5
    return cell_grid(human, scores, ("a", "b"))


def against_nlpstats() -> None:
    """Two metrics, 50 methods x 200 stories: a test and a bootstrap at every level.

    The peer's test is PERM-BOTH, ours that of new stories and new methods.
    """
    if importlib.util.find_spec("nlpstats") is None:
        print("nlpstats: skipped; benchmarks/analysis.py --peers installs it")
        return
    from nlpstats.correlations.bootstrap import bootstrap
    from nlpstats.correlations.permutation import permutation_test

    grid = simulated_grid()
    x, y, z = grid.scores[0].T, grid.scores[1].T, grid.human.T
    parts = ("stories", "methods")
    print(f"{METHODS} methods x {STORIES} stories, {DRAWS} draws; seconds")
    print(f"nlpstats: draws timed at each level {PEER_DRAWS}, scaled to {DRAWS}")
    print(f"{'':<32}{'nlpstats':>10}{'plumbline':>11}{'ratio':>8}")
    for level, peer_level in LEVELS.items():
        for coefficient in ("pearson", "kendall"):

            def test(level: str = level, coefficient: str = coefficient) -> object:
                asked = grid, level, [coefficient]
                spread = level_spread(*asked, parts, SAMPLING)
                return metric_differences(*asked, spread, SAMPLING)

            def resamples(level: str = level, coefficient: str = coefficient) -> object:
                draws = draw(
                    parts,
                    cells=grid.cells,
                    n_annotators=1,
                    resamples=DRAWS,
                    rng=stream(0, "benchmark"),
                )
                one = grid.with_metrics(("a",))
                return level_values(one, level, draws, [coefficient])

            def peer_test(
                level: str = peer_level,
                coefficient: str = coefficient,
                times: int = PEER_DRAWS[level],
            ) -> object:
                return permutation_test(
                    x, y, z, level, coefficient, "both", n_resamples=times
                )

            def peer_resamples(
                level: str = peer_level,
                coefficient: str = coefficient,
                times: int = PEER_DRAWS[level],
            ) -> object:
                return bootstrap(x, z, level, coefficient, "both", n_resamples=times)

            for label, peer, own in (
                ("test", peer_test, test),
                ("bootstrap", peer_resamples, resamples),
            ):
                slow = seconds(peer) * DRAWS / PEER_DRAWS[level]
                fast = seconds(own, 9)
                print(
                    f"{label:<12}{level:<8}{coefficient:<12}"
                    f"{slow:>10.2f}{fast:>11.3f}{slow / fast:>7.0f}x"
                )


def write_study(folder: Path, rows: int) -> int:
    """Write ratings and scores of about this many ratings; return how many."""
    rng = np.random.default_rng(rows)
    scale = (rows / 1_000_000) ** 0.5
    methods, dimensions = 50, 3
    stories = max(4, round(400 * scale))
    annotators = max(3, round(50 * scale))
    outputs = stories * methods
    per_output = max(1, round(rows / (outputs * dimensions)))
    output = np.repeat(np.arange(outputs), per_output)
    turn = np.tile(np.arange(per_output), outputs)
    annotator = (output * 7 + turn) % annotators
    frames = []
    quality = rng.normal(size=outputs)
    names = {
        "story": np.array([f"s{i:04}" for i in range(stories)])[output // methods],
        "method": np.array([f"m{i:02}" for i in range(methods)])[output % methods],
        "annotator": np.array([f"r{i:03}" for i in range(annotators)])[annotator],
    }
    for d in range(dimensions):
        noisy = quality[output] + rng.normal(size=len(output))
        rating = np.clip(np.round(noisy + 3), 1, 5).astype(int)
        frames.append(pd.DataFrame({**names, "dimension": f"d{d}", "rating": rating}))
    ratings = pd.concat(frames, ignore_index=True).drop_duplicates(
        ["story", "method", "annotator", "dimension"]
    )
    ratings.to_csv(folder / "ratings.csv", index=False)
    cells = np.arange(outputs)
    scores = [
        pd.DataFrame(
            {
                "metric": f"k{k}",
                "story": [f"s{i // methods:04}" for i in cells],
                "method": [f"m{i % methods:02}" for i in cells],
                "score": np.round(quality * k / 9 + rng.normal(size=outputs), 6),
            }
        )
        for k in range(10)
    ]
    pd.concat(scores).to_csv(folder / "scores.csv", index=False)
    return len(ratings)


def aligned(folder: Path, out: Path, *options: str) -> tuple[float, float]:
    """Run the command line; return seconds, and the most memory it held, in MB."""
    command = [
        sys.executable,
        "-m",
        "analysis",
        "align",
        "--ratings",
        str(folder / "ratings.csv"),
        "--scores",
        str(folder / "scores.csv"),
        "--out",
        str(out),
        *options,
    ]
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=errors
        )
        peak = 0.0
        while child.poll() is None:
            peak = max(peak, most_memory(child.pid))
            time.sleep(0.02)
        took = time.perf_counter() - start
        errors.seek(0)
        if child.returncode:
            raise SystemExit(f"{' '.join(command)}\n{errors.read()[-1000:]}")
    return took, peak


def most_memory(pid: int) -> float:
    """Return the most memory a process has held so far, in MB; 0 where unknown."""
    # Not ru_maxrss: a process inherits that of the one that started it.
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) / 1024 if lines else 0.0


def published() -> None:
    """Align the published data sets: all tables and the report."""
    for name in ("dsg", "tifa"):
        if not (DATA / name).is_dir():
            print(f"align {name}: skipped, needs ../shared/data/{name}")
            continue
        for resamples in (0, 1000):
            with tempfile.TemporaryDirectory() as out:
                took, peak = aligned(
                    DATA / name, Path(out) / "out", "--resamples", str(resamples)
                )
            print(
                f"align {name}, {resamples} resamples{took:>34.1f} s{peak:>8.0f} MB",
                flush=True,
            )


def by_size(sizes: list[int]) -> None:
    """Align a simulated study of every size."""
    print("align, 10 metrics, 3 dimensions, 1000 resamples, report included")
    print(f"{'ratings':>10}{'seconds':>10}{'us/rating':>12}{'peak MB':>10}")
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            n = write_study(Path(name), rows)
            took, peak = aligned(Path(name), Path(name) / "out")
        print(f"{n:>10}{took:>10.1f}{took / n * 1e6:>12.0f}{peak:>10.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what", nargs="?", choices=("tests", "data", "sizes", "all"), default="all"
    )
    parser.add_argument("rows", nargs="*", type=int, default=list(SIZES))
    given = parser.parse_args()
    if given.what in {"tests", "all"}:
        against_nlpstats()
    if given.what in {"data", "all"}:
        published()
    if given.what in {"sizes", "all"}:
        by_size(given.rows)


if __name__ == "__main__":
    main()
