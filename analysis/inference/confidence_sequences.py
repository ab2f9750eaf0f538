r"""Confidence sequences: intervals that hold however often one looks.

An estimate whose variance is :math:`V` has the information :math:`I = 1/V`, and in
large samples :math:`I (\hat\theta - \theta)` is a Brownian motion in :math:`I`
(Scharfstein, Tsiatis and Robins 1997, JASA 92(440); Waudby-Smith, Arbour, Sinha,
Kennedy and Ramdas 2024, Annals of Statistics 52(6)). A sequence is a boundary that the
motion crosses at any time with probability :math:`\alpha` at most. The sequences are
asymptotic; `benchmarks/results/stopping.md` has their errors in small studies.

`Evidence` is what answers add to estimates. Its clusters are whole stories and whole
people: a rating alone is no unit. Nothing here depends on what is estimated, so that
means, win rates, differences, accuracies and correlations share it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, stdtrit
from scipy.stats import norm

from analysis.inference.crossed_clusters import (
    PRIOR_FREEDOM,
    Cluster,
    CrossedCovariance,
    Errors,
    drawn_clusters,
    squared,
    widened_clusters,
)
from analysis.results import Array, Counts

# Fewer people do not stand for others, and fewer stories say too little of a variance.
LEAST_PEOPLE, LEAST_STORIES = 5, 10
# A goal that needs so many times the answers needs something else.
MOST_TIMES = 100.0


@dataclass(frozen=True)
class Evidence:
    """Estimates of K values with their variances, and what these consist of.

    `of_stories`, `of_people` and `of_answers` are parts of the variance: more answers
    lower only the last, unless they are about other stories or by other people. Arrays
    are of shape (K,).
    """

    value: Array
    errors: Errors
    of_stories: Array
    of_people: Array
    of_answers: Array


@dataclass(frozen=True)
class Contributions:
    """Estimates of P values, and what each answer adds to one of them.

    Attributes
    ----------
    value
        The estimates, of shape (P,).
    of, added
        The estimate that each row adds to, and how much; those of an estimate add up
        to 0. An answer about two methods has two rows.
    stories, people
        The cluster of each row. `people` is None where they are not drawn.
    ends
        The lowest and the highest possible value.
    n_stories
        The number of stories behind each estimate, of shape (P,).
    """

    value: Array
    of: Counts
    added: Array
    stories: Cluster
    people: Cluster | None
    ends: tuple[float, float]
    n_stories: Array | Counts

    def evidence(self, contrasts: Array | None = None) -> Evidence:
        r"""Return the evidence on the estimates, or on weighted sums of them.

        The variance by stories is that of the estimate with two stories more, one at
        each end of the scale, so that equal answers do not make it 0.
        """
        P = len(self.value)
        weights = np.eye(P) if contrasts is None else contrasts
        people = [] if self.people is None else [self.people]
        kinds, both = drawn_clusters([self.stories, *people], len(self.of))
        value = weights @ self.value
        if not kinds:
            endless, nothing = np.full(len(value), np.inf), np.zeros(len(value))
            errors = Errors(endless, np.ones(len(value)))
            return Evidence(value, errors, endless, nothing, nothing)
        sums = tuple(self._summed(kind) for kind in kinds)
        # Where people are not drawn, a story is all that is.
        single = self._summed(both) if len(kinds) > 1 else sums[0]
        found = CrossedCovariance(sums, single, P).of(weights)
        extra = weights**2 @ self._of_ends()
        # A variance that is small by chance has too many degrees of freedom.
        fewest = max(min(n for _, n in sums) - 1 + PRIOR_FREEDOM, 1.0)
        freedom = np.minimum(found.freedom, fewest)
        errors = Errors(found.variance + extra, freedom)
        of_answers = squared(weights, single[0])
        of_stories = np.maximum(squared(weights, sums[0][0]) - of_answers, 0) + extra
        of_people = np.maximum(errors.variance - of_stories - of_answers, 0)
        return Evidence(value, errors, of_stories, of_people, of_answers)

    def _summed(self, cluster: Cluster) -> tuple[Array, float]:
        """Return the covariance of sums over clusters, and as how many these count."""
        codes, n = cluster
        P = len(self.value)
        sizes = np.bincount(codes, minlength=n)
        there = sizes > 0
        sums = np.bincount(codes * P + self.of, self.added, minlength=n * P)
        own, of_one = sizes[there], np.zeros(int(there.sum()), int)
        wide = sums.reshape(n, P)[there] * widened_clusters(own, of_one, 1)[:, None]
        return wide.T @ wide, float(own.sum() ** 2 / (own.astype(float) ** 2).sum())

    def _of_ends(self) -> Array:
        low, high = self.ends
        away = (low - self.value) ** 2 + (high - self.value) ** 2
        return np.asarray(away / np.maximum(self.n_stories, 1) ** 2)


def mean_contributions(
    values: Array,
    of: Counts,
    n: int,
    stories: Cluster,
    people: Cluster | None,
    ends: tuple[float, float],
    cells: Counts | None = None,
) -> Contributions:
    """Return the means of n kinds of values: of methods, or their win rates.

    A mean is that of its cells, and a cell's value is the mean of its answers. Ties
    count as the caller coded them. Cells without an answer are left out; a kind without
    any has the value NaN and adds nothing.

    Parameters
    ----------
    values
        The answers as numbers between the `ends`.
    of
        The kind of each answer, below n.
    stories, people
        The cluster of each answer, and how many there are.
    cells
        The cell of each answer, by default the story; cells are inside one kind.
    """
    story, n_stories = stories
    cell = (story if cells is None else cells) * n + of
    size = np.bincount(cell)
    there = np.flatnonzero(size)
    means = np.bincount(cell, values)[there] / size[there]
    n_cells = np.bincount(there % n, minlength=n)
    total = np.bincount(there % n, means, minlength=n)
    mean = np.divide(total, n_cells, out=np.full(n, np.nan), where=n_cells > 0)
    added = (values - mean[of]) / (size[cell] * n_cells[of])
    seen = np.bincount(story * n + of, minlength=n_stories * n).reshape(-1, n) > 0
    return Contributions(mean, of, added, stories, people, ends, seen.sum(axis=0))


def correlation_contributions(
    human: Array,
    scores: Array,
    cell: Counts,
    values: Array,
    stories: Cluster,
    people: Cluster | None,
) -> Contributions:
    r"""Return Pearson's correlation of the cells' means with a metric's scores.

    With standardised :math:`z`, a cell adds :math:`(z_x z_y - r (z_x^2 + z_y^2) / 2)/n`
    (Fisher's z has the same expansion divided by :math:`1 - r^2`), and an answer that
    deviates from its cell's mean :math:`(z_x - r z_y) (y - \bar y) / (k n s_y)` more.
    Ties need no rule. A correlation where a side is constant is NaN. A cell's mean of
    fewer answers is noisier, so that the caller leaves out cells that are not complete.

    Parameters
    ----------
    human, scores
        The mean answer of each cell, and its score, without gaps.
    cell, values
        The cell of each answer, and the answer.
    stories, people
        The cluster of each answer.
    """
    n, spread = len(human), human.std()
    with np.errstate(divide="ignore", invalid="ignore"):
        y = (human - human.mean()) / spread
        x = (scores - scores.mean()) / scores.std()
        r = float((x * y).mean())
        own = (x * y - r * (x**2 + y**2) / 2) / n
        steep = (x - r * y) / (n * spread)
    size = np.bincount(cell, minlength=n)[cell]
    added = (own[cell] + steep[cell] * (values - human[cell])) / size
    there = np.array([np.count_nonzero(np.bincount(stories[0]))])
    one, only = np.array([r]), np.zeros(len(cell), int)
    return Contributions(one, only, added, stories, people, (-1.0, 1.0), there)


# Boundaries


@cache
def goal_quantile(alpha: float) -> float:
    r"""Return how far a Brownian motion stays below a level, then below a line.

    The boundary is :math:`c \max(1, t)`: it is crossed with probability `alpha`. Given
    its place x at time 1, the motion stays inside before it with the probability of a
    bridge, :math:`B(x) = \sum_k (-1)^k e^{-2 k c (k c - x)}`, and after it with the
    same one, since :math:`t W(1/t)` is a Brownian motion, too; so the probability of
    no crossing is :math:`\int B(x)^2 \phi(x) dx`.
    """

    def excess(c: float) -> float:
        x, k = np.linspace(-c, c, 2001), np.arange(-8, 9)[:, None]
        signs = 1.0 - 2.0 * (np.abs(k) % 2)
        inside = (signs * np.exp(-2 * k * c * (k * c - x))).sum(axis=0)
        return 1 - float(np.trapezoid(norm.pdf(x) * inside**2, x)) - alpha

    return float(brentq(excess, 1.0, 9.0))


def goal_variances(errors: Errors, goal: float, alpha: float) -> Array:
    """Return the variances at which `goal_half_widths` reach a goal."""
    quantile = _student(np.full(len(errors.variance), goal_quantile(alpha)), errors)
    return np.asarray((goal / quantile) ** 2)


def goal_half_widths(errors: Errors, goal: float, alpha: float) -> Array:
    r"""Return half-widths of a sequence that is to reach a goal, and goes no further.

    The half-width is :math:`h \max(1, V c^2 / h^2)` for the goal h, with c from
    `goal_quantile`. It is the repeated interval of O'Brien and Fleming (Jennison and
    Turnbull 1989, JRSS B 51(3)) until the goal, and costs 1.43 times the answers of a
    fixed size at 95 %. Quantiles of Student's t replace c where clusters are few.
    """
    wanted = goal_variances(errors, goal, alpha)
    return np.asarray(goal * np.maximum(1.0, errors.variance / wanted))


def mixture_half_widths(errors: Errors, tightest: float, alpha: float) -> Array:
    r"""Return half-widths of a sequence without a goal, which narrows for ever.

    The normal mixture of Robbins (Howard, Ramdas, McAuliffe and Sekhon 2021, Annals of
    Statistics 49(2)): :math:`V \sqrt{(I + \rho) \log((I + \rho) / (\rho \alpha^2))}`.
    It is relatively tightest near the half-width `tightest`.
    """
    of_alpha = -2 * np.log(alpha)
    eta = of_alpha + np.log(of_alpha + 1)
    wide = np.sqrt((1 + 1 / eta) * (np.log1p(eta) + of_alpha))
    rho = (wide / tightest) ** 2 / eta
    information = 1 / np.maximum(errors.variance, np.finfo(float).tiny)
    many = information + rho
    z = np.sqrt(many * (np.log(many / rho) + of_alpha) / information)
    return np.asarray(_student(z, errors) * np.sqrt(errors.variance))


def _student(z: Array, errors: Errors) -> Array:
    """Return the quantiles of Student's t with the tails of these normal ones."""
    return np.asarray(-stdtrit(errors.freedom, ndtr(-np.minimum(z, 30.0))))


def smallest_goal(span: float, n_stories: int, alpha: float) -> float:
    """Return the half-width of so many stories if all answers were the same.

    No number of answers reaches less: the two stories at the ends of the scale, which
    `Contributions.evidence` adds, remain. `span` is the length of the scale.
    """
    return goal_quantile(alpha) * span / (math.sqrt(2) * max(n_stories, 1))


# Planning


@dataclass(frozen=True)
class Needed:
    """Estimated numbers of answers, stories or people that a goal needs.

    `answers` is None where more answers to the same stories by the same people do not
    suffice; then `stories` or `people` are the numbers that would be needed in all.
    """

    answers: int | None
    stories: int | None = None
    people: int | None = None


def needed(
    evidence: Evidence,
    wanted: Array,
    *,
    answers: int,
    stories: tuple[int, int],
    people: int,
) -> Needed:
    r"""Estimate how many answers more bring variances down to the `wanted` ones.

    All numbers are None if nothing can be said.

    With f times the answers the variance is
    :math:`v_s S / S' + v_p + v_r / f`, where stories grow with the answers up to
    those of the study, :math:`S' = \min(f S, S_{max})`, and people stay the same.

    Parameters
    ----------
    wanted
        Variances that reach the goal, of shape (K,).
    answers, people
        Numbers now.
    stories
        The number now, and the number in the study.
    """
    now, most = stories
    room = max(most / max(now, 1), 1.0)

    def variance(factor: float) -> Array:
        of_stories = evidence.of_stories / min(factor, room)
        return np.asarray(
            of_stories + evidence.of_people + evidence.of_answers / factor
        )

    def reaches(factor: float) -> bool:
        return bool((variance(factor) <= wanted * (1 + 1e-9)).all())

    if reaches(1.0):
        return Needed(0)
    if (variance(1.0) > MOST_TIMES**2 * wanted).any():
        return Needed(None)  # two methods are as good as equal, for one
    if reaches(MOST_TIMES):
        low, high = 1.0, 2.0
        while not reaches(high):
            low, high = high, 2 * high
        while high - low > 1e-3 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if reaches(middle) else (middle, high)
        return Needed(int(np.ceil((high - 1) * answers)))
    # People may keep half of the wanted variance, so that stories can keep the rest.
    worst = int(np.argmax(variance(MOST_TIMES) / wanted))
    if evidence.of_people[worst] > wanted[worst] / 2:
        share = evidence.of_people[worst] / (wanted[worst] / 2)
        return Needed(None, people=int(np.ceil(people * share)))
    left = wanted[worst] - evidence.of_people[worst]
    total = evidence.of_stories[worst] * now + evidence.of_answers[worst] * now
    return Needed(None, stories=int(np.ceil(total / left)))


def top_pairs(values: Array, n: int) -> Sequence[tuple[int, int]]:
    """Return each of the n highest values with each of the others, as indexes."""
    order = np.argsort(-values, kind="stable")
    return [(int(i), int(j)) for i in order[:n] for j in order[n:]]
