"""Two sets of scores of the same outputs: a judge asked twice, or fp32 beside bf16."""

from collections.abc import Callable, Iterator
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
# Differences that the table names.
MOST_DIFFERENCES = 20
OUTPUT = ["story", "method"]
# What is in units of the scores.
IN_UNITS = ("mean_difference", "sd_difference", "limit_low", "limit_high")
ORDINAL = ("kappa_quadratic", "alpha_ordinal")
# Statistics up to 1, whose intervals are made of Fisher's z.
CORRELATIONS = ("pearson", "spearman", "icc_2_1", *ORDINAL)
SAME_SCORES = sentence("one side's scores are all the same")
NOT_WITHOUT = sentence("undefined without some of the methods or stories")
NOTHING_MOVES = sentence("no interval: without any one story it is the same")


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
    def sums(self) -> Array:
        """Sums n, x, y, xx, yy, xy, same (7, 1 + stories): whole, then without each."""
        x, y = self.x, self.y
        rows = np.stack([np.ones(len(x)), x, y, x**2, y**2, x * y, x == y])
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
    and of the logarithm for the sd; a share's follow Wilson. None is made of fewer than
    five stories, and none where `confidence` is None.
    """
    # Centred, so that no differences of large sums remain.
    middle = (pairs.x.mean() + pairs.y.mean()) / 2
    x, y = pairs.x - middle, pairs.y - middle
    unit = unit_of(np.concatenate([x, y]))
    scaled = replace(pairs, x=x / unit, y=y / unit)
    for name, values in _statistics(scaled).items():
        found = _estimate(name, values, scaled, confidence)
        scale = unit if name in IN_UNITS else 1.0
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
        mx, my, xx, yy, xy, same = (one / n for one in sums)
        widened = n / (n - 1)
        vx, vy, vxy = xx - mx**2, yy - my**2, xy - mx * my
        varied = np.minimum(vx, vy) > ROUNDING * (xx + yy)
        pearson = np.where(varied, vxy / np.sqrt(vx * vy), np.nan)
        difference = my - mx
        spread = np.maximum(vx + vy - 2 * vxy, 0.0) * widened
        spread = np.where(spread > ROUNDING * (xx + yy), spread, 0.0)
        deviation = np.sqrt(spread)
        # Mean squares of outputs, sides and error as in `matrices.icc`.
        units, error = vxy * widened, spread / 2
        rest = error + difference**2 / 2 - error / n
        total = (vx + vy) * widened / 2 + difference**2
        is_defined = (total > 0) & (units + rest > ROUNDING * total)
        icc = np.where(is_defined, units / (units + rest), np.nan)
        chance = xx + yy - 2 * mx * my
        apart = xx + yy - 2 * xy
    found = {
        "pearson": pearson,
        "spearman": pairs.without_each(_spearman),
        "icc_2_1": icc,
        "mean_difference": difference,
        "sd_difference": deviation,
        "limit_low": difference - WITHIN * deviation,
        "limit_high": difference + WITHIN * deviation,
        "share_equal": same,
    }
    if pairs.is_ordinal:
        varied = chance > ROUNDING * (xx + yy)
        found["kappa_quadratic"] = np.where(varied, 1 - divided(apart, chance), np.nan)
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
    name: str, values: Array, pairs: ScorePairs, confidence: float | None
) -> Estimate:
    """Return a statistic with its interval by the jackknife over stories."""
    value, without = round(float(values[0]), DECIMALS) + 0.0, values[1:]
    if np.isnan(value):
        return undefined(SAME_SCORES)
    if confidence is None:
        return Estimate(value)
    n = pairs.n_stories
    if n < LEAST:
        few = "{n} is too few" if n == 1 else "{n} are too few"
        few = sentence(few, n=counted(n, "story", "stories"))
        return Estimate(value, reason=few)
    if np.isnan(without).any():
        return Estimate(value, reason=NOT_WITHOUT)
    if np.ptp(np.round(values, DECIMALS)) == 0:
        return Estimate(value, reason=NOTHING_MOVES)
    t = float(stats.t.ppf((1 + confidence) / 2, n - 1))
    if name == "share_equal":
        counted_as = value * (1 - value) / _variance(without)
        low, high = share_intervals(*map(np.asarray, (value, counted_as, t)))
        return Estimate(value, float(low), float(high))
    there, back = _SCALES.get(name, (_same, _same))
    middle, far = there(np.asarray(value)), t * np.sqrt(_variance(there(without)))
    low, high = back(middle - far), back(middle + far)
    return Estimate(value, float(low), float(high))


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
