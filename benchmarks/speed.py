"""Time the statistics against krippendorff, assignment plans, whole alignments.

    python benchmarks/speed.py [--only alpha plans] [--scale 1]

Medians, on one thread for each matrix product; Plumbline adds threads where
work is independent. `--scale .01` takes a hundredth of every size, for a look.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from analysis.pairwise.soft_accuracy import soft_pairwise_accuracy
from analysis.rankings.bradley_terry import leaderboard
from analysis.reliability.agreement import agreement
from analysis.reliability.matrices import rating_reliability
from annotate.assignment.designs.balance import DesignUnit
from annotate.assignment.designs.balanced import plan
from annotate.assignment.designs.planned_slots import LanguageGroup
from benchmarks.coverage.studies import (
    Design,
    cell_grid,
    rating_rows,
    simulated_study,
    world,
)
from benchmarks.figures import median_time, memory

RESAMPLES = 1000


def show(name: str, own: float, theirs: float = np.nan, peer: str = "") -> None:
    """Print a time, and how many times longer the peer takes."""
    more = f"  {peer} {theirs:.2f} s, {theirs / own:.0f} times" if theirs > 0 else ""
    print(f"{name:<58}{own:8.3f} s{more}", flush=True)


def alpha(scale: float, _folder: Path) -> None:
    """Krippendorff's alpha with its interval: 100,000 units x 10 raters."""
    rng, shape = np.random.default_rng(0), (max(10, round(100_000 * scale)), 10)
    latent = rng.normal(2, 1.2, (shape[0], 1)) + rng.normal(0, 0.8, shape)
    matrix = np.clip(np.round(latent), 0, 4)
    unit, rater = np.indices(shape)
    rows = pd.DataFrame({"story": unit.ravel().astype(str), "method": "m"})
    rows = rows.assign(annotator=rater.ravel().astype(str), dimension="q")
    data = rating_reliability(rows.assign(rating=matrix.ravel()), (0, 4))
    counts = np.stack([(matrix == value).sum(axis=1) for value in range(5)], axis=1)
    how = {"parts": ("units",), "resamples": RESAMPLES, "confidence": 0.95, "seed": 0}
    for level in ("nominal", "ordinal", "interval"):
        name = f"alpha_{level}"
        # A copy: nothing is remembered from the last call.
        own = median_time(
            lambda n=name: agreement(replace(data), (n,), question="q", **how)
        )
        once = median_time(lambda n=level: krippendorff.alpha(None, counts, None, n), 5)
        show(name, own, RESAMPLES * once, "krippendorff, of counts")


def rankings(scale: float, _folder: Path) -> None:
    """A leaderboard of 20 methods and a million votes, with intervals."""
    rng, n = np.random.default_rng(0), max(1000, round(1_000_000 * scale))
    names = np.array([f"method {k:02d}" for k in range(20)], object)
    strength = np.linspace(-1, 1, 20)
    i, j = rng.integers(0, 20, n), rng.integers(1, 20, n)
    j = (i + j) % 20
    gap = strength[i] - strength[j] + 0.1 + rng.logistic(size=n)
    choice = np.where(np.abs(gap) < 0.3, "tie", np.where(gap > 0, "a", "b"))
    rows = pd.DataFrame({"method_a": names[i], "method_b": names[j], "choice": choice})
    rows["story"] = rng.integers(0, 400, n).astype(str)
    rows["annotator"] = rng.integers(0, 50, n).astype(str)
    own = median_time(lambda: leaderboard(rows, criterion="q"))
    show(f"{n:,} votes", own)


def soft(scale: float, _folder: Path) -> None:
    """Soft pairwise accuracy: values alone, and with intervals of 1,000 resamples."""
    for stories, methods, metrics in ((160, 5, 9), (100, 10, 50), (300, 20, 20)):
        stories = max(10, round(stories * scale))
        rng = np.random.default_rng(0)
        human = rng.normal(size=(stories, methods)).round(1)
        scores = human / 2 + rng.normal(size=(metrics, stories, methods))
        grid = cell_grid(human, scores, tuple(f"k{k:02d}" for k in range(metrics)))
        for resamples in (0, RESAMPLES):
            how = {"resamples": resamples, "confidence": 0.95, "seed": 0}
            own = median_time(lambda g=grid, h=how: soft_pairwise_accuracy(g, **h))
            size = f"{stories} stories x {methods} methods, {metrics} metrics"
            show(f"{size}, {resamples} resamples", own)


def plans(scale: float, _folder: Path) -> None:
    """Balanced plans of 20,800 slots (limit 2 s) and of a million (limit 60 s)."""
    for methods, stories, people in ((26, 80, 60), (50, 2000, 1000)):
        stories = max(10, round(stories * scale))
        units = [
            DesignUnit(m * stories + s, f"s{s}", (f"m{m}",))
            for m in range(methods)
            for s in range(stories)
        ]
        groups = [LanguageGroup("", people, 10)]
        own = median_time(
            lambda u=units, g=groups: plan(u, groups=g, session_size=8, seed=0), 1
        )
        show(f"{10 * len(units):,} slots", own)


def alignments(scale: float, folder: Path) -> None:
    """Run `align` on up to a million ratings, with 10 metrics and 3 questions."""
    for size in (10_000, 100_000, 1_000_000):
        write_study(folder, round(size * scale))
        run_align(f"about {size * scale:,.0f} ratings", folder)


def metrics(scale: float, folder: Path) -> None:
    """Run `align` on 100 stories x 10 methods, 1,000 metrics (limits 5 min, 4 GB)."""
    n = max(2, round(1000 * scale))
    rng, design = np.random.default_rng(0), Design(100, methods=10, annotators=12)
    here = world(design, 0)
    grid = simulated_study(here, here.methods[None], design.stories, rng)
    rating_rows(grid).assign(dimension="d").to_csv(folder / "ratings.csv", index=False)
    weights = rng.uniform(0, 1, (n, 1, 1))
    scores = weights * grid.human + rng.normal(size=(n, *grid.human.shape))
    places = [range(n), grid.stories, grid.methods]
    rows = pd.MultiIndex.from_product(places, names=["metric", "story", "method"])
    table = pd.DataFrame({"score": scores.ravel().round(6)}, rows).reset_index()
    table.assign(metric=table["metric"].map("k{:04d}".format)).to_csv(
        folder / "scores.csv", index=False
    )
    run_align(f"{n:,} metrics", folder)


def run_align(label: str, folder: Path) -> None:
    """Print time, processor time, most memory and the size of a report."""
    files = [f"--{name}={folder}/{name}.csv" for name in ("ratings", "scores")]
    command = [sys.executable, "-m", "analysis", "align", *files]
    out, began, before = folder / "out", time.perf_counter(), os.times()
    most = 0.0
    child = subprocess.Popen(
        [*command, "--out", str(out)], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    while child.poll() is None:
        most = max(most, memory("VmHWM", child.pid))
        time.sleep(0.02)
    if child.returncode:
        raise SystemExit("align failed; it says why above.")
    took, after = time.perf_counter() - began, os.times()
    spent = sum(after[2:4]) - sum(before[2:4])
    page = (out / "report.html").stat().st_size / 1e6
    show(f"{label}, {most:.0f} MB, page {page:.1f} MB, {spent:.0f} s of CPU", took)
    shutil.rmtree(out)


def write_study(folder: Path, rows: int) -> None:
    """Write ratings of three questions, and scores of ten metrics, of 50 methods."""
    rng, side = np.random.default_rng(rows), (rows / 1_000_000) ** 0.5
    stories, people = max(4, round(400 * side)), max(3, round(50 * side))
    raters = max(1, round(rows / (stories * 150)))
    design = Design(stories, methods=50, annotators=people, raters=raters)
    here, n = world(design, 0), design.stories
    grids = [simulated_study(here, here.methods[None], n, rng) for _ in range(5)]
    ratings = [rating_rows(g).assign(dimension=f"d{d}") for d, g in enumerate(grids)]
    pd.concat(ratings[:3]).to_csv(folder / "ratings.csv", index=False)
    cells = [(s, m) for s in grids[0].stories for m in grids[0].methods]
    table = pd.DataFrame(cells, columns=["story", "method"])
    scores = [
        table.assign(metric=f"k{n}{k}", score=grid.scores[k].ravel())
        for n, grid in enumerate(grids)
        for k in range(2)
    ]
    pd.concat(scores).to_csv(folder / "scores.csv", index=False)


WORK = {
    one.__name__: one for one in (alpha, rankings, soft, plans, alignments, metrics)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=WORK, default=list(WORK))
    parser.add_argument("--scale", type=float, default=1.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in given.only:
            print(f"\n{WORK[name].__doc__}", flush=True)
            WORK[name](given.scale, Path(folder))


if __name__ == "__main__":
    main()
