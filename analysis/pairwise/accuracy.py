"""Accuracy of metrics in predicting which of two outputs people prefer."""

from dataclasses import dataclass, replace

import numpy as np

from analysis.inference.cluster_variance import CROSSED
from analysis.inference.resampling import (
    bootstrap_p,
    cluster_counts,
    divided,
    follow_test,
    interval,
    rejects,
    stream,
)
from analysis.pairwise.accuracy_differences import (
    CHANCE,
    STATISTICS,
    accuracy_variances,
)
from analysis.pairwise.output_pairs import (
    CHUNK,
    Pairs,
    can_vary,
    draw_clusters,
    story_sums,
)
from analysis.reading.scores import BASELINE, RANDOM
from analysis.results import NAN, Array, Estimate


@dataclass(frozen=True)
class PairAgreement:
    """One metric's accuracy in predicting people's preferences."""

    metric: str
    strict: Estimate
    half: Estimate
    tie_rate: float
    n_pairs: int
    acc_eq: Estimate
    chance: float
    epsilon: float
    in_sample: bool
    drawn: str = ""


def pair_agreement(
    pairs: Pairs,
    *,
    epsilon: str,
    parts: tuple[str, ...],
    resamples: int,
    confidence: float,
    seed: int,
) -> list[PairAgreement]:
    """Measure how every metric predicts people's preferences inside stories.

    With C concordant and D discordant pairs, Th tied by people only, Tm by the metric
    only, Thm by both, and N their sum: strict PPA is :math:`C / (C + D + T_m)`, half
    PPA :math:`(C + T_m / 2) / (C + D + T_m)`, and acc_eq :math:`(C + T_{hm}) / N` with
    metric ties up to epsilon (Deutsch, Foster and Freitag 2023, arXiv 2305.14324).

    Fewer than five methods are too few to speak of others: then intervals and tests are
    of these methods in new stories. Where annotators are drawn those of both PPA are of
    the bootstrap, and acc_eq has none.
    """
    names = (*pairs.metrics, BASELINE)
    constant = np.zeros((1, len(pairs.human)))
    every = replace(pairs, metrics=names, scores=np.vstack([pairs.scores, constant]))
    known = {
        name: accuracy_variances(every, name, epsilon=epsilon, parts=parts)
        for name in STATISTICS
    }
    half = known["ppa_half"]
    if parts == CROSSED and half.n_pairs and half.of(0).why_not:
        # Too few methods to speak of others: then of these, in other stories.
        parts = ("stories",)
        known = {name: replace(own, parts=parts) for name, own in known.items()}
    estimates = {
        name: [
            own.estimate(k, confidence)
            if resamples
            else Estimate(float(own.values[k]), n=own.n_pairs)
            for k in range(len(names))
        ]
        for name, own in known.items()
    }
    if resamples and "annotators" in parts and known["ppa_half"].n_pairs:
        rng = stream(seed, "pairs", pairs.question, pairs.source)
        drawn = _PairSums.of(_annotator_sums(pairs, parts, resamples, rng)).ppa()
        for name, draws in zip(("ppa_strict", "ppa_half"), drawn, strict=True):
            estimates[name] = [
                _drawn_estimate(
                    own, float(known[name].chances[k]), draws[:, k], confidence
                )
                for k, own in enumerate(estimates[name])
            ]
    sums = _PairSums.of(_features(pairs.human, pairs.scores).sum(axis=0)[None])
    found = [
        PairAgreement(
            name,
            estimates["ppa_strict"][k],
            estimates["ppa_half"][k],
            float(sums.tie_rate()[0, k]),
            int(sums.decided[0, 0]),
            estimates["acc_eq"][k],
            float(known["acc_eq"].chances[k]),
            float(known["acc_eq"].epsilons[k]),
            epsilon == "insample" and name != BASELINE,
            "+".join(parts) if np.isfinite(estimates["ppa_half"][k].low) else "",
        )
        for k, name in enumerate(names)
    ]
    return [*found, random_agreement(pairs)]


def _drawn_estimate(
    own: Estimate, chance: float, draws: Array, confidence: float
) -> Estimate:
    low, high, reason = interval(draws, confidence)
    if np.isnan(chance):
        return replace(own, low=low, high=high, reason=reason)
    p_value = bootstrap_p(draws - chance)
    rejected = rejects(p_value, confidence)
    low, high = follow_test(low, high, own.value, chance, rejected)
    return replace(own, low=low, high=high, reason=reason, p_value=p_value)


def random_agreement(pairs: Pairs) -> PairAgreement:
    """Return what a metric without ties that guesses reaches on average."""
    decided = int((pairs.human != 0).sum())
    chance = Estimate(CHANCE if decided else NAN, n=decided)
    N = len(pairs.human)
    acc_eq = Estimate(decided / 2 / N if N else NAN, n=N)
    ties, epsilon = (0.0 if n else NAN for n in (decided, N))
    return PairAgreement(
        RANDOM, chance, chance, ties, decided, acc_eq, acc_eq.value, epsilon, False
    )


def ppa_by_story_weights(pairs: Pairs, stories: Array) -> Array:
    """Return strict, then half accuracies where stories count a number of times."""
    features = _features(pairs.human, pairs.scores)
    sums = _PairSums.of(stories @ story_sums(pairs, features))
    return np.hstack([share[:, :-1] for share in sums.ppa()])


@dataclass(frozen=True)
class _PairSums:
    """C and Tm, each (B, K + 1) with the baseline last, and C + D + Tm, (B, 1)."""

    hits: Array
    ties: Array
    decided: Array

    @classmethod
    def of(cls, sums: Array) -> "_PairSums":
        """Take apart sums of `_features`, (B, 2K + 1)."""
        decided = sums[:, :1]
        hits, ties = np.split(sums[:, 1:], 2, axis=1)
        return cls(
            np.hstack([hits, np.zeros_like(decided)]),
            np.hstack([ties, decided]),
            decided,
        )

    def ppa(self) -> tuple[Array, Array]:
        """Return strict and half accuracy."""
        half = divided(self.hits + self.ties / 2, self.decided)
        return divided(self.hits, self.decided), half

    def tie_rate(self) -> Array:
        """Return the share of pairs which the metric ties."""
        return divided(self.ties, self.decided)


def _features(human: Array, scores: Array) -> Array:
    """Return what is counted of each pair: decided, then hits, then ties of metrics."""
    decided = human != 0
    signs = np.sign(scores)
    return np.vstack([decided, decided & (signs == human), decided & (signs == 0)]).T


def _annotator_sums(
    pairs: Pairs, parts: tuple[str, ...], resamples: int, rng: np.random.Generator
) -> Array:
    """Draw annotators, which changes what people prefer, and perhaps a second part."""
    K, P = pairs.scores.shape
    if not (resamples and P and can_vary(pairs, parts)):
        return np.empty((0, 2 * K + 1))
    stories, methods = draw_clusters(pairs, parts, resamples, rng)
    first, second, neither = (
        (np.sign(pairs.scores) == sign).T.astype(np.float32) for sign in (1, -1, 0)
    )
    found = []
    step = max(1, CHUNK // P)
    for start in range(0, resamples, step):
        rows = slice(start, min(start + step, resamples))
        size = rows.stop - start
        human, judged = pairs.redraw(cluster_counts(pairs.n_annotators, size, rng))
        weights = judged.astype(np.float32)
        if stories is not None:
            weights *= stories[rows][:, pairs.story]
        if methods is not None:
            weights *= methods[rows][:, pairs.first]
            weights *= methods[rows][:, pairs.second]
        if "units" in parts:
            weights *= cluster_counts(P, size, rng)
        ahead, behind = weights * (human > 0), weights * (human < 0)
        clear = ahead + behind
        found.append(
            np.hstack(
                [
                    clear.sum(axis=1, keepdims=True, dtype=float),
                    ahead @ first + behind @ second,
                    clear @ neither,
                ]
            )
        )
    return np.concatenate(found)
