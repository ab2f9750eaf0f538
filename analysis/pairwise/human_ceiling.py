"""How well one person predicts the others: what a metric's accuracy can be held to."""

from collections.abc import Iterator

import numpy as np

from analysis.inference.resampling import interval, stream
from analysis.inference.scaling import divided
from analysis.pairwise.output_pairs import Pairs
from analysis.pairwise.pair_sums import resampled_sums
from analysis.results import Array, Estimate, TableRow, undefined
from analysis.sentences import sentence

ONE_ANNOTATOR = "one annotator"


def human_pairs(
    pairs: Pairs,
    *,
    parts: tuple[str, ...],
    resamples: int,
    confidence: float,
    seed: int,
) -> list[TableRow]:
    """Measure how one annotator, and each metric, predict all other annotators.

    Parameters
    ----------
    pairs
        From `rating_pairs` or `choice_pairs`.
    parts
        Clusters to draw: stories, methods. Annotators cannot be drawn here, since one
        drawn twice would predict himself; they are left out of `parts`, and stories
        drawn if nothing remains.
    resamples, confidence, seed
        Number of resamples (0 for no intervals), coverage, seed.

    Returns
    -------
    list of Row
        Rows of ``human_pairs``: the row `one annotator`, then one a metric.
        `value` is half accuracy; `n` counts (pair, annotator) with a preference of
        the others, `n_annotators` the annotators who judged what others did, too.
        `difference` is the metric's half accuracy less that of one annotator: above 0
        the metric predicts people better than one of them does.

    Notes
    -----
    Each annotator in turn predicts, by the order of his or her two ratings or by the
    choice, what the mean or the majority of all others prefers, on the pairs which
    both judged. Metrics are held against the same people on the same pairs, so the
    rows can be compared with each other; they cannot be with
    ``pairwise_accuracy.csv``, where people are all annotators together. That is why
    this is a table of its own. The others are one fewer than all, hence a little
    noisier: the accuracies of metrics are slightly lower here.
    """
    kept = tuple(part for part in parts if part in {"stories", "methods"})
    labels = (ONE_ANNOTATOR, *pairs.metrics)
    features, n_annotators = _features(pairs)
    point = _shares(features.sum(axis=0)[None])
    rng = stream(seed, "human pairs", pairs.question, pairs.source)
    sums = resampled_sums(
        pairs.clusters, features, kept or ("stories",), resamples, rng
    )
    drawn = _shares(sums)
    n = int(features[:, 1].sum())
    reason = "" if n else _why_not(pairs)
    shared: TableRow = {"question": pairs.question, "source": pairs.source, "n": n}
    rows = _rows(labels, point, drawn, confidence, reason, n_annotators)
    return [row | shared for row in rows]


def _why_not(pairs: Pairs) -> str:
    if pairs.n_annotators < 2:
        return sentence("one annotator: there are no others to predict")
    return sentence("no pair has an annotator and a preference of the others")


def _features(pairs: Pairs) -> tuple[Array, int]:
    """Count, of each pair, known and decided, then hits, ties and right predictions.

    Comes with the number of annotators who judged a pair that others judged, too.
    Annotators who left out a pair are never looked at. A metric predicts the same
    whoever is left out, so it is compared with how many of the others prefer what.
    """
    P = len(pairs.human)
    prefer = {side: np.zeros(P) for side in (1, -1, 0)}
    hits, ties, right = np.zeros((3, P))
    n_annotators = 0
    for judged, own, others in pairs.left_out():
        for side, count in prefer.items():
            count[judged[others == side]] += 1
        decided = others != 0
        n_annotators += len(judged) > 0
        hits[judged[decided & (own == others)]] += 1
        ties[judged[decided & (own == 0)]] += 1
        right[judged[own == others]] += 1
    decided_by = prefer[1] + prefer[-1]
    signs = np.sign(pairs.scores)
    metric_hits = np.where(signs > 0, prefer[1], np.where(signs < 0, prefer[-1], 0.0))
    metric_ties = np.where(signs == 0, decided_by, 0.0)
    metric_right = metric_hits + np.where(signs == 0, prefer[0], 0.0)
    features = np.vstack(
        [
            decided_by + prefer[0],
            decided_by,
            hits,
            metric_hits,
            ties,
            metric_ties,
            right,
            metric_right,
        ]
    ).T
    return features, n_annotators


CeilingShares = tuple[Array, Array, Array, Array]


def _shares(sums: Array) -> CeilingShares:
    """Return half and strict accuracy, tie rate and acc_eq."""
    known, decided = sums[:, :1], sums[:, 1:2]
    hits, ties, right = np.split(sums[:, 2:], 3, axis=1)
    half, strict = divided(hits + ties / 2, decided), divided(hits, decided)
    return half, strict, divided(ties, decided), divided(right, known)


def _rows(
    labels: tuple[str, ...],
    point: CeilingShares,
    drawn: CeilingShares,
    confidence: float,
    reason: str,
    n_annotators: int,
) -> Iterator[TableRow]:
    half, strict, tie_rate, acc_eq = (x[0] for x in point)

    def estimate(value: float, draws: Array) -> Estimate:
        low, high, why = interval(draws, confidence)
        return Estimate(value, low, high, reason=reason or why)

    for k, label in enumerate(labels):
        less = undefined("")
        if k:
            draws = drawn[0][:, k] - drawn[0][:, 0]
            less = estimate(float(half[k] - half[0]), draws)
        yield {
            "metric": label,
            **estimate(float(half[k]), drawn[0][:, k]).columns(),
            **estimate(float(strict[k]), drawn[1][:, k]).bounds("ppa_strict"),
            "tie_rate": float(tie_rate[k]),
            "acc_eq": float(acc_eq[k]),
            **less.bounds("difference"),
            "n_annotators": n_annotators,
        }
