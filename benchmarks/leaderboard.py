"""Time leaderboards of a million votes, against arena-rank where it is installed.

    python benchmarks/leaderboard.py [--votes 1000000] [--peer /path/to/python]

`--peer` is an interpreter that has arena-rank, which is no dependency of this
project (it needs jax). Both start from the same votes in memory: from a frame of
texts to ratings with intervals. Run with one thread for numbers that can be
compared: OMP_NUM_THREADS=1.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from analysis.rankings.leaderboard import leaderboard, side_effect

METHODS, STORIES, ANNOTATORS = 20, 400, 50
LIMIT = 2.0  # seconds, for 1,000,000 votes
REPEATS = 3
INSTALL = "arena-rank: skipped; benchmarks/analysis.py --peers installs it"
PEER = """
import multiprocessing, sys, time
import pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")  # its pool of forks hangs with jax
    rows = pd.read_parquet(sys.argv[1])
    start = time.perf_counter()
    data = PairDataset.from_pandas(rows)
    found = BradleyTerry(len(data.competitors)).compute_ratings_and_cis(
        data, ci_method="bootstrap", num_bootstrap=int(sys.argv[2])
    )
    seconds = time.perf_counter() - start
    ratings = dict(zip(found["competitors"], map(float, found["ratings"])))
    print(seconds, *(ratings[name] for name in sorted(ratings)))
"""


def votes(n: int) -> pd.DataFrame:
    """Draw side-by-side answers of twenty methods with known strengths."""
    rng = np.random.default_rng(0)
    names = np.array([f"method {k:02d}" for k in range(METHODS)], object)
    strength = np.linspace(-1, 1, METHODS)
    i, step = rng.integers(0, METHODS, n), rng.integers(1, METHODS, n)
    j = (i + step) % METHODS
    gap = strength[i] - strength[j] + 0.1 + rng.logistic(size=n)
    answer = np.where(np.abs(gap) < 0.3, "tie", np.where(gap > 0, "a", "b"))
    return pd.DataFrame(
        {
            "story": np.char.add("story ", rng.integers(0, STORIES, n).astype(str)),
            "method_a": names[i],
            "method_b": names[j],
            "annotator": np.char.add(
                "Ann ", rng.integers(0, ANNOTATORS, n).astype(str)
            ),
            "choice": answer,
            "left_method": names[i],
        }
    )


def seconds(work: Callable[[], object]) -> float:
    """Return the median time of three runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peer_seconds(python: str, rows: pd.DataFrame, resamples: int) -> list[float]:
    """Return arena-rank's time, and its ratings by name."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "votes.parquet"
        script = Path(folder) / "peer.py"
        script.write_text(PEER)
        winner = rows["choice"].map({"a": "model_a", "b": "model_b", "tie": "tie"})
        rows.rename(columns={"method_a": "model_a", "method_b": "model_b"})[
            ["model_a", "model_b"]
        ].assign(winner=winner).to_parquet(file)
        done = subprocess.run(
            [python, script, file, str(resamples)],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    if done.returncode:
        raise SystemExit(f"arena-rank failed:\n{done.stderr[-2000:]}")
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--votes", type=int, default=1_000_000)
    parser.add_argument("--peer", help="an interpreter that has arena-rank")
    options = parser.parse_args()
    rows = votes(options.votes)
    label = f"{METHODS} methods, {options.votes} votes, with intervals"
    own = seconds(lambda: leaderboard(rows, criterion="q"))
    print(f"leaderboard, {label:<60} {own:8.2f} s (limit {LIMIT} s)")
    for parts in (("stories",), ("annotators",), ("units",)):
        took = seconds(lambda p=parts: leaderboard(rows, criterion="q", parts=p))
        print(f"    drawing {parts[0]:<68} {took:8.2f} s")
    for ties in ("drop", "davidson"):
        took = seconds(lambda t=ties: leaderboard(rows, criterion="q", ties=t))
        print(f"    ties {ties:<71} {took:8.2f} s")
    took = seconds(lambda: side_effect(rows, criterion="q"))
    print(f"    {'side effect':<76} {took:8.2f} s")
    if options.peer is None:
        print(INSTALL)
        return
    theirs, *ratings = peer_seconds(options.peer, rows, 100)
    print(f"{'arena-rank, 100 multinomial bootstraps':<80} {theirs:8.2f} s")
    board = leaderboard(rows, criterion="q", parts=()).rows
    mine = np.array([row.rating for row in sorted(board, key=lambda row: row.method)])
    print(f"largest difference of ratings {np.abs(mine - ratings).max():.4f}")
    print(f"ratio {theirs / own:.1f}")


if __name__ == "__main__":
    main()
