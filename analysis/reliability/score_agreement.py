"""Two sets of scores of the same outputs: a judge asked twice, or fp32 beside bf16."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.cluster_variance import LEAST
from analysis.inference.crossed_clusters import share_intervals
from analysis.inference.resampling import DECIMALS, divided, unit_of
from analysis.reliability.chance_corrected import alpha
from analysis.reliability.matrices import MOST_RATINGS, ROUNDING, rating_reliability
from analysis.results import NAN, Array, Counts, Estimate, TableRow, undefined
from analysis.sentences import counted, sentence

# So many standard deviations around the mean difference lie the limits of agreement.
WITHIN = 1.96
# Differences smaller than this share of the largest score may be of rounding.
NOISE = 16 * np.finfo(float).eps
# Differences that the table names.
MOST_DIFFERENCES = 20
OUTPUT = ["story", "method"]
# What is in units of the scores.
IN_UNITS = ("mean_difference", "sd_difference", "limit_low", "limit_high")
ORDINAL = ("kappa_quadratic", "alpha_ordinal")
# Statistics up to 1, whose intervals are made of Fisher's z.
CORRELATIONS = ("pearson", "spearman", "icc_2_1", *ORDINAL)
SAME_SCORES = sentence("one side's scores are all the same")
ONE_OUTPUT = sentence("only one output has both scores")
NOT_WITHOUT = sentence("undefined without some of the methods or stories")
NOTHING_MOVES = sentence("no interval: without any one story it is the same")
ONE_STORY = sentence("no interval: all that differs is in one story")


@dataclass(frozen=True)
class ScorePairs:
    """The two scores of each output, `x` and `y`, and the story of each."""

    outputs: pd.DataFrame
    x: Array
    y: Array
    stories: Counts

    @property
    def n_stories(self) -> int:
        return int(self.stories.max()) + 1

    @cached_property
    def is_ordinal(self) -> bool:
        """True if the scores have few different values, as a judge's have."""
        return len(np.unique(np.concatenate([self.x, self.y]))) <= MOST_RATINGS

    @cached_property
    def unit(self) -> float:
        """The power of two above all differences, so that tiny ones keep their digits.

        Differences no larger than what rounding makes of equal ones count as equal.
        """
        return unit_of(self.y - self.x)

    @cached_property
    def sums(self) -> Array:
        """Return sums, shape (9, 1 + stories): of all outputs, then without each story.

        Of 1, x, y, xx, yy, xy, whether both are the same, and of differences less
        their mean, in units of `unit`, and their squares.
        """
        x, y = self.x, self.y
        apart = (y - x - (y - x).mean()) / self.unit
        noise = NOISE * np.abs(np.concatenate([x, y])).max() / self.unit
        apart = np.where(np.abs(apart) > noise, apart, 0.0)
        one = np.ones(len(x))
        rows = np.stack([one, x, y, x**2, y**2, x * y, x == y, apart, apart**2])
        of_stories = np.zeros((len(rows), self.n_stories))
        for row, own in zip(rows, of_stories, strict=True):
            own += np.bincount(self.stories, row, minlength=self.n_stories)
        whole = rows.sum(axis=1, keepdims=True)
        return np.hstack([whole, whole - of_stories])

    def without_each(self, statistic: Callable[[Array, Array], float]) -> Array:
        """Return a statistic of all outputs, then without each story."""
        kept = [self.stories != story for story in range(-1, self.n_stories)]
        return np.array([statistic(self.x[rows], self.y[rows]) for rows in kept])


def paired(one: pd.DataFrame, other: pd.DataFrame) -> ScorePairs:
    """Pair two tables of one metric by output: columns story, method, score."""
    both = one.merge(other, on=OUTPUT, suffixes=("_a", "_b"))
    both = both.sort_values(OUTPUT, ignore_index=True)
    return ScorePairs(
        both[OUTPUT],
        both["score_a"].to_numpy(float),
        both["score_b"].to_numpy(float),
        pd.factorize(both["story"])[0],
    )


def agreement_rows(pairs: ScorePairs, confidence: float | None) -> Iterator[TableRow]:
    r"""Yield how well two sets of scores agree, one statistic a row.

    ``pearson``, ``spearman``; ``icc_2_1``: two-way random effects, absolute agreement,
    single score (Shrout and Fleiss 1979); ``mean_difference`` and ``sd_difference`` of
    second less first; ``limit_low``, ``limit_high``: the 95 % limits of agreement, mean
    :math:`\mp 1.96` sd (Bland and Altman 1986, Lancet 327); ``share_equal``. Of scores
    with at most 21 values also ``kappa_quadratic`` (Cohen 1968) and ``alpha_ordinal``
    (Krippendorff 2011).

    Intervals treat stories as sampled: the jackknife that leaves out whole stories,
    with Student's t of n - 1 degrees of freedom; of Fisher's z for correlations
    and of the logarithm for the sd; a share's follow Wilson. Those of limits join the
    bounds of mean and sd (Zou 2013, Statistical Methods in Medical Research 22), with
    their covariance. Spearman's, whose value over few outputs is too low where it is
    near 1, also holds the value less the jackknife's estimate of that. None is made of
    fewer than five stories, and none where `confidence` is None.
    """
    # Centred, so that no differences of large sums remain.
    middle = (pairs.x.mean() + pairs.y.mean()) / 2
    x, y = pairs.x - middle, pairs.y - middle
    unit = unit_of(np.concatenate([x, y]))
    scaled = replace(pairs, x=x / unit, y=y / unit)
    every = _statistics(scaled)
    for name in every:
        found = _estimate(name, every, scaled, confidence)
        scale = unit * scaled.unit if name in IN_UNITS else 1.0
        yield {
            "statistic": name,
            "value": found.value * scale,
            "low": found.low * scale,
            "high": found.high * scale,
            "n": len(pairs.x),
            "reason": found.reason,
            "n_stories": pairs.n_stories,
        }


def difference_rows(pairs: ScorePairs) -> Iterator[TableRow]:
    """Yield the outputs whose two scores differ most, the largest difference first."""
    difference = pairs.y - pairs.x
    order = np.argsort(-np.abs(difference), kind="stable")[:MOST_DIFFERENCES]
    for k in order[difference[order] != 0]:
        yield {
            "story": pairs.outputs["story"].iloc[k],
            "method": pairs.outputs["method"].iloc[k],
            "score_a": pairs.x[k],
            "score_b": pairs.y[k],
            "difference": difference[k],
        }


def _statistics(pairs: ScorePairs) -> dict[str, Array]:
    """Return each statistic of all outputs, then without each story."""
    n, *sums = pairs.sums
    with np.errstate(invalid="ignore", divide="ignore"):
        mx, my, xx, yy, xy, same, apart, squares = (one / n for one in sums)
        widened = n / (n - 1)
        vx, vy, vxy = xx - mx**2, yy - my**2, xy - mx * my
        varied = np.minimum(vx, vy) > ROUNDING * (xx + yy)
        pearson = np.where(varied, vxy / np.sqrt(vx * vy), np.nan)
        spread = squares - apart**2
        spread = np.where(spread > ROUNDING * squares[0], spread, 0.0) * widened
        deviation = np.sqrt(spread)
        mean = (pairs.y - pairs.x).mean() / pairs.unit + apart
        difference, spread = mean * pairs.unit, spread * pairs.unit**2
        # Mean squares of outputs, sides and error as in `matrices.icc`.
        units, error = vxy * widened, spread / 2
        rest = error + difference**2 / 2 - error / n
        total = (vx + vy) * widened / 2 + difference**2
        is_defined = (total > 0) & (units + rest > ROUNDING * total)
        icc = np.where(is_defined, units / (units + rest), np.nan)
        chance = xx + yy - 2 * mx * my
        unequal = xx + yy - 2 * xy
    found = {
        "pearson": pearson,
        "spearman": pairs.without_each(_spearman),
        "icc_2_1": icc,
        "mean_difference": mean,
        "sd_difference": deviation,
        "limit_low": mean - WITHIN * deviation,
        "limit_high": mean + WITHIN * deviation,
        "share_equal": same,
    }
    if pairs.is_ordinal:
        varied = chance > ROUNDING * (xx + yy)
        found["kappa_quadratic"] = np.where(
            varied, 1 - divided(unequal, chance), np.nan
        )
        found["alpha_ordinal"] = _alpha(pairs)
    return found


def _spearman(x: Array, y: Array) -> float:
    if len(x) < 2 or not np.ptp(x) or not np.ptp(y):
        return NAN
    ranks = (stats.rankdata(x), stats.rankdata(y))
    return float(np.corrcoef(*ranks)[0, 1])


def _alpha(pairs: ScorePairs) -> Array:
    """Return ordinal alpha: outputs with the same two scores are one unit, weighted."""
    each, kind = np.unique(np.stack([pairs.x, pairs.y], 1), axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    weights = np.zeros((1 + pairs.n_stories, len(each)))
    np.subtract.at(weights, (1 + pairs.stories, kind), 1.0)
    weights += np.bincount(kind, minlength=len(each))
    named = {"story": np.arange(len(each)), "method": "", "annotator": "a"}
    first = pd.DataFrame({**named, "rating": each[:, 0]})
    second = first.assign(annotator="b", rating=each[:, 1])
    data = rating_reliability(pd.concat([first, second], ignore_index=True))
    return alpha(data, weights, "ordinal")


def _estimate(
    name: str, every: Mapping[str, Array], pairs: ScorePairs, confidence: float | None
) -> Estimate:
    """Return a statistic with its interval by the jackknife over stories."""
    values = every[name]
    value, without = round(float(values[0]), DECIMALS) + 0.0, values[1:]
    if np.isnan(value):
        return undefined(SAME_SCORES if len(pairs.x) > 1 else ONE_OUTPUT)
    if confidence is None:
        return Estimate(value)
    n = pairs.n_stories
    if n < LEAST:
        few = "{n} is too few" if n == 1 else "{n} are too few"
        few = sentence(few, n=counted(n, "story", "stories"))
        return Estimate(value, reason=few)
    if np.isnan(without).any():
        return Estimate(value, reason=NOT_WITHOUT)
    if np.ptp(np.round(without, DECIMALS)) == 0:
        return Estimate(value, reason=NOTHING_MOVES)
    needed = "sd_difference" if name in IN_UNITS[1:] else name
    ends = {"sd_difference": 0.0, **dict.fromkeys(CORRELATIONS, 1.0)}
    if needed in ends and np.isclose(every[needed][1:], ends[needed], 0, 1e-12).any():
        return Estimate(value, reason=ONE_STORY)
    t = float(stats.t.ppf((1 + confidence) / 2, n - 1))
    if name == "share_equal":
        counted_as = value * (1 - value) / _variance(without)
        low, high = share_intervals(*map(np.asarray, (value, counted_as, t)))
    elif name in IN_UNITS[2:]:
        low, high = _limit_bounds(every, t, -1 if name == "limit_low" else 1)
    else:
        low, high = _bounds(name, values, t)
    return Estimate(value, float(low), float(high))


def _bounds(name: str, values: Array, t: float) -> tuple[Array, Array]:
    """Return the bounds of a statistic on the scale on which it is near normal."""
    there, back = _SCALES.get(name, (_same, _same))
    middle, *without = there(values)
    far, bias = float(t * np.sqrt(_variance(np.array(without)))), 0.0
    if name == "spearman":
        bias = (len(without) - 1) * (np.mean(without) - middle)
    return back(middle - far - max(bias, 0.0)), back(middle + far - min(bias, 0.0))


def _limit_bounds(
    every: Mapping[str, Array], t: float, side: int
) -> tuple[Array, Array]:
    """Return the bounds of a limit of agreement from those of mean and sd."""
    mean, sd = every["mean_difference"], every["sd_difference"]
    limit = mean[0] + side * WITHIN * sd[0]
    of_mean = t * np.sqrt(_variance(mean[1:]))
    moves = np.ptp(np.round(mean[1:], DECIMALS)) > 0
    shared = side * np.corrcoef(mean[1:], sd[1:])[0, 1] if moves else 0.0
    of_sd = [WITHIN * abs(float(b) - sd[0]) for b in _bounds("sd_difference", sd, t)]
    down, up = (
        np.sqrt(max(of_mean**2 + far**2 + 2 * shared * of_mean * far, 0.0))
        for far in of_sd[::side]
    )
    return np.asarray(limit - down), np.asarray(limit + up)


def _variance(without: Array) -> float:
    """Return the jackknife's variance (Efron and Stein 1981, Annals of Statistics)."""
    n = len(without)
    return float((n - 1) ** 2 / n * without.var(ddof=1))


def _same(values: Array) -> Array:
    return values


def _fisher(values: Array) -> Array:
    return np.asarray(np.arctanh(np.clip(values, -1 + 1e-15, 1 - 1e-15)))


def _log(values: Array) -> Array:
    return np.asarray(np.log(np.maximum(values, 1e-300)))


_SCALES: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    **dict.fromkeys(CORRELATIONS, (_fisher, np.tanh)),
    "sd_difference": (_log, np.exp),
}
