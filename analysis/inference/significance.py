"""Exact tests of association, intervals that follow a test, adjustment for many."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from analysis import statistics
from analysis.inference.resampling import DECIMALS, near_one
from analysis.results import NAN, Array, Counts

# With fewer methods than this every order is tried: 9! = 362,880.
EXACT_BELOW = 10
CHUNK = 50_000
# Values this close to the observed one count as equal to it.
SLACK = 1e-9
# How far a bound lies from a value that does not belong to its interval any more.
BEYOND = 1e-9


def rejects(p_value: float, confidence: float) -> bool:
    """Tell whether a test rejects at the level of an interval; without a test, not."""
    return round(p_value, DECIMALS) <= round(1 - confidence, DECIMALS)


def follow_test(
    low: float, high: float, value: float, chance: float, rejected: bool
) -> tuple[float, float]:
    """Return bounds that hold chance exactly where the test beside them keeps it."""
    if not rejected:
        return min(low, chance), max(high, chance)
    if value > chance:
        return max(low, chance + BEYOND), max(high, chance + BEYOND)
    return min(low, chance - BEYOND), min(high, chance - BEYOND)


def permutation_p(
    human: Array, scores: Array, coefficients: Sequence[str]
) -> dict[str, Array]:
    """Test for no association by permuting methods, two-sided and exact."""
    n = len(human)
    found = {name: np.full(len(scores), NAN) for name in coefficients}
    if not 2 <= n < EXACT_BELOW or not len(scores):
        return found
    orders = np.array(list(itertools.permutations(range(n))), int)
    for name in coefficients:
        features, observed = _numerators(name, human, scores)
        slack = SLACK * np.maximum(np.abs(observed), 1.0)
        count = np.zeros(len(scores))
        for start in range(0, len(orders), CHUNK):
            values = np.abs(features(orders[start : start + CHUNK]))
            count += (values >= np.abs(observed) - slack).sum(axis=0)
        found[name] = count / len(orders)
    return found


def _numerators(
    coefficient: str, human: Array, scores: Array
) -> tuple[Callable[[Counts], Array], Array]:
    """Return a function from orders to numerators (P, K), and the observed ones."""
    counts = statistics.coefficient(coefficient).counts
    if counts == "pairs":
        i, j = np.triu_indices(len(human), 1)
        sh = np.sign(human[:, None] - human[None, :])
        sx = np.sign(scores[:, i] - scores[:, j]).T

        def pair_sums(orders: Counts) -> Array:
            return np.asarray(sh[orders[:, i], orders[:, j]] @ sx)

        return pair_sums, (sh[i, j] @ sx)
    if counts == "ranks":
        human, scores = centred_ranks(human), centred_ranks(scores)
    human, scores = near_one(human), near_one(scores)
    h = _unit(human - human.mean())
    x = _unit(scores - scores.mean(axis=1, keepdims=True)).T

    def products(orders: Counts) -> Array:
        return np.asarray(h[orders] @ x)

    return products, h @ x


def centred_ranks(values: Array) -> Array:
    """Return mid-ranks minus their mean, doubled, along the last axis."""
    return np.asarray(
        np.sign(values[..., :, None] - values[..., None, :]).sum(axis=-1), float
    )


def _unit(values: Array) -> Array:
    size = np.sqrt((values**2).sum(axis=-1, keepdims=True))
    return np.asarray(values / np.where(size > 0, size, 1.0))


def holm(p_values: Array) -> Array:
    """Adjust p-values for the number of tests made (Holm 1979); NaN where none was."""
    # multipletests of statsmodels collects garbage, 20 ms or more in each of the
    # hundreds of families of a report.
    tested = np.flatnonzero(np.isfinite(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    adjusted = np.full(len(p_values), NAN)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
