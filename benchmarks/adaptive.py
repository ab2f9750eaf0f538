"""How many comparisons does adaptive choice save, and are the estimates unbiased?

    python benchmarks/adaptive.py [--studies 200] [--processes 2] [--only TEXT]

Simulated studies of 12 methods and 20 stories, three slots for every pair of methods in
every story, twelve annotators, answers by Davidson with one tie in seven among equals.
Every study is run twice, with pairs drawn alike and with adaptive ones, until the best
three are told apart or the slots are used up: by one look at the posterior, by the
rule of the answers alone, and by that with the test of a leaderboard, for other
stories and annotators, as studies stop. Estimates are compared after a number of
answers that is fixed beforehand, and how often intervals of win rates hold is counted
there. Seeds are fixed; `docs/adaptive.md` explains the outcome.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import functools
import multiprocessing
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from analysis.rankings.bradley_terry import fit_model
from analysis.rankings.leaderboard import leaderboard
from analysis.rankings.method_verdicts import TopMethods, top_methods
from analysis.rankings.pair_votes import inverse_weights
from analysis.rankings.win_rates import method_win_rates
from annotate.assignment.adaptive import (
    ChosenUnit,
    StopRule,
    information,
    pick,
    posterior,
    separated,
)

METHODS, STORIES, REDUNDANCY, TOP, ANNOTATORS = 12, 20, 3, 3, 12
PAIRS = METHODS * (METHODS - 1) // 2
SLOTS = PAIRS * STORIES * REDUNDANCY
TIE = 0.35
# Answers between two fits and looks: several people answer at once.
BATCH = 10
# Draws from the posterior in a look.
DRAWS = 2000
# Answers after which estimates are compared.
FIXED = 600
RULE = StopRule(TOP)
GROUPS = {"best 3": slice(0, 3), "middle 6": slice(3, 9), "last 3": slice(9, 12)}


@dataclass(frozen=True)
class World:
    """Where abilities come from: normal, with a gap below the best three if given."""

    name: str
    sd: float = 1.0
    gap: tuple[float, float] | None = None
    of_story: float = 0.0
    of_annotator: float = 0.0


WORLDS = (
    World("a gap of .4 to .6", gap=(0.4, 0.6)),
    World("any abilities"),
    World("third and fourth equal", gap=(0.0, 0.0)),
    World("a gap of .4 to .6, and stories differ (.5)", gap=(0.4, 0.6), of_story=0.5),
    World(
        "a gap of .4 to .6, and people differ (.5)", gap=(0.4, 0.6), of_annotator=0.5
    ),
    World("third and fourth equal, people differ (.5)", gap=(0, 0), of_annotator=0.5),
)


@dataclass
class Study:
    """What one simulated study came to; methods sorted, the truly best first."""

    plain: tuple[int, bool] | None = None
    stopped: tuple[int, bool] | None = None
    told: tuple[int, bool] | None = None
    errors: dict[str, np.ndarray] = field(default_factory=dict)
    held: np.ndarray = field(default_factory=lambda: np.zeros(0))
    width: float = 0.0
    seconds: float = 0.0


def abilities(world: World, rng: np.random.Generator) -> np.ndarray:
    """Sorted, mean 0; the best three are moved to make the gap."""
    found = np.sort(rng.normal(size=METHODS) * world.sd)[::-1]
    if world.gap is not None:
        found[:TOP] += found[TOP] - found[TOP - 1] + rng.uniform(*world.gap)
    return found - found.mean()


def chances(ability: np.ndarray) -> np.ndarray:
    """Win, tie, loss of every row against every column; (3, m, m, stories)."""
    half = np.exp((ability[:, None] - ability) / 2)
    mass = half + 1 / half + TIE
    return np.stack([half / mass, TIE / mass, 1 / half / mass])


def simulate(world: World, adaptive: bool, number: int) -> Study:
    rng = np.random.default_rng([7, number, WORLDS.index(world)])
    ability = abilities(world, rng)
    shift = rng.normal(size=(METHODS, STORIES)) * world.of_story
    outcome = chances(ability[:, None] + shift - shift.mean(axis=1, keepdims=True))
    order = rng.permutation(METHODS)  # Names tell nothing of abilities.
    outcome = outcome[:, order][:, :, order]
    liking = rng.normal(size=(METHODS, ANNOTATORS)) * world.of_annotator
    rng = np.random.default_rng([8, number, adaptive])
    free = np.zeros((METHODS, METHODS, STORIES), int)
    free[np.triu_indices(METHODS, 1)] = REDUNDANCY
    wins, ties = np.zeros((2, METHODS, METHODS))
    gain = np.zeros((METHODS, METHODS))
    alike = shuffled(rng)
    study = Study()
    log: list[tuple[ChosenUnit, float]] = []
    people: list[int] = []
    while len(log) < SLOTS and (study.told is None or len(log) < FIXED):
        if len(log) % BATCH == 0:
            start = time.perf_counter()
            known = posterior(wins, ties)
            if adaptive:
                gain = information(known, top=TOP)
            study.seconds += time.perf_counter() - start
            look(study, known, order, log, people)
        start = time.perf_counter()
        choice = pick(gain, free, rng) if adaptive else next(alike)
        study.seconds += time.perf_counter() - start
        i, j = choice.pair
        who = int(rng.integers(ANNOTATORS))
        win, tie, loss = outcome[:, i, j, choice.story]
        if world.of_annotator:
            more = np.exp((liking[i, who] - liking[j, who]) / 2)
            mass = win * more + tie + loss / more
            win, tie = win * more / mass, tie / mass
        luck = rng.random()
        score = 1.0 if luck < win else 0.5 if luck < win + tie else 0.0
        wins[i, j] += score == 1
        wins[j, i] += score == 0
        ties[i, j] += score == 0.5
        free[i, j, choice.story] -= 1
        log.append((choice, score))
        people.append(who)
        if len(log) == FIXED:
            study.errors = errors(log, wins, ties, outcome, ability, order)
            rates = rates_of_all(world, ability)[order]
            study.held, study.width = intervals(log, people, rates)
    study.seconds /= len(log)
    return study


def rates_of_all(world: World, ability: np.ndarray) -> np.ndarray:
    """Return mean win rates over endless stories and annotators."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    spread = np.sqrt(2 * (world.of_story**2 + world.of_annotator**2))
    gap = (ability[:, None] - ability)[..., None] + spread * nodes
    half = np.exp(gap / 2)
    rate = (half + TIE / 2) / (half + 1 / half + TIE) @ (weights / weights.sum())
    return (rate.sum(axis=1) - 0.5) / (METHODS - 1)


def shuffled(rng: np.random.Generator) -> Iterator[ChosenUnit]:
    """All slots in random order."""
    i, j = np.triu_indices(METHODS, 1)
    for left, slot in zip(range(SLOTS, 0, -1), rng.permutation(SLOTS), strict=True):
        pair, story = divmod(int(slot) // REDUNDANCY, STORIES)
        yield ChosenUnit((int(i[pair]), int(j[pair])), story, 1 / left, 1 / left, left)


def look(
    study: Study,
    known,
    order: np.ndarray,
    log: list[tuple[ChosenUnit, float]],
    people: list[int],
) -> None:
    """Note where one look at .95, the rule, and the tests hold for the first time."""
    if study.told is not None or (known.comparisons < RULE.least).any():
        return
    answers = len(log)
    right = set(order[known.top(TOP)]) == set(range(TOP))
    certainty = separated(known, TOP, draws=DRAWS)
    if study.plain is None and certainty >= RULE.confidence:
        study.plain = answers, right
    if certainty < RULE.threshold:
        return
    if study.stopped is None:
        study.stopped = answers, right
    best = for_others(log, people)
    if best.p_value <= RULE.largest_p:
        found = {order[int(name)] for name in best.methods}
        study.told = answers, found == set(range(TOP))


def for_others(log: list[tuple[ChosenUnit, float]], people: list[int]) -> TopMethods:
    """Test the best three as a study does that is about to stop."""
    found = leaderboard(answers(log, people), criterion="q")
    ranks = {row.method: row.rank for row in found.rows}
    return top_methods(ranks, found.comparisons, TOP)


def answers(log: list[tuple[ChosenUnit, float]], people: list[int]) -> pd.DataFrame:
    first, second = np.array([choice.pair for choice, _ in log]).T
    score = np.array([score for _, score in log])
    return pd.DataFrame(
        {
            "story": [str(choice.story) for choice, _ in log],
            "method_a": first.astype(str),
            "method_b": second.astype(str),
            "annotator": np.array(people).astype(str),
            "choice": np.select([score == 1, score == 0], ["a", "b"], "tie"),
        }
    )


def intervals(
    log: list[tuple[ChosenUnit, float]], people: list[int], truth: np.ndarray
) -> tuple[np.ndarray, float]:
    """Tell which intervals of win rates hold the truth, and how wide they are."""
    choices = answers(log, people).assign(weight=weights_of(log))
    rows = method_win_rates(choices, parts=("stories", "annotators"))
    low, high, true = np.array(
        [(row["low"], row["high"], truth[int(row["method"])]) for row in rows]
    ).T
    return (low <= true) & (true <= high), float((high - low).mean())


def weights_of(log: list[tuple[ChosenUnit, float]]) -> np.ndarray:
    return inverse_weights(
        [choice.per_slot for choice, _ in log],
        [choice.available for choice, _ in log],
        SLOTS,
    )


def errors(
    log: list[tuple[ChosenUnit, float]],
    wins: np.ndarray,
    ties: np.ndarray,
    outcome: np.ndarray,
    ability: np.ndarray,
    order: np.ndarray,
) -> dict[str, np.ndarray]:
    """Estimate minus truth of every method, the truly best first."""
    expected = (outcome[0] + outcome[1] / 2).mean(axis=2)
    truth = (expected.sum(axis=1) - 0.5) / (METHODS - 1)
    weight = weights_of(log)
    place = np.argsort(order)
    fit = fit_model(np.stack([wins, ties]), ties="davidson")
    abilities = fit.theta if fit.converged else np.full(METHODS, np.nan)
    found = {
        "share of wins, raw": share_of_wins(log, np.ones(len(log))) - truth,
        "share of wins, weighted": share_of_wins(log, weight) - truth,
        "win rate, unweighted": mean_rates(log, np.ones(len(log))) - truth,
        "win rate": mean_rates(log, weight) - truth,
        "ability, posterior": posterior(wins, ties).mean - ability[order],
        "ability, Davidson": abilities - ability[order],
    }
    return {name: error[place] for name, error in found.items()}


def share_of_wins(
    log: list[tuple[ChosenUnit, float]], weight: np.ndarray
) -> np.ndarray:
    """Return how much of its answers each method won."""
    won, of = won_of(log, weight)
    return won.sum(axis=1) / of.sum(axis=1)


def mean_rates(log: list[tuple[ChosenUnit, float]], weight: np.ndarray) -> np.ndarray:
    """Return win rates as of `method_win_rates`: opponents count alike."""
    won, of = won_of(log, weight)
    rates = np.full(of.shape, np.nan)
    np.divide(won, of, out=rates, where=of > 0)
    return np.nanmean(rates, axis=1)


def won_of(
    log: list[tuple[ChosenUnit, float]], weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what methods (rows) won against one another, and of how much."""
    i, j = np.array([choice.pair for choice, _ in log]).T
    score = np.array([score for _, score in log])
    won, of = np.zeros((2, METHODS, METHODS))
    for a, b, points in ((i, j, score), (j, i, 1 - score)):
        np.add.at(won, (a, b), weight * points)
        np.add.at(of, (a, b), weight)
    return won, of


def stops(found: list[Study], which: str) -> str:
    """Quartiles of the answers needed, share that stopped, share declared wrongly."""
    at = [getattr(study, which) for study in found]
    needed = [SLOTS if stop is None else stop[0] for stop in at]
    low, median, high = np.percentile(needed, [25, 50, 75])
    stopped = sum(stop is not None for stop in at)
    wrong = sum(stop is not None and not stop[1] for stop in at)
    n = len(at)
    error = np.sqrt(wrong / n * (1 - wrong / n) / n)
    return (
        f"{median:6.0f} ({low:.0f} to {high:.0f})  stopped {stopped / n:.3f}  "
        f"right if stopped {(stopped - wrong) / max(stopped, 1):.3f}  "
        f"wrong of all {wrong / n:.3f} +- {error:.3f}"
    )


def print_errors(found: list[Study]) -> None:
    for name in found[0].errors:
        table = np.array([study.errors[name] for study in found])
        table = table[np.isfinite(table).all(axis=1)]
        parts = []
        for group, methods in GROUPS.items():
            bias = table[:, methods].mean(axis=1)
            error = bias.std(ddof=1) / np.sqrt(len(bias))
            parts.append(f"{group} {bias.mean():+.4f} +- {error:.4f}")
        square = (table**2).mean(axis=1)
        rmse = np.sqrt(square.mean())
        error = square.std(ddof=1) / np.sqrt(len(square)) / 2 / rmse
        print(
            f"    {name:24} bias: {', '.join(parts)}; RMSE {rmse:.4f} +- {error:.4f}"
            f"  n {len(table)}"
        )


def print_held(found: list[Study]) -> None:
    share = np.array([study.held.mean() for study in found])
    error = share.std(ddof=1) / np.sqrt(len(share))
    width = np.mean([study.width for study in found])
    print(
        f"    intervals of win rates hold {share.mean():.3f} +- {error:.3f},"
        f" width {width:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="worlds whose name has this text")
    options = parser.parse_args()
    with multiprocessing.Pool(options.processes) as pool:
        for world in WORLDS:
            if options.only not in world.name:
                continue
            print(f"{world.name}: {options.studies} studies of {SLOTS} slots")
            for adaptive in (False, True):
                start = time.perf_counter()
                job = functools.partial(simulate, world, adaptive)
                found = pool.map(job, range(options.studies), 4)
                seconds = time.perf_counter() - start
                each = 1000 * np.mean([study.seconds for study in found])
                print(
                    f"  {'adaptive' if adaptive else 'random'} pairs"
                    f" ({seconds:.0f} s, {each:.2f} ms a choice)"
                )
                print(f"    .95 at one look: {stops(found, 'plain')}")
                print(f"    rule ({RULE.threshold:.4f}):   {stops(found, 'stopped')}")
                print(f"    and the tests:   {stops(found, 'told')}")
                print_errors(found)
                print_held(found)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
