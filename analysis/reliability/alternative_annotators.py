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
from scipy.special import stdtr, stdtrit

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.inference.cluster_variance import LEAST
from analysis.inference.crossed_clusters import widened_clusters
from analysis.results import NAN, Array, Counts, Mask, TableRow
from analysis.sentences import counted, sentence

REPLACES, DOES_NOT, OPEN = "replaces", "does not", "cannot be told"
# An annotator with fewer items is not tested, nor are fewer annotators.
LEAST_ITEMS = 20
LEAST_ANNOTATORS = 3
# With fewer items the paper's test is Wilcoxon's.
FEW_ITEMS = 30
# The share of annotators whose place a metric has to take.
HALF = 0.5
# The paper's test draws items, ours draws stories.
STORIES, ITEMS = "stories", "units"
# Forecasts look at studies of up to so many times the stories.
MOST_TIMES = 20
STEPS = 60
SMALLEST = float(np.finfo(float).tiny)
# Halvings in the search for the smallest epsilon.
HALVINGS = 30


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
    """The advantages of K metrics over A annotators, each array of shape (A, K)."""

    annotators: tuple[str, ...]
    n: Counts
    n_stories: Counts
    rho_metric: Array
    rho_annotator: Array
    error: Array
    freedom: Array
    of_items: Array

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
        return tuple(np.maximum(stdtr(freedom, x), SMALLEST) for x in (-t, t))


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
    rows = [_measured(one, epsilon, with_items) for one in left_out]
    names = tuple(one[0] for one in rows)
    n, stories = (np.array([one[k] for one in rows], int) for k in (1, 2))
    K = len(epsilon)
    columns = [
        np.array([one[k] for one in rows], float).reshape(len(rows), K)
        for k in range(3, 8)
    ]
    return Advantages(names, n, stories, *columns)


def _measured(one: LeftOut, epsilon: Array, with_items: bool) -> tuple[object, ...]:
    K, n = one.metrics.shape
    unknown = np.full(K, NAN)
    if not n:
        return one.annotator, 0, 0, *(unknown,) * 5
    gain = one.metrics - one.own
    mean = gain.mean(axis=1)
    stories, story = np.unique(one.story, return_inverse=True)
    G = len(stories)
    sizes = np.bincount(story)
    table = sparse.csr_array((np.ones(n), (np.arange(n), story)), shape=(n, G))
    sums = (gain @ table - mean[:, None] * sizes) / n
    sums *= widened_clusters(sizes, np.zeros(G, int), 1)
    error = np.sqrt(np.maximum((sums**2).sum(axis=1), 3 / n**2))
    freedom = np.full(K, max(n**2 / (sizes**2).sum() - 1, NAN if G < 2 else 1.0))
    of_items = unknown
    if with_items and n > 1:
        of_items = np.array(
            [item_p(g, e) for g, e in zip(gain, epsilon, strict=True)], float
        )
    return (
        one.annotator,
        n,
        G,
        one.metrics.mean(axis=1),
        one.own.mean(axis=1),
        error if G > 1 else unknown,
        freedom,
        of_items,
    )


def item_p(gain: Array, epsilon: float) -> float:
    """Return the paper's p-value: a paired t test of independent items, one-sided.

    Of fewer than 30 items it is Wilcoxon's signed-rank test.
    """
    if np.isnan(epsilon):
        return NAN
    shifted = gain + epsilon
    if len(gain) < FEW_ITEMS:
        return float(stats.wilcoxon(shifted, alternative="greater").pvalue)
    if np.ptp(shifted) == 0:
        return SMALLEST if shifted[0] > 0 else 1.0
    p_value = stats.ttest_1samp(shifted, 0.0, alternative="greater").pvalue
    return max(float(p_value), SMALLEST)


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


# Rows ---------------------------------------------------------------------------------


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


def replacement_rows(
    found: Advantages,
    metrics: Sequence[str],
    epsilon: Array,
    constant: Mask,
    *,
    confidence: float | None,
    by_items: bool = False,
) -> list[TableRow]:
    """Return of each metric a row for all annotators, and one for each of them.

    Parameters
    ----------
    found
        The advantages of K metrics over A annotators.
    epsilon
        Declared for each metric; NaN where none is, (K,).
    constant
        True of metrics whose scores are all the same, (K,).
    confidence
        Of the intervals; None without intervals and tests.
    by_items
        Whether to give the paper's own test in place of that over stories.
    """
    test = _Tests(found, epsilon, constant, confidence, by_items)
    rows: list[TableRow] = []
    for k, metric in enumerate(metrics):
        rows += [{"metric": metric} | row for row in test.rows(k)]
    return rows


class _Tests:
    """Tests of K metrics against A annotators."""

    def __init__(
        self,
        found: Advantages,
        epsilon: Array,
        constant: Mask,
        confidence: float | None,
        by_items: bool,
    ) -> None:
        self._found, self._epsilon, self._by_items = found, epsilon, by_items
        self._confidence = confidence
        A, K = found.value.shape
        self._tested = found.tested if confidence else np.zeros(A, bool)
        self._m = int(self._tested.sum())
        self._few = self._why_not()
        self._constant = constant
        self._usable = ~constant & (self._m >= LEAST_ANNOTATORS)
        p_value, p_worse = found.p_values(epsilon)
        if by_items:
            p_value, p_worse = found.of_items, np.full((A, K), NAN)
        out = ~self._tested[:, None] | ~self._usable
        self._p, worse = (np.where(out, NAN, p) for p in (p_value, p_worse))
        self._adjusted, self._worse = np.full((2, A, K), NAN)
        if self._m:
            rows = self._tested
            self._adjusted[rows] = adjusted(self._p[rows])
            self._worse[rows] = adjusted(worse[rows])
        self._wins = self._adjusted <= SIGNIFICANT
        self._losses = self._worse <= SIGNIFICANT
        self._needed = self._smallest_epsilon()
        self._more = self._more_stories()

    def _why_not(self) -> str:
        found = self._found
        if self._confidence is None:
            return sentence("no interval was asked for")
        if len(found.annotators) < LEAST_ANNOTATORS:
            return sentence(
                "{n} of at least three",
                n=counted(len(found.annotators), "annotator"),
            )
        if self._m < LEAST_ANNOTATORS:
            return sentence(
                "{n} of at least three with {items} items of {stories} stories",
                n=counted(self._m, "annotator"),
                items=LEAST_ITEMS,
                stories=LEAST,
            )
        return ""

    def _decided(self, p_value: Array, p_worse: Array) -> tuple[Mask, Mask]:
        """Return which metrics replace annotators, and which do not, (K,)."""
        share = (adjusted(p_value) <= SIGNIFICANT).mean(axis=0)
        lost = (adjusted(p_worse) <= SIGNIFICANT).mean(axis=0)
        return share >= HALF, lost > HALF

    def _part(self, chosen: Mask) -> Advantages:
        """Return the tested annotators and some of the metrics."""
        found, rows = self._found, np.ix_(self._tested, chosen)
        return Advantages(
            (),
            found.n[self._tested],
            found.n_stories[self._tested],
            found.rho_metric[rows],
            found.rho_annotator[rows],
            found.error[rows],
            found.freedom[rows],
            found.of_items[rows],
        )

    def _smallest_epsilon(self) -> Array:
        """Return the smallest epsilon with which each metric passes, (K,)."""
        needed = np.full(len(self._epsilon), NAN)
        if self._by_items or not self._usable.any():
            return needed
        part = self._part(self._usable)
        low = np.zeros(part.value.shape[1])
        high = np.ones(len(low))
        passes = self._decided(*part.p_values(high))[0]
        at_once = self._decided(*part.p_values(low))[0]
        for _step in range(HALVINGS):
            middle = (low + high) / 2
            reached = self._decided(*part.p_values(middle))[0]
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        needed[self._usable] = np.where(at_once, 0.0, np.where(passes, high, NAN))
        return needed

    def _more_stories(self) -> Array:
        """Return about how many more stories decide on each metric, (K,)."""
        more = np.full(len(self._epsilon), NAN)
        share, lost = self.winning_rate, np.full(len(more), NAN)
        if self._m:
            lost = self._losses[self._tested].mean(axis=0)
        undecided = self._usable & np.isfinite(self._epsilon)
        undecided &= ~(share >= HALF) & ~(lost > HALF)
        if self._by_items or not undecided.any():
            return more
        part, epsilon = self._part(undecided), self._epsilon[undecided]
        stories = float(part.n_stories.mean())
        found = np.full(undecided.sum(), NAN)
        for times in np.geomspace(1.0, MOST_TIMES, STEPS)[1:]:
            decided = np.logical_or(*self._decided(*part.p_values(epsilon, times)))
            new = decided & np.isnan(found)
            found[new] = np.ceil(stories * (times - 1))
            if not np.isnan(found).any():
                break
        more[undecided] = found
        return more

    @property
    def winning_rate(self) -> Array:
        if not self._m:
            return np.full(len(self._epsilon), NAN)
        rate = self._wins[self._tested].mean(axis=0)
        return np.where(np.isfinite(self._epsilon) & self._usable, rate, NAN)

    def rows(self, k: int) -> list[TableRow]:
        """Return the row of metric k for all annotators, and those of each."""
        return [self._of_all(k), *(self._of_one(j, k) for j in range(len(self._wins)))]

    def _reason(self, k: int) -> str:
        if self._constant[k]:
            return sentence("every score is the same")
        if self._few:
            return self._few
        if np.isnan(self._epsilon[k]):
            return sentence("no epsilon was declared")
        return ""

    def _of_all(self, k: int) -> TableRow:
        found, reason = self._found, self._reason(k)
        rows = self._tested if self._m else np.isfinite(found.value[:, k])
        wins = int(self._wins[:, k].sum())
        verdict = OPEN
        if not reason and wins >= HALF * self._m:
            verdict = REPLACES
        elif not reason and self._losses[:, k].sum() > HALF * self._m:
            verdict = DOES_NOT
        value, metric, person = (
            float(x[rows, k].mean()) if rows.any() else NAN
            for x in (found.value, found.rho_metric, found.rho_annotator)
        )
        return {
            "annotator": "",
            "value": value,
            "low": NAN,
            "high": NAN,
            "n": int(found.n[rows].sum()),
            "n_stories": int(found.n_stories.max(initial=0)),
            "n_annotators": self._m,
            "rho_metric": metric,
            "rho_annotator": person,
            "epsilon": float(self._epsilon[k]),
            "epsilon_needed": float(self._needed[k]),
            "p_value": NAN,
            "p_adjusted": NAN,
            "p_worse": NAN,
            "wins": None if reason else wins,
            "winning_rate": NAN if reason else wins / self._m,
            "n_more_stories": _whole(self._more[k]),
            "drawn": ITEMS if self._by_items else STORIES,
            "verdict": verdict,
            "reason": reason,
        }

    def _of_one(self, j: int, k: int) -> TableRow:
        found, reason = self._found, self._reason(k)
        value, error = float(found.value[j, k]), float(found.error[j, k])
        low = high = needed = NAN
        if self._tested[j] and not self._constant[k] and not self._by_items:
            freedom, confidence = found.freedom[j, k], self._confidence or NAN
            far = float(stdtrit(freedom, (1 + confidence) / 2)) * error
            low, high = max(value - far, -1.0), min(value + far, 1.0)
            alone = float(stdtrit(freedom, 1 - SIGNIFICANT)) * error - value
            needed = max(alone, 0.0) if alone <= 1 else NAN
        elif not self._tested[j] and not reason:
            reason = sentence(
                "{n} of {stories} are too few",
                n=counted(int(found.n[j]), "item"),
                stories=counted(int(found.n_stories[j]), "story", "stories"),
            )
        wins, loses = bool(self._wins[j, k]), bool(self._losses[j, k])
        return {
            "annotator": found.annotators[j],
            "value": value,
            "low": low,
            "high": high,
            "n": int(found.n[j]),
            "n_stories": int(found.n_stories[j]),
            "n_annotators": None,
            "rho_metric": float(found.rho_metric[j, k]),
            "rho_annotator": float(found.rho_annotator[j, k]),
            "epsilon": float(self._epsilon[k]),
            "epsilon_needed": needed,
            "p_value": float(self._p[j, k]),
            "p_adjusted": float(self._adjusted[j, k]),
            "p_worse": float(self._worse[j, k]),
            "wins": None if np.isnan(self._p[j, k]) else int(wins),
            "winning_rate": NAN,
            "n_more_stories": None,
            "drawn": ITEMS if self._by_items else STORIES,
            "verdict": REPLACES if wins else DOES_NOT if loses else OPEN,
            "reason": reason,
        }


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else int(value)
