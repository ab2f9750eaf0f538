"""Weights of component scores fitted to people's preferences, judged on other pairs."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from analysis.inference.cluster_variance import LEAST
from analysis.inference.resampling import divided, interval, near_one, stream
from analysis.pairwise.accuracy_differences import (
    FOLDS,
    STATISTICS,
    AccuracyVariances,
    accuracy_variances,
    story_folds,
)
from analysis.pairwise.output_pairs import Pairs, draw_clusters
from analysis.results import Array, Counts, Estimate, Mask, TableRow, undefined
from analysis.sentences import sentence

COMPOSITE, MEAN = "composite", "mean of components"
# Penalties to choose from, as shares of the information of all pairs in the fit.
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# More pairs change weights in the third digit, and cost time in every fit.
MOST_PAIRS = 10_000
STEPS, ENOUGH = 50, 1e-9
MOST_COMPONENTS = 50
LEAST_STORIES = 4
# Numbers held at once.
CHUNK = 4_000_000


def calibrate(
    pairs: Pairs,
    *,
    metrics: Sequence[str] = (),
    parts: tuple[str, ...],
    resamples: int,
    confidence: float,
    seed: int,
) -> list[TableRow]:
    r"""Fit the weights of a composite score to people's preferences.

    The probability that people prefer the first output is :math:`\sigma(\beta' x)` with
    x the differences of the scores, each divided by its root mean square, with a
    penalty :math:`\lambda n |\beta|^2 / 8`. Stories fall into five folds, methods into
    five others: the composite of a pair comes from the stories of the other folds and
    from the methods of the folds of neither of the two, lambda from all pairs of these
    methods. The best component has seen the pairs it is judged on, so a gain is not
    flattered.

    Weights are fitted to all pairs, and shares: absolute values add up to 1. Their
    intervals draw what `parts` names, each with one Newton step from the fit to all.
    """
    names = tuple(metrics) or pairs.metrics
    scores = pairs.scores[[pairs.metrics.index(name) for name in names]]
    if reason := _why_not(pairs, names):
        none = undefined(reason)
        return [_row(pairs, COMPOSITE, s, none) for s in (*STATISTICS, "gain")]
    rng = stream(seed, "calibration", pairs.question, pairs.source, *names)
    labels = (*names, MEAN, COMPOSITE)
    fitted = _predictions(pairs, near_one(scores), rng)
    every = replace(pairs, metrics=labels, scores=np.vstack([scores, fitted]))
    known = {
        name: accuracy_variances(every, name, epsilon="heldout", parts=parts)
        for name in STATISTICS
    }
    wanted = confidence if resamples else None
    rows = [
        _row(pairs, label, name, _estimate(own, k, wanted))
        for k, label in enumerate(labels)
        for name, own in known.items()
    ]
    rows += _weight_rows(
        pairs, names, near_one(scores), parts, resamples, confidence, rng
    )
    half = known["ppa_half"]
    best = int(np.argmax(half.values[: len(names)]))
    for against in (best, len(names)):
        gain = _gain(half, labels, against, wanted)
        rows.append(_row(pairs, COMPOSITE, "gain", gain, labels[against]))
    return rows


def _estimate(known: AccuracyVariances, k: int, confidence: float | None) -> Estimate:
    if confidence is None:
        return Estimate(float(known.values[k]), n=known.n_pairs)
    return known.estimate(k, confidence)


def _masks(folds: Counts) -> list[Mask]:
    return [folds == f for f in range(folds.max(initial=-1) + 1)]


def _why_not(pairs: Pairs, names: tuple[str, ...]) -> str:
    if len(names) < 2:
        return sentence("a composite needs two components")
    if len(names) > MOST_COMPONENTS:
        return sentence(
            "{n} components are too many for the pairs that people judged; name at "
            "most {most} with --components",
            n=len(names),
            most=MOST_COMPONENTS,
        )
    decided = pairs.human != 0
    methods = np.unique([pairs.first[decided], pairs.second[decided]])
    stories = np.unique(pairs.story[decided])
    if len(stories) < LEAST_STORIES:
        return sentence(
            "people have a preference in {n} stories; at least {least} "
            "are needed to fit on some and judge on others",
            n=len(stories),
            least=LEAST_STORIES,
        )
    if len(methods) < LEAST:
        return sentence(
            "people have a preference among {n} methods; at least {least} "
            "are needed to fit on some and judge on others",
            n=len(methods),
            least=LEAST,
        )
    return ""


def _row(
    pairs: Pairs, metric: str, statistic: str, found: Estimate, against: str = ""
) -> TableRow:
    return {
        "question": pairs.question,
        "metric": metric,
        **found.columns(),
        "statistic": statistic,
        "source": pairs.source,
        "against": against,
    }


@dataclass(frozen=True)
class _Data:
    """Pairs with a preference, turned so that people prefer the first."""

    x: Array
    scale: Array
    story: Counts
    rows: Counts

    @classmethod
    def of(
        cls, pairs: Pairs, scores: Array, rows: Mask, rng: np.random.Generator
    ) -> "_Data":
        """Take pairs out of `rows`, at most `MOST_PAIRS` of them."""
        use = np.flatnonzero(rows & (pairs.human != 0))
        if len(use) > MOST_PAIRS:
            use = np.sort(rng.choice(use, MOST_PAIRS, replace=False))
        x = (scores[:, use] * pairs.human[use]).T
        size = np.sqrt((x**2).mean(axis=0)) if len(use) else np.zeros(x.shape[1])
        scale = np.where(size > 0, size, 1.0)
        return cls(x / scale, scale, pairs.story[use], use)


def _predictions(pairs: Pairs, scores: Array, rng: np.random.Generator) -> Array:
    """Return differences of the mean of components and of the composite, (2, P)."""
    found = np.zeros((2, len(pairs.human)))
    units = np.sqrt((scores**2).mean(axis=1))
    stories = _masks(story_folds(pairs.story, rng))
    groups = rng.permutation(len(pairs.methods)) % FOLDS
    ends = np.sort([groups[pairs.first], groups[pairs.second]], axis=0)
    for low, high in itertools.combinations_with_replacement(range(FOLDS), 2):
        here = (ends[0] == low) & (ends[1] == high)
        others = np.asarray(~np.isin(ends, (low, high)).any(axis=0), bool)
        if not here.any():
            continue
        ridge = _best_ridge(_Data.of(pairs, scores, others, rng), rng)
        for fold in stories:
            judged = here & fold
            data = _Data.of(pairs, scores, others & ~fold, rng)
            weights = np.stack([np.ones(len(scores)), _fit(data.x, ridge)]) / data.scale
            # Thresholds of ties need one unit, whatever pairs weights were fitted to.
            unit = np.abs(weights) @ units
            weights /= np.where(unit > 0, unit, 1.0)[:, None]
            own = weights @ scores[:, judged]
            size = np.abs(weights) @ np.abs(scores[:, judged])
            # What cancels out is a tie, not the sign of a rounding error.
            own[np.abs(own) < ENOUGH * size] = 0.0
            found[:, judged] = own
    return found


def _best_ridge(data: _Data, rng: np.random.Generator) -> float:
    """Choose the penalty with the best likelihood on stories left out."""
    folds = _masks(story_folds(data.story, rng))
    loss = np.zeros(len(RIDGES))
    for fold in folds:
        if fold.all() or not fold.any():
            continue
        beta = np.zeros(data.x.shape[1])
        for r, ridge in reversed(list(enumerate(RIDGES))):
            beta = _fit(data.x[~fold], ridge, beta)
            loss[r] += np.logaddexp(0.0, -(data.x[fold] @ beta)).sum()
    return RIDGES[int(np.argmin(loss))]


def _fit(x: Array, ridge: float, start: Array | None = None) -> Array:
    """Maximise the penalised likelihood by Newton's method; nothing fitted is 0."""
    beta = np.zeros(x.shape[1]) if start is None else start
    if not len(x):
        return beta
    penalty = ridge * len(x) / 4
    for _ in range(STEPS):
        p = expit(-(x @ beta))
        gradient = x.T @ p - penalty * beta
        information = (x * (p * (1 - p))[:, None]).T @ x
        information[np.diag_indices(len(beta))] += penalty
        new = _step(beta, gradient, information)
        done = np.abs(new - beta).max() < ENOUGH
        beta = new
        if done:
            break
    return beta


def _step(beta: Array, gradient: Array, information: Array) -> Array:
    """Return where the quadratic approximation at beta is highest."""
    return np.asarray(beta + cho_solve(cho_factor(information), gradient))


def _weight_rows(
    pairs: Pairs,
    names: tuple[str, ...],
    scores: Array,
    parts: tuple[str, ...],
    resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> list[TableRow]:
    data = _Data.of(pairs, scores, np.ones(len(pairs.human), bool), rng)
    ridge = _best_ridge(data, rng)
    beta = _fit(data.x, ridge)
    weights = _as_shares(beta[None])[0]
    drawn = np.empty((0, len(names)))
    if resamples:
        clusters = draw_clusters(pairs, parts, resamples, rng)
        drawn = _drawn_weights(pairs, data, beta, ridge, clusters)
    rows = []
    for k, name in enumerate(names):
        low, high, why = interval(drawn[:, k], confidence)
        reason = (
            why
            if np.isfinite(weights[k])
            else sentence("no component predicts anything")
        )
        value = float(weights[k])
        estimate = Estimate(value, low, high, len(data.x), reason=reason)
        rows.append(_row(pairs, name, "weight", estimate))
    return rows


def _as_shares(beta: Array) -> Array:
    total = np.abs(beta).sum(axis=1, keepdims=True)
    return divided(beta, total)


def _drawn_weights(
    pairs: Pairs,
    data: _Data,
    beta: Array,
    ridge: float,
    clusters: tuple[Array | None, Array | None],
) -> Array:
    """Refit in resamples by one Newton step each from the fit to all pairs."""
    stories, methods = clusters
    places = (stories, pairs.story), (methods, pairs.first), (methods, pairs.second)
    n, K = data.x.shape
    p = expit(-(data.x @ beta))
    outer = (data.x[:, :, None] * data.x[:, None, :]).reshape(n, K * K)
    features = np.hstack(
        [data.x * p[:, None], outer * (p * (1 - p))[:, None], np.ones((n, 1))]
    )
    drawn = [
        counts[:, code[data.rows]] for counts, code in places if counts is not None
    ]
    if not drawn:
        return np.empty((0, K))
    found = []
    step = max(1, CHUNK // max(n, 1))
    for start in range(0, len(drawn[0]), step):
        weights = np.prod([own[start : start + step] for own in drawn], axis=0)
        for sums in weights @ features:
            gradient, matrix, size = sums[:K], sums[K:-1].reshape(K, K), sums[-1]
            penalty = ridge * size / 4
            matrix[np.diag_indices(K)] += penalty
            found.append(
                _step(beta, gradient - penalty * beta, matrix) if size else 0 * beta
            )
    return _as_shares(np.array(found))


def _gain(
    known: AccuracyVariances,
    labels: tuple[str, ...],
    against: int,
    confidence: float | None,
) -> Estimate:
    """Compare the composite, the last label, with another score on the same pairs."""
    value = float(known.values[-1] - known.values[against])
    if confidence is None:
        return Estimate(value, n=known.n_pairs)
    variances = known.of(len(labels) - 1, against)
    if variances.why_not:
        return Estimate(value, n=known.n_pairs, reason=variances.why_not)
    low, high = variances.interval(value, confidence, 1.0)
    reason = ""
    if low <= 0:
        reason = (
            sentence(
                "within noise: the interval of the gain over {against} includes 0"
                if value > 0
                else "within noise: the interval of the difference over {against} "
                "includes 0",
                against=labels[against],
            )
            if high >= 0
            else sentence(
                "the composite is worse than {against}", against=labels[against]
            )
        )
    return Estimate(value, low, high, known.n_pairs, reason=reason)
