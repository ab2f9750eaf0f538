"""One annotator as a predictor of the others, beside the metrics."""

from dataclasses import dataclass

import numpy as np

from analysis.inference.cluster_variance import (
    CROSSED,
    LEAST,
    ClusterVariances,
    variances_of_pairs,
)
from analysis.inference.resampling import divided
from analysis.pairwise.accuracy_differences import NO_TEST
from analysis.pairwise.output_pairs import Clusters, Pairs, story_sums
from analysis.results import NAN, Array, Counts, Estimate, TableRow
from analysis.sentences import counted, sentence

ONE_ANNOTATOR = "one annotator"


def human_pairs(
    pairs: Pairs, *, parts: tuple[str, ...], with_intervals: bool, confidence: float
) -> list[TableRow]:
    r"""Measure how one annotator, and each metric, predict all other annotators.

    Each annotator in turn predicts what the mean or the majority of all others prefers,
    on the pairs which both judged. A metric is held against one annotator more, who has
    an individual ability and taste. With :math:`w_a` the share of the
    judgements that are annotator a's, and :math:`d_{as}` what a and a story s add to
    the difference, around that of the story and times :math:`\sqrt{m_s / (m_s - 1)}`
    for its :math:`m_s` annotators, the variance between annotators is

    .. math:: \tau^2 = \frac{1}{\sum_a w_a^2} \max\Bigl(0,
        \sum_a \bigl(\sum_s d_{as}\bigr)^2 - \sum_{a,s} d_{as}^2\Bigr)

    and that of the difference :math:`V + (1 + \sum_a w_a^2) \tau^2`, where V is that of
    drawing `parts`. Degrees of freedom are Satterthwaite's, at most A - 1.
    """
    kept = tuple(part for part in parts if part in CROSSED) or ("stories",)
    tally = _tally(pairs)
    shares = tally.sums / tally.n if tally.n else np.full(tally.sums.shape, NAN)
    names = (ONE_ANNOTATOR, *pairs.metrics)
    error = None
    if with_intervals and tally.n:
        error = _Errors(pairs, tally, kept, confidence)
    return [
        {
            "question": pairs.question,
            "source": pairs.source,
            "metric": name,
            "n_annotators": tally.n_annotators,
            **_row(tally, shares, k, error, _why_not(pairs, tally)),
        }
        for k, name in enumerate(names)
    ]


def _row(
    tally: "_Tally", shares: Array, k: int, error: "_Errors | None", reason: str
) -> TableRow:
    half, strict, tie_rate = (float(share) for share in shares[:, k])
    values = [Estimate(x, n=tally.n, reason=reason) for x in (half, strict)]
    less = Estimate(float(half - shares[0, 0])) if k else Estimate(NAN)
    if error is not None:
        values = [error.share(row, k) for row in range(2)]
        less = error.difference(k) if k else less
    reasons = dict.fromkeys(filter(None, (values[0].reason, less.reason)))
    return {
        **values[0].columns(),
        **values[1].bounds("ppa_strict"),
        **less.bounds("difference"),
        "p_value": less.p_value,
        "tie_rate": tie_rate,
        "acc_eq": tally.right[k] / tally.n_known if tally.n_known else NAN,
        "drawn": "" if error is None else error.drawn,
        "reason": next(iter(reasons), ""),
    }


def _why_not(pairs: Pairs, tally: "_Tally") -> str:
    if tally.n:
        return ""
    if pairs.n_annotators < 2:
        return sentence("one annotator: there are no others to predict")
    return sentence("no pair has an annotator and a preference of the others")


@dataclass(frozen=True)
class _Tally:
    """Predictions of the other annotators by one annotator and by K metrics."""

    n: int
    n_known: int
    n_annotators: int
    decided: Array
    right: Array
    credit: Array
    n_people: Counts
    weights: Array

    @property
    def sums(self) -> Array:
        """Shape (3, K + 1): the credit of all pairs."""
        return np.asarray(self.credit.sum(axis=2))


def _tally(pairs: Pairs) -> _Tally:
    """Count hits and ties of each pair."""
    P = len(pairs.human)
    prefer = {side: np.zeros(P) for side in (1, -1, 0)}
    hits, ties, right = np.zeros((3, P))
    n_people = np.zeros(len(pairs.stories), int)
    sizes = []
    for judged, own, others in pairs.left_out():
        for side, count in prefer.items():
            count[judged[others == side]] += 1
        if not len(judged):
            continue
        decided = others != 0
        hits[judged[decided & (own == others)]] += 1
        ties[judged[decided & (own == 0)]] += 1
        right[judged[own == others]] += 1
        n_people[np.unique(pairs.story[judged[decided]])] += 1
        sizes.append(int(decided.sum()))
    decided_by = prefer[1] + prefer[-1]
    signs = np.sign(pairs.scores)
    metric_hits = np.where(signs > 0, prefer[1], np.where(signs < 0, prefer[-1], 0.0))
    metric_ties = np.where(signs == 0, decided_by, 0.0)
    metric_right = metric_hits + np.where(signs == 0, prefer[0], 0.0)
    strict, tied = np.vstack([hits, metric_hits]), np.vstack([ties, metric_ties])
    n = int(decided_by.sum())
    return _Tally(
        n,
        n + int(prefer[0].sum()),
        len(sizes),
        decided_by,
        np.vstack([right, metric_right]).sum(axis=1),
        np.stack([strict + tied / 2, strict, tied]),
        n_people,
        np.array(sizes) / max(n, 1),
    )


def _between(pairs: Pairs, tally: _Tally) -> Array:
    """Return the variance of half accuracies by what differs between annotators."""
    S, K = len(pairs.stories), len(pairs.metrics)
    signs = np.sign(pairs.scores)
    credit = tally.credit[0]
    means = divided(
        story_sums(pairs.clusters, _against_the_first(credit).T).T,
        story_sums(pairs.clusters, tally.decided[:, None])[:, 0],
    )
    m = tally.n_people
    widened = np.sqrt(np.where(m > 1, m / np.maximum(m - 1, 1), 0)) / tally.n
    rows = np.arange(K + 1)[:, None] * S
    found = np.zeros(K + 1)
    for judged, own, others in pairs.left_out():
        decided = others != 0
        at, others = judged[decided], others[decided]
        told = np.vstack([own[decided], signs[:, at]])
        right = _against_the_first((told == others) + (told == 0) / 2)
        cell = (rows + pairs.story[at]).ravel()
        sums = np.bincount(cell, right.ravel(), minlength=(K + 1) * S)
        n = np.bincount(pairs.story[at], minlength=S)
        added = (sums.reshape(K + 1, S) - np.nan_to_num(means) * n) * widened
        found += added.sum(axis=1) ** 2 - (added**2).sum(axis=1)
    return np.maximum(found, 0.0)


def _against_the_first(rows: Array) -> Array:
    """Take the first row from all others."""
    return np.vstack([rows[:1], rows[1:] - rows[:1]])


@dataclass(frozen=True)
class _WithAnnotators(ClusterVariances):
    """The same where annotators are drawn, too."""

    between: float = 0.0
    n_annotators: int = 2

    @property
    def variance(self) -> float:
        return super().variance + self.between

    @property
    def freedom(self) -> float:
        """Degrees of freedom, joined after Satterthwaite (1946); of annotators most."""
        most = self.n_annotators - 1
        of_people = (self.between / self.variance) ** 2 / most
        return min(1 / (1 / super().freedom + of_people), most)


class _Errors:
    """Standard errors of shares and of their differences."""

    def __init__(
        self, pairs: Pairs, tally: _Tally, parts: tuple[str, ...], confidence: float
    ) -> None:
        self._tally, self._parts, self._confidence = tally, parts, confidence
        self._values = tally.sums / tally.n
        self._clusters, self.n_methods = _renumbered(pairs.clusters)
        self._few = ""
        A = tally.n_annotators
        if A < LEAST:
            self._few = sentence("{n} are too few", n=counted(A, "annotator"))
        self._between = _between(pairs, tally)
        self.drawn = "+".join((*self._variances(np.zeros_like(tally.decided)).parts,))
        if not self._few:
            self.drawn += "+annotators"

    def _variances(self, added: Array) -> ClusterVariances:
        """Return the variances of a mean to which each pair adds this."""
        clusters, M = self._clusters, self.n_methods
        i, j = np.triu_indices(M, 1)
        code = np.zeros((M, M), int)
        code[i, j] = np.arange(len(i))
        place = clusters.story * len(i) + code[clusters.first, clusters.second]
        shape = clusters.n_stories, len(i)
        scale = shape[0] * shape[1] / self._tally.n
        sums = np.bincount(place, added * scale, minlength=shape[0] * shape[1])
        values = np.asarray(sums.reshape(shape), float)
        step = 1 / int((self._tally.decided > 0).sum())
        return variances_of_pairs(values, M, step, self._parts).narrowed()

    def _with_annotators(
        self, known: ClusterVariances, between: float
    ) -> ClusterVariances:
        return _WithAnnotators(
            **vars(known), between=between, n_annotators=self._tally.n_annotators
        )

    def share(self, row: int, k: int) -> Estimate:
        """Return a share: row 0 is half accuracy, row 1 strict; k = 0 is a person."""
        value, tally = float(self._values[row, k]), self._tally
        known = self._variances(tally.credit[row, k] - value * tally.decided)
        reason = known.why_not or ("" if k else self._few)
        if not reason and row == 0 and self._values[2, k] == 1:
            reason = NO_TEST  # tying every pair is a half, whatever is drawn
        if reason:
            return Estimate(value, n=tally.n, reason=reason)
        if not k:
            known = self._with_annotators(known, float(self._between[0]))
        bounds = known.share_interval(value, self._confidence, 0.0)
        return Estimate(value, *bounds, n=tally.n)

    def difference(self, k: int) -> Estimate:
        """Return a metric's half accuracy less that of one annotator more."""
        value, tally = float(self._values[0, k] - self._values[0, 0]), self._tally
        credit = tally.credit[0, k] - tally.credit[0, 0]
        known = self._variances(credit - value * tally.decided)
        if reason := self._few or known.why_not:
            return Estimate(value, reason=reason)
        people = float(self._between[k] * (1 + 1 / (tally.weights**2).sum()))
        known = self._with_annotators(known, people)
        bounds = known.interval(value, self._confidence, 1.0)
        return Estimate(value, *bounds, p_value=known.p_value(value))


def _renumbered(clusters: Clusters) -> tuple[Clusters, int]:
    """Renumber the stories and methods that have a pair, the first method below."""
    stories, story = np.unique(clusters.story, return_inverse=True)
    both = np.stack([clusters.first, clusters.second])
    methods, index = np.unique(both, return_inverse=True)
    first, second = np.sort(index.reshape(both.shape), axis=0)
    return Clusters(story, first, second, len(stories), len(methods)), len(methods)
