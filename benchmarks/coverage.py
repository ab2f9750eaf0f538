"""Do the 95 % intervals contain the truth? Simulated studies whose truth is known.

    python benchmarks/coverage.py [--studies 500] [--resamples 400] [--processes 2]
                                  [--only TEXT] [--csv FILE] [--svg FILE]

Every study is drawn from a model with story, method and annotator effects; its
intervals come from the functions behind `align`, `agreement` and `leaderboard`. The
truth is the value which an endless study would give: endless in what is drawn again,
and the same in everything else. Prints, for each statistic, how many intervals contain
it; `docs/coverage.md` explains the model and the outcome.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import csv
import functools
import itertools
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.correlations.levels import level_values
from analysis.correlations.metric_differences import metric_differences
from analysis.inference.resampling import no_draws
from analysis.options import COEFFICIENTS, LEVELS, Sampling
from analysis.pairwise.accuracy import pair_agreement
from analysis.pairwise.output_pairs import rating_pairs
from analysis.pairwise.soft_accuracy import soft_pairwise_accuracy
from analysis.rankings.bradley_terry import fit_model
from analysis.rankings.leaderboard import ELO_MEAN, ELO_SCALE, leaderboard
from analysis.rankings.method_means import mean_ratings
from analysis.reading.cells import (
    CellGrid,
    annotator_cells,
    same_within_tolerance,
)
from analysis.reliability.agreement import PARTS as AGREEMENT_PARTS
from analysis.reliability.agreement import STATISTICS, agreement
from analysis.reliability.matrices import rating_reliability

CONFIDENCE = 0.95
CLAIM = (0.92, 0.98)
# Studies come in worlds: what is not drawn again stays the same inside a world, and
# the truth belongs to the world.
STUDIES_IN_A_WORLD = 25
# Of a truth that is an average over studies.
STUDIES_OF_TRUTH = 100
METRICS = ("close", "coarse")


class Found(NamedTuple):
    """One interval of one study, beside the truth."""

    statistic: str
    level: str
    value: float
    low: float
    high: float
    truth: float


@dataclass(frozen=True)
class Design:
    """The size of a study, and what the clusters in it do (standard deviations).

    `raters` of the `annotators` rate each output. People's latent opinion of an output
    is story + method + cell; an annotator adds a bias and noise.
    """

    stories: int = 40
    methods: int = 12
    annotators: int = 20
    raters: int = 5
    story: float = 0.5
    method: float = 0.6
    cell: float = 0.5
    bias: float = 0.4
    noise: float = 0.8


# Metric to what it takes from people's opinion of story, method and cell, then to its
# own method part, its own cell part, and the step it is rounded to.
PARTS_OF_METRICS = {
    "close": (0.5, 1.0, 1.0, 0.35, 0.5, 0.0),
    "coarse": (0.8, 0.8, 0.5, 0.5, 0.7, 1.0),
}


def generator(*key: int) -> np.random.Generator:
    return np.random.default_rng([20, *key])


# --- Ratings and metrics ------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """What a design keeps: biases of the annotators and effects of the methods.

    `methods` has one row a method: people's opinion of it, then each metric's own part.
    """

    design: Design
    biases: np.ndarray
    methods: np.ndarray


def method_effects(design: Design, n: int, rng: np.random.Generator) -> np.ndarray:
    spread = [design.method, *(PARTS_OF_METRICS[name][3] for name in METRICS)]
    return rng.normal(size=(n, len(spread))) * spread


@functools.cache
def world(design: Design, number: int) -> World:
    rng = generator(1, number)
    biases = rng.normal(size=design.annotators) * design.bias
    return World(design, biases, method_effects(design, design.methods, rng))


def outputs(
    here: World, methods: np.ndarray, n_stories: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw people's opinions (S, M) and scores (K, S, M).

    `methods` is (1, M, .), or (S, M, .) for other methods in every story.
    """
    d = here.design
    shape = (n_stories, methods.shape[1])
    story = rng.normal(size=(n_stories, 1)) * d.story
    cell = rng.normal(size=shape) * d.cell
    scores = []
    for k, name in enumerate(METRICS):
        of_story, of_method, of_cell, _, own, step = PARTS_OF_METRICS[name]
        x = of_story * story + of_method * methods[..., 0] + of_cell * cell
        x = x + methods[..., 1 + k] + rng.normal(size=shape) * own
        scores.append(np.round(x / step) * step if step else x)
    return story + methods[..., 0] + cell, np.stack(scores)


def rated(
    here: World, opinions: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rate every output 0 to 4: who rates it, and how; both (R, S, M)."""
    d = here.design
    order = rng.random((d.annotators, *opinions.shape)).argpartition(d.raters - 1, 0)
    who = order[: d.raters]
    latent = 2 + opinions + here.biases[who] + rng.normal(size=who.shape) * d.noise
    return who, np.clip(np.round(latent), 0, 4)


def grid_of(
    here: World, methods: np.ndarray, n_stories: int, rng: np.random.Generator
) -> CellGrid:
    opinions, scores = outputs(here, methods, n_stories, rng)
    who, ratings = rated(here, opinions, rng)
    votes = np.full((here.design.annotators, *opinions.shape), np.nan)
    np.put_along_axis(votes, who, ratings, axis=0)
    return CellGrid(
        "quality",
        tuple(f"s{s:04d}" for s in range(opinions.shape[0])),
        tuple(f"m{m:04d}" for m in range(opinions.shape[1])),
        METRICS,
        np.ones(opinions.shape, bool),
        same_within_tolerance(ratings.mean(axis=0)),
        scores,
        votes,
        frozenset(),
    )


def frame_of(grid: CellGrid) -> pd.DataFrame:
    a, s, m = np.nonzero(np.isfinite(grid.votes))
    return pd.DataFrame(
        {
            "dimension": grid.question,
            "story": np.array(grid.stories)[s],
            "method": np.array(grid.methods)[m],
            "annotator": np.char.mod("a%03d", a),
            "rating": grid.votes[a, s, m],
        }
    )


def many_biases(design: Design, n: int) -> np.ndarray:
    """Spread annotators evenly over the distribution of their biases."""
    evenly = stats.norm.ppf((np.arange(n) + 0.5) / n)
    return evenly / evenly.std(ddof=1) * design.bias


def expected_rating(here: World, opinion: np.ndarray) -> np.ndarray:
    """Mean rating of a method over endless stories, by the normal distribution."""
    d = here.design
    spread = np.sqrt(d.story**2 + d.cell**2 + d.noise**2)
    steps = np.arange(0.5, 4)[:, None, None]
    points = np.linspace(opinion.min(), opinion.max(), 2001)
    centre = 2 + points + here.biases[:, None]
    means = stats.norm.cdf((centre - steps) / spread).sum(axis=0).mean(axis=0)
    return np.interp(opinion, points, means)


def expected_scores(here: World, methods: np.ndarray) -> np.ndarray:
    """Mean score over endless stories, (K, M); rounding is all but unbiased."""
    return np.stack(
        [
            PARTS_OF_METRICS[name][1] * methods[:, 0] + methods[:, 1 + k]
            for k, name in enumerate(METRICS)
        ]
    )


def coefficient(name: str, x: np.ndarray, y: np.ndarray) -> float:
    compute = {
        "kendall": stats.kendalltau,
        "spearman": stats.spearmanr,
        "pearson": stats.pearsonr,
    }
    return float(compute[name](x, y).statistic)


Truth = dict[tuple[str, str, str], float]


def _with_differences(found: Truth) -> Truth:
    for (metric, level, name), value in list(found.items()):
        if metric == METRICS[0]:
            other = found[METRICS[1], level, name]
            found["difference", level, name] = value - other
    return found


def _pair_truth(human: np.ndarray, scores: np.ndarray) -> Truth:
    """PPA of pairs of outputs of one story: human (.., 2), scores (K, .., 2)."""
    sign = np.sign(human[..., 0] - human[..., 1])
    clear = sign != 0
    found = {}
    for k, name in enumerate(METRICS):
        x = np.sign(scores[k, ..., 0] - scores[k, ..., 1])[clear]
        hit, tie = (x == sign[clear]).mean(), (x == 0).mean()
        found[name, "story", "ppa strict"] = float(hit)
        found[name, "story", "ppa half"] = float(hit + tie / 2)
    return found


@functools.cache
def methods_kept(design: Design, number: int) -> Truth:
    """Truth for these methods over endless stories."""
    here = world(design, number)
    rng = generator(2, number)
    grid = grid_of(here, here.methods[None], 12_000, rng)
    found = _levels_of(grid, ("story", "pooled"))
    human = expected_rating(here, here.methods[:, 0])
    for k, scores in enumerate(expected_scores(here, here.methods)):
        for name in COEFFICIENTS:
            found[METRICS[k], "method", name] = coefficient(name, human, scores)
    i, j = np.triu_indices(design.methods, 1)
    pairs = np.stack([i, j], axis=1)
    found |= _pair_truth(grid.human[:, pairs], grid.scores[:, :, pairs])
    return _with_differences(found)


@functools.cache
def methods_drawn(design: Design, number: int) -> Truth:
    """Truth over endless stories and methods, for these annotators."""
    found = dict(_endless_methods(replace(design, stories=0, methods=0), number))
    # Inside a story: coefficients over as many methods as the study has.
    here, rng = world(design, number), generator(11, number)
    n, m = 240_000 // design.methods, design.methods
    fresh = method_effects(design, n * m, rng).reshape(n, m, -1)
    found |= _levels_of(grid_of(here, fresh, n, rng), ("story",))
    return _with_differences(found)


@functools.cache
def _endless_methods(design: Design, number: int) -> Truth:
    """What does not depend on the size of a study."""
    here, rng = world(design, number), generator(3, number)
    # Two outputs a story: pooled pairs are of different stories and methods.
    n = 100_000
    methods = method_effects(design, 2 * n, rng).reshape(n, 2, -1)
    grid = grid_of(here, methods, n, rng)
    found = _pair_truth(grid.human, grid.scores)
    for k, metric in enumerate(METRICS):
        for name in COEFFICIENTS:
            value = coefficient(name, grid.human[:, 0], grid.scores[k, :, 0])
            found[metric, "pooled", name] = value
    sample = method_effects(design, n, rng)
    human = expected_rating(here, sample[:, 0])
    for k, scores in enumerate(expected_scores(here, sample)):
        for name in COEFFICIENTS:
            value = coefficient(name, human, scores)
            found[METRICS[k], "method", name] = value
    return found


def _levels_of(grid: CellGrid, levels: tuple[str, ...]) -> Truth:
    found = {}
    for level in levels:
        if level == "pooled":
            values = {
                name: [
                    coefficient(name, grid.human.ravel(), x.ravel())
                    for x in grid.scores
                ]
                for name in COEFFICIENTS
            }
        else:
            once = no_draws(*grid.cells.shape)
            sums = level_values(grid, level, once, COEFFICIENTS)
            values = {name: list(sums[name][:, 0]) for name in COEFFICIENTS}
        for name in COEFFICIENTS:
            for k, metric in enumerate(METRICS):
                found[metric, level, name] = float(values[name][k])
    return found


def correlation_study(
    design: Design,
    drawn: tuple[str, ...],
    parts: tuple[str, ...],
    resamples: int,
    study: int,
) -> list[Found]:
    """Correlations at all levels, their differences, and PPA."""
    number = study // STUDIES_IN_A_WORLD
    here, rng = world(design, number), generator(4, study)
    if "methods" in drawn:
        truth = methods_drawn(design, number)
        methods = method_effects(design, design.methods, rng)
    else:
        truth, methods = methods_kept(design, number), here.methods
    grid = grid_of(here, methods[None], design.stories, rng)
    sampling = Sampling(resamples=resamples, confidence=CONFIDENCE, seed=study)
    found = []
    for level in LEVELS:
        asked = grid, level, COEFFICIENTS
        spread = level_spread(*asked, parts, sampling)
        estimates = level_estimates(*asked, spread, sampling)
        for name in COEFFICIENTS:
            for metric in METRICS:
                e = estimates[metric, name]
                true = truth[metric, level, name]
                found.append(
                    Found(f"{name}, {metric}", level, e.value, e.low, e.high, true)
                )
        for told in metric_differences(*asked, spread, sampling):
            name = str(told["coefficient"])
            true = truth["difference", level, name]
            gap, low, high = (
                float(str(told[key])) for key in ("difference", "low", "high")
            )
            found.append(Found(f"{name}, difference", level, gap, low, high, true))
    for row in pair_agreement(rating_pairs(grid), epsilon="0", parts=parts, **sampling):
        if row.metric in METRICS:
            for kind, e in (("ppa strict", row.strict), ("ppa half", row.half)):
                true = truth[row.metric, "story", kind]
                found.append(
                    Found(
                        f"{kind}, {row.metric}", "story", e.value, e.low, e.high, true
                    )
                )
    return found


# --- Soft pairwise accuracy ---------------------------------------------------------


@functools.cache
def spa_truth(design: Design, number: int) -> dict[str, float]:
    """Return what studies of other stories, as many, give on average."""
    here, rng = world(design, number), generator(12, number)
    found = []
    for _ in range(STUDIES_OF_TRUTH):
        grid = grid_of(here, here.methods[None], design.stories, rng)
        rows = soft_pairwise_accuracy(
            grid, resamples=0, confidence=CONFIDENCE, seed=number
        )
        found.append([float(str(row["value"])) for row in rows])
    return dict(zip(METRICS, np.mean(found, axis=0), strict=True))


def spa_study(
    design: Design,
    drawn: tuple[str, ...],
    parts: tuple[str, ...],
    resamples: int,
    study: int,
) -> list[Found]:
    """Soft pairwise accuracy: these methods, other stories."""
    number = study // STUDIES_IN_A_WORLD
    here, rng = world(design, number), generator(13, study)
    grid = grid_of(here, here.methods[None], design.stories, rng)
    truth, found = spa_truth(design, number), []
    for row in soft_pairwise_accuracy(
        grid, resamples=resamples, confidence=CONFIDENCE, seed=study
    ):
        value, low, high = (float(str(row[key])) for key in ("value", "low", "high"))
        metric = str(row["metric"])
        found.append(Found(f"spa, {metric}", "", value, low, high, truth[metric]))
    return found


# --- Means of methods ---------------------------------------------------------------


def means_study(
    design: Design,
    drawn: tuple[str, ...],
    parts: tuple[str, ...],
    resamples: int,
    study: int,
) -> list[Found]:
    """Mean ratings of the methods: these methods, endless stories (and annotators)."""
    here, rng = world(design, study // STUDIES_IN_A_WORLD), generator(5, study)
    if "annotators" in drawn:
        here = replace(here, biases=rng.normal(size=design.annotators) * design.bias)
        crowd = replace(here, biases=many_biases(design, 200))
    else:
        crowd = here
    truth = expected_rating(crowd, here.methods[:, 0])
    rows = frame_of(grid_of(here, here.methods[None], design.stories, rng))
    found = mean_ratings(
        rows,
        annotator_cells(rows),
        dimension="quality",
        parts=parts,
        resamples=resamples,
        confidence=CONFIDENCE,
        seed=study,
    )
    return [
        Found("mean rating", "method", r.mean.value, r.mean.low, r.mean.high, t)
        for r, t in zip(found, truth, strict=True)
    ]


# --- Agreement ----------------------------------------------------------------------

AGREEMENT = (
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
    "ac1",
    "ac2_quadratic",
    "icc_2_1",
    "rater_vs_rest_spearman",
    "rater_vs_rest_kendall",
)
SCALE = (0, 4)


def _rated_by_all(
    here: World, methods: np.ndarray, n_stories: int, rng: np.random.Generator
) -> CellGrid:
    n = len(here.biases)
    everybody = replace(here.design, annotators=n, raters=n)
    return grid_of(replace(here, design=everybody), methods, n_stories, rng)


@functools.cache
def agreement_truth(design: Design, number: int, drawn: tuple[str, ...]) -> Truth:
    here, rng = world(design, number), generator(6, number)
    methods, n = here.methods[None], 60_000 // design.methods
    if "annotators" in drawn:
        here, n = replace(here, biases=many_biases(design, 50)), 8000
    if "methods" in drawn:
        n = 60_000
        methods = method_effects(design, n, rng)[:, None]
    grid = _rated_by_all(here, methods, n, rng)
    data = rating_reliability(frame_of(grid), SCALE)
    once = np.ones((1, len(data.per_unit)))
    names = AGREEMENT if "annotators" not in drawn else AGREEMENT[:5]
    found = {}
    for name in names:
        if name.startswith("rater"):
            found["", "", name] = _rater_vs_rest(grid.votes, name.split("_")[-1])
        else:
            found["", "", name] = float(STATISTICS[name](data, once)[0])
    return found


def _rater_vs_rest(votes: np.ndarray, name: str) -> float:
    found = []
    for a, own in enumerate(votes):
        rest = same_within_tolerance(np.delete(votes, a, 0).mean(axis=0))
        found.append(coefficient(name, own.ravel(), rest.ravel()))
    return float(np.mean(found))


def agreement_study(
    design: Design,
    drawn: tuple[str, ...],
    parts: tuple[str, ...],
    resamples: int,
    study: int,
) -> list[Found]:
    number = study // STUDIES_IN_A_WORLD
    truth = agreement_truth(design, number, drawn)
    here, rng = world(design, number), generator(8, study)
    methods = here.methods
    if "annotators" in drawn:
        here = replace(here, biases=rng.normal(size=design.annotators) * design.bias)
    if "methods" in drawn:
        methods = method_effects(design, design.methods, rng)
    rows = frame_of(_rated_by_all(here, methods[None], design.stories, rng))
    names = tuple(name for _, _, name in truth)
    found = agreement(
        rating_reliability(rows, SCALE),
        names,
        parts=parts,
        resamples=resamples,
        confidence=CONFIDENCE,
        seed=study,
        question="quality",
    )
    return [
        Found(
            r.statistic,
            "units",
            r.estimate.value,
            r.estimate.low,
            r.estimate.high,
            truth["", "", r.statistic],
        )
        for r in found
    ]


# --- Leaderboards -------------------------------------------------------------------


@dataclass(frozen=True)
class Arena:
    """Side-by-side answers: `story` and `taste` make some methods suit some better."""

    stories: int = 40
    methods: int = 6
    annotators: int = 20
    raters: int = 3
    spread: float = 0.5
    story: float = 0.7
    taste: float = 0.5
    tie: float = 0.4


def chances(arena: Arena, gap: np.ndarray) -> np.ndarray:
    """Chances that the first wins, the second wins, neither does: (3, ...)."""
    win = 1 / (1 + np.exp(arena.tie - gap))
    lose = 1 / (1 + np.exp(arena.tie + gap))
    return np.stack([win, lose, 1 - win - lose])


@functools.cache
def arena_strengths(arena: Arena, number: int) -> np.ndarray:
    return generator(9, number).normal(size=arena.methods) * arena.spread


@functools.cache
def arena_truth(arena: Arena, number: int, ties: str) -> np.ndarray:
    """Fit the model to the chances of all pairs over endless stories and annotators."""
    theta, M = arena_strengths(arena, number), arena.methods
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    spread = np.sqrt(2 * (arena.story**2 + arena.taste**2))
    gap = (theta[:, None] - theta[None, :])[..., None] + spread * nodes
    win, _, tie = (chances(arena, gap) * (weights / weights.sum())).sum(axis=-1)
    counts = np.zeros((1, 2, M, M))
    counts[0, 0] = win * (1 - np.eye(M))
    counts[0, 1] = np.triu(tie, 1)
    return ELO_MEAN + ELO_SCALE * fit_model(counts, ties=ties).theta[0]


def arena_study(
    arena: Arena, ties: str, parts: tuple[str, ...], resamples: int, study: int
) -> list[Found]:
    number, rng = study // STUDIES_IN_A_WORLD, generator(10, study)
    theta, M = arena_strengths(arena, number), arena.methods
    liking = (
        theta
        + rng.normal(size=(arena.stories, 1, M)) * arena.story
        + rng.normal(size=(1, arena.annotators, M)) * arena.taste
    )
    pairs = np.array(list(itertools.combinations(range(M), 2)))
    order = rng.random((arena.stories, len(pairs), arena.annotators)).argsort(axis=2)
    s, p, r = np.indices((arena.stories, len(pairs), arena.raters)).reshape(3, -1)
    who = order[s, p, r]
    i, j = pairs[p].T
    odds = chances(arena, liking[s, who, i] - liking[s, who, j])
    answer = (rng.random(len(s)) > odds.cumsum(axis=0)[:2]).sum(axis=0)
    rows = pd.DataFrame(
        {
            "criterion": "quality",
            "story": np.char.mod("s%03d", s),
            "method_a": np.char.mod("m%02d", i),
            "method_b": np.char.mod("m%02d", j),
            "annotator": np.char.mod("a%03d", who),
            "choice": np.array(["a", "b", "tie"])[answer],
        }
    )
    board, _ = leaderboard(
        rows,
        criterion="quality",
        ties=ties,
        parts=parts,
        resamples=resamples,
        confidence=CONFIDENCE,
        seed=study,
    )
    truth = dict(
        zip(
            np.char.mod("m%02d", range(M)),
            arena_truth(arena, number, ties),
            strict=True,
        )
    )
    name = "bradley-terry" if ties == "half" else ties
    return [
        Found(name, "method", r.rating, r.low, r.high, float(truth[r.method]))
        for r in board
    ]


# --- The table ----------------------------------------------------------------------


@dataclass(frozen=True)
class Scenario:
    """Studies of one design, and what their intervals draw.

    `drawn` says what an endless study would have endlessly many of; everything else
    is the same in all studies of a world.
    """

    family: str
    drawn: str
    resample: str
    study: Callable[..., list[Found]]
    design: Design | Arena
    ties: str = ""

    @property
    def size(self) -> str:
        d = self.design
        sizes = {
            "correlation": f"{d.stories} stories x {d.methods} methods",
            "spa": f"{d.stories} stories x {d.methods} methods",
            "mean": f"{d.stories} stories, {d.annotators} annotators",
            "agreement": f"{d.stories} stories x {d.methods} outputs, "
            f"{d.annotators} annotators",
            "leaderboard": f"{d.stories} stories, {d.annotators} annotators",
        }
        return sizes[self.family]

    def run(self, resamples: int, study: int) -> list[Found]:
        what = self.ties or tuple(self.drawn.split("+"))
        parts = tuple(self.resample.split("+"))
        return self.study(self.design, what, parts, resamples, study)


BOTH, VOTES = "stories+methods", "stories+annotators"
SIZE = Design()
PANEL = Design(annotators=5, raters=5)
DEFAULTS = {
    "correlation": BOTH,
    "spa": "stories",
    "mean": "stories",
    "agreement": "units",
    "leaderboard": VOTES,
}


def scenarios() -> Iterator[Scenario]:
    """Yield each design with its default first, then what is compared with it."""
    for stories, methods in ((40, 12), (20, 26), (40, 8), (80, 5)):
        design = replace(SIZE, stories=stories, methods=methods)
        yield Scenario("correlation", BOTH, BOTH, correlation_study, design)
    yield Scenario("correlation", BOTH, "units", correlation_study, SIZE)
    for stories in (40, 10):
        design = replace(SIZE, stories=stories)
        yield Scenario("correlation", "stories", "stories", correlation_study, design)
    yield Scenario("correlation", "stories", "units", correlation_study, SIZE)
    for stories, methods in ((40, 12), (20, 26), (40, 8), (80, 5)):
        design = replace(SIZE, stories=stories, methods=methods)
        yield Scenario("spa", "stories", "stories", spa_study, design)
    for stories, methods, drawn, resample in (
        (100, 1, "stories", "units"),
        (300, 1, "stories", "units"),
        (40, 4, "stories", "units"),
        (40, 4, "stories", "stories"),
        (20, 10, BOTH, BOTH),
        (20, 10, BOTH, "units"),
    ):
        design = replace(PANEL, stories=stories, methods=methods)
        yield Scenario("agreement", drawn, resample, agreement_study, design)
    if "annotators" in AGREEMENT_PARTS:
        panel = replace(PANEL, stories=100, methods=1, annotators=15, raters=15)
        for resample in ("annotators+units", "units"):
            yield Scenario("agreement", VOTES, resample, agreement_study, panel)
    for design in (Arena(), Arena(stories=20, annotators=8)):
        yield Scenario("leaderboard", VOTES, VOTES, arena_study, design, "half")
    yield Scenario("leaderboard", VOTES, "units", arena_study, Arena(), "half")
    yield Scenario("leaderboard", VOTES, VOTES, arena_study, Arena(), "davidson")
    yield Scenario("mean", "stories", "stories", means_study, SIZE)
    yield Scenario("mean", VOTES, VOTES, means_study, SIZE)
    yield Scenario("mean", VOTES, "units", means_study, SIZE)


class Line(NamedTuple):
    """One line of the table: `coverage` with its Monte-Carlo standard `error`."""

    family: str
    statistic: str
    level: str
    size: str
    drawn: str
    resample: str
    default: bool
    studies: int
    coverage: float
    error: float
    width: float
    truth: float
    bias: float
    without: int


def run(scenario: Scenario, resamples: int, numbers: range) -> list[list[Found]]:
    return [scenario.run(resamples, number) for number in numbers]


def summarise(scenario: Scenario, found: list[list[Found]]) -> Iterator[Line]:
    """Count intervals that hold the truth; a study without an interval has none."""
    for key in dict.fromkeys((f.statistic, f.level) for one in found for f in one):
        own = [[f for f in one if (f.statistic, f.level) == key] for one in found]
        rows = [f for one in own for f in one if np.isfinite(f.low)]
        # The methods of a study are not independent: average inside it first.
        inside = [np.mean([f.low <= f.truth <= f.high for f in one]) for one in own]
        yield Line(
            scenario.family,
            *key,
            scenario.size,
            scenario.drawn,
            scenario.resample,
            scenario.resample == DEFAULTS[scenario.family],
            len(found),
            float(np.mean(inside)),
            float(np.std(inside) / np.sqrt(len(found))),
            float(np.mean([f.high - f.low for f in rows])),
            float(np.mean([f.truth for f in rows])),
            float(np.mean([f.value - f.truth for f in rows])),
            sum(len(one) for one in own) - len(rows),
        )


def print_lines(scenario: Scenario, lines: list[Line], seconds: float) -> None:
    print(
        f"\n{scenario.family}, {scenario.size}; endlessly many {scenario.drawn}; "
        f"resample {scenario.resample} ({seconds:.0f} s)"
    )
    print(f"{'':30}{'level':9}coverage        width   truth    bias")
    for line in lines:
        outside = not CLAIM[0] <= line.coverage <= CLAIM[1]
        lost = f"  {line.without} without interval" if line.without else ""
        print(
            f"  {line.statistic:28}{line.level:9}"
            f"{line.coverage:.3f} +- {line.error:.3f}{' !' if outside else '  '}"
            f"{line.width:8.3f}{line.truth:8.3f}{line.bias:+8.3f}{lost}",
            flush=True,
        )


# --- The figure ---------------------------------------------------------------------

SHOWN = (
    ("kendall, close", "tau-b"),
    ("spearman, close", "Spearman"),
    ("pearson, close", "Pearson"),
    ("kendall, difference", "difference of two tau-b"),
    ("ppa strict, coarse", "PPA strict"),
    ("alpha_nominal", "alpha nominal"),
    ("alpha_ordinal", "alpha ordinal"),
    ("alpha_interval", "alpha interval"),
    ("ac2_quadratic", "AC2"),
    ("bradley-terry", "Bradley-Terry"),
    ("mean rating", "mean rating"),
)
LEFT, SCALE_WIDTH, STEP = 250, 420, 22
LEAST = 0.3


def figure(lines: list[Line]) -> str:
    """Draw the coverage of clusters beside that of single units, as SVG."""
    clusters = {VOTES, BOTH, "stories", "annotators+units"}
    rows = []
    for statistic, label in SHOWN:
        naive = [f for f in lines if f.statistic == statistic and f.resample == "units"]
        for own in naive:
            for other in lines:
                same = own._replace(resample="", default=False)[:7]
                if (
                    other._replace(resample="", default=False)[:7] == same
                    and other.resample in clusters
                    and not (own.family == "correlation" and own.drawn == "stories")
                ):
                    more = {"correlation": own.level, "agreement": other.resample}
                    suffix = f", {more[own.family]}" if own.family in more else ""
                    rows.append((label + suffix, other, own))
    height = 70 + STEP * len(rows)

    def x(share: float) -> float:
        return LEFT + SCALE_WIDTH * (share - LEAST) / (1 - LEAST)

    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {height}" '
        'font-family="sans-serif" font-size="13" role="img">',
        "<title>Share of 95 % intervals that contain the truth</title>",
        f'<rect width="700" height="{height}" fill="#fff"/>',
        f'<rect x="{x(CLAIM[0]):.1f}" y="40" width="{x(CLAIM[1]) - x(CLAIM[0]):.1f}" '
        f'height="{STEP * len(rows)}" fill="#d8ecd8"/>',
        f'<circle cx="{LEFT}" cy="16" r="5" fill="#1b4f8f"/>',
        f'<text x="{LEFT + 10}" y="20">whole clusters drawn</text>',
        f'<circle cx="{LEFT + 170}" cy="16" r="4.5" fill="#fff" stroke="#b5452c" '
        'stroke-width="2"/>',
        f'<text x="{LEFT + 180}" y="20">single units drawn</text>',
    ]
    for tick in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0):
        drawn.append(
            f'<path d="M{x(tick):.1f} 40V{40 + STEP * len(rows)}" stroke="#ddd"/>'
        )
        if tick != 0.95:
            drawn.append(
                f'<text x="{x(tick):.1f}" y="{height - 12}" text-anchor="middle">'
                f"{tick:.0%}</text>"
            )
    for n, (label, own, naive) in enumerate(rows):
        y = 40 + STEP * (n + 0.5)
        drawn.append(
            f'<text x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        )
        for line, style in (
            (naive, 'r="4.5" fill="#fff" stroke="#b5452c" stroke-width="2"'),
            (own, 'r="5" fill="#1b4f8f"'),
        ):
            low, high = (
                x(min(max(line.coverage + z * line.error, LEAST), 1)) for z in (-2, 2)
            )
            centre = x(max(line.coverage, LEAST))
            drawn.append(
                f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" stroke="#888"/>'
                f'<circle cx="{centre:.1f}" cy="{y:.1f}" {style}/>'
            )
    return "\n".join([*drawn, "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=400)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="families that begin so")
    parser.add_argument("--csv", type=Path, help="also write the table there")
    parser.add_argument("--svg", type=Path, help="also draw the figure there")
    options = parser.parse_args()
    worlds = [
        range(start, min(start + STUDIES_IN_A_WORLD, options.studies))
        for start in range(0, options.studies, STUDIES_IN_A_WORLD)
    ]
    lines = []
    with multiprocessing.Pool(options.processes) as pool:
        for scenario in scenarios():
            if not scenario.family.startswith(options.only):
                continue
            start = time.perf_counter()
            job = functools.partial(run, scenario, options.resamples)
            found = [one for part in pool.map(job, worlds, 1) for one in part]
            lines.append(list(summarise(scenario, found)))
            print_lines(scenario, lines[-1], time.perf_counter() - start)
    everything = [line for some in lines for line in some]
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(Line._fields)
            for line in everything:
                writer.writerow(
                    [f"{v:.4f}" if isinstance(v, float) else v for v in line]
                )
    if options.svg:
        options.svg.write_text(figure(everything))


if __name__ == "__main__":
    main()
