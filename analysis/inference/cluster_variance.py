"""Variance of a statistic over stories and methods.

Every method renders every story, so answers cluster twice; what a method makes of a
story is in the variance of both and counted once (Cameron, Gelbach and Miller 2011,
JBES 29(2)). Methods are few and enter in pairs: their part is taken apart into what
belongs to a method and what to a pair, which the jackknife counts twice (Efron and
Stein 1981, Annals of Statistics 9(3)).
"""

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from scipy.special import stdtr, stdtrit

from analysis.inference.crossed_clusters import share_intervals
from analysis.inference.resampling import DECIMALS, follow_test, holm, rejects
from analysis.options import Sampling
from analysis.results import NAN, Array, Counts, Estimate, TableRow
from analysis.sentences import counted, sentence

# What is thought of as drawn unless something else is asked for.
CROSSED = ("stories", "methods")
# Fewer clusters cannot stand for others.
LEAST = 5
# More metrics are not compared two by two, but with the best one.
MOST_PAIRED = 20


@dataclass(frozen=True)
class ClusterVariances:
    """The variance of a statistic, by what is thought of as drawn."""

    methods: float
    stories: float
    outputs: float
    n_methods: int
    n_stories: int
    step: float
    parts: tuple[str, ...] = CROSSED

    @property
    def variance(self) -> float:
        """The variance where all of it is drawn; never below that of a part."""
        methods, stories, outputs = self._drawn
        return max(methods, outputs) + max(stories - outputs, 0.0)

    @property
    def freedom(self) -> float:
        """Degrees of freedom, joined after Satterthwaite (1946).

        What single methods and stories add to a coefficient or an accuracy has heavy
        tails: over simulated studies, variances of n of them scatter as those of half
        as many normal values do (``docs/explanation/intervals.md``), and count as such.
        """
        methods, stories, outputs = self._drawn
        of_methods, of_stories = max(self.n_methods - 1, 1), max(self.n_stories - 1, 1)
        below = (
            max(methods**2 - outputs**2, 0.0) / (of_methods / 2)
            + max(stories**2 - outputs**2, 0.0) / (of_stories / 2)
            + outputs**2 / (of_methods * of_stories)
        )
        return self.variance**2 / below

    @property
    def _drawn(self) -> tuple[float, float, float]:
        # Outputs are in both; where they are unknown, nothing is taken off for them.
        known = np.isfinite(self.outputs) or "units" in self.parts
        least = self.step**2
        return (
            max(self.methods, least) if "methods" in self.parts else 0.0,
            max(self.stories, least) if "stories" in self.parts else 0.0,
            max(self.outputs, least) if known else 0.0,
        )

    @property
    def why_not(self) -> str:
        """Return why clusters cannot be treated as a sample; empty if they can."""
        for part, n, kind in (
            ("methods", self.n_methods, "method"),
            ("stories", self.n_stories, "story"),
        ):
            if {part, "units"} & set(self.parts) and n < LEAST:
                return sentence(
                    "{n} is too few" if n == 1 else "{n} are too few",
                    n=counted(n, kind, part),
                )
        if "annotators" in self.parts:
            return sentence("annotators are not drawn here")
        if np.isnan(self.variance):
            return sentence("undefined without some of the methods or stories")
        return ""

    def p_value(self, value: float) -> float:
        """Test that the expected value is 0, two-sided."""
        t = abs(value) / np.sqrt(self.variance)
        return max(float(2 * stdtr(self.freedom, -t)), np.finfo(float).tiny)

    def interval(
        self, value: float, confidence: float, most: float
    ) -> tuple[float, float]:
        """Return the bounds of a difference, which is between -`most` and `most`."""
        far = self._quantile(confidence) * float(np.sqrt(self.variance))
        return max(value - far, -most), min(value + far, most)

    def share_interval(
        self, value: float, confidence: float, lowest: float
    ) -> tuple[float, float]:
        """Return the bounds of a value between `lowest` and 1."""
        span = 1 - lowest
        share = self._inside(value, lowest)
        n = share * (1 - share) * span**2 / self.variance
        counted_as = map(np.asarray, (share, n, self._quantile(confidence)))
        low, high = share_intervals(*counted_as)
        return (
            min(lowest + span * float(low), value),
            max(lowest + span * float(high), value),
        )

    def _inside(self, value: float, lowest: float) -> float:
        """Return a value as a share of its scale, one step from its ends or more."""
        span = 1 - lowest
        nearest = min(self.step / span, 0.5)
        return min(max((value - lowest) / span, nearest), 1 - nearest)

    def _quantile(self, confidence: float) -> float:
        return float(stdtrit(self.freedom, (1 + confidence) / 2))

    def coefficient(
        self, value: float, confidence: float, *, of_pairs: bool, exact: float = NAN
    ) -> Estimate:
        """Return a coefficient with its interval and the test that it is 0."""
        value = round(value, DECIMALS) + 0.0
        known = self.narrowed()
        if reason := known.why_not:
            return Estimate(value, p_value=exact, reason=reason)
        p_value = exact
        if np.isnan(exact):
            share = known._inside(value, -1.0)
            narrower = 1.0 if of_pairs else 2 * np.sqrt(share * (1 - share))
            p_value = known.p_value(value * narrower)
        bounds = known.share_interval(value, confidence, -1.0)
        low, high = follow_test(*bounds, value, 0.0, rejects(p_value, confidence))
        return Estimate(value, low, high, p_value=p_value, drawn="+".join(known.parts))

    def narrowed(self) -> "ClusterVariances":
        """Return the same of what can be thought of as drawn."""
        few = (self.n_stories < LEAST, self.n_methods < LEAST)
        if self.parts != CROSSED or few[0] == few[1]:
            return self
        return replace(self, parts=("methods",) if few[0] else ("stories",))


@cache
def _pairs_of(n: int) -> tuple[Counts, Counts]:
    """Return both methods of each pair of n."""
    i, j = np.triu_indices(n, 1)
    return i, j


@cache
def _of_methods(n: int) -> Array:
    """Return weights that make means of each of n methods of values of its pairs."""
    i, j = _pairs_of(n)
    weights = np.zeros((len(i), n))
    weights[np.arange(len(i)), i] = weights[np.arange(len(i)), j] = 1 / (n - 1)
    return weights


def leave_outs(n: int) -> Counts:
    """Return weights of n methods: all of them, without each, without each two."""
    i, j = np.triu_indices(n, 1)
    found = np.ones((1 + n + len(i), n), int)
    found[1 + np.arange(n), np.arange(n)] = 0
    pairs = 1 + n + np.arange(len(i))
    found[pairs, i] = found[pairs, j] = 0
    return found


def pair_values(values: Array, n: int) -> Array:
    """Take a statistic apart into one value of each pair of methods."""
    i, j = _pairs_of(n)
    whole, one, two = np.split(values, [1, 1 + n], axis=-1)

    def pairs(m: int) -> float:
        return m * (m - 1) / 2

    once = pairs(n - 1) * (one[..., i] + one[..., j])
    return np.asarray(pairs(n) * whole - once + pairs(n - 2) * two)


def pair_variance(values: Array, n: int) -> tuple[Array, Array]:
    r"""Return the variance of the mean of pair values where methods are drawn.

    With :math:`g_{ij} = \mu + a_i + a_j + r_{ij}` the variance of the mean is
    :math:`4 \sigma_a^2 / n + 2 \sigma_r^2 / (n (n - 1))`. Both are estimated from the
    sums of squares of the methods' means and of the residuals, which has
    :math:`n (n - 3) / 2` degrees of freedom.
    """
    i, j = _pairs_of(n)
    mean = values.mean(axis=-1, keepdims=True)
    means = values @ _of_methods(n) - mean
    effects = means * (n - 1) / (n - 2)
    rest = values - mean - effects[..., i] - effects[..., j]
    between = (means**2).sum(axis=-1)
    residual = (rest**2).sum(axis=-1) / (n * (n - 3) / 2)
    jackknife = 4 * (n - 1) / (n * (n - 2) ** 2) * between
    least = 2 * residual / (n * (n - 1))
    return jackknife - residual * 4 / (n * (n - 2)) + least, least


def variances_of_stories(
    values: Array, n: int, step: float, parts: tuple[str, ...]
) -> ClusterVariances:
    values = values[np.isfinite(values[:, 0])]
    known = np.isfinite(values)
    sums, n_known = np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)
    mean = np.divide(sums, n_known, out=np.full(len(sums), NAN), where=n_known > 0)
    own = np.where(known, values, values[:, :1]) - mean
    of_pairs = pair_values(mean, n), pair_values(own, n)
    return _variances(*of_pairs, values[:, 0], n, step, parts)


def variances_of_pairs(
    values: Array, n: int, step: float, parts: tuple[str, ...]
) -> ClusterVariances:
    """Return the variances of a mean over stories and pairs of methods."""
    mean = values.mean(axis=0)
    return _variances(mean, values - mean, values.mean(axis=1), n, step, parts)


def _variances(
    mean: Array, own: Array, stories: Array, n: int, step: float, parts: tuple[str, ...]
) -> ClusterVariances:
    """Join the parts: pair values of the mean, of stories around it, and stories."""
    S = len(stories)
    methods = variance_of_methods(mean, n)
    if S < 2:
        return ClusterVariances(methods, NAN, NAN, n, S, step, parts)
    outputs = NAN
    if n >= LEAST:
        outputs = max(float(pair_variance(own, n)[0].sum()) / (S * (S - 1)), 0.0)
    of_stories = float(stories.var(ddof=1)) / S
    return ClusterVariances(methods, of_stories, outputs, n, S, step, parts)


def variance_of_methods(values: Array, n: int) -> float:
    """Return the variance by methods of the mean of pair values; NaN of too few."""
    return float(np.maximum(*pair_variance(values, n))) if n >= LEAST else NAN


def metric_pairs(
    values: Array, names: Sequence[str], own: Collection[str]
) -> list[tuple[int, int]]:
    """Return the places of the metrics to compare.

    Up to `MOST_PAIRED` metrics are compared two by two. Of more, each is compared with
    the best one; those of `own`, up to as many, are compared two by two.
    """
    every = range(len(names))
    if len(names) <= MOST_PAIRED:
        return list(itertools.combinations(every, 2))
    best = int(np.argmax(np.nan_to_num(values, nan=-np.inf)))
    found = {(min(k, best), max(k, best)) for k in every if k != best}
    few = [k for k in every if names[k] in own]
    if len(few) <= MOST_PAIRED:
        found.update(itertools.combinations(few, 2))
    return sorted(found)


def compared(
    values: Array,
    names: Sequence[str],
    variances: Callable[[int, int], ClusterVariances],
    sampling: Sampling,
    own: Collection[str] = (),
) -> list[TableRow]:
    """Test the differences of shares of metrics: see `metric_pairs`."""
    rows: list[TableRow] = []
    for a, b in metric_pairs(values, names, own):
        value = round(float(values[a] - values[b]), DECIMALS)
        row = {"metric_a": names[a], "metric_b": names[b], "difference": value}
        rows.append(row | tested(value, partial(variances, a, b), sampling, most=1.0))
    return with_holm(rows, len(names))


def with_holm(rows: list[TableRow], n_metrics: int = 0) -> list[TableRow]:
    """Add p-values that are adjusted over the rows or all pairs of a family.

    Pairs without a row count: the answers also say which metric is the best.
    """
    p_values = np.array([row["p_value"] for row in rows], float)
    if n_metrics > MOST_PAIRED and np.isfinite(p_values).any():
        left = n_metrics * (n_metrics - 1) // 2 - len(rows)
        p_values = np.append(p_values, np.ones(left))
    adjusted = holm(p_values)[: len(rows)]
    return [
        row | {"p_adjusted": float(p)} for row, p in zip(rows, adjusted, strict=True)
    ]


def tested(
    value: float,
    variances: Callable[[], ClusterVariances],
    sampling: Sampling,
    *,
    most: float,
) -> TableRow:
    """Return what a comparison holds of a difference, at most `most`, but its value.

    Its standard error and degrees of freedom are for tests of equivalence.
    """
    row: TableRow = dict.fromkeys(("low", "high", "p_value", "error", "freedom"), NAN)
    row |= {"test": "", "reason": ""}
    if not sampling["resamples"]:
        return row
    if np.isnan(value):
        return row | {"reason": sentence("one of the two is undefined")}
    known = variances()
    if known.why_not:
        return row | {"reason": known.why_not}
    low, high = known.interval(value, sampling["confidence"], most)
    bounds = {"low": low, "high": high, "p_value": known.p_value(value)}
    own = {"error": float(np.sqrt(known.variance)), "freedom": known.freedom}
    return row | bounds | own | {"test": "+".join(known.parts)}
