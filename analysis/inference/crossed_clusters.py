r"""Variance of estimates over stories and annotators.

An estimate is, to first order, a sum of contributions of answers; sums over whole
stories and whole annotators give its variance, less that of their intersections
(Cameron, Gelbach and Miller 2011, JBES 29(2)). Annotators are few, so the variance of
each estimate is shrunk towards the common factor of widening by clusters, which counts
as `PRIOR_FREEDOM` further clusters (Smyth 2004). Clusters are uneven: the contribution
of one with a share h is divided by 1 - h (Bell and McCaffrey 2002), and clusters count
as :math:`1 / \sum h^2` of equal size (Carter, Schnepel and Steigerwald 2017).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import stdtr, stdtrit

from analysis.results import Array, Counts

# How many clusters more the common factor counts for.
PRIOR_FREEDOM = 4
# A variance that is small by chance has too many degrees of freedom: at most so many
# times those of the fewer clusters, or of estimates without a common factor.
MOST_FREEDOM, MOST_ALONE = 4, 3
# Numbers held at once.
CHUNK = 4_000_000
# What is this small beside an estimate is what rounding leaves of no variance.
NOTHING = 1e-24
# So small a part of the terms of a sum is what rounding leaves of 0.
ROUNDING = 1e-14
# A cluster with so much of an estimate has all of it up to rounding.
ALONE = 1 - 1e-9
# A direction in which so much less is known than in others is none.
SINGULAR = 1e-10
# The cluster of each answer, and how many clusters there are.
Cluster = tuple[Counts, int]


@dataclass(frozen=True)
class Errors:
    """Variances and degrees of freedom of K estimates, each of shape (K,)."""

    variance: Array
    freedom: Array

    def quantiles(self, confidence: float) -> Array:
        """Return how many standard errors the bounds of intervals lie away."""
        return np.asarray(stdtrit(self.freedom, (1 + confidence) / 2))

    def intervals(self, values: Array, confidence: float) -> tuple[Array, Array]:
        """Return the bounds of values; NaN where nothing varies."""
        far = self.quantiles(confidence) * np.sqrt(self.variance)
        far = np.where(self._varies(values), far, np.nan)
        return values - far, values + far

    def p_values(self, values: Array) -> Array:
        """Test that each expected value is 0, two-sided; NaN where nothing varies."""
        varies = self._varies(values)
        error = np.sqrt(np.where(varies, self.variance, 1.0))
        found = two_sided(values / error, self.freedom)
        return np.asarray(np.where(varies, found, np.nan))

    def plus(self, variances: Array, freedom: float) -> "Errors":
        """Add the variances of independent estimates (Satterthwaite 1946)."""
        total = self.variance + variances
        below = self.variance**2 / self.freedom + variances**2 / freedom
        joined = self.freedom.copy()
        np.divide(total**2, below, out=joined, where=below > 0)
        return Errors(total, joined)

    def _varies(self, values: Array) -> Array:
        return np.asarray(self.variance > NOTHING * np.maximum(values**2, 1))


def two_sided(t: Array, freedom: Array) -> Array:
    """Return p-values of Student's t, none of them 0."""
    tail = 2 * stdtr(freedom, -np.abs(t))
    return np.asarray(np.maximum(tail, np.finfo(float).tiny))


@dataclass(frozen=True)
class ClusteredVariance:
    """The variances of K estimates if stories, or annotators, are resampled."""

    variance: Array
    n: Array
    factor: Array
    # As how many clusters the common factor counts.
    prior: Array | float = PRIOR_FREEDOM


def joined_errors(
    kinds: Sequence[ClusteredVariance], both: Array, n_both: Array, *, rank: int
) -> Errors:
    r"""Join the variances by one or two kinds of clusters.

    With :math:`v_s`, :math:`v_a` and :math:`v_b` the variances where stories,
    annotators and both are drawn, the variance is
    :math:`\max(v_a, v_b) + \max(v_s - v_b, 0)`.
    Degrees of freedom are joined after Satterthwaite (1946).
    """
    # Answers of one cluster are alike, and say less of how much single ones vary.
    alike = np.max([kind.factor for kind in kinds], axis=0) if rank > 1 else 1.0
    n_both = n_both / np.maximum(alike, 1)
    parts = [_moderated(kind, both, n_both, rank) for kind in kinds]
    fewest = np.maximum(np.min([kind.n for kind in kinds], axis=0) - 1, 1)
    most = (MOST_FREEDOM if rank > 1 else MOST_ALONE) * fewest
    if len(parts) == 1:
        ((variance, freedom),) = parts
        return Errors(variance, np.minimum(freedom, most))
    (first, of_first), (second, of_second) = parts
    variance = np.maximum(second, both) + np.maximum(first - both, 0)
    below = (
        np.maximum(first**2 - both**2, 0) / of_first
        + np.maximum(second**2 - both**2, 0) / of_second
        + both**2 / np.maximum(n_both - 1, 1)
    )
    # Where nothing varies, what varies elsewhere is all that is known.
    freedom = np.minimum(of_first, of_second)
    np.divide(variance**2, below, out=freedom, where=below > 0)
    return Errors(variance, np.minimum(freedom, most))


def _moderated(
    kind: ClusteredVariance, both: Array, n_both: Array, rank: int
) -> tuple[Array, Array]:
    """Return variances by one kind, moved to the common factor; their freedom.

    The factor is known, the variance it widens only as well as its answers, which are
    the same: errors add.
    """
    freedom = np.maximum(kind.n - 1, 0).astype(float)
    if rank < 2:
        return kind.variance, np.maximum(freedom, 1)
    common = kind.factor * both
    whole = freedom + kind.prior
    moved = (freedom * kind.variance + kind.prior * common) / whole
    of_both = np.maximum(n_both - 1, 1)
    error = (np.sqrt(freedom) + kind.prior / np.sqrt(of_both)) / whole
    most = np.maximum(freedom.max(initial=1), 1) * rank
    return moved, np.maximum(np.minimum(np.minimum(whole, 1 / error**2), most), 1)


@dataclass(frozen=True)
class ClusterSizes:
    r"""The clusters of P estimates that rest on separate answers.

    Answer i of estimate p has the weight :math:`w_i`. `total` holds
    :math:`\sum w_i^2`, (P,). Where the answers of cluster g sum to :math:`s_{gp}`,
    `squares` holds :math:`s's`, (P, P). `alike` holds
    :math:`\sum_g (\sum_{i \in g} w_i)^2`, (P,).
    """

    total: Array
    squares: Array
    alike: Array

    def number(self, contrasts: Array) -> Array:
        r"""Return as how many equal clusters those of each contrast count.

        That is :math:`(\sum_g p_g)^2 / \sum_g p_g^2`, where p are the clusters' parts
        of the contrast's variance if answers are independent (Bell and McCaffrey 2002).
        """
        own = contrasts**2
        whole = (own @ self.total) ** 2
        below = ((own @ self.squares) * own).sum(axis=1)
        found = np.divide(whole, below, out=np.ones(len(own)), where=below > 0)
        return np.asarray(found)

    def widened(self, contrasts: Array) -> Array:
        """Return the factor of each variance if clusters answer as one."""
        own = contrasts**2
        return np.asarray((own @ self.alike) / (own @ self.total))


@dataclass(frozen=True)
class CrossedCovariance:
    """The covariance of P estimates by what is drawn.

    Each kind holds the covariance of sums over its clusters, and as how many equal
    clusters these count: the same for all contrasts, or the sizes of the clusters.
    `further` is that of an independent part of the estimates, and its freedom.
    """

    kinds: tuple[tuple[Array, float | ClusterSizes], ...]
    both: tuple[Array, float | ClusterSizes]
    rank: int
    model: Array | None = None
    is_least: bool = False
    further: tuple[Array, float] | None = None

    def of(self, contrasts: Array) -> Errors:
        """Return the errors of K sums of estimates, whose weights are (K, P)."""
        matrix, single = self.both
        both, n_both = squared(contrasts, matrix), cluster_number(single, contrasts)
        kinds = [
            ClusteredVariance(
                squared(contrasts, own),
                cluster_number(sizes, contrasts),
                self._factor(own, sizes, contrasts),
                self._prior(sizes, contrasts),
            )
            for own, sizes in self.kinds
        ]
        errors = joined_errors(kinds, both, n_both, rank=self.rank)
        if self.further is not None:
            matrix, of_further = self.further
            errors = errors.plus(squared(contrasts, matrix), of_further)
        if self.model is None or not self.is_least:
            return errors
        # A larger value is not identified by the clusters.
        least = squared(contrasts, self.model)
        of_least = np.maximum(n_both - 1, 1)
        freedom = np.where(least > errors.variance, of_least, errors.freedom)
        return Errors(np.maximum(errors.variance, least), freedom)

    def _prior(self, sizes: float | ClusterSizes, contrasts: Array) -> Array:
        """Return as how many clusters the common factor counts in each contrast.

        One that rests on fewer clusters than others do is less like them: what
        clusters add to two methods cancels only where both have them.
        """
        usual = cluster_number(sizes, self._basis).mean()
        share = cluster_number(sizes, contrasts) / usual
        return np.asarray(PRIOR_FREEDOM * np.minimum(share, 1))

    def _factor(
        self, own: Array, sizes: float | ClusterSizes, contrasts: Array
    ) -> Array:
        """Return how much clusters widen each variance, alike in all estimates."""
        matrix, single = self.both
        basis = self._basis
        more, of_basis = np.ones(len(contrasts)), np.ones(len(basis))
        if isinstance(sizes, ClusterSizes) and isinstance(single, ClusterSizes):
            more, of_basis = (
                sizes.widened(each) / single.widened(each) - 1
                for each in (contrasts, basis)
            )
        both = squared(basis, matrix)
        expected = float(both @ of_basis)
        excess = float((squared(basis, own) - both).sum())
        alike = excess / expected if expected > 0 else 0.0
        return np.asarray(np.maximum(1 + alike * more, 0))

    @cached_property
    def _basis(self) -> Array:
        """Contrasts that are independent, with a variance of 1, in the model."""
        if self.model is None or not self.model.any():
            return np.eye(len(self.both[0]))
        variance, found = np.linalg.eigh(self.model)
        known = variance > SINGULAR * variance.max()
        return np.asarray((found[:, known] / np.sqrt(variance[known])).T)


def cluster_number(sizes: float | ClusterSizes, contrasts: Array) -> Array:
    """Return as how many equal clusters those of each contrast count."""
    if isinstance(sizes, ClusterSizes):
        return sizes.number(contrasts)
    return np.full(len(contrasts), sizes)


def crossed_covariance(
    influence: Array | sparse.csr_array,
    cell: Counts,
    clusters: Sequence[Cluster],
    *,
    rank: int,
    model: Array | None = None,
    is_least: bool = False,
    weights: Array | sparse.csr_array | None = None,
) -> CrossedCovariance | None:
    """Return the covariance of estimates where whole clusters are drawn.

    `influence` is what an answer adds to each estimate, and `weights` how much it
    weighs there, by its cell, (C, P); by default all answers weigh the same.
    """
    kinds, both = drawn_clusters(clusters, len(cell))
    if not kinds:
        return None
    if weights is None:
        weights = np.ones(influence.shape)
    share = sparse.csr_array(weights)
    total = np.bincount(cell, minlength=influence.shape[0]) @ share
    share = share @ sparse.diags_array(1 / np.where(total > 0, total, 1))
    return CrossedCovariance(
        tuple(_summed(influence, share, cell, kind) for kind in kinds),
        _summed(influence, share, cell, both),
        rank,
        model,
        is_least,
    )


def drawn_clusters(
    clusters: Sequence[Cluster], n: int
) -> tuple[list[Cluster], Cluster]:
    """Return the kinds that vary, and what is in one cluster of each of them."""
    kinds = [(codes, size) for codes, size in clusters if size > 1]
    if len(kinds) < 2:
        return kinds, (np.arange(n), n)
    (first, _), (second, size) = kinds
    both = np.unique(first * size + second, return_inverse=True)[1]
    return kinds, (both, int(both.max(initial=-1)) + 1)


def _summed(
    influence: Array | sparse.csr_array,
    share: sparse.csr_array,
    cell: Counts,
    cluster: Cluster,
) -> tuple[Array, ClusterSizes]:
    """Return the covariance of sums over clusters, and the sizes of these."""
    codes, n = cluster
    P = influence.shape[1]
    table = sparse.coo_array(
        (np.ones(len(cell)), (codes, cell)), shape=(n, influence.shape[0])
    ).tocsr()
    squared_share = share.power(2)
    found, squares = np.zeros((2, P, P))
    total, alike, number = np.zeros((3, P))
    step = max(1, CHUNK // P)
    for start in range(0, n, step):
        rows = table[start : start + step]
        sums, sizes, single = (
            _dense(rows @ values) for values in (influence, share, squared_share)
        )
        sums = sums / np.where(sizes < ALONE, 1 - sizes, 1.0)
        found += sums.T @ sums
        squares += single.T @ single
        total += single.sum(axis=0)
        alike += (sizes**2).sum(axis=0)
        number += (sizes > 0).sum(axis=0)
    few = np.sqrt(np.maximum(number - 1, 1) / np.maximum(number, 1))
    return found * np.outer(few, few), ClusterSizes(total, squares, alike)


def _dense(values: Any) -> Array:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def widened_clusters(sizes: Array | Counts, of: Counts, n: int) -> Array:
    share = sizes / np.bincount(of, sizes, minlength=n)[of]
    number = np.bincount(of, minlength=n)[of]
    rest = np.where(number > 1, 1 - share, 1.0)
    return np.asarray(np.sqrt(np.maximum(number - 1, 1) / number) / rest)


def squared(contrasts: Array, covariance: Array) -> Array:
    """Return the variances of contrasts; 0 for what rounding leaves of a sum."""
    found = ((contrasts @ covariance) * contrasts).sum(axis=1)
    size = abs(contrasts)
    summed = ((size @ abs(covariance)) * size).sum(axis=1)
    return np.asarray(np.where(found > ROUNDING * summed, found, 0.0))


def share_intervals(shares: Array, n: Array, quantiles: Array) -> tuple[Array, Array]:
    """Return the bounds of shares.

    Wilson (1927, JASA 22). A share that is 0 or 1 has an interval with a width, too.
    """
    # proportion_confint of statsmodels takes no quantiles of Student's t.
    z = quantiles**2 / n
    middle = shares + z / 2
    far = np.sqrt(z * (shares * (1 - shares) + z / 4))
    low, high = (middle - far) / (1 + z), (middle + far) / (1 + z)
    return np.clip(low, 0, shares), np.clip(high, shares, 1)


def half_p_values(shares: Array, n: Array, freedom: Array) -> Array:
    """Test that each share is a half, in agreement with `share_intervals`."""
    return two_sided((shares - 0.5) * 2 * np.sqrt(n), freedom)
