"""Leaderboards of methods: answers side by side, new stories and annotators.

Methods suit some stories and annotators better than others.
"""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.options import Sampling
from analysis.rankings.bradley_terry import fit_model
from analysis.rankings.leaderboard import leaderboard
from analysis.rankings.standings import ELO_MEAN, ELO_SCALE
from analysis.rankings.win_rates import method_win_rates, win_rates
from analysis.results import TableRow
from benchmarks.coverage.scenarios import (
    STORIES_ANNOTATORS,
    UNITS,
    Interval,
    Parts,
    Scenario,
    interval_in,
)
from benchmarks.coverage.studies import generator, world_of

CRITERION = "quality"


@dataclass(frozen=True)
class Arena:
    """The size of a study of choices: `raters` of the annotators answer each pair.

    Standard deviations, on the logistic scale: of the strengths of methods, and of what
    a story and an annotator's taste add to them; `tie` makes ties more frequent. Where
    votes are `uneven` the k-th annotator gives them as often as 1/k. Pairs but the
    first are asked about in one of `thinned` stories.
    """

    stories: int = 40
    methods: int = 6
    annotators: int = 20
    raters: int = 3
    spread: float = 0.5
    story: float = 0.7
    taste: float = 0.5
    tie: float = 0.4
    uneven: bool = False
    thinned: int = 1


def scenarios() -> Iterator[Scenario]:
    default = STORIES_ANNOTATORS
    yield scenario(Arena(), "half", default)
    yield scenario(Arena(), "half", UNITS)
    yield scenario(Arena(), "davidson", default)
    for annotators in (3, 5, 8, 20):
        for name, differ in (("none", 0.0), ("middling", 0.4), ("strong", 0.8)):
            arena = Arena(20, 5, annotators, story=differ, taste=differ)
            yield scenario(arena, "half", default, f", differ: {name}")
    for annotators in (8, 20):
        arena = Arena(20, 5, annotators, story=0.4, taste=0.4, uneven=True)
        yield scenario(arena, "half", default, ", uneven votes")
    for annotators in (3, 8):
        arena = Arena(40, 5, annotators, story=0.4, taste=0.8, thinned=10)
        yield scenario(arena, "half", default, ", one pair ten times as often")


def scenario(arena: Arena, ties: str, resample: Parts, more: str = "") -> Scenario:
    size = f"{arena.stories} stories, {arena.annotators} annotators{more}"
    study = functools.partial(arena_study, arena, ties, resample)
    return Scenario("leaderboard", size, STORIES_ANNOTATORS, resample, study)


def chances(arena: Arena, gap: np.ndarray) -> np.ndarray:
    """Chances that the first wins, the second wins, neither does: (3, ...)."""
    win = 1 / (1 + np.exp(arena.tie - gap))
    lose = 1 / (1 + np.exp(arena.tie + gap))
    return np.stack([win, lose, 1 - win - lose])


@functools.cache
def strengths(arena: Arena, number: int) -> np.ndarray:
    return generator(9, number).normal(size=arena.methods) * arena.spread


@functools.cache
def arena_truth(arena: Arena, number: int, ties: str) -> np.ndarray:
    """Fit the model to the chances of all pairs over endless stories and annotators."""
    theta, M = strengths(arena, number), arena.methods
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    spread = np.sqrt(2 * (arena.story**2 + arena.taste**2))
    gap = (theta[:, None] - theta[None, :])[..., None] + spread * nodes
    win, _, tie = (chances(arena, gap) * (weights / weights.sum())).sum(axis=-1)
    counts = np.zeros((2, M, M))
    counts[0] = win * (1 - np.eye(M))
    counts[1] = np.triu(tie, 1)
    return ELO_MEAN + ELO_SCALE * fit_model(counts, ties=ties).theta


def simulated_choices(
    arena: Arena, theta: np.ndarray, rng: np.random.Generator
) -> pd.DataFrame:
    """Draw new stories and annotators, and their answers to all pairs."""
    M = arena.methods
    liking = (
        theta
        + rng.normal(size=(arena.stories, 1, M)) * arena.story
        + rng.normal(size=(1, arena.annotators, M)) * arena.taste
    )
    pairs = np.array(list(itertools.combinations(range(M), 2)))
    turn = rng.exponential(size=(arena.stories, len(pairs), arena.annotators))
    if arena.uneven:
        turn *= np.arange(1, arena.annotators + 1)
    order = turn.argsort(axis=2)
    s, p, r = np.indices((arena.stories, len(pairs), arena.raters)).reshape(3, -1)
    who = order[s, p, r]
    asked = (p == 0) | (s % arena.thinned == 0)
    s, p, who = s[asked], p[asked], who[asked]
    i, j = pairs[p].T
    odds = chances(arena, liking[s, who, i] - liking[s, who, j])
    answer = (rng.random(len(s)) > odds.cumsum(axis=0)[:2]).sum(axis=0)
    return pd.DataFrame(
        {
            "criterion": CRITERION,
            "story": np.char.mod("s%03d", s),
            "method_a": np.char.mod("m%02d", i),
            "method_b": np.char.mod("m%02d", j),
            "annotator": np.char.mod("a%03d", who),
            "choice": np.array(["a", "b", "tie"])[answer],
        }
    )


@functools.cache
def rate_truth(arena: Arena, number: int) -> np.ndarray:
    """Return how often methods win over endless stories and annotators: (M, M)."""
    theta = strengths(arena, number)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    spread = np.sqrt(2 * (arena.story**2 + arena.taste**2))
    gap = (theta[:, None] - theta[None, :])[..., None] + spread * nodes
    win, _, tie = (chances(arena, gap) * (weights / weights.sum())).sum(axis=-1)
    return np.asarray(win + tie / 2)


def arena_study(
    arena: Arena, ties: str, parts: Parts, study: int, sampling: Sampling
) -> list[Interval]:
    """Draw a study: ratings of its methods, their ranks, and how often they win."""
    number, M = world_of(study), arena.methods
    rows = simulated_choices(arena, strengths(arena, number), generator(10, study))
    how = {"parts": parts, "confidence": sampling["confidence"]}
    if arena.thinned > 1:
        return pair_rates(arena, number, win_rates(rows, **how))
    board = leaderboard(rows, criterion=CRITERION, ties=ties, **how)
    true = arena_truth(arena, number, ties)
    place = {str(name): k for k, name in enumerate(np.char.mod("m%02d", range(M)))}
    name = "bradley-terry" if ties == "half" else ties
    found = [
        Interval(name, "method", r.rating, r.low, r.high, float(true[place[r.method]]))
        for r in board.rows
    ]
    ranks = 1 + (true[None, :] > true[:, None]).sum(axis=1)
    inside = all(
        r.rank_low <= ranks[place[r.method]] <= r.rank_high for r in board.rows
    )
    width = np.mean([r.rank_high - r.rank_low for r in board.rows])
    # One interval a study that holds where all ranks do; as wide as ranks are unsure.
    found.append(
        Interval("all ranks", "method", width, 0.0, width, 0.0 if inside else -1)
    )
    if ties == "half":
        found += pair_rates(arena, number, win_rates(rows, **how))
        rates = rate_truth(arena, number)
        for row in method_win_rates(rows, **how):
            k = place[row["method"]]
            truth = float((rates[k].sum() - rates[k, k]) / (M - 1))
            found.append(interval_in(row, "rate", "win rate", "method", truth))
    return found


def pair_rates(arena: Arena, number: int, rows: list[TableRow]) -> list[Interval]:
    """Return the intervals of pairs, apart where one is asked about more often."""
    truth = rate_truth(arena, number)
    found = []
    for row in rows:
        a, b = (int(str(row[name])[1:]) for name in ("method_a", "method_b"))
        level = "often" if arena.thinned > 1 and (a, b) == (0, 1) else "pair"
        rate = float(truth[a, b])
        found.append(interval_in(row, "rate_a", "win rate", level, rate))
    return found
