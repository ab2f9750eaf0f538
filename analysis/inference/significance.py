"""Tests of association, with exact p-values, and the adjustment for many tests."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from analysis.inference.scaling import near_one
from analysis.results import NAN, Array, Counts

# With fewer methods than this every order is tried: 9! = 362,880.
EXACT_BELOW = 10
CHUNK = 50_000
# Values this close to the observed one count as equal to it.
SLACK = 1e-9


def method_orders(n: int, resamples: int, rng: np.random.Generator) -> Counts:
    """Return all orders of `n` methods, or random ones from ten methods on."""
    if n < EXACT_BELOW:
        return np.array(list(itertools.permutations(range(n))), int).reshape(-1, n)
    return rng.permuted(np.tile(np.arange(n), (resamples, 1)), axis=1)


def permutation_p(
    human: Array,
    scores: Array,
    coefficients: Sequence[str],
    resamples: int,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Test for no association by permuting methods, two-sided.

    Parameters
    ----------
    human
        Shape (N,): one value a method.
    scores
        Shape (K, N).
    coefficients
        Some of ``kendall``, ``kendall_c``, ``spearman``, ``pearson``.
    resamples
        Number of random orders where there are ten methods or more; 0 leaves
        the p-value empty then.
    rng
        The stream of this step.

    Returns
    -------
    dict
        Coefficient to K p-values.

    Notes
    -----
    Below ten methods all ``N!`` orders are tried and ``p = c / N!`` is exact,
    where c counts orders with an absolute value at least as large as observed.
    Above, ``p = (c + 1) / (k + 1)``. Permuting changes only the numerator of a
    coefficient, so numerators are compared; tau-b and tau-c have the same.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = permutation_p(np.arange(4.0), np.arange(4.0)[None], ["kendall"], 0, rng)
    >>> round(float(p["kendall"][0]), 6)
    0.083333
    """
    n = len(human)
    found = {name: np.full(len(scores), NAN) for name in coefficients}
    if n < 2 or (n >= EXACT_BELOW and resamples == 0) or not len(scores):
        return found
    orders = method_orders(n, resamples, rng)
    extra = 0 if n < EXACT_BELOW else 1
    for name in coefficients:
        features, observed = _numerators(name, human, scores)
        slack = SLACK * np.maximum(np.abs(observed), 1.0)
        count = np.zeros(len(scores))
        for start in range(0, len(orders), CHUNK):
            values = np.abs(features(orders[start : start + CHUNK]))
            count += (values >= np.abs(observed) - slack).sum(axis=0)
        found[name] = (count + extra) / (len(orders) + extra)
    return found


def _numerators(
    coefficient: str, human: Array, scores: Array
) -> tuple[Callable[[Counts], Array], Array]:
    """Return a function from orders to numerators (P, K), and the observed ones."""
    if coefficient in ("kendall", "kendall_c"):
        i, j = np.triu_indices(len(human), 1)
        sh = np.sign(human[:, None] - human[None, :])
        sx = np.sign(scores[:, i] - scores[:, j]).T

        def pair_sums(orders: Counts) -> Array:
            return np.asarray(sh[orders[:, i], orders[:, j]] @ sx)

        return pair_sums, (sh[i, j] @ sx)
    if coefficient == "spearman":
        human, scores = centred_ranks(human), centred_ranks(scores)
    human, scores = near_one(human), near_one(scores)
    h = _unit(human - human.mean())
    x = _unit(scores - scores.mean(axis=1, keepdims=True)).T

    def products(orders: Counts) -> Array:
        return np.asarray(h[orders] @ x)

    return products, h @ x


def centred_ranks(values: Array) -> Array:
    """Return mid-ranks minus their mean, doubled: whole numbers, along the last axis.

    Examples
    --------
    >>> centred_ranks(np.array([10.0, 30.0, 30.0]))
    array([-2.,  1.,  1.])
    """
    return np.asarray(
        np.sign(values[..., :, None] - values[..., None, :]).sum(axis=-1), float
    )


def _unit(values: Array) -> Array:
    size = np.sqrt((values**2).sum(axis=-1, keepdims=True))
    return np.asarray(values / np.where(size > 0, size, 1.0))


def holm(p_values: Array) -> Array:
    """Adjust p-values for the number of tests made (Holm 1979).

    Parameters
    ----------
    p_values
        NaN where no test could be made; these are not counted.

    Notes
    -----
    In increasing order, the i-th of m is multiplied by m - i + 1; the result
    is made monotone and cut at 1. Controls the family-wise error without
    assumptions about dependence.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    adjusted = np.full(len(p_values), NAN)
    tested = np.isfinite(p_values)
    order = np.argsort(p_values[tested], kind="stable")
    steps = p_values[tested][order] * np.arange(len(order), 0, -1)
    monotone = np.minimum(np.maximum.accumulate(steps), 1.0)
    values = np.empty(len(order))
    values[order] = monotone
    adjusted[tested] = values
    return adjusted
