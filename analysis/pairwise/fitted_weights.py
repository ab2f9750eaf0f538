"""Weights of component scores fitted to people's preferences, judged on other stories.

VISTAR fits the weights of a composite so that it predicts most pairs. Fitted and
judged on the same pairs, more components always look better; here every composite
score is of a story that its weights have not seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from analysis.inference.resampling import cluster_counts, interval, stream
from analysis.inference.scaling import divided, near_one
from analysis.pairwise.output_pairs import Pairs
from analysis.pairwise.pair_sums import Clusters, resampled_sums
from analysis.pairwise.tie_calibration import (
    best_epsilon,
    right_with_ties,
    story_folds,
)
from analysis.results import Array, Counts, Estimate, Mask, TableRow, undefined
from analysis.sentences import sentence

COMPOSITE, MEAN = "composite", "mean of components"
STATISTICS = ("ppa_half", "ppa_strict", "acc_eq")
# Penalties to choose from, as shares of the information of all pairs in the fit.
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# More pairs change weights in the third digit, and cost time in every fit.
MOST_PAIRS = 10_000
STEPS, ENOUGH = 50, 1e-9
LEAST_STORIES = 4


def calibrate(
    pairs: Pairs,
    *,
    metrics: Sequence[str] = (),
    resamples: int,
    confidence: float,
    seed: int,
) -> list[TableRow]:
    r"""Fit the weights of a composite score to people's preferences.

    Parameters
    ----------
    pairs
        From `rating_pairs` or `choice_pairs`.
    metrics
        The components; none named: all of `pairs`.
    resamples, confidence, seed
        Number of resamples of stories (0 for no intervals), coverage, seed.

    Returns
    -------
    list of Row
        Rows of ``calibration``. For each component, the mean of the standardised
        components, and the composite: ``ppa_half``, ``ppa_strict`` and ``acc_eq`` on
        stories that the fit has not seen. Of each component its ``weight``. Of the
        composite its ``gain`` in half accuracy against the best component and
        against the mean; the reason says when it is within noise.

    Notes
    -----
    The probability that people prefer the first output is :math:`\sigma(\beta' x)`
    with x the differences of the scores, each divided by its root mean square: a
    Bradley-Terry model whose abilities are weighted sums of scores. The likelihood
    of the pairs that people decide is maximised with a penalty
    :math:`\lambda n |\beta|^2 / 8` (1/4 is the information of an undecided pair). No
    constant is fitted, so that swapping the outputs swaps the prediction.

    Stories fall into five folds. The composite of a fold comes from the other four:
    scales and weights from all of their pairs, lambda from folds inside them (the
    best likelihood on what was left out), and the tie threshold of acc_eq, for
    components, too, so that all are judged alike. The best
    component is the one with the highest half accuracy on all pairs: the composite
    has not seen the pairs it is judged on, the choice of the best component has, so
    a gain is not flattered. Intervals draw stories with the predictions kept.

    Weights are fitted to all pairs, and shares: absolute values add up to 1. Their
    intervals draw stories, each with one Newton step from the fit to all of them.
    Fits use at most 10,000 pairs, drawn at random.
    """
    names = tuple(metrics) or pairs.metrics
    scores = pairs.scores[[pairs.metrics.index(name) for name in names]]
    rng = stream(seed, "calibration", pairs.question, pairs.source, *names)
    folds = _masks(story_folds(pairs.story, rng))
    reason = _why_not(pairs, names)
    if reason:
        none = undefined(reason)
        return [_row(pairs, COMPOSITE, s, none) for s in (*STATISTICS, "gain")]
    fitted = _predictions(pairs, near_one(scores), folds, rng)
    labels = (*names, MEAN, COMPOSITE)
    draws = _Judged.of(pairs, scores, fitted, folds, resamples, rng)
    rows = draws.rows(pairs, labels, confidence)
    data = _Data.of(pairs, near_one(scores), np.ones(len(pairs.human), bool), rng)
    rows += _weight_rows(pairs, names, data, resamples, confidence, rng)
    best = int(np.argmax(draws.values[0][: len(names)]))
    for against in (best, len(names)):
        rows.append(_gain(pairs, draws, labels, against, confidence))
    return rows


def _masks(folds: Counts) -> list[Mask]:
    return [folds == f for f in range(folds.max(initial=-1) + 1)]


def _why_not(pairs: Pairs, names: tuple[str, ...]) -> str:
    stories = np.unique(pairs.story[pairs.human != 0])
    if len(names) < 2:
        return sentence("a composite needs two components")
    if len(stories) < LEAST_STORIES:
        return sentence(
            "people have a preference in {n} stories; at least {least} "
            "are needed to fit on some and judge on others",
            n=len(stories),
            least=LEAST_STORIES,
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
    """Pairs with a preference, turned so that people prefer the first.

    `x` has shape (n, K), differences divided by `scale` (K,); `story` has shape (n,).
    """

    x: Array
    scale: Array
    story: Counts

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
        return cls(x / scale, scale, pairs.story[use])


def _predictions(
    pairs: Pairs,
    scores: Array,
    folds: list[Mask],
    rng: np.random.Generator,
) -> list[Array]:
    """Return differences of the mean of components and of the composite, by fold.

    One array (2, P) a fold: fitted to the stories outside it, for all pairs.
    """
    found = []
    for fold in folds:
        data = _Data.of(pairs, scores, ~fold, rng)
        beta = _fit(data.x, _best_ridge(data, rng))
        scaled = scores / data.scale[:, None]
        size = np.abs(scaled)
        extra = np.stack([scaled.mean(axis=0), beta @ scaled])
        parts = np.stack([size.mean(axis=0), np.abs(beta) @ size])
        # What cancels out is a tie, not the sign of a rounding error.
        extra[np.abs(extra) < ENOUGH * parts] = 0.0
        found.append(extra)
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
    """Maximise the penalised likelihood by Newton's method."""
    beta = np.zeros(x.shape[1]) if start is None else start
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


@dataclass(frozen=True)
class _Judged:
    """Accuracies on stories that a fit has not seen, and in resamples of stories.

    `values` and `drawn` hold for each of `STATISTICS` the K + 2 values, and (B, K + 2)
    of them; `n` how many pairs each rests on.
    """

    values: list[Array]
    drawn: list[Array]
    n: tuple[int, int, int]

    @classmethod
    def of(
        cls,
        pairs: Pairs,
        scores: Array,
        fitted: list[Array],
        folds: list[Mask],
        resamples: int,
        rng: np.random.Generator,
    ) -> "_Judged":
        """Judge each fold by what was fitted outside it."""
        human, P, K = pairs.human, len(pairs.human), len(scores)
        decided = human != 0
        hits, ties, right = (np.zeros((K + 2, P), bool) for _ in range(3))
        for fold, own in zip(folds, fitted, strict=True):
            every = np.vstack([scores, own])
            sign = np.sign(every[:, fold])
            hits[:, fold] = (sign == human[fold]) & decided[fold]
            ties[:, fold] = (sign == 0) & decided[fold]
            for k, x in enumerate(every):
                best = best_epsilon(human[~fold], x[~fold])
                right[k, fold] = right_with_ties(human[fold], x[fold], best)
        features = np.vstack([np.ones(P, bool), decided, hits, ties, right]).T
        clusters: Clusters = pairs.clusters
        drawn = resampled_sums(clusters, features, ("stories",), resamples, rng)
        n = int(decided.sum())
        values = [v[0] for v in _shares(features.sum(axis=0)[None])]
        return cls(values, _shares(drawn), (n, n, P))

    def rows(
        self, pairs: Pairs, labels: tuple[str, ...], confidence: float
    ) -> list[TableRow]:
        """Return one row a label and statistic."""
        found = []
        for k, label in enumerate(labels):
            for s, statistic in enumerate(STATISTICS):
                low, high, why = interval(self.drawn[s][:, k], confidence)
                value = float(self.values[s][k])
                estimate = Estimate(value, low, high, self.n[s], reason=why)
                found.append(_row(pairs, label, statistic, estimate))
        return found


def _shares(sums: Array) -> list[Array]:
    """Return half and strict accuracy and acc_eq from sums of features."""
    total, decided = sums[:, :1], sums[:, 1:2]
    hits, ties, right = np.split(sums[:, 2:], 3, axis=1)
    half, strict = divided(hits + ties / 2, decided), divided(hits, decided)
    return [half, strict, divided(right, total)]


def _weight_rows(
    pairs: Pairs,
    names: tuple[str, ...],
    data: _Data,
    resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> list[TableRow]:
    ridge = _best_ridge(data, rng)
    beta = _fit(data.x, ridge)
    weights = _as_shares(beta[None])[0]
    drawn = _drawn_weights(data, beta, ridge, resamples, rng)
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
    data: _Data,
    beta: Array,
    ridge: float,
    resamples: int,
    rng: np.random.Generator,
) -> Array:
    """Refit in resamples of stories by one Newton step from the fit to all."""
    stories, code = np.unique(data.story, return_inverse=True)
    K, S = len(beta), len(stories)
    p = expit(-(data.x @ beta))
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(S))
    x, p = data.x[order], p[order]
    gradients = np.add.reduceat(x * p[:, None], starts)
    outer = (x[:, :, None] * x[:, None, :]).reshape(len(x), K * K)
    information = np.add.reduceat(outer * (p * (1 - p))[:, None], starts)
    size = np.bincount(code, minlength=S)
    counts = cluster_counts(S, resamples, rng).astype(float)
    penalties = ridge * (counts @ size) / 4
    found = np.empty((resamples, K))
    for b in range(resamples):
        matrix = (counts[b] @ information).reshape(K, K)
        matrix[np.diag_indices(K)] += penalties[b]
        gradient = counts[b] @ gradients - penalties[b] * beta
        found[b] = _step(beta, gradient, matrix)
    return _as_shares(found)


def _gain(
    pairs: Pairs,
    judged: _Judged,
    labels: tuple[str, ...],
    against: int,
    confidence: float,
) -> TableRow:
    """Compare the composite with another score on the same pairs."""
    value = float(judged.values[0][-1] - judged.values[0][against])
    low, high, why = interval(
        judged.drawn[0][:, -1] - judged.drawn[0][:, against], confidence
    )
    if np.isfinite(low) and low <= 0:
        why = (
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
    estimate = Estimate(value, low, high, judged.n[0], reason=why)
    return _row(pairs, COMPOSITE, "gain", estimate, labels[against])
