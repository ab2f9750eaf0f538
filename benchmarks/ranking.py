"""How many answers do rankings of three to five outputs save, against pairs?

    python benchmarks/ranking.py [--studies 400] [--boards 100]

Simulated studies of ten methods whose worths are those that people gave: five of
StoryBench (action realism; Oops-CSV, Table 3) and five of DSG's raters, both by
Bradley-Terry without ties. An answer orders k outputs of one story, drawn alike; pairs
are fitted by Bradley-Terry, which is Plackett-Luce of two. For each k: after how many
answers the root mean square error of the log worths, Kendall's tau to the truth and the
half-width of intervals are what they should be. Then what Elo, updated answer by
answer, needs, and whether cluster intervals of rankings contain the truth. Seeds are
fixed; `docs/rankings.md` explains the outcome.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from analysis.rankings.plackett_luce import (
    ChoiceSets,
    choice_sets,
    fit,
)
from analysis.rankings.ranking_leaderboard import ranking_leaderboard
from analysis.rankings.standings import ELO_SCALE

STORYBENCH = (0.59, 0.26, -0.04, -0.11, -0.70)
DSG = (0.73, 0.31, -0.06, -0.39, -0.60)
WORTHS = np.sort(np.array(STORYBENCH + DSG))[::-1]
WORTHS -= WORTHS.mean()
M = len(WORTHS)
SIZES = (2, 3, 4, 5)
GRID = (30, 60, 120, 250, 500, 1000, 2000, 4000)
# What a study wants: errors and half-widths in log odds (.15 are 26 Elo points).
RMSE, TAU, HALF_WIDTH = 0.15, 0.85, 0.3
GROUPS = 10
# Least comparisons that sorting k outputs takes on average, and all pairs of them.
SORTING = {2: 1.0, 3: 8 / 3, 4: 14 / 3, 5: 832 / 120}
ENDLESS = 200_000


@dataclass(frozen=True)
class World:
    """How far worths are spread, and what is not in the model."""

    name: str
    spread: float = 1.0
    noise: float = 0.0  # by how much noise grows with each output beyond two
    of_story: float = 0.0  # standard deviation of methods by story
    stories: int = 40


WORLDS = (
    World("the model holds"),
    World("worths twice as far apart", spread=2),
    World("noise grows by .15 an output", noise=0.15),
    World("noise grows by .30 an output", noise=0.30),
    World("methods differ by story (.5), 40 stories", of_story=0.5),
)


def orders(
    world: World, k: int, n: int, rng: np.random.Generator, *, endless: bool = False
) -> np.ndarray:
    """Draw n answers: rows of k methods, the best first; stories in turn."""
    shown = rng.permuted(np.tile(np.arange(M), (n, 1)), axis=1)[:, :k]
    value = world.spread * WORTHS[shown]
    if world.of_story:
        stories = n if endless else world.stories
        own = rng.normal(size=(stories, M)) * world.of_story
        value = value + np.take_along_axis(own[np.arange(n) % stories], shown, axis=1)
    scale = 1 + world.noise * (k - 2)
    place = np.argsort(-(value + scale * rng.gumbel(size=(n, k))), axis=1)
    return np.take_along_axis(shown, place, axis=1)


def truth(world: World, k: int) -> np.ndarray:
    """Return the log worths that an endless study of this kind comes to."""
    if not world.of_story:
        return world.spread * WORTHS / (1 + world.noise * (k - 2))
    rng = np.random.default_rng([30, k])
    found = orders(world, k, ENDLESS, rng, endless=True)
    sets, cell, _ = choice_sets([found], M)
    counts = np.bincount(cell, minlength=sets.size).astype(float)
    return fit(sets, counts).parameters


@dataclass(frozen=True)
class Outcome:
    """Of studies (rows) after the numbers of answers of GRID (columns); NaN: no fit."""

    rmse: np.ndarray
    tau: np.ndarray
    half: np.ndarray


def simulate(world: World, k: int, studies: int) -> Outcome:
    """Run studies; errors are on the scale of pairs, whose truth may be wider."""
    most, true = GRID[-1], truth(world, k)
    unit = true.std() / truth(world, 2).std()
    drawn = [
        orders(world, k, most, np.random.default_rng([31, k, WORLDS.index(world), s]))
        for s in range(studies)
    ]
    sets, cell, row = choice_sets([np.concatenate(drawn)], M)
    study, answer = row // most, row % most
    shape = (studies, len(GRID))
    rmse, tau, half = (np.full(shape, np.nan) for _ in range(3))
    for i, n in enumerate(GRID):
        counts = tables(sets, cell[answer < n], study[answer < n], studies)
        known = np.array([is_connected(sets.beats(own)) for own in counts])
        found = [fit(sets, own) for own in counts[known]]
        assert all(one.converged for one in found)
        theta = np.array([one.parameters for one in found])
        rmse[known, i] = np.sqrt(((theta - true) ** 2).mean(axis=1)) / unit
        tau[known, i] = taus(theta)
        errors = np.array([one.covariance for one in found])
        sd = np.sqrt(np.diagonal(errors, axis1=1, axis2=2))
        half[known, i] = 1.96 * sd.mean(axis=1) / unit
    return Outcome(rmse, tau, half)


def tables(
    sets: ChoiceSets, cell: np.ndarray, study: np.ndarray, studies: int
) -> np.ndarray:
    found = np.bincount(study * sets.size + cell, minlength=studies * sets.size)
    return found.reshape(studies, sets.size).astype(float)


def is_connected(beats: np.ndarray) -> bool:
    """Tell whether wins lead from every method to every other."""
    parts, _ = connected_components(csr_array(beats), connection="strong")
    return bool(parts == 1)


def taus(theta: np.ndarray) -> np.ndarray:
    """Return Kendall's tau of each row with the true order, which is descending."""
    i, j = np.triu_indices(M, 1)
    return np.sign(theta[:, i] - theta[:, j]).mean(axis=1)


def needed(values: np.ndarray, target: float, name: str) -> float:
    """Return after how many answers studies are at the target.

    That is the median of errors and half-widths, and the mean of tau, which has few
    values; a study without a fit has endless errors and knows no order. Between the
    points of the grid a line over the logarithm of n; NaN where the grid does not hold
    the target.
    """
    x = np.log(GRID)
    if name == "tau":
        y = np.nan_to_num(values).mean(axis=0)
    else:
        y = -np.log(np.median(np.nan_to_num(values, nan=np.inf), axis=0))
        target = -np.log(target)
    x, y = x[np.isfinite(y)], y[np.isfinite(y)]
    if not y[0] <= target <= y[-1]:
        return float("nan")
    return float(np.exp(np.interp(target, y, x)))


def saving(
    pairs: np.ndarray, other: np.ndarray, target: float, name: str
) -> tuple[float, float]:
    """Return how many times fewer answers are needed, and its standard error."""
    ratio = needed(pairs, target, name) / needed(other, target, name)
    groups = [
        needed(pairs[g::GROUPS], target, name) / needed(other[g::GROUPS], target, name)
        for g in range(GROUPS)
    ]
    return ratio, float(np.std(groups, ddof=1) / np.sqrt(GROUPS))


def print_worlds(studies: int) -> None:
    wanted = {"rmse": RMSE, "tau": TAU, "half": HALF_WIDTH}
    print(f"information of close methods, in pairs: {information()}")
    print("answers needed (times fewer than pairs, standard error)")
    for world in WORLDS:
        found = {k: simulate(world, k, studies) for k in SIZES}
        for name, target in wanted.items():
            cells = []
            for k in SIZES:
                values = getattr(found[k], name)
                ratio, error = saving(getattr(found[2], name), values, target, name)
                n = needed(values, target, name)
                cells.append(f"{k}: {n:6.0f} ({ratio:.2f}, {error:.2f})")
            print(f"{world.name:<42} {name:>4} {target:.2f}  {'  '.join(cells)}")
        at = GRID.index(500)
        errors = [f"{np.nanmedian(found[k].rmse[:, at]):.3f}" for k in SIZES]
        widths = [f"{np.nanmedian(found[k].half[:, at]):.3f}" for k in SIZES]
        orders_ = [f"{np.nanmedian(found[k].tau[:, at]):.2f}" for k in SIZES]
        print(f"    after 500 answers: rmse {errors}, tau {orders_}, half {widths}")
        sys.stdout.flush()


def information() -> dict[int, float]:
    """Return the trace of the information of one answer among equals, in pairs'."""
    trace = {k: sum((m - 1) / m for m in range(2, k + 1)) for k in SIZES}
    return {k: round(trace[k] / trace[2], 2) for k in SIZES}


def print_times() -> None:
    """Print what a ranking is worth if its time is that of looking, or of sorting."""
    print("k: pairs' worth of information; an answer in pairs' time if time goes with")
    print("   outputs looked at / comparisons that sort them; gain in time of each")
    for k, worth in information().items():
        looking, sorting = k / 2, SORTING[k]
        print(
            f"{k}: {worth:.2f}; {looking:.2f} / {sorting:.2f}; "
            f"{worth / looking:.2f} / {worth / sorting:.2f}"
        )


def print_elo(studies: int) -> None:
    """Print after how many pairs Elo, updated answer by answer, is as precise."""
    steps = {float(n) for n in GRID} | {8000.0, 16000.0}
    print("Elo on random pairs: median rmse (log odds) and tau after n answers")
    for factor in (4, 8, 16, 32):
        rng = np.random.default_rng([32, factor])
        rating = np.zeros((studies, M))  # log odds
        rows = np.arange(studies)
        told = []
        for n in range(1, 16001):
            i = rng.integers(0, M, studies)
            j = (i + rng.integers(1, M, studies)) % M
            won = rng.random(studies) < 1 / (1 + np.exp(WORTHS[j] - WORTHS[i]))
            gap = rating[rows, i] - rating[rows, j]
            move = factor / ELO_SCALE * (won - 1 / (1 + np.exp(-gap)))
            rating[rows, i] += move
            rating[rows, j] -= move
            if n in steps:
                error = np.sqrt(((rating - WORTHS) ** 2).mean(axis=1))
                told.append(
                    f"{n}: {np.median(error):.3f} {np.median(taus(rating)):.2f}"
                )
        print(f"    factor {factor:2d}  {'  '.join(told)}")


# --- Whole leaderboards -------------------------------------------------------------

STORIES, ANNOTATORS = 40, 20
OF_STORY, OF_ANNOTATOR = 0.5, 0.3
PARTS = (("stories", "annotators"), ("stories",), ("annotators",), ("units",))


def values(own: np.ndarray, shown: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the places of what is shown, (n, k), best first."""
    value = WORTHS[shown] + np.take_along_axis(own, shown, axis=1)
    return np.argsort(-(value + rng.gumbel(size=shown.shape)), axis=1)


def board_truth(k: int) -> np.ndarray:
    """Return the worths over endless stories and annotators."""
    rng = np.random.default_rng([33, k])
    shown = rng.permuted(np.tile(np.arange(M), (ENDLESS, 1)), axis=1)[:, :k]
    own = rng.normal(size=(ENDLESS, M)) * np.hypot(OF_STORY, OF_ANNOTATOR)
    found = np.take_along_axis(shown, values(own, shown, rng), axis=1)
    sets, cell, _ = choice_sets([found], M)
    counts = np.bincount(cell, minlength=sets.size).astype(float)
    return ELO_SCALE * fit(sets, counts).parameters + 1000


def board_study(k: int, answers: int, number: int) -> pd.DataFrame:
    """Draw the table of rankings of one study."""
    rng = np.random.default_rng([34, k, number])
    story = np.arange(answers) % STORIES
    annotator = rng.permutation(np.arange(answers) % ANNOTATORS)
    own = (rng.normal(size=(STORIES, M)) * OF_STORY)[story]
    own = own + (rng.normal(size=(ANNOTATORS, M)) * OF_ANNOTATOR)[annotator]
    shown = rng.permuted(np.tile(np.arange(M), (answers, 1)), axis=1)[:, :k]
    found = np.take_along_axis(shown, values(own, shown, rng), axis=1)
    return pd.DataFrame(
        {
            "story": np.repeat(story, k).astype(str),
            "method": found.ravel().astype(str),
            "criterion": "q",
            "annotator": np.repeat(annotator, k).astype(str),
            "rank": np.tile(np.arange(1, k + 1), answers),
            "slot": np.repeat(np.arange(answers), k),
        }
    )


def print_boards(studies: int) -> None:
    print(
        f"{STORIES} stories (.5), {ANNOTATORS} annotators (.3): intervals that contain "
        "the truth, half-width (Elo), seconds a board"
    )
    for k, answers in ((2, 400), (3, 400), (4, 400), (5, 400), (4, 2000)):
        true = board_truth(k)
        for parts in PARTS:
            inside, rank_inside, widths = [], [], []
            start = time.perf_counter()
            for number in range(studies):
                study = board_study(k, answers, number)
                board = ranking_leaderboard(study, criterion="q", parts=parts)
                for row in board.rows:
                    at = int(row.method)
                    inside.append(row.low <= true[at] <= row.high)
                    rank_inside.append(row.rank_low <= at + 1 <= row.rank_high)
                    widths.append((row.high - row.low) / 2)
            took = (time.perf_counter() - start) / studies
            print(
                f"    k {k}, {answers} answers, {'+'.join(parts):<20} ratings "
                f"{np.mean(inside):.3f}  ranks {np.mean(rank_inside):.3f}  "
                f"{np.mean(widths):5.1f}  {took:.2f}"
            )
            sys.stdout.flush()


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--boards", type=int, default=100)
    options = parser.parse_args()
    print_times()
    print_worlds(options.studies)
    print_elo(options.studies)
    print_boards(options.boards)


if __name__ == "__main__":
    main()
