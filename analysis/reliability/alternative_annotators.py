r"""The alternative-annotator test: whether a metric may take an annotator's place.

Each annotator in turn is left out, and the metric and the annotator are measured by
their agreement with the others, over the annotator's items (Calderon, Reichart and Dror
2025, arXiv 2501.10970, section 3). With :math:`\rho_f` and :math:`\rho_j` the two, the
advantage is :math:`\rho_f - \rho_j`, and the hypothesis rejected is
:math:`\rho_f \le \rho_j - \epsilon`. The p-values of all annotators are adjusted
together after Benjamini and Yekutieli; a metric that takes the place of at least half
of the annotators replaces one.

The paper takes items as independent. Outputs of one story are not: here stories are the
clusters.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse, stats
from scipy.special import stdtr

from analysis.inference.cluster_variance import LEAST
from analysis.inference.crossed_clusters import widened_clusters
from analysis.results import NAN, Array, Counts, Mask

# An annotator with fewer items is not tested, nor are fewer annotators.
LEAST_ITEMS = 20
LEAST_ANNOTATORS = 3
# With fewer items the paper's test is Wilcoxon's.
FEW_ITEMS = 30
SMALLEST = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class LeftOut:
    """The items of one annotator, with the agreement of K metrics and of the annotator.

    Attributes
    ----------
    story
        The story of each of n items.
    metrics, own
        The agreement of metrics, and of the annotator beside each, (K, n).
    """

    annotator: str
    story: Counts
    metrics: Array
    own: Array


@dataclass(frozen=True)
class Advantages:
    """The advantages of K metrics over A annotators, each array of shape (A, K).

    `counts` are the items of each of S stories, (A, S), and `sums` the advantages
    summed over them, (A, K, S).
    """

    annotators: tuple[str, ...]
    n: Counts
    n_stories: Counts
    rho_metric: Array
    rho_annotator: Array
    error: Array
    freedom: Array
    of_items: Array
    counts: Array
    sums: Array

    @property
    def value(self) -> Array:
        return self.rho_metric - self.rho_annotator

    @property
    def tested(self) -> Mask:
        """True of annotators with enough items of enough stories, (A,)."""
        return (self.n >= LEAST_ITEMS) & (self.n_stories >= LEAST)

    def p_values(self, epsilon: Array, times: float = 1.0) -> tuple[Array, Array]:
        r"""Test :math:`\rho_f \le \rho_j - \epsilon`, and the reverse, one-sided.

        `times` as many stories are imagined, with these values.
        """
        error = self.error / np.sqrt(times)
        freedom = (self.freedom + 1) * times - 1
        t = (self.value + epsilon) / np.where(error > 0, error, NAN)
        better, worse = (np.maximum(stdtr(freedom, x), SMALLEST) for x in (-t, t))
        return better, worse

    def over_annotators(self, chosen: Mask) -> tuple[Array, Array]:
        r"""Return error and degrees of freedom of means over annotators, (K,).

        Stories and annotators are drawn. With :math:`d_{as}` what annotator a and a
        story s add to the mean, around that of the story, times
        :math:`\sqrt{m_s / (m_s - 1)}` for its :math:`m_s` annotators, the variance is
        that over stories, as of one annotator, and

        .. math:: \max\Bigl(0,
            \sum_a \bigl(\sum_s d_{as}\bigr)^2 - \sum_{a,s} d_{as}^2\Bigr).

        Degrees of freedom are Satterthwaite's, at most A - 1.
        """
        A, n = int(chosen.sum()), self.n[chosen][:, None]
        counts = self.counts[chosen]
        seen = counts.any(axis=0)
        share = counts[:, seen] / (A * n)
        added = self.sums[chosen][..., seen] / (A * n[..., None])
        size, total = share.sum(axis=0), added.sum(axis=0)
        one = np.zeros(len(size), int)
        own = (total - total.sum(axis=1)[:, None] * size) * widened_clusters(
            size, one, 1
        )
        stories = np.maximum((own**2).sum(axis=1), 3 / n.max() ** 2)
        m = (share > 0).sum(axis=0)
        around = added - total / size * share[:, None]
        around *= np.where(m > 1, np.sqrt(m / np.maximum(m - 1, 1)), 0.0)
        people = (around.sum(axis=2) ** 2).sum(axis=0) - (around**2).sum(axis=(0, 2))
        people = np.maximum(people, 0.0)
        variance = stories + people
        below = (stories / variance) ** 2 / max(1 / (size**2).sum() - 1, 1.0)
        below += (people / variance) ** 2 / (A - 1)
        return np.sqrt(variance), np.minimum(1 / below, A - 1)


def measured(
    left_out: Iterable[LeftOut], epsilon: Array, *, with_items: bool = False
) -> Advantages:
    r"""Measure the advantages of metrics over each annotator.

    The standard error is that of a mean over stories of uneven size, each contribution
    divided by 1 less the story's share (Bell and McCaffrey 2002), with
    :math:`1 / \sum h^2 - 1` degrees of freedom. Differences that were never seen among
    n items have a share below 3 / n: the variance is at least :math:`3 / n^2`.

    Parameters
    ----------
    left_out
        One annotator after another.
    epsilon
        Declared for each metric; NaN where none is, (K,).
    with_items
        Whether to make the paper's own test, which takes items as independent.
    """
    names, n, stories, parts, counts, sums = [], [], [], [], [], []
    for one in left_out:
        names.append(one.annotator)
        n.append(len(one.story))
        stories.append(len(np.unique(one.story)))
        parts.append(_measured(one, epsilon, with_items))
        counts.append(np.bincount(one.story))
        sums.append([np.bincount(one.story, x) for x in one.metrics - one.own])
    columns = np.array(parts, float).reshape(len(parts), 5, len(epsilon))
    A, K, S = len(parts), len(epsilon), max(map(len, counts), default=0)
    padded, summed = np.zeros((A, S)), np.zeros((A, K, S))
    for a, (count, of_metrics) in enumerate(zip(counts, sums, strict=True)):
        padded[a, : len(count)] = count
        summed[a, :, : len(count)] = of_metrics
    metric, own, error, freedom, of_items = columns.transpose(1, 0, 2)
    return Advantages(
        tuple(names),
        np.array(n),
        np.array(stories),
        metric,
        own,
        error,
        freedom,
        of_items,
        padded,
        summed,
    )


def _measured(one: LeftOut, epsilon: Array, with_items: bool) -> Array:
    """Return both shares, error, degrees of freedom and the paper's p: (5, K)."""
    K, n = one.metrics.shape
    found = np.full((5, K), NAN)
    if not n:
        return found
    gain = one.metrics - one.own
    found[:2] = one.metrics.mean(axis=1), one.own.mean(axis=1)
    stories, story = np.unique(one.story, return_inverse=True)
    sizes = np.bincount(story)
    if with_items:
        found[4] = [item_p(*each) for each in zip(gain, epsilon, strict=True)]
    if len(stories) > 1:
        table = sparse.csr_array((np.ones(n), (np.arange(n), story)))
        sums = (gain @ table - gain.mean(axis=1)[:, None] * sizes) / n
        sums *= widened_clusters(sizes, np.zeros(len(sizes), int), 1)
        found[2] = np.sqrt(np.maximum((sums**2).sum(axis=1), 3 / n**2))
        found[3] = max(n**2 / (sizes**2).sum() - 1, 1.0)
    return found


def item_p(gain: Array, epsilon: float) -> float:
    """Return the paper's p-value: a paired t test of independent items, one-sided.

    Of fewer than 30 items it is Wilcoxon's signed-rank test.
    """
    if np.isnan(epsilon):
        return NAN
    shifted = gain + epsilon
    if not shifted.any():
        return 1.0
    if len(gain) < FEW_ITEMS:
        p_value = float(stats.wilcoxon(shifted, alternative="greater").pvalue)
    elif np.ptp(shifted) == 0:
        p_value = 0.0 if shifted[0] > 0 else 1.0
    else:
        p_value = float(stats.ttest_1samp(shifted, 0.0, alternative="greater").pvalue)
    return max(p_value, SMALLEST)


def adjusted(p_values: Array) -> Array:
    """Adjust p-values over annotators, (A, K), after Benjamini and Yekutieli (2001)."""
    if not len(p_values):
        return p_values
    known = np.isfinite(p_values).all(axis=0)
    found = np.full(p_values.shape, NAN)
    if known.any():
        found[:, known] = stats.false_discovery_control(
            p_values[:, known], axis=0, method="by"
        )
    return found


# Items --------------------------------------------------------------------------------


def label_items(
    votes: Array,
    labels: Array,
    story: Counts,
    annotators: Sequence[str],
    *,
    nominal: bool = False,
) -> Iterable[LeftOut]:
    """Yield each annotator's items, where metrics answer on the annotators' scale.

    Agreement with the others is minus the root mean squared difference, or, of nominal
    answers, the share of the same answer. What counts is which of the two agrees at
    least as well: 1 for it, and for both where they tie.

    Parameters
    ----------
    votes
        The answers of A annotators to N items; NaN where there is none, (A, N).
    labels
        The answers of K metrics, (K, N).
    story
        The story of each item, (N,).
    """
    present = np.isfinite(votes)
    for j, name in enumerate(annotators):
        others = present.copy()
        others[j] = False
        items = np.flatnonzero(present[j] & others.any(axis=0))
        answers = np.vstack([votes[j, items], labels[:, items]])
        found = np.zeros(answers.shape)
        for k in np.flatnonzero(others.any(axis=1)):
            known, vote = others[k, items], votes[k, items]
            near = answers == vote if nominal else -((answers - vote) ** 2)
            found += np.where(known, near, 0.0)
        # Means of equal terms may differ in the last bit.
        found = np.round(found / others[:, items].sum(axis=0), 9)
        own, metrics = found[:1], found[1:]
        yield LeftOut(
            name,
            story[items],
            np.asarray(metrics >= own, float),
            np.asarray(own >= metrics, float),
        )


def pair_items(
    left_out: Iterable[tuple[Counts, Array, Array]],
    signs: Array,
    story: Counts,
    annotators: Sequence[str],
) -> Iterable[LeftOut]:
    """Yield each annotator's pairs of outputs, which the others do not tie.

    Agreement is half accuracy: 1 where the same output of a pair is preferred as by the
    others' mean or majority, a half for a tie.

    Parameters
    ----------
    left_out
        Of each annotator the pairs judged, and the signs of the own and of the others'
        preference in these.
    signs
        The preferences of K metrics in P pairs, (K, P).
    story
        The story of each pair, (P,).
    """
    for name, (judged, own, others) in zip(annotators, left_out, strict=True):
        decided = others != 0
        pairs, wanted = judged[decided], others[decided]
        answers = np.vstack([own[decided], signs[:, pairs]])
        credit = (answers == wanted) + (answers == 0) / 2
        shape = credit[1:].shape
        own_credit = np.broadcast_to(credit[0], shape)
        yield LeftOut(name, story[pairs], credit[1:], own_credit)
