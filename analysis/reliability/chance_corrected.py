r"""Agreement beyond chance: alpha, AC1, AC2, Fleiss' kappa; and the majority's share.

A unit drawn twice is two units. An annotator drawn twice counts twice and is never
paired with himself: agreement is a mean of some h(a, b) over different annotators, and
with :math:`v_a` the times that a was drawn it becomes
:math:`\sum_{a \ne b} v_a v_b h(a, b) / \sum_{a \ne b} v_a v_b` (Hušková and Janssen
1993, Statistics & Probability Letters 16). With all weights 1 every formula below is
the textbook's.
"""

from collections.abc import Iterator
from functools import cached_property

import krippendorff
import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import stdtrit

from analysis.reading.texts import step_of
from analysis.reliability.matrices import ROUNDING, Reliability
from analysis.results import NAN, Array, Counts

# Values of one block of resampled value counts.
CHUNK = 4_000_000
# The krippendorff package needs units times values squared numbers at once.
PACKAGE_SIZE = 10_000_000
# Keys of several columns are whole numbers of 64 bits.
LARGEST_KEY = 2**62


class ResampledVotes:
    """Answers of units under B resamples, counted by unit and value."""

    def __init__(self, data: Reliability, weights: Array, people: Array | None) -> None:
        self.data = data
        self.weights = np.ascontiguousarray(weights.T)
        self.people = people
        counts = data.counts
        self.value = counts.indices
        self.unit = np.repeat(np.arange(data.n_units), np.diff(counts.indptr))
        self.cells = sparse.csr_array(
            (np.ones(counts.nnz), np.arange(counts.nnz), counts.indptr),
            shape=(data.n_units, counts.nnz),
        )
        self.votes = counts.data[:, None] if people is None else self._drawn(people)
        self.total = self.by_unit(self.votes)

    def _drawn(self, people: Array) -> Array:
        """Count each cell's answers by the weights of who gave them."""
        data = self.data
        V = len(data.values)
        of_cells = self.unit * V + self.value
        place = np.searchsorted(of_cells, data.units * V + data.codes)
        gave = sparse.coo_array(
            (np.ones(len(place)), (place, data.annotators)),
            shape=(len(of_cells), data.n_annotators),
        )
        return np.asarray(gave.tocsr() @ people.T)

    @cached_property
    def own(self) -> Array:
        """Sum of squared weights of a unit's annotators: each paired with himself."""
        if self.people is None:
            return self.total
        data = self.data
        answered = sparse.coo_array(
            (np.ones(len(data.units)), (data.units, data.annotators)),
            shape=(data.n_units, data.n_annotators),
        )
        return np.asarray(answered.tocsr() @ (self.people**2).T)

    @cached_property
    def pairs(self) -> Array:
        """Weight of a unit's ordered pairs of different annotators."""
        return self.total**2 - self.own

    def by_unit(self, of_cells: Array) -> Array:
        return np.asarray(self.cells @ of_cells)

    def moment(self, of_values: Array) -> Array:
        """Sum a number of each value, shape (V, 1 or B), over each unit's answers."""
        if self.people is None:
            return np.asarray(self.data.counts @ of_values)
        return self.by_unit(self.votes * of_values[self.value])

    def drawn(self, of_units: Array) -> Array:
        """Sum what units have, as often as each was drawn: shape (B,)."""
        if of_units.shape[1] == 1:
            return np.asarray(self.weights.T @ of_units[:, 0])
        return np.asarray(np.einsum("ub,ub->b", self.weights, of_units))

    def by_value(self, factor: Array) -> Array:
        """Sum answers times a factor of their unit over each value: shape (V, B)."""
        w = self.weights * factor
        if self.people is None:
            return np.asarray(self.data.counts.T @ w)
        values = sparse.csr_array(
            (np.ones(len(self.value)), (self.value, np.arange(len(self.value)))),
            shape=(len(self.data.values), len(self.value)),
        )
        return np.asarray(values @ (self.votes * w[self.unit]))


def _share(part: Array, whole: Array) -> Array:
    """Divide; 0 where there is no whole."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), 0.0)


def alpha(
    data: Reliability, weights: Array, metric: str, people: Array | None = None
) -> Array:
    r"""Krippendorff's alpha, for many weightings of the units at once.

    :math:`\alpha = 1 - \sum o_{ck} d_{ck}^2 / \sum e_{ck} d_{ck}^2`, where a unit
    with m answers gives each ordered pair of them weight :math:`1/(m - 1)` and
    :math:`e_{ck} = (n_c n_k - [c=k] n_c)/(n - 1)`. The ordinal difference
    :math:`\sum_{g=c}^{k} n_g - (n_c + n_k)/2` is the difference of mid-ranks, so
    ordinal alpha is interval alpha of mid-ranks; both need sums of squares only,
    and memory does not grow with the square of the number of values.

    Under weights v of annotators, a unit with :math:`V = \sum v_a` gives its ordered
    pairs of different annotators the weights :math:`v_a v_b V/(V^2 - \sum v_a^2)`,
    so that it still counts V in all (with ones: :math:`1/(m - 1)`), and the pairs of
    different answers behind e number :math:`n^2 - \sum v^2` (:math:`n(n - 1)`).

    Source: Krippendorff, K. (2011), Computing Krippendorff's Alpha-Reliability.
    """
    v = ResampledVotes(data, weights, people)
    used = (v.pairs > 0).astype(float)
    n = v.drawn(v.total * used)
    if metric == "nominal":
        within = v.total**2 - v.by_unit(v.votes**2)
        between = n**2 - (v.by_value(used) ** 2).sum(axis=0)
    else:
        within, between = _squared_differences(v, used, n, metric)
    observed = v.drawn(within * _share(v.total, v.pairs)) / np.maximum(n, 1)
    varied = between > 0
    expected = np.where(varied, between, 1.0) / np.maximum(
        n**2 - v.drawn(v.own * used), 1
    )
    return np.where(varied, 1 - observed / expected, np.nan)


def _squared_differences(
    v: ResampledVotes, used: Array, n: Array, metric: str
) -> tuple[Array, Array]:
    """Sum (x - y)^2 over ordered pairs: inside each unit, and of all answers."""
    values = v.data.values
    x = (values - values[len(values) // 2])[:, None]
    if metric == "ordinal":
        n_c = v.by_value(used)
        x = np.cumsum(n_c, axis=0) - n_c / 2 - n / 2
    first, second = v.moment(x), v.moment(x**2)
    squares = v.drawn(second * used)
    between = 2 * (n * squares - v.drawn(first * used) ** 2)
    within = 2 * (v.total * second - first**2)
    return within, np.where(between > ROUNDING * n * squares, between, 0.0)


def alpha_value(data: Reliability, metric: str) -> float:
    """Krippendorff's alpha of the data as they are."""
    counts = data.counts[data.pairable]
    if counts.shape[0] * counts.shape[1] ** 2 > PACKAGE_SIZE or counts.shape[1] < 2:
        return float(alpha(data, np.ones((1, data.n_units)), metric)[0])
    return float(
        krippendorff.alpha(
            value_counts=counts.toarray(),
            value_domain=data.values,
            level_of_measurement=metric,  # type: ignore[arg-type]
        )
    )


def gwet(
    data: Reliability, weights: Array, kind: str, people: Array | None = None
) -> Array:
    r"""Gwet's AC1 or quadratic AC2, or Fleiss' kappa, over weighted units.

    :math:`(p_a - p_e)/(1 - p_e)`. Agreement :math:`p_a` averages units with two
    answers or more, category shares :math:`\pi_k` all units. AC1:
    :math:`p_e = \sum \pi_k (1 - \pi_k)/(q - 1)`; AC2 with weights
    :math:`w_{kl} = 1 - (k - l)^2/(\max - \min)^2` and their sum T_w:
    :math:`p_e = T_w/(q(q-1)) \sum \pi_k (1 - \pi_k)`; Fleiss:
    :math:`p_e = \sum \pi_k^2`. For skewed answers, where alpha collapses. Sums of
    squares replace the matrix of weights, as in `alpha`.

    Source: Gwet, K. L. (2014), Handbook of Inter-Rater Reliability, 4th ed.; Fleiss
    (1971), Psychological Bulletin 76(5), with unequal numbers of raters as there.
    """
    v = ResampledVotes(data, weights, people)
    q, width, sum_of_weights = _categories(data, kind)
    if kind == "ac2_quadratic" and q > 1:
        x = (data.values - data.values[0])[:, None] / width
        apart = 2 * (v.total * v.moment(x**2) - v.moment(x) ** 2)
        near = v.pairs - apart
    else:
        near = v.by_unit(v.votes**2) - v.own
    used, answered = (v.pairs > 0).astype(float), (v.total > 0).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        pi = v.by_value(_share(answered, v.total)) / v.drawn(answered)
        pa = v.drawn(_share(near, v.pairs)) / v.drawn(used)
        if kind == "fleiss_kappa":
            pe = (pi**2).sum(axis=0)
        else:
            pe = (pi * (1 - pi)).sum(axis=0) * sum_of_weights / (q * max(q - 1, 0))
        value = (pa - pe) / (1 - pe)
    return np.where(1 - pe > ROUNDING, value, np.nan)


def _categories(data: Reliability, kind: str) -> tuple[int, float, float]:
    """Return the number of categories, their range, and their sum of weights."""
    categories = category_values(data)
    q = len(categories)
    if kind != "ac2_quadratic" or q < 2:
        return q, 1.0, float(q)
    width = float(categories[-1] - categories[0])
    x = (categories - categories[0]) / width
    return q, width, float(q**2 - 2 * (q * (x**2).sum() - x.sum() ** 2))


def category_values(data: Reliability) -> Array:
    """Return the categories of the scale and of the answers, sorted."""
    if data.scale is None:
        return data.values
    low, high = data.scale
    steps = round(1 / (step_of(data.values) or 1))
    return np.union1d(np.arange(low * steps, high * steps + 1) / steps, data.values)


def majority_share(
    data: Reliability, weights: Array, people: Array | None = None
) -> Array:
    """Average share of a unit's answers that its most frequent answer has."""
    if people is not None:
        raise ValueError("majority_share: annotators cannot be drawn")
    used = data.pairable
    top = np.asarray(data.counts[used].max(axis=1).todense(), float).reshape(-1)
    w = weights[:, used]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(w @ (top / data.per_unit[used]) / w.sum(axis=1))


def alike(columns: list[Counts]) -> Counts:
    """Give units a number each, the same one to units with equal keys."""
    code = np.zeros(len(columns[0]), np.int64)
    highest = 0
    for column in columns:
        base = int(column.max(initial=0)) + 1
        if (highest + 1) * base > LARGEST_KEY:
            code = pd.factorize(code)[0]
            highest = int(code.max(initial=0))
        code = code * base + column
        highest = highest * base + base - 1
    return pd.factorize(code)[0]


# From so many values on, resamples move ranks (docs/explanation/intervals.md).
MANY_VALUES = 11
# More clusters than this are left out by groups.
MOST_GROUPS = 400


def has_many_values(data: Reliability) -> bool:
    """Say whether so many different answers were given that ranks move."""
    return len(data.values) >= MANY_VALUES


def ordinal_interval(
    data: Reliability, value: float, parts: tuple[str, ...], confidence: float
) -> tuple[float, float]:
    r"""Return the bounds of ordinal alpha by leaving out one cluster after the other.

    With G clusters the variance is :math:`(G - 1)/G \sum (\alpha_{(g)} -
    \bar\alpha_{(\cdot)})^2` (the jackknife; Efron and Stein 1981, Annals of Statistics
    9). Of two kinds both are added, and of stories and methods that of units, which are
    in both, is taken off. The interval is Student's, of one degree of freedom less than
    there are clusters of the fewer kind, and ends at 1.
    """
    found = [_variance(data, part) for part in parts]
    variance = sum(one for one, _ in found)
    if set(parts) == {"stories", "methods"}:
        largest = max(one for one, _ in found)
        variance = max(variance - _variance(data, "units")[0], largest)
    if not variance > 0:
        return NAN, NAN
    freedom = min(n for _, n in found) - 1
    far = float(stdtrit(freedom, (1 + confidence) / 2) * np.sqrt(variance))
    return value - far, min(value + far, 1.0)


def _variance(data: Reliability, part: str) -> tuple[float, int]:
    """Return the variance if these clusters are resampled, and their number."""
    people = part == "annotators"
    codes = np.arange(data.n_annotators) if people else _codes(data, part)
    n = min(int(codes.max()) + 1, MOST_GROUPS)
    values = np.concatenate([*_without(data, codes % n, n, people=people)])
    return float((n - 1) / n * ((values - values.mean()) ** 2).sum()), n


def _codes(data: Reliability, part: str) -> Counts:
    """Return the cluster of each unit, of those that have two answers of one unit."""
    codes = data.clusters[part][:, 0]
    some = np.unique(codes[data.pairable])
    # Of others alpha knows nothing: they may be left out with any of these.
    return np.minimum(np.searchsorted(some, codes), len(some) - 1)


def _without(
    data: Reliability, group: Counts, n: int, *, people: bool
) -> Iterator[Array]:
    """Yield alpha without each group, some groups at a time."""
    size = max(data.n_units, len(data.values), data.counts.nnz if people else 1)
    step = max(1, CHUNK // size)
    for start in range(0, n, step):
        out = np.arange(start, min(start + step, n))
        kept = (group != out[:, None]).astype(float)
        once = np.ones((len(out), data.n_units))
        weights, annotators = (once, kept) if people else (kept, None)
        yield alpha(data, weights, "ordinal", people=annotators)
