"""Does "you may stop" hold when people look after every answer?

    python -m benchmarks.stopping [SCENARIO ...] [--studies 1000] [--every]

People of different severity rate the outputs of crossed stories and methods; the study
stops at the first look at which its goal is reached. Prints the share of studies that
stop although a true value is outside the goal, the coverage of the intervals at the
stop and at all looks, and the answers at the stop beside those of a study of fixed size
that knows the variances. Looks that cannot stop a study are skipped: while a half-width
is r times its goal, the next look comes after (r - 1)/4 of the answers so far, at most
2 % of all; `--every` looks after every answer. The results are in
`benchmarks/results/stopping.md`.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from analysis.inference import confidence_sequences as sequences
from analysis.inference.confidence_sequences import Contributions, Evidence
from analysis.pairwise.accuracy_contributions import accuracy_contributions

ALPHA, TIGHTEST = 0.05, 0.1


@dataclass(frozen=True)
class World:
    """A kind of study; standard deviations are on the latent scale of the answers."""

    goal: str
    size: float
    people: int = 40
    stories: int = 150
    methods: int = 5
    raters: int = 4
    middle: float = 2.0
    between: float = 0.5
    effects: float = 1.0
    severity: float = 0.4
    one_by_one: bool = False
    tastes: float = 0.2
    knows: float = 1.0
    compares: bool = False


# A metric of a study with fewer stories, against chance.
SOME = World("accuracy", 0.5, stories=60, knows=0)

WORLDS = {
    "mean": World("mean", 0.35),
    "mean, one person after the other": World("mean", 0.35, one_by_one=True),
    "mean, 12 people": World("mean", 0.5, people=12),
    "mean, severe and mild people": World("mean", 0.5, severity=0.8),
    "mean, floor": World("mean", 0.3, middle=0.3, one_by_one=True),
    "mean, ceiling": World("mean", 0.3, middle=3.7),
    "mean, ties": World("mean", 0.3, effects=0.35, severity=0.15),
    "win rate": World("win_rate", 0.08),
    "win rate, mostly ties": World("win_rate", 0.08, effects=0.35),
    "win rate, one person after the other": World("win_rate", 0.08, one_by_one=True),
    "top 2 of 5": World("top", 2, between=0.8),
    "top 2 of 5, one person after the other": World(
        "top", 2, between=0.8, one_by_one=True
    ),
    "top 2 of 5, all equal": World("top", 2, between=0.0),
    "correlation": World("correlation", 0.15),
    "correlation, ties": World("correlation", 0.15, effects=0.6),
    "correlation, floor": World("correlation", 0.15, middle=0.3, one_by_one=True),
    "accuracy": replace(SOME, knows=0.6),
    "accuracy, comparisons": replace(SOME, knows=0.6, compares=True),
    "accuracy, 8 unequal people": replace(
        SOME, knows=0.6, people=8, severity=0.8, tastes=1.0
    ),
    "accuracy, chance": SOME,
    "accuracy, chance, 5 people, ties": replace(SOME, people=5, effects=0.35),
    "accuracy, chance, 8 methods, one person after the other": replace(
        SOME, methods=8, people=20, severity=0.8, one_by_one=True
    ),
    "accuracy, chance, comparisons": replace(SOME, people=8, compares=True),
}


class Study(NamedTuple):
    """Answers in their order, the scores of the outputs, and the truth."""

    story: np.ndarray
    method: np.ndarray
    person: np.ndarray
    value: np.ndarray
    scores: np.ndarray
    truth: np.ndarray


def latent(world: World, rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """Draw what people think of outputs of n stories, and a metric's scores."""
    effects = world.middle + np.linspace(-1, 1, world.methods) * world.between
    of_story = rng.normal(size=(n, 1)) * 0.5 * world.effects
    of_cell = rng.normal(size=(n, world.methods)) * 0.5 * world.effects
    good = effects + of_story + of_cell
    return good, world.knows * good + 0.6 * rng.normal(size=good.shape)


def opinions(world: World, rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw the severities of n people, and what they like about methods."""
    severity = rng.normal(size=(n, 1)) * world.severity
    tastes = rng.normal(size=(n, world.methods)) * world.tastes
    return severity + world.effects * tastes


def on_scale(x: np.ndarray) -> np.ndarray:
    return np.clip(np.round(x), 0, 4)


def study(world: World, seed: int) -> Study:
    """Draw a study: each story's outputs are rated together, by people in turn."""
    rng = np.random.default_rng([49, seed])
    of_output, scores = latent(world, rng, world.stories)
    of_person = opinions(world, rng, world.people)
    chosen = rng.random((world.stories, world.people)).argsort(axis=1)[
        :, : world.raters
    ]
    story, place = np.divmod(np.arange(chosen.size), world.raters)
    person = chosen[story, place]
    order = rng.permutation(chosen.size)
    if world.one_by_one:
        order = order[np.argsort(person[order], kind="stable")]
    story, person = story[order], person[order]
    noise = 0.8 * world.effects * rng.normal(size=(len(story), world.methods))
    value = on_scale(of_output[story] + of_person[person] + noise)
    method = rng.permuted(np.tile(np.arange(world.methods), (len(story), 1)), axis=1)
    value = np.take_along_axis(value, method, axis=1)
    repeated = (np.repeat(one, world.methods) for one in (story, person))
    story, person = repeated
    return Study(story, method.ravel(), person, value.ravel(), scores, truth(world))


def truth(world: World) -> np.ndarray:
    """Return the values over endless stories and people."""
    if world.goal in ("win_rate", "correlation", "accuracy"):
        return _simulated_truth(world)
    spread = np.hypot(np.sqrt(1.18) * world.effects, world.severity)
    effects = world.middle + np.linspace(-1, 1, world.methods) * world.between
    return ndtr((effects - np.arange(0.5, 4)[:, None]) / spread).sum(axis=0)


TRUTHS: dict[World, np.ndarray] = {}


def _simulated_truth(world: World) -> np.ndarray:
    if world not in TRUTHS:
        rng, n = np.random.default_rng(7), 400_000
        of_output, scores = latent(world, rng, n)
        answers = [
            on_scale(
                of_output
                + opinions(world, rng, n)
                + 0.8 * world.effects * rng.normal(size=of_output.shape)
            )
            for _ in range(world.raters)
        ]
        if world.goal == "win_rate":
            signs = np.sign(answers[0][:, :, None] - answers[0][:, None, :])
            wins = (signs.mean(axis=0) + 1) / 2
            TRUTHS[world] = (wins.sum(axis=1) - 0.5) / (world.methods - 1)
        elif world.goal == "accuracy":
            known = _accuracy(world, np.array(answers), scores)
            TRUTHS[world] = np.array([known if world.knows else 0.5])
        else:
            mean = np.mean(answers, axis=0)
            TRUTHS[world] = np.array([np.corrcoef(mean.ravel(), scores.ravel())[0, 1]])
    return TRUTHS[world]


def _accuracy(world: World, answers: np.ndarray, scores: np.ndarray) -> float:
    """Return how often a metric prefers the output that all raters together do."""
    i, j = np.triu_indices(world.methods, 1)
    differences = answers[:, :, i] - answers[:, :, j]
    human = np.sign(differences.sum(axis=0))
    if world.compares:
        first, second = ((s * differences > 0).mean(axis=0) > 0.5 for s in (1, -1))
        human = first.astype(float) - second
    right = np.sign(scores[:, i] - scores[:, j]) * human
    return float((right[human != 0].mean() + 1) / 2)


def contributions(world: World, data: Study, n: int) -> Contributions | None:
    """Return what the first n answers say; None if they say nothing yet."""
    story, method, person, value = (one[:n] for one in data[:4])
    M = world.methods
    stories, people = (story, world.stories), (person, world.people)
    if world.goal in ("mean", "top"):
        return sequences.mean_contributions(value, method, M, stories, people, (0, 4))
    if world.goal == "win_rate":
        pairs = _pairs(story, method, person, value, M)
        clusters = (pairs[0], world.stories), (pairs[1], world.people)
        return sequences.mean_contributions(
            pairs[3], pairs[2], M, *clusters, (0, 1), cells=pairs[4]
        )
    if world.goal == "accuracy":
        answers = story * world.people + person if world.compares else None
        return accuracy_contributions(
            value, method, data.scores, stories, people, answers
        )
    cell = story * M + method
    complete = np.bincount(cell, minlength=world.stories * M) == world.raters
    kept, cells = complete[cell], np.flatnonzero(complete)
    if np.count_nonzero(complete.reshape(-1, M).any(axis=1)) < sequences.LEAST_STORIES:
        return None
    clusters = (story[kept], world.stories), (person[kept], world.people)
    code = (np.cumsum(complete) - 1)[cell[kept]]
    human = np.bincount(code, value[kept]) / world.raters
    scores = data.scores.ravel()[cells]
    return sequences.correlation_contributions(
        human, scores, code, value[kept], *clusters
    )


def _pairs(story, method, person, value, M):
    """Turn whole sittings into comparisons: a row for each side of each pair."""
    n = len(story) // M * M
    order = np.argsort(method[:n].reshape(-1, M), axis=1)
    values = np.take_along_axis(value[:n].reshape(-1, M), order, axis=1)
    i, j = np.array([(i, j) for i in range(M) for j in range(M) if i != j]).T
    wins = (np.sign(values[:, i] - values[:, j]) + 1) / 2
    repeated = [np.repeat(one[:n:M], len(i)) for one in (story, person)]
    kind, other = np.tile(i, n // M), np.tile(j, n // M)
    return *repeated, kind, wins.ravel(), repeated[0] * M + other


class Stop(NamedTuple):
    answers: int
    missed: bool
    covered: bool
    always: bool
    evidence: Evidence


def look(world: World, found: Contributions) -> tuple[np.ndarray, np.ndarray, Evidence]:
    """Return by how much each half-width misses the goal, and the half-widths."""
    if world.goal == "top":
        pairs = sequences.top_pairs(found.value, int(world.size))
        weights = np.zeros((len(pairs), world.methods))
        for row, (i, j) in enumerate(pairs):
            weights[row, i], weights[row, j] = 1, -1
        known = found.evidence(weights)
        half = sequences.mixture_half_widths(known.errors, 0.2, ALPHA / len(pairs))
        return half / np.maximum(known.value, 1e-12), half, known
    known = found.evidence()
    if world.goal == "accuracy":
        half = sequences.mixture_half_widths(known.errors, TIGHTEST, ALPHA)
        return half / np.maximum(np.abs(known.value - 0.5), 1e-12), half, known
    alpha = ALPHA / len(known.value)
    half = sequences.goal_half_widths(known.errors, world.size, alpha)
    return half / world.size, half, known


def run(world: World, seed: int, *, every: bool) -> Stop | None:
    """Look at a study until it stops; None if it never does."""
    data = study(world, seed)
    n, always = 0, True
    while n < len(data.story):
        n += 1
        if np.count_nonzero(np.bincount(data.person[:n])) < sequences.LEAST_PEOPLE:
            continue
        found = contributions(world, data, n)
        if found is None or not np.isfinite(found.value).all():
            continue
        if found.n_stories.min() < sequences.LEAST_STORIES:
            continue
        ratio, half, known = look(world, found)
        truths = data.truth
        if world.goal == "top":
            pairs = sequences.top_pairs(found.value, int(world.size))
            truths = np.array([data.truth[i] - data.truth[j] for i, j in pairs])
        holds = np.abs(known.value - truths) <= half + 1e-12
        always &= bool(holds.all())
        if ratio.max() <= 1 + 1e-12:
            wrong = np.abs(known.value - truths) > world.size
            if world.goal == "top":
                wrong = truths <= 1e-12
            elif world.goal == "accuracy":
                wrong = np.sign(known.value - 0.5) != np.sign(truths - 0.5)
            return Stop(n, bool(wrong.any()), bool(holds.all()), always, known)
        if not every:
            far = (float(ratio.max()) - 1) / 4 * n
            n += int(min(far, 0.02 * len(data.story)))
    return None if always else Stop(-1, False, True, False, known)


def fixed_size(world: World, stop: Stop) -> float:
    """Return the answers of a study of fixed size, by the variances at the stop."""
    known = stop.evidence
    M = len(known.value)
    z = norm.isf(ALPHA / 2 / M)
    wanted = np.full(M, (world.size / z) ** 2)
    if world.goal in ("top", "accuracy"):
        away = known.value - 0.5 * (world.goal == "accuracy")
        wanted = (away / (z + norm.isf(0.2))) ** 2
    return float((known.errors.variance / wanted).max() * stop.answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", default=list(WORLDS))
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--every", action="store_true")
    given = parser.parse_args()
    for name in given.scenarios:
        world, start = WORLDS[name], time.perf_counter()
        stops = [run(world, seed, every=given.every) for seed in range(given.studies)]
        ended = [one for one in stops if one and one.answers > 0]
        always = np.mean([one is None or one.always for one in stops])
        false = sum(one.missed for one in ended) / given.studies
        covered = np.mean([one.covered for one in ended]) if ended else np.nan
        used = np.mean([one.answers for one in ended]) if ended else np.nan
        fixed = np.mean([fixed_size(world, one) for one in ended]) if ended else np.nan
        print(
            f"{name:42} stopped {len(ended) / given.studies:.3f}  false {false:.3f}  "
            f"at stop {covered:.3f}  all looks {always:.3f}  answers {used:6.0f}  "
            f"fixed {fixed:6.0f}  ({time.perf_counter() - start:.0f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
