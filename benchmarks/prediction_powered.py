"""Do prediction-powered intervals cover the truth? Simulated studies, stories drawn.

    python -m benchmarks.prediction_powered ratings|choices
        [--studies 250] [--seed 1] [--methods 5] [--people 5] [--metric good]

A metric scores 100 stories of M methods. Stories are drawn with probabilities from .1
to .5, higher where the metric's scores differ more; two people answer each question
about a drawn story. People differ in severity and in taste for methods, ratings are 0
to 4, and about a fifth of the comparisons are ties. Prints shares of intervals with the
truth, for endless stories and people, and what the metric saved;
`benchmarks/results/prediction-powered.md` has the results.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
import pandas as pd
from scipy.special import ndtr

from analysis.rankings.method_means import scaled_intervals
from analysis.rankings.prediction_powered import (
    Study,
    chosen_study,
    pair_contrasts,
    rank_sets,
    rated_study,
)
from analysis.rankings.standings import ranks

STORIES, EACH = 100, 2
STORY, OUTPUT, SEVERITY, TASTE, CARE, UNSURE = 0.5, 0.6, 0.4, 0.25, 0.7, 0.25
# Noise of the metric beside the standard deviation of an output's quality.
METRICS = {"good": 0.5, "weak": 2.0, "useless": np.inf}
SETTINGS = ((5, 3), (5, 5), (5, 20), (8, 5), (8, 20), (23, 5), (23, 20))
CONFIDENCE, PARTS = 0.95, ("stories", "annotators")
RNG = np.random.Generator


def levels(methods: int) -> np.ndarray:
    """Return the quality of methods; the first two are equal."""
    found = np.linspace(-0.8, 0.8, methods)
    found[0] = found[1]
    return found


def mean_ratings(methods: int) -> np.ndarray:
    """Return the expected ratings."""
    spread = np.sqrt(STORY**2 + OUTPUT**2 + SEVERITY**2 + TASTE**2 + CARE**2)
    steps = np.arange(4) - 1.5
    return ndtr((levels(methods)[:, None] - steps) / spread).sum(axis=1)


def mean_win_rates(methods: int) -> np.ndarray:
    """Return the expected win rates of methods over all others."""
    spread = np.sqrt(2 * (OUTPUT**2 + TASTE**2 + CARE**2))
    gap = levels(methods)[:, None] - levels(methods)
    rates = (ndtr((gap - UNSURE) / spread) + ndtr((gap + UNSURE) / spread)) / 2
    np.fill_diagonal(rates, 0)
    return rates.sum(axis=1) / (methods - 1)


def drawn_stories(methods: int, metric: str, rng: RNG):
    """Return opinions, scores, the drawn stories and their probabilities."""
    own = STORY * rng.normal(size=(STORIES, 1))
    own = own + OUTPUT * rng.normal(size=(STORIES, methods))
    noise = METRICS[metric]
    quality = own if np.isfinite(noise) else 0.0
    size = np.hypot(STORY, OUTPUT) * (noise if np.isfinite(noise) else 1.0)
    scores = quality + size * rng.normal(size=own.shape) + rng.normal(size=methods)
    # Quantised, as those of many judges are.
    scores = np.round(2 * scores) / 2
    differs = np.argsort(np.argsort((scores - scores.mean(axis=0)).std(axis=1)))
    chance = 0.1 + 0.4 * differs / (STORIES - 1)
    while (drawn := rng.random(STORIES) < chance).sum() < 6:
        pass
    return levels(methods) + own, scores, drawn, chance


def dealt(items: int, people: int, rng: RNG) -> np.ndarray:
    """Deal items to people in turn, each to as many different ones."""
    order, ids = rng.permutation(items), rng.permutation(people)
    who = np.empty((items, EACH), int)
    who[order] = ids[(np.arange(items)[:, None] * EACH + np.arange(EACH)) % people]
    return who


def ratings(methods: int, people: int, metric: str, rng: RNG) -> Study:
    """Draw a study of ratings."""
    opinion, scores, drawn, chance = drawn_stories(methods, metric, rng)
    cells = np.argwhere(np.broadcast_to(drawn[:, None], opinion.shape))
    who = dealt(len(cells), people, rng).ravel()
    story, method = np.repeat(cells, EACH, axis=0).T
    taste = TASTE * rng.normal(size=(people, methods))
    severity = SEVERITY * rng.normal(size=people)
    felt = opinion[story, method] + taste[who, method] + severity[who]
    felt += CARE * rng.normal(size=len(who))
    rows = {"story": story, "method": method, "annotator": who}
    rows |= {"rating": np.clip(np.round(2 + felt), 0, 4)}
    return rated_study(pd.DataFrame(rows), pd.DataFrame(scores), 1 / chance)


def choices(methods: int, people: int, metric: str, rng: RNG) -> Study:
    """Draw a study of side-by-side answers: of a story two pairs a method at most."""
    opinion, scores, drawn, chance = drawn_stories(methods, metric, rng)
    first, second = np.triu_indices(methods, 1)
    every = [
        (s, k)
        for s in np.flatnonzero(drawn)
        for k in rng.permutation(len(first))[: 2 * methods]
    ]
    pairs = np.array(every)
    who = dealt(len(pairs), people, rng).ravel()
    story, pair = np.repeat(pairs, EACH, axis=0).T
    felt = opinion + 0.0
    taste = TASTE * rng.normal(size=(people, methods))
    sides = [felt[story, one] + taste[who, one] for one in (first[pair], second[pair])]
    gap = sides[0] - sides[1] + np.sqrt(2) * CARE * rng.normal(size=len(who))
    answer = np.where(gap > UNSURE, "a", np.where(gap < -UNSURE, "b", "tie"))
    names = np.array([f"{k:02}" for k in range(max(STORIES, methods))])
    rows = {
        "story": names[story],
        "method_a": names[first[pair]],
        "method_b": names[second[pair]],
        "annotator": who.astype(str),
        "choice": answer,
    }
    frame = pd.DataFrame(scores, names[:STORIES], names[:methods])
    return chosen_study(pd.DataFrame(rows), frame, 1 / chance)


KINDS: dict[str, tuple[Callable[..., Study], Callable[[int], np.ndarray], tuple]] = {
    "ratings": (ratings, mean_ratings, (0, 4)),
    "choices": (choices, mean_win_rates, (0, 1)),
}


def outcomes(kind: str, study: Study, methods: int) -> Iterator[tuple[str, float]]:
    """Yield shares of intervals with the truth in one study, and of variance saved."""
    truth, scale = KINDS[kind][1](methods), KINDS[kind][2]
    pairs = pair_contrasts(methods)
    gap = pairs @ truth
    classical = study.estimates(PARTS, powered=None)
    found = study.estimates(PARTS, powered=np.eye(methods))
    apart = study.estimates(PARTS, powered=pairs)
    for name, own, differences in (
        ("classical", classical, classical),
        ("powered", found, apart),
    ):
        low, high = scaled_intervals(own.value, own.errors, CONFIDENCE, scale)
        yield f"{name} {kind}", float(((low <= truth) & (truth <= high)).mean())
        errors = differences.covariance.of(pairs)
        low, high = errors.intervals(pairs @ differences.value, CONFIDENCE)
        yield f"{name} differences", float(((low <= gap) & (gap <= high)).mean())
        yield f"{name} error", float(((own.value - truth) ** 2).mean())
        yield f"{name} variance", float(own.errors.variance.mean())
        yield f"{name} bias of the best", float(own.value[-1] - truth[-1])
    _, sets = rank_sets(apart, CONFIDENCE)
    places = ranks(truth, tolerance=1e-9)
    worst = len(truth) + 1 - ranks(-truth, tolerance=1e-9)
    yield "rank sets", float(((sets[0] <= places) & (worst <= sets[1])).all())
    yield "equal methods apart", float(study_rejects(apart, pairs[:1], CONFIDENCE))


def study_rejects(found, contrast: np.ndarray, confidence: float) -> bool:
    """Return whether a difference that is 0 is found."""
    errors = found.covariance.of(contrast)
    return bool(errors.p_values(contrast @ found.value)[0] <= 1 - confidence)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=tuple(KINDS))
    parser.add_argument("--studies", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--methods", type=int)
    parser.add_argument("--people", type=int)
    parser.add_argument("--metric", choices=tuple(METRICS))
    asked = parser.parse_args()
    for methods, people in SETTINGS:
        if asked.methods not in (None, methods) or asked.people not in (None, people):
            continue
        for metric in METRICS:
            if asked.metric in (None, metric):
                rng = np.random.default_rng([asked.seed, methods, people])
                report(asked.kind, methods, people, metric, asked.studies, rng)


def report(kind, methods: int, people: int, metric: str, studies: int, rng) -> None:
    """Print the results of one setting, with standard errors over studies."""
    rows = []
    for _ in range(studies):
        study = KINDS[kind][0](methods, people, metric, rng)
        rows.append(dict(outcomes(kind, study, methods)))
    table = pd.DataFrame(rows)
    mean, error = table.mean(), table.std(ddof=1) / np.sqrt(studies)
    texts = [
        f"{name} {mean[name]:.3f} ({error[name]:.3f})"
        for name in table
        if not str(name).endswith((" error", " variance"))
    ]
    saved = 1 - mean["powered variance"] / mean["classical variance"]
    real = 1 - mean["powered error"] / mean["classical error"]
    texts.append(f"saved {saved:.3f}, in truth {real:.3f}")
    print(f"{kind}, {methods} methods, {people} people, {metric}:", "; ".join(texts))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
