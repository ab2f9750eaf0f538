r"""How far a statistic would move with other stories and other methods.

Every method renders every story, so answers cluster twice. A statistic varies with the
methods that were taken, with the stories, and with what a method makes of a story; the
latter is in the variance of both, and is counted once (Cameron, Gelbach and Miller
2011, Robust inference with multiway clustering, JBES 29(2)). Methods are few and enter
in pairs, so that their part is taken apart into what belongs to a method and what to a
pair of methods: the jackknife counts the latter twice (Efron and Stein 1981, The
jackknife estimate of variance, Annals of Statistics 9(3)).
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import stats
from scipy.special import expit, logit

from analysis.inference.resampling import DECIMALS
from analysis.inference.significance import holm
from analysis.options import Sampling
from analysis.printing import counted
from analysis.results import NAN, Array, Counts, Estimate, TableRow

# What is thought of as drawn unless something else is asked for.
CROSSED = ("stories", "methods")
# Fewer clusters of a kind say next to nothing of new ones.
LEAST = 5


@dataclass(frozen=True)
class Spread:
    """The variance of a statistic, by what is thought of as drawn.

    Attributes
    ----------
    methods, stories
        Where whole methods are drawn, and where whole stories are.
    outputs
        Where every output is drawn alone; the other two contain it.
    n_methods, n_stories
        How many there are.
    """

    methods: float
    stories: float
    outputs: float
    n_methods: int
    n_stories: int

    @property
    def variance(self) -> float:
        """Where methods and stories are drawn; never below where one of them is."""
        more = max(self.stories - self.outputs, 0.0)
        return max(self.methods, self.outputs) + more

    @property
    def error(self) -> float:
        """The standard error."""
        return float(np.sqrt(self.variance))

    @property
    def freedom(self) -> float:
        """Degrees of freedom, joined after Satterthwaite (1946); NaN without spread."""
        of_methods, of_stories = self.n_methods - 1, max(self.n_stories - 1, 1)
        more = max(self.stories - self.outputs, 0.0)
        if self.methods >= self.outputs:
            below = self.methods**2 / of_methods
        else:
            below = self.outputs**2 / (of_methods * of_stories)
        below += more**2 / of_stories
        return self.variance**2 / below if below else NAN

    def only(self, parts: tuple[str, ...]) -> "Spread":
        """Return the part of what is drawn: stories, methods, both, or outputs."""
        if set(parts) == set(CROSSED):
            return self
        return replace(
            self,
            methods=self.methods if "methods" in parts else 0.0,
            stories=self.stories if "stories" in parts else 0.0,
            outputs=self.outputs if "units" in parts else 0.0,
        )

    def why_not(self, parts: tuple[str, ...]) -> str:
        """Return why clusters that are thought of as drawn cannot be; empty if none."""
        for part, n, kind in (
            ("methods", self.n_methods, "method"),
            ("stories", self.n_stories, "story"),
        ):
            if {part, "units"} & set(parts) and n < LEAST:
                verb = "says" if n == 1 else "say"
                return f"{counted(n, kind, part)} {verb} nothing of new ones"
        return ""

    def p_value(self, value: float) -> float:
        """Test that the expected value is 0, two-sided.

        Where the statistic is the same whatever is left out, the p-value is that of
        signs: as many methods, or stories, all say the same by chance.
        """
        if not self.error:
            return 2.0 ** (1 - self._fewest) if value else 1.0
        return float(2 * stats.t.sf(abs(value) / self.error, self.freedom))

    def interval(self, value: float, confidence: float) -> tuple[float, float, str]:
        """Return the bounds of a value, and the reason where it has none."""
        if not self.error:
            return NAN, NAN, "it is the same whatever methods and stories are left out"
        far = float(stats.t.ppf((1 + confidence) / 2, self.freedom)) * self.error
        return value - far, value + far, ""

    def share(self, value: float, confidence: float, n: int, chance: float) -> Estimate:
        """Return a share with its interval and the test that it is chance.

        Notes
        -----
        Both are computed on the scale of log-odds, which bounds do not leave. Where all
        clusters say the same, 0 or 1, the interval is Clopper and Pearson's for as many
        as there are of the fewer kind, and the test that of signs.
        """
        if not 0 < value < 1:
            clusters = self._fewest
            bound = ((1 - confidence) / 2) ** (1 / clusters)
            low, high = (bound, 1.0) if value else (0.0, 1 - bound)
            return Estimate(value, low, high, n, p_value=2.0 ** (1 - clusters))
        slope = 1 / (value * (1 - value))
        there = replace(
            self,
            **{
                part: getattr(self, part) * slope**2
                for part in ("methods", "stories", "outputs")
            },
        )
        low, high, reason = there.interval(float(logit(value)), confidence)
        p_value = there.p_value(float(logit(value) - logit(chance)))
        bounds = float(expit(low)), float(expit(high))
        return Estimate(value, *bounds, n, p_value=p_value, reason=reason)

    @property
    def _fewest(self) -> int:
        return min(n for n in (self.n_methods, self.n_stories) if n > 1)


def compared(
    values: Array,
    names: Sequence[str],
    spread: Callable[[int, int], Spread],
    parts: tuple[str, ...],
    sampling: Sampling,
) -> list[TableRow]:
    """Test every two of several values; Holm's adjustment is over all of them.

    Parameters
    ----------
    values, names
        K values, NaN where one is undefined, and whose they are.
    spread
        From two indexes to the spread of their difference.
    parts
        What is thought of as drawn.
    sampling
        Number of resamples (0 for neither interval nor test) and coverage.
    """
    rows: list[TableRow] = []
    for a, b in itertools.combinations(range(len(names)), 2):
        value = round(float(values[a] - values[b]), DECIMALS)
        row = {"metric_a": names[a], "metric_b": names[b], "difference": value}
        rows.append(row | tested(value, partial(spread, a, b), parts, sampling))
    return with_holm(rows)


def with_holm(rows: list[TableRow]) -> list[TableRow]:
    """Add p-values that are adjusted over the rows of one family."""
    adjusted = holm(np.array([row["p_value"] for row in rows], float))
    return [
        row | {"p_adjusted": float(p)} for row, p in zip(rows, adjusted, strict=True)
    ]


def tested(
    value: float,
    spread: Callable[[], Spread],
    parts: tuple[str, ...],
    sampling: Sampling,
) -> TableRow:
    """Return what a comparison holds of a difference beside its value."""
    row: TableRow = dict.fromkeys(("low", "high", "p_value"), NAN)
    row |= {"test": "", "reason": ""}
    if not sampling["resamples"]:
        return row
    if np.isnan(value):
        return row | {"reason": "one of the two is undefined"}
    known = spread()
    if few := known.why_not(parts):
        return row | {"reason": few}
    known = known.only(parts)
    if np.isnan(known.error):
        return row | {"reason": "undefined without some of the methods or stories"}
    low, high, reason = known.interval(value, sampling["confidence"])
    bounds = {"low": low, "high": high, "p_value": known.p_value(value)}
    return row | bounds | {"test": "+".join(parts), "reason": reason}


def leave_outs(n: int) -> Counts:
    """Return weights of n methods: all of them, without each, without each two.

    Returns
    -------
    array of shape (1 + n + n (n - 1) / 2, n)

    Examples
    --------
    >>> leave_outs(2)
    array([[1, 1],
           [0, 1],
           [1, 0],
           [0, 0]])
    """
    i, j = np.triu_indices(n, 1)
    found = np.ones((1 + n + len(i), n), int)
    found[1 + np.arange(n), np.arange(n)] = 0
    pairs = 1 + n + np.arange(len(i))
    found[pairs, i] = found[pairs, j] = 0
    return found


def pair_values(values: Array, n: int) -> Array:
    """Take a statistic apart into one value of each pair of methods.

    Parameters
    ----------
    values
        Shape (..., 1 + n + n (n - 1) / 2): the statistic by `leave_outs`.
    n
        The number of methods, at least 4.

    Returns
    -------
    array of shape (..., n (n - 1) / 2)
        Their mean is the statistic where it is a mean over methods or over pairs of
        them, and the values are exactly what it is the mean of, or for a mean over
        methods the means of two.

    Examples
    --------
    >>> means = leave_outs(4) @ np.array([1.0, 2, 3, 10]) / leave_outs(4).sum(axis=1)
    >>> pair_values(means, 4)
    array([1.5, 2. , 5.5, 2.5, 6. , 6.5])
    """
    i, j = np.triu_indices(n, 1)
    whole, one, two = np.split(values, [1, 1 + n], axis=-1)

    def pairs(m: int) -> float:
        return m * (m - 1) / 2

    once = pairs(n - 1) * (one[..., i] + one[..., j])
    return np.asarray(pairs(n) * whole - once + pairs(n - 2) * two)


def pair_variance(values: Array, n: int) -> tuple[Array, Array]:
    r"""Return the variance of the mean of pair values where methods are drawn.

    Parameters
    ----------
    values
        Shape (..., n (n - 1) / 2), from `pair_values`.
    n
        The number of methods, at least 4.

    Returns
    -------
    variance, least
        Without bias, so it may be below 0; and the part of pairs alone, below which
        the variance is not.

    Notes
    -----
    With :math:`g_{ij} = \mu + a_i + a_j + r_{ij}` the variance of the mean is
    :math:`4 \sigma_a^2 / n + 2 \sigma_r^2 / (n (n - 1))`. Both are estimated from the
    sums of squares of the methods' means and of what is left over, which has
    :math:`n (n - 3) / 2` degrees of freedom.
    """
    i, j = np.triu_indices(n, 1)
    of_method = np.zeros((len(i), n))
    of_method[np.arange(len(i)), i] = of_method[np.arange(len(i)), j] = 1 / (n - 1)
    mean = values.mean(axis=-1, keepdims=True)
    means = values @ of_method - mean
    effects = means * (n - 1) / (n - 2)
    rest = values - mean - effects[..., i] - effects[..., j]
    between = (means**2).sum(axis=-1)
    residual = (rest**2).sum(axis=-1) / (n * (n - 3) / 2)
    jackknife = 4 * (n - 1) / (n * (n - 2) ** 2) * between
    least = 2 * residual / (n * (n - 1))
    return jackknife - residual * 4 / (n * (n - 2)) + least, least


def spread_of_stories(values: Array, n: int) -> Spread:
    """Return how far a mean over stories would move.

    Parameters
    ----------
    values
        Shape (S, 1 + n + n (n - 1) / 2): the statistic of each story by `leave_outs`;
        NaN where it has none.
    n
        The number of methods.
    """
    values = values[np.isfinite(values[:, 0])]
    mean = np.ma.masked_invalid(values).mean(axis=0).filled(NAN)
    own = np.where(np.isfinite(values), values, values[:, :1]) - mean
    return _spread(pair_values(mean, n), pair_values(own, n), values[:, 0], n)


def spread_of_pairs(values: Array, n: int) -> Spread:
    """Return how far a mean over stories and pairs of methods would move.

    Parameters
    ----------
    values
        Shape (S, n (n - 1) / 2).
    n
        The number of methods.
    """
    mean = values.mean(axis=0)
    return _spread(mean, values - mean, values.mean(axis=1), n)


def _spread(mean: Array, own: Array, stories: Array, n: int) -> Spread:
    """Join the parts: pair values of the mean, of stories around it, and stories."""
    S = len(stories)
    methods = methods_part(mean, n)
    if S < 2:
        return Spread(methods, NAN, NAN, n, S)
    outputs = NAN
    if n >= LEAST:
        outputs = max(float(pair_variance(own, n)[0].sum()) / (S * (S - 1)), 0.0)
    return Spread(methods, float(stories.var(ddof=1)) / S, outputs, n, S)


def methods_part(values: Array, n: int) -> float:
    """Return the variance by methods of the mean of pair values; NaN of too few."""
    return float(np.maximum(*pair_variance(values, n))) if n >= LEAST else NAN
