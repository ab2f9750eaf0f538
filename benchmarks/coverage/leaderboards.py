"""Leaderboards of methods: answers side by side, new stories and annotators.

Methods suit some stories and annotators better than others. Where methods are equal and
the first has few stories, tests of its differences are counted apart.
"""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.options import Sampling
from analysis.rankings.bradley_terry import fit_model, leaderboard
from analysis.rankings.standings import ELO_MEAN, ELO_SCALE
from analysis.rankings.win_rates import method_win_rates, win_rates
from benchmarks.coverage import counting
from benchmarks.coverage.counting import Interval, Parts, Scenario
from benchmarks.coverage.studies import generator, world_of

CRITERION = "quality"


@dataclass(frozen=True)
class Arena:
    """The size of a study of choices: `raters` of the annotators answer each pair.

    A story asks about `pairs` of its pairs at most, and the first method has only
    `rare` stories. Standard deviations, on the logistic scale: of the strengths of
    methods, and of what a story and an annotator's taste add to them; `tie` makes ties
    more frequent.
    """

    stories: int = 40
    methods: int = 6
    annotators: int = 20
    raters: int = 3
    spread: float = 0.5
    story: float = 0.7
    taste: float = 0.5
    tie: float = 0.4
    pairs: int = 1000
    rare: int = 1000


def scenarios() -> Iterator[Scenario]:
    default = counting.STORIES_ANNOTATORS
    yield scenario(Arena(), default)
    yield scenario(Arena(), counting.UNITS)
    for annotators in (3, 5, 8, 20):
        for name, differ in (("none", 0.0), ("middling", 0.4), ("strong", 0.8)):
            arena = Arena(20, 5, annotators, story=differ, taste=differ)
            yield scenario(arena, default, f", differ: {name}")
    for methods in (5, 8, 23):
        for annotators in (3, 8, 20):
            for rare in (40, 5):
                arena = Arena(40, methods, annotators, 3, 0.0, 0.4, 0.4)
                arena = replace(arena, pairs=2 * methods, rare=rare)
                yield equal_methods(arena)


def equal_methods(arena: Arena) -> Scenario:
    size = f"{arena.methods} methods, {arena.annotators} annotators, first in "
    study = functools.partial(equal_study, arena)
    parts = counting.STORIES_ANNOTATORS
    return Scenario("equal methods", f"{size}{arena.rare} of 40", parts, parts, study)


def scenario(arena: Arena, resample: Parts, more: str = "") -> Scenario:
    size = f"{arena.stories} stories, {arena.annotators} annotators{more}"
    study = functools.partial(arena_study, arena, resample)
    return Scenario("leaderboard", size, counting.STORIES_ANNOTATORS, resample, study)


def chances(arena: Arena, gap: np.ndarray) -> np.ndarray:
    """Chances that the first wins, the second wins, neither does: (3, ...)."""
    win = 1 / (1 + np.exp(arena.tie - gap))
    lose = 1 / (1 + np.exp(arena.tie + gap))
    return np.stack([win, lose, 1 - win - lose])


@functools.cache
def strengths(arena: Arena, number: int) -> np.ndarray:
    return generator(9, number).normal(size=arena.methods) * arena.spread


@functools.cache
def endless(arena: Arena, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how often methods win and tie over endless stories and annotators."""
    theta = strengths(arena, number)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    spread = np.sqrt(2 * (arena.story**2 + arena.taste**2))
    gap = (theta[:, None] - theta[None, :])[..., None] + spread * nodes
    win, _, tie = (chances(arena, gap) * (weights / weights.sum())).sum(axis=-1)
    return win, tie


@functools.cache
def arena_truth(arena: Arena, number: int) -> np.ndarray:
    """Fit the model to the chances of all pairs."""
    win, tie = endless(arena, number)
    counts = np.zeros((2, *win.shape))
    counts[0] = win * (1 - np.eye(arena.methods))
    counts[1] = np.triu(tie, 1)
    return ELO_MEAN + ELO_SCALE * fit_model(counts, ties="half").theta


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
    order = turn.argsort(axis=2)
    chosen = rng.random((arena.stories, len(pairs)))
    chosen[arena.rare :, pairs[:, 0] == 0] = np.inf
    asked = np.isfinite(chosen) & (chosen.argsort(axis=1).argsort(axis=1) < arena.pairs)
    s, p = (np.repeat(each, arena.raters) for each in np.nonzero(asked))
    who = order[s, p, np.arange(len(s)) % arena.raters]
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


def equal_study(arena: Arena, study: int, sampling: Sampling) -> list[Interval]:
    """Draw a study of equal methods: ratings and differences, by the first method."""
    rows = simulated_choices(arena, np.zeros(arena.methods), generator(12, study))
    found = []
    board = leaderboard(rows, criterion=CRITERION, confidence=sampling["confidence"])
    for row in board.comparisons:
        which = "first" if "m00" in (row["method_a"], row["method_b"]) else "others"
        which = "difference", which, 0.0
        found.append(counting.interval_in(row, "difference", *which))
    for one in board.rows:
        which = "first" if one.method == "m00" else "others"
        bounds = one.rating, one.low, one.high, ELO_MEAN
        found.append(Interval("bradley-terry", which, *bounds))
    return found


def arena_study(
    arena: Arena, parts: Parts, study: int, sampling: Sampling
) -> list[Interval]:
    """Draw a study: ratings of its methods, their ranks, and how often they win."""
    number, M = world_of(study), arena.methods
    rows = simulated_choices(arena, strengths(arena, number), generator(10, study))
    how = {"parts": parts, "confidence": sampling["confidence"]}
    board = leaderboard(rows, criterion=CRITERION, **how)
    true = arena_truth(arena, number)
    place = {str(name): k for k, name in enumerate(np.char.mod("m%02d", range(M)))}
    found = [
        Interval(
            "bradley-terry", "method", r.rating, r.low, r.high, true[place[r.method]]
        )
        for r in board.rows
    ]
    ranks = 1 + (true[None, :] > true[:, None]).sum(axis=1)
    inside = all(
        r.rank_low <= ranks[place[r.method]] <= r.rank_high for r in board.rows
    )
    width = np.mean([r.rank_high - r.rank_low for r in board.rows])
    # One interval a study that holds where all ranks do; as wide as ranks are unsure.
    all_ranks = 0.0, width, 0.0 if inside else -1
    found.append(Interval("all ranks", "method", width, *all_ranks))
    win, tie = endless(arena, number)
    rates = win + tie / 2
    for row in win_rates(rows, **how):
        a, b = (place[str(row[name])] for name in ("method_a", "method_b"))
        rate = float(rates[a, b])
        found.append(counting.interval_in(row, "rate_a", "win rate", "pair", rate))
    for row in method_win_rates(rows, **how):
        k = place[str(row["method"])]
        rate = float((rates[k].sum() - rates[k, k]) / (M - 1))
        found.append(counting.interval_in(row, "rate", "win rate", "method", rate))
    return found
