"""Cluster resampling, exact tests, intervals that follow a test, Holm's adjustment."""

import itertools
import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
from scipy import stats
from threadpoolctl import ThreadpoolController

from analysis import statistics
from analysis.results import NAN, Array, Counts, Estimate, Groups, Mask
from analysis.sentences import sentence

WorkItem = TypeVar("WorkItem")
Result = TypeVar("Result")

# More threads need more memory at once; two use what a small machine has.
THREADS = min(4, os.cpu_count() or 1)


@cache
def _controller() -> ThreadpoolController:
    # Looking for libraries takes longer than many a piece of work.
    return ThreadpoolController()


@contextmanager
def one_thread_a_product() -> Iterator[None]:
    """Give matrix products one thread each; also a decorator."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def in_threads(
    work: Callable[[WorkItem], Result], items: Iterable[WorkItem]
) -> list[Result]:
    """Do the work of every item; results stand in the order of the items."""
    todo = list(items)
    if THREADS == 1 or len(todo) < 2:
        return [work(item) for item in todo]
    with one_thread_a_product(), ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, todo))


MOST_EXPONENT = 1023


def near_one(
    values: Array, used: Array | Mask | None = None, *, axis: int = -1
) -> Array:
    """Multiply by the power of two that brings the largest size to 0.5 up to 1."""
    if used is not None:
        values = np.where(used, values, 0.0)
    largest = np.abs(values).max(axis=axis, keepdims=True, initial=0.0)
    return np.asarray(np.ldexp(values, -np.frexp(largest)[1]))


def unit_of(values: Array) -> float:
    """Return the power of two next above the largest size; 1 where all are 0."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    if largest == 0:
        return 1.0
    return float(np.ldexp(1.0, min(math.frexp(largest)[1], MOST_EXPONENT)))


def divided(part: Array, whole: Array) -> Array:
    """Divide; NaN where there is no whole."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / whole, np.nan)


# A resample in which a statistic is undefined is left out; with fewer defined
# ones than this share, percentiles would describe only the convenient draws.
LEAST_DEFINED = 0.5
DECIMALS = 12
# Draws in memory at a time; another number gives other resamples.
DRAWN_AT_ONCE = 2**18


def stream(seed: int, *names: str) -> np.random.Generator:
    """Return the random stream of one step of an analysis."""
    return np.random.default_rng([seed, *(zlib.crc32(name.encode()) for name in names)])


def cluster_counts(n: int, resamples: int, rng: np.random.Generator) -> Counts:
    """Draw `n` of `n` clusters with replacement, `resamples` times."""
    counts = np.empty((resamples, n), np.int64)
    # Whole numbers, counted: a tenth of the time of `multinomial`.
    step = max(1, DRAWN_AT_ONCE // n)
    for start in range(0, resamples, step):
        rows = counts[start : start + step]
        drawn = rng.integers(0, n, rows.shape) + np.arange(len(rows))[:, None] * n
        rows[:] = np.bincount(drawn.ravel(), minlength=rows.size).reshape(rows.shape)
    return counts


@dataclass(frozen=True)
class Draws:
    """Resamples of a stories-by-methods table, as counts."""

    stories: Counts
    methods: Counts
    units: Counts | None = None
    annotators: Counts | None = None

    @property
    def resamples(self) -> int:
        return len(self.stories)

    @property
    def keep_cells(self) -> bool:
        """True if every resample has each story once, and people as they are."""
        others = self.units is not None or self.annotators is not None
        return not others and bool((self.stories == 1).all())

    def chunks(self, size: int) -> Iterator["Draws"]:
        """Yield the resamples in runs of at most `size`; one empty run of none."""
        for start in range(0, max(self.resamples, 1), size):
            rows = slice(start, start + size)
            yield Draws(
                self.stories[rows],
                self.methods[rows],
                None if self.units is None else self.units[rows],
                None if self.annotators is None else self.annotators[rows],
            )


def no_draws(n_stories: int, n_methods: int) -> Draws:
    """Return the data as they are: one resample in which all is drawn once."""
    return Draws(np.ones((1, n_stories), int), np.ones((1, n_methods), int))


def draw(
    parts: tuple[str, ...],
    *,
    cells: Mask,
    n_annotators: int,
    resamples: int,
    rng: np.random.Generator,
) -> Draws:
    """Draw clusters with replacement."""

    def counts(part: str, n: int) -> Counts:
        if part in parts:
            return cluster_counts(n, resamples, rng)
        return np.ones((resamples, n), int)

    n_stories, n_methods = cells.shape
    stories = counts("stories", n_stories)
    methods = counts("methods", n_methods)
    annotators = counts("annotators", n_annotators) if "annotators" in parts else None
    units = None
    if "units" in parts:
        units = np.zeros((resamples, n_stories, n_methods), int)
        units[:, cells] = cluster_counts(int(cells.sum()), resamples, rng)
    return Draws(stories, methods, units, annotators)


def interval(draws: Array, confidence: float) -> tuple[float, float, str]:
    """Return the percentile interval of resampled values."""
    # Rounding first: the last bits would decide whether an interval includes 0.
    defined = np.round(draws[np.isfinite(draws)], DECIMALS)
    if draws.size == 0:
        return NAN, NAN, ""
    if defined.size < LEAST_DEFINED * draws.size:
        return (
            NAN,
            NAN,
            sentence(
                "no interval: undefined in {n} of {total} resamples",
                n=draws.size - defined.size,
                total=draws.size,
            ),
        )
    if defined.min() == defined.max():
        return NAN, NAN, sentence("no interval: every resample gives the same value")
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high), ""


def bootstrap_p(draws: Array) -> float:
    """Return the two-sided p-value of "zero" from bootstrap values.

    ``p = min(1, 2 (c + 1) / (k + 1))`` with `k` defined resamples and `c` the
    smaller of the numbers at or below and at or above zero: the test that goes
    with the percentile interval. It is never 0 (Davison & Hinkley 1997,
    section 4.2: count the observed value among the draws).
    """
    defined = draws[np.isfinite(draws)]
    if defined.size == 0 or defined.size < LEAST_DEFINED * draws.size:
        return NAN
    tail = min(int((defined <= 0).sum()), int((defined >= 0).sum()))
    return min(1.0, 2 * (tail + 1) / (defined.size + 1))


def expanded(confidence: float, n: int) -> float:
    r"""Widen a percentile interval for the few clusters behind it.

    The bootstrap distribution of n clusters is narrower than the truth by
    :math:`\sqrt{(n-1)/n}`, and its percentiles are those of a normal where t is due:
    take the tails at :math:`\Phi(-\sqrt{n/(n-1)}\, t_{\alpha/2, n-1})`.

    Source: Hesterberg, T. C. (2015), What teachers should know about the bootstrap, The
    American Statistician 69(4), "expanded percentile interval".
    """
    t = stats.t.ppf((1 + confidence) / 2, n - 1)
    return float(1 - 2 * stats.norm.cdf(-t * np.sqrt(n / (n - 1))))


def estimate(
    value: float,
    draws: Array,
    confidence: float,
    *,
    n: int,
    groups: Groups | None = None,
    p_value: float | None = None,
    drawn: tuple[str, ...] = (),
) -> Estimate:
    """Join a defined value with what its resamples say."""
    value = round(value, DECIMALS) + 0.0  # as the interval: no 1e-17, and no -0.0
    low, high, reason = interval(draws, confidence)
    p = bootstrap_p(draws) if p_value is None else p_value
    names = "+".join(drawn) if np.isfinite(low) else ""
    return Estimate(value, low, high, n, p, reason, groups, names)


# With fewer methods than this every order is tried: 9! = 362,880.
EXACT_BELOW = 10
CHUNK = 50_000
# Values this close to the observed one count as equal to it.
SLACK = 1e-9
# How far a bound lies from a value that does not belong to its interval any more.
BEYOND = 1e-9


def rejects(p_value: float, confidence: float) -> bool:
    """Return whether a test rejects at the level of an interval; no test does not."""
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
        # Doubled, which keeps them whole.
        human, scores = (
            2 * stats.rankdata(side, axis=-1) - len(human) - 1
            for side in (human, scores)
        )
    human, scores = near_one(human), near_one(scores)
    h = _unit(human - human.mean())
    x = _unit(scores - scores.mean(axis=1, keepdims=True)).T

    def products(orders: Counts) -> Array:
        return np.asarray(h[orders] @ x)

    return products, h @ x


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
