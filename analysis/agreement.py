"""Agreement of people with one another.

All statistics are written with one weight a unit, so that a bootstrap over
units is a matrix product.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from analysis.cells import same_within_tolerance
from analysis.correlation import correlate
from analysis.reliability import Reliability
from analysis.resampling import cluster_counts, estimate, stream
from analysis.results import NAN, Array, Estimate, undefined

RATING_STATISTICS = (
    "alpha_nominal", "alpha_ordinal", "alpha_interval", "ac1", "ac2_quadratic",
    "icc_2_1", "icc_2_k", "rater_vs_rest_spearman", "rater_vs_rest_kendall",
)  # fmt: skip
CHOICE_STATISTICS = ("alpha_nominal", "fleiss_kappa", "ac1", "majority_share")
PARTS = ("stories", "methods", "units")
# Values of one block of resampled value counts.
CHUNK = 4_000_000
# Mean squares below this are rounding.
ROUNDING = 1e-12


def alpha(data: Reliability, weights: Array, metric: str) -> Array:
    r"""Krippendorff's alpha, for many weightings of the units at once.

    Parameters
    ----------
    data
        Answers; units with a single answer do not enter.
    weights
        Shape (B, U): how often each unit counts.
    metric
        ``"nominal"``, ``"ordinal"`` or ``"interval"``.

    Returns
    -------
    array of shape (B,)
        NaN where fewer than two different values occur.

    Notes
    -----
    :math:`\alpha = 1 - \sum o_{ck} d_{ck}^2 / \sum e_{ck} d_{ck}^2`, where a unit
    with m answers gives each ordered pair of them weight :math:`1/(m - 1)` and
    :math:`e_{ck} = (n_c n_k - [c=k] n_c)/(n - 1)`. The ordinal difference
    :math:`\sum_{g=c}^{k} n_g - (n_c + n_k)/2` is the difference of mid-ranks, so
    ordinal alpha is interval alpha of mid-ranks; both need sums of squares only,
    and memory does not grow with the square of the number of values.

    References
    ----------
    Krippendorff, K. (2011), Computing Krippendorff's Alpha-Reliability.

    Examples
    --------
    >>> import pandas as pd
    >>> from analysis.reliability import rating_reliability
    >>> rows = pd.DataFrame({"story": list("aabb"), "method": "m", "dimension": "d",
    ...     "annotator": list("xyxy"), "rating": [1, 1, 2, 2]})
    >>> alpha(rating_reliability(rows), np.ones((1, 2)), "ordinal")
    array([1.])
    """
    used = data.pairable
    counts, m = data.counts[used], data.per_unit[used]
    step = max(1, CHUNK // max(counts.shape))
    found = []
    for start in range(0, len(weights), step):
        w = weights[start : start + step][:, used]
        found.append(_alpha(counts, m, data.values, w, metric))
    return np.concatenate(found)


def _alpha(
    counts: sparse.csr_array, m: Array, values: Array, w: Array, metric: str
) -> Array:
    n_c = _times(w, counts)
    n = n_c.sum(axis=1)
    if metric == "nominal":
        same = np.asarray((counts * counts).sum(axis=1), float)
        observed = w @ ((m**2 - same) / (m - 1))
        expected = n**2 - (n_c**2).sum(axis=1)
    else:
        if metric == "interval":
            x = np.broadcast_to(values - values.mean(), n_c.shape)
        else:
            x = np.cumsum(n_c, axis=1) - n_c / 2 - n[:, None] / 2
        squares = (_times(w * (m / (m - 1)), counts) * x**2).sum(axis=1)
        sums = np.asarray(counts @ x.T)  # (U, B)
        observed = 2 * (squares - ((w / (m - 1)).T * sums**2).sum(axis=0))
        expected = 2 * (n * (n_c * x**2).sum(axis=1) - (n_c * x).sum(axis=1) ** 2)
    varied = (n_c > 0).sum(axis=1) > 1
    ratio = (n - 1) * observed / np.where(varied, expected, 1.0)
    return np.where(varied, 1 - ratio, np.nan)


def _times(weights: Array, counts: sparse.csr_array) -> Array:
    return np.asarray((counts.T @ weights.T).T)


def gwet(data: Reliability, weights: Array, kind: str) -> Array:
    r"""Gwet's AC1 or quadratic AC2, or Fleiss' kappa, over weighted units.

    Parameters
    ----------
    data
        Answers. Categories are those of its scale, else the observed ones.
    weights
        Shape (B, U).
    kind
        ``"ac1"``, ``"ac2_quadratic"`` or ``"fleiss_kappa"``.

    Returns
    -------
    array of shape (B,)
        NaN where chance agreement is total.

    Notes
    -----
    :math:`(p_a - p_e)/(1 - p_e)`. Agreement :math:`p_a` averages units with two
    answers or more, category shares :math:`\pi_k` all units. AC1:
    :math:`p_e = \sum \pi_k (1 - \pi_k)/(q - 1)`; AC2 with weights
    :math:`w_{kl} = 1 - (k - l)^2/(\max - \min)^2` and their sum T_w:
    :math:`p_e = T_w/(q(q-1)) \sum \pi_k (1 - \pi_k)`; Fleiss:
    :math:`p_e = \sum \pi_k^2`. For skewed answers, where alpha collapses.

    References
    ----------
    Gwet, K. L. (2014), Handbook of Inter-Rater Reliability, 4th ed.; Fleiss
    (1971), Psychological Bulletin 76(5), with unequal numbers of raters as there.
    """
    categories = _categories(data)
    q = len(categories)
    counts = np.zeros((len(data.per_unit), q))
    counts[:, np.searchsorted(categories, data.values)] = data.counts.toarray()
    agree = np.eye(q)
    if kind == "ac2_quadratic" and q > 1:
        distance = categories[:, None] - categories[None, :]
        agree = 1 - (distance / (categories[-1] - categories[0])) ** 2
    m, used = data.per_unit, data.pairable
    near = (counts * (counts @ agree - 1)).sum(axis=1)
    own = np.where(used, near / np.where(used, m * (m - 1), 1.0), 0.0)
    pi = weights @ (counts / m[:, None]) / weights.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        pa = weights @ own / (weights @ used.astype(float))
        if kind == "fleiss_kappa":
            pe = (pi**2).sum(axis=1)
        else:
            pe = (pi * (1 - pi)).sum(axis=1) * agree.sum() / (q * max(q - 1, 0))
        value = (pa - pe) / (1 - pe)
    return np.where(1 - pe > ROUNDING, value, np.nan)


def _categories(data: Reliability) -> Array:
    if data.scale is None:
        return data.values
    low, high = data.scale
    return np.union1d(np.arange(low, high + 1, dtype=float), data.values)


def majority_share(data: Reliability, weights: Array) -> Array:
    """Average share of a unit's answers that its most frequent answer has.

    Parameters
    ----------
    data
        Answers; units with a single answer do not enter.
    weights
        Shape (B, U).
    """
    used = data.pairable
    top = np.asarray(data.counts[used].max(axis=1).todense(), float).reshape(-1)
    w = weights[:, used]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(w @ (top / data.per_unit[used]) / w.sum(axis=1))


def icc(data: Reliability, weights: Array, kind: str) -> Array:
    r"""Intraclass correlation, two-way random effects, absolute agreement.

    Parameters
    ----------
    data
        Ratings; only units rated by all annotators enter.
    weights
        Shape (B, U).
    kind
        ``"icc_2_1"`` (one rater) or ``"icc_2_k"`` (the mean of the k raters).

    Returns
    -------
    Array
        Shape (B,); NaN where the estimated variance in the denominator is not positive.

    Notes
    -----
    With mean squares of units (R), raters (C) and error (E):
    :math:`(R - E)/(R + (k-1)E + k(C - E)/n)` and
    :math:`(R - E)/(R + (C - E)/n)`.

    References
    ----------
    Shrout, P. E. and Fleiss, J. L. (1979), Intraclass correlations, Psychological
    Bulletin 86(2).
    """
    x = data.answers[data.complete]
    x = x - x.mean()
    w = weights[:, data.complete]
    k, n = x.shape[1], w.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = w @ x.mean(axis=1) / n
        raters = w @ x / n[:, None]
        total = w @ (x**2).sum(axis=1) - k * n * mean**2
        between = k * (w @ (x.mean(axis=1) ** 2) - n * mean**2)
        columns = n * ((raters - mean[:, None]) ** 2).sum(axis=1)
        R, C = between / (n - 1), columns / (k - 1)
        E = (total - between - columns) / ((n - 1) * (k - 1))
        rest = (
            R + (C - E) / n if kind == "icc_2_k" else R + (k - 1) * E + k * (C - E) / n
        )
        value = (R - E) / rest
    # Estimated variances may be negative: then there is no share of them.
    least = ROUNDING * np.maximum(total, n)
    return np.where((total > least) & (rest > least), value, np.nan)


def rater_vs_rest(data: Reliability, weights: Array, coefficient: str) -> Array:
    """Correlate each annotator with the mean of the others, and average.

    The human ceiling: how well one person predicts the others.

    Parameters
    ----------
    data
        Ratings; only units rated by all annotators enter.
    weights
        Shape (B, U).
    coefficient
        ``"spearman"`` or ``"kendall"`` (tau-b).

    Notes
    -----
    Averaged over the annotators for whom it is defined, not over Fisher's z.
    """
    x = data.answers[data.complete]
    w = weights[:, data.complete][None]
    total = x.sum(axis=1)
    values = []
    for own in x.T:
        rest = same_within_tolerance((total - own) / (x.shape[1] - 1))
        found = correlate(rest[None], own[None, None], w, [coefficient])
        values.append(found[coefficient][0, 0])
    defined = np.isfinite(values)
    count = defined.sum(axis=0)
    summed = np.where(defined, values, 0.0).sum(axis=0)
    return np.where(count > 0, summed / np.maximum(count, 1), np.nan)


Statistic = Callable[[Reliability, Array], Array]
STATISTICS: dict[str, Statistic] = {
    "alpha_nominal": lambda data, w: alpha(data, w, "nominal"),
    "alpha_ordinal": lambda data, w: alpha(data, w, "ordinal"),
    "alpha_interval": lambda data, w: alpha(data, w, "interval"),
    "ac1": lambda data, w: gwet(data, w, "ac1"),
    "ac2_quadratic": lambda data, w: gwet(data, w, "ac2_quadratic"),
    "fleiss_kappa": lambda data, w: gwet(data, w, "fleiss_kappa"),
    "majority_share": majority_share,
    "icc_2_1": lambda data, w: icc(data, w, "icc_2_1"),
    "icc_2_k": lambda data, w: icc(data, w, "icc_2_k"),
    "rater_vs_rest_spearman": lambda data, w: rater_vs_rest(data, w, "spearman"),
    "rater_vs_rest_kendall": lambda data, w: rater_vs_rest(data, w, "kendall"),
}
COMPLETE_ONLY = (
    "icc_2_1",
    "icc_2_k",
    "rater_vs_rest_spearman",
    "rater_vs_rest_kendall",
)
NO_VALUE = "undefined for these answers"
NEGATIVE = "the estimated variance of the ratings is not positive"
ONE_SIDED = (
    "for each annotator, the own ratings or the means of the others are all the same"
)
# Why a statistic has no value although the answers differ.
WITHOUT_VALUE = {
    "icc_2_1": NEGATIVE,
    "icc_2_k": NEGATIVE,
    "rater_vs_rest_spearman": ONE_SIDED,
    "rater_vs_rest_kendall": ONE_SIDED,
}


@dataclass(frozen=True)
class Agreement:
    """One statistic of one question, with the data behind it.

    Attributes
    ----------
    statistic
        A key of `STATISTICS`.
    estimate
        Value, interval, reason; `n` is the number of units that enter.
    n_annotators, n_answers
        People and answers in these units; None where only their mean is known.
    """

    statistic: str
    estimate: Estimate
    n_annotators: int | None
    n_answers: int | None


def agreement(
    data: Reliability,
    statistics: tuple[str, ...],
    *,
    parts: tuple[str, ...],
    resamples: int,
    confidence: float,
    seed: int,
    question: str,
) -> list[Agreement]:
    """Compute agreement statistics with cluster intervals.

    Parameters
    ----------
    data
        Answers of one question, from `analysis.reliability`.
    statistics
        Keys of `STATISTICS`.
    parts
        Clusters to draw, of `PARTS`. Annotators are not drawn: a doubled
        annotator would agree with himself.
    resamples, confidence, seed
        Number of resamples (0 for no intervals), coverage, seed.
    question
        Names the random stream.
    """
    weights = _drawn_weights(
        data, parts, resamples, stream(seed, "agreement", question)
    )
    found = []
    for name in statistics:
        used = data.pairable
        if name in COMPLETE_ONLY:
            used = used & data.complete
        n = int(used.sum())
        present = np.isfinite(data.answers[used])
        reason, value = _why_undefined(data, name), NAN
        if not reason:
            value = float(STATISTICS[name](data, np.ones((1, len(used))))[0])
            reason = "" if np.isfinite(value) else WITHOUT_VALUE.get(name, NO_VALUE)
        if reason:
            result = undefined(reason, n=n)
        else:
            draws = STATISTICS[name](data, weights) if len(weights) else np.empty(0)
            result = estimate(value, draws, confidence, n=n)
        who, answers = int(present.any(axis=0).sum()), int(data.per_unit[used].sum())
        counted = (None, None) if data.of_means else (who, answers)
        found.append(Agreement(name, result, *counted))
    return found


def _drawn_weights(
    data: Reliability, parts: tuple[str, ...], resamples: int, rng: np.random.Generator
) -> Array:
    weights = np.ones((resamples, len(data.per_unit)))
    varied = False
    for part in parts:
        codes = data.clusters[part]
        n = int(codes.max()) + 1
        varied |= n > 1
        counts = cluster_counts(n, resamples, rng)
        for column in codes.T:
            weights *= counts[:, column]
    return weights if varied else weights[:0]


def _why_undefined(data: Reliability, name: str) -> str:
    """Say in words why a statistic cannot be computed; empty when it can."""
    if data.of_means:
        return "the ratings are means over raters, who cannot be told apart"
    if not data.pairable.any():
        return "no unit has two answers"
    used = data.complete if name in COMPLETE_ONLY else data.pairable
    if name in COMPLETE_ONLY:
        if used.sum() < 2:
            annotators = data.answers.shape[1]
            which = "only one" if used.any() else "no"
            return f"{which} unit was rated by all {annotators} annotators"
        if np.ptp(data.answers[used]) == 0:
            return "all ratings are the same"
        constant = (np.ptp(data.answers[used], axis=0) == 0).all()
        if constant and name.startswith("rater"):
            return "each annotator gave one rating throughout"
        return ""
    if name.startswith("ac") and (data.values != np.round(data.values)).any():
        return "ratings are not whole categories"
    if name.startswith("ac") and len(_categories(data)) < 2:
        return "all answers are the same, and no scale names other categories"
    answered = data.counts[used].sum(axis=0)
    if name.startswith(("alpha", "fleiss")) and (np.asarray(answered) > 0).sum() < 2:
        return "all answers are the same"
    return ""
