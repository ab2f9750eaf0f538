"""Time agreement at size, against one call of the krippendorff package a resample.

    python benchmarks/agreement.py [package|table|sizes ...]

Run with one thread: OMP_NUM_THREADS=1. Times are of the processor, so that other
programs on the machine do not lengthen them; with one thread and an idle machine they
are those of the clock. Calls of the package are timed a few times, and the median is
multiplied.
"""

import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from analysis.reliability.agreement import RATING_STATISTICS, agreement
from analysis.reliability.annotators import rating_annotators
from analysis.reliability.internal_consistency import (
    panel_consistency,
    scale_consistency,
)
from analysis.reliability.matrices import Reliability, rating_reliability

RESAMPLES = 1000
CALLS = 20


def timed(label: str, work: Callable[[], object], repeats: int = 1) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    median = statistics.median(seconds)
    print(f"{label:<78} {median:8.2f} s", flush=True)
    return median


def answers(units: int, raters: int, rng: np.random.Generator) -> np.ndarray:
    """Ratings 0 to 4 of units by raters who see their quality with noise."""
    quality = rng.normal(2, 1.2, (units, 1))
    return np.clip(np.round(quality + rng.normal(0, 0.8, (units, raters))), 0, 4)


def laid_out(matrix: np.ndarray) -> Reliability:
    U, A = matrix.shape
    units = np.arange(U)[:, None]
    codes, values = pd.factorize(matrix.ravel(), sort=True)
    return Reliability(
        values,
        np.repeat(np.arange(U), A),
        np.tile(np.arange(A), U),
        codes,
        U,
        tuple(f"r{a}" for a in range(A)),
        {"units": units, "stories": units // 50},
    )


def intervals(
    data: Reliability, statistics: tuple[str, ...], parts: tuple[str, ...]
) -> object:
    return agreement(
        data,
        statistics,
        parts=parts,
        resamples=RESAMPLES,
        confidence=0.95,
        seed=0,
        question="d",
    )


def against_the_package(rng: np.random.Generator) -> None:
    matrix = answers(100_000, 10, rng)
    print(f"\n100,000 units x 10 raters, 5 values, {RESAMPLES} resamples of units")
    counts = np.stack([(matrix == value).sum(axis=1) for value in range(5)], axis=1)
    for metric in ("nominal", "ordinal", "interval"):
        name = (f"alpha_{metric}",)
        own = timed(
            f"  {name[0]}: value, {RESAMPLES} resamples, interval",
            # Laid out anew each time: nothing is remembered from the last one.
            lambda n=name: intervals(laid_out(matrix), n, ("units",)),
            repeats=5,
        )
        for how, given in (
            ("a matrix of ratings", {"reliability_data": matrix.T}),
            ("value counts", {"value_counts": counts}),
        ):
            seconds = []
            for _ in range(CALLS):
                start = time.process_time()
                krippendorff.alpha(**given, level_of_measurement=metric)
                seconds.append(time.process_time() - start)
            peer = RESAMPLES * statistics.median(seconds)
            print(
                f"    krippendorff.alpha of {how}: {CALLS} calls, median x "
                f"{RESAMPLES} = {peer:.0f} s: {peer / own:.0f} times faster",
                flush=True,
            )


def whole_table(rng: np.random.Generator) -> None:
    """9 statistics, 3 dimensions, 50 methods x 400 stories, a third of 50 raters."""
    U, A = 20_000, 50
    frames = []
    rated = rng.random((U, A)) < 1 / 3
    u, a = np.nonzero(rated)
    for dimension in ("one", "two", "three"):
        frames.append(
            pd.DataFrame(
                {
                    "story": np.char.add("s", (u // 50).astype(str)),
                    "method": np.char.add("m", (u % 50).astype(str)),
                    "dimension": dimension,
                    "annotator": np.char.add("r", a.astype(str)),
                    "rating": answers(U, A, rng)[u, a],
                }
            )
        )
    ratings = pd.concat(frames, ignore_index=True)
    print(f"\n{len(ratings)} ratings: 20,000 units, 50 annotators, 3 dimensions")
    for parts in (("units",), ("stories",), ("stories", "methods"), ("annotators",)):
        timed(
            f"  agreement, 9 statistics, layout included, draws of {'+'.join(parts)}",
            lambda p=parts: [
                intervals(rating_reliability(rows), RATING_STATISTICS, p)
                for _, rows in ratings.groupby("dimension")
            ],
        )
    options = {"resamples": RESAMPLES, "confidence": 0.95, "seed": 0}
    for part in ("units", "stories"):
        timed(
            f"  annotators, draws of {part}",
            lambda p=part: rating_annotators(ratings, part=p, **options),
        )
    timed("  scale consistency", lambda: scale_consistency(ratings, **options))
    timed("  panel consistency", lambda: panel_consistency(ratings, **options))


def sizes(rng: np.random.Generator) -> None:
    print(f"\nAll statistics, complete units, 10 raters, {RESAMPLES} resamples")
    for units in (1_000, 10_000, 100_000):
        data = laid_out(answers(units, 10, rng))
        timed(f"  {units} units", lambda d=data: intervals(d, RATING_STATISTICS, UNITS))
    matrix = answers(1_000, 10, rng) + rng.random((1_000, 10))
    data = laid_out(matrix)
    timed(
        "  alpha at three levels, 1,000 units, 10,000 different values",
        lambda: intervals(data, RATING_STATISTICS[:3], UNITS),
    )


UNITS = ("units",)


PARTS = {"package": against_the_package, "table": whole_table, "sizes": sizes}

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for part in sys.argv[1:] or PARTS:
        PARTS[part](rng)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"\nMost memory: {peak:.1f} GB")
