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
from analysis.pairwise.output_pairs import Pairs, pair_places, story_sums
from analysis.results import NAN, Array, Counts, Estimate, TableRow
from analysis.sentences import counted, sentence

ONE_ANNOTATOR = "one annotator"


def human_pairs(
    pairs: Pairs, *, parts: tuple[str, ...], with_intervals: bool, confidence: float
) -> list[TableRow]:
    r"""Measure how one annotator, and each metric, predict all other annotators.

    Each annotator in turn predicts what the mean or the majority of all others prefers,
    on the pairs which both judged. With :math:`d_{as}` what annotator a and a story s
    add to the accuracy of one annotator, around that of the story and times
    :math:`\sqrt{m_s / (m_s - 1)}` for its :math:`m_s` annotators, its variance is that
    of drawing `parts`, and

    .. math:: \max\Bigl(0,
        \sum_a \bigl(\sum_s d_{as}\bigr)^2 - \sum_{a,s} d_{as}^2\Bigr).

    Degrees of freedom are Satterthwaite's, at most A - 1. The intervals of metrics
    leave annotators as they are. Whether a metric may take an
    annotator's place: `analysis.reliability.alternative_annotators`.
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
    if error is not None:
        values = [error.share(row, k) for row in range(2)]
    return {
        **values[0].columns(),
        **values[1].bounds("ppa_strict"),
        "tie_rate": tie_rate,
        "acc_eq": tally.right[k] / tally.n_known if tally.n_known else NAN,
        "drawn": "" if error is None else error.drawn(k),
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


def _between(pairs: Pairs, tally: _Tally) -> float:
    """Return the variance of one annotator's accuracy by what differs between them."""
    S = len(pairs.stories)
    sums = np.stack([tally.credit[0, 0], tally.decided], axis=1)
    means = divided(*story_sums(pairs, sums).T)
    m = tally.n_people
    widened = np.sqrt(np.where(m > 1, m / np.maximum(m - 1, 1), 0)) / tally.n
    found = 0.0
    for judged, own, others in pairs.left_out():
        decided = others != 0
        story = pairs.story[judged[decided]]
        right = (own[decided] == others[decided]) + (own[decided] == 0) / 2
        n = np.bincount(story, minlength=S)
        hits = np.bincount(story, right, minlength=S)
        added = (hits - np.nan_to_num(means) * n) * widened
        found += float(added.sum() ** 2 - (added**2).sum())
    return max(found, 0.0)


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
    """Standard errors of shares."""

    def __init__(
        self, pairs: Pairs, tally: _Tally, parts: tuple[str, ...], confidence: float
    ) -> None:
        self._tally, self._parts, self._confidence = tally, parts, confidence
        self._values = tally.sums / tally.n
        self._story, self._pair, self.n_methods = pair_places(pairs)
        self._few = ""
        A = tally.n_annotators
        if A < LEAST:
            self._few = sentence("{n} are too few", n=counted(A, "annotator"))
        self._between = _between(pairs, tally)

    def drawn(self, k: int) -> str:
        """Return the sampled clusters: annotators too for one annotator, k = 0."""
        parts = self._variances(np.zeros_like(self._tally.decided)).parts
        people = () if k or self._few else ("annotators",)
        return "+".join((*parts, *people))

    def _variances(self, added: Array) -> ClusterVariances:
        """Return the variances of a mean to which each pair adds this."""
        M = self.n_methods
        shape = int(self._story.max()) + 1, M * (M - 1) // 2
        place = self._story * shape[1] + self._pair
        scale = shape[0] * shape[1] / self._tally.n
        sums = np.bincount(place, added * scale, minlength=shape[0] * shape[1])
        values = np.asarray(sums.reshape(shape), float)
        step = 1 / int((self._tally.decided > 0).sum())
        return variances_of_pairs(values, M, step, self._parts).narrowed()

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
            known = _WithAnnotators(
                **vars(known), between=self._between, n_annotators=tally.n_annotators
            )
        bounds = known.share_interval(value, self._confidence, 0.0)
        return Estimate(value, *bounds, n=tally.n)
