"""Time the statistics: whole alignments on real data, and their parts at size.

Run with one thread for numbers that can be compared: OMP_NUM_THREADS=1.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from analysis.agreement import RATING_STATISTICS, agreement
from analysis.alignment import align
from analysis.correlation import correlate
from analysis.leaderboard import leaderboard
from analysis.options import COEFFICIENTS, AlignOptions
from analysis.panel.reliability import rating_reliability

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def timed(label: str, work: Callable[[], object]) -> None:
    start = time.perf_counter()
    work()
    print(f"{label:<66} {time.perf_counter() - start:8.2f} s")


def alignments() -> None:
    for name in ("dsg", "tifa"):
        folder = DATA / name
        if not folder.is_dir():
            print(f"align {name}: skipped, needs ../shared/data/{name}")
            continue
        ratings = pd.read_csv(folder / "ratings.csv")
        scores = pd.read_csv(folder / "scores.csv")
        for resamples in (0, 1000):
            options = AlignOptions(resamples=resamples)
            timed(
                f"align {name}, {scores['metric'].nunique()} metrics, 800 cells, "
                f"{resamples} resamples",
                lambda r=ratings, s=scores, o=options: align(
                    ratings=r, choices=None, scores=s, options=o
                ),
            )


def coefficients() -> None:
    rng = np.random.default_rng(0)
    for n in (800, 5000):
        human = rng.integers(0, 20, (1, n)).astype(float)
        scores = rng.normal(size=(1, 1, n))
        weights = rng.multinomial(n, np.full(n, 1 / n), size=1000)[None]
        timed(
            f"three coefficients pooled over {n} cells, 1000 resamples",
            lambda h=human, x=scores, w=weights: correlate(h, x, w, COEFFICIENTS),
        )


def agreements() -> None:
    rng = np.random.default_rng(0)
    quality = rng.integers(0, 5, (5000, 1))
    answers = np.clip(quality + rng.integers(-1, 2, (5000, 10)), 0, 4)
    rows = pd.DataFrame(
        {
            "story": np.repeat(np.arange(5000), 10).astype(str),
            "method": "m",
            "annotator": np.tile(np.arange(10), 5000).astype(str),
            "rating": answers.reshape(-1),
        }
    )
    data = rating_reliability(rows)
    for names in (RATING_STATISTICS[:5], RATING_STATISTICS[5:7]):
        timed(
            f"{', '.join(names)}, 5000 units x 10, 1000 resamples"[:66],
            lambda n=names: agreement(
                data, n, parts=("units",), resamples=1000, confidence=0.95, seed=0,
                question="d",
            ),
        )  # fmt: skip


def leaderboards() -> None:
    rng = np.random.default_rng(0)
    n = 30_000
    methods = np.array([f"m{i:02d}" for i in range(20)])
    i, j = rng.integers(0, 20, n), rng.integers(1, 20, n)
    low, high = np.minimum(i, (i + j) % 20), np.maximum(i, (i + j) % 20)
    rows = pd.DataFrame(
        {
            "story": rng.integers(0, 100, n).astype(str),
            "method_a": methods[low],
            "method_b": methods[high],
            "annotator": rng.integers(0, 50, n).astype(str),
            "choice": rng.choice(["a", "b", "tie"], n),
        }
    )
    for ties in ("half", "davidson"):
        timed(
            f"leaderboard, 20 methods, {n} votes, ties {ties}, 1000 resamples",
            lambda t=ties: leaderboard(rows, criterion="q", ties=t, resamples=1000),
        )


if __name__ == "__main__":
    alignments()
    coefficients()
    agreements()
    leaderboards()
