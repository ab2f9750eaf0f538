"""Variance components of ratings: method, story, annotator, and the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.resampling import cluster_counts, divided, interval, stream
from analysis.planning.sums_of_squares import (
    FACTORS,
    STORY,
    Design,
    VarianceSource,
    component_name,
    estimate_components,
    rating_design,
    resampled_components,
)
from analysis.reading.kept_answers import are_means
from analysis.results import NAN, Array, Estimate, TableRow, undefined
from analysis.sentences import sentence

# Numbers of annotators an output for which reliability is predicted.
PLANNED = (1, 2, 3, 5, 10, 20)
# A variance estimated with fewer degrees of freedom is near zero.
LEAST_DF = 4


def variance_components(
    by_annotator: pd.DataFrame,
    *,
    question: str,
    resamples: int,
    confidence: float,
    seed: int,
) -> list[TableRow]:
    """Divide the variance of one question's ratings among its sources."""
    if reason := _why_not(by_annotator):
        return [
            _row(question, source, undefined(reason)) for source in _ordered(FACTORS)
        ]
    design, y = _data(by_annotator)
    found = estimate_components(design, y[:, None])
    draws = _drawn(design, y, question, resamples, confidence, seed)
    total = sum(found.variance(*source) for source in found.values)
    rows = []
    for source in _ordered(FACTORS):
        n = found.levels[source]
        if source in found.reasons:
            reason = found.reasons[source]
            rows.append(_row(question, source, undefined(reason, n=n)))
            continue
        value = float(found.values[source][0, 0])
        share = max(0.0, value) / total if total > 0 else NAN
        low, high, reason = variance_interval(value, draws.get(source), confidence)
        if np.ptp(y) == 0:
            reason = sentence("all ratings are the same")
        elif value < 0:
            reason = sentence(
                "estimated below zero: too small to be distinguished from none"
            )
        estimate = Estimate(value, low, high, n, reason=reason)
        rows.append(_row(question, source, estimate, share))
    return rows


def _row(
    question: str, source: VarianceSource, found: Estimate, share: float = NAN
) -> TableRow:
    name = component_name(source)
    return {"question": question, "component": name, "share": share, **found.columns()}


def _ordered(factors: VarianceSource) -> list[VarianceSource]:
    pairs = [(a, b) for i, a in enumerate(factors) for b in factors[i + 1 :]]
    return [*((name,) for name in factors), *pairs, factors]


def _why_not(by_annotator: pd.DataFrame) -> str:
    if are_means(by_annotator):
        return sentence("the ratings are means over raters, who are not distinguished")
    if (by_annotator["story"] == "").all():
        return sentence("ratings are method-level values, without stories")
    if len(by_annotator) < 2:
        return sentence("fewer than two ratings")
    return ""


def _data(by_annotator: pd.DataFrame) -> tuple[Design, Array]:
    rows = by_annotator.sort_values(list(FACTORS), kind="stable")
    return rating_design(rows), rows["rating"].to_numpy(float)


def _drawn(
    design: Design,
    y: Array,
    question: str,
    resamples: int,
    confidence: float,
    seed: int,
) -> dict[VarianceSource, Array]:
    """Estimate the components again where the stories are drawn."""
    n = int(design.codes[STORY].max()) + 1
    if resamples == 0 or n < 2:
        return {}
    rng = stream(seed, "variance", question, STORY)
    counts = cluster_counts(n, resamples, rng)
    draws = resampled_components(design, y, drawn=STORY, counts=counts)
    tail = (1 + confidence) / 2
    wider = np.sqrt(n / (n - 1)) * stats.t.ppf(tail, n - 1) / stats.norm.ppf(tail)
    return {source: _spread(values, wider) for source, values in draws.items()}


def _spread(values: Array, times: float) -> Array:
    defined = np.isfinite(values)
    middle = values[defined].mean() if defined.any() else 0.0
    return np.asarray(middle + times * (values - middle))


def variance_interval(
    value: float, draws: Array | None, confidence: float
) -> tuple[float, float, str]:
    r"""Return the interval of a variance component, and the reason when it has none.

    Percentiles of a resampled variance lie too low, since variances are skewed. With
    the bootstrap's standard error the estimate has
    :math:`\nu = 2 (\hat\sigma^2 / se)^2` degrees of freedom, and the interval is
    :math:`\nu\hat\sigma^2/\chi^2_\nu` (Satterthwaite). An estimate with fewer than
    four of them is near zero; it gets percentiles, moved so that their mean is the
    estimate: copies of a story repeat its noise, which would count as variance of
    what is not drawn.

    Source: Brennan, R. L. (2001), Generalizability Theory, sections 6.2.2 and 6.4.
    """
    if draws is None or not np.isfinite(draws).any():
        return interval(np.empty(0) if draws is None else draws, confidence)
    error = float(np.nanstd(draws))
    df = 2 * (value / error) ** 2 if error > 0 and value > 0 else 0.0
    if df < LEAST_DF:
        return interval(_centred(draws, value), confidence)
    tail = (1 - confidence) / 2
    bounds = df * value / np.asarray(stats.chi2.ppf([1 - tail, tail], df), float)
    return float(bounds[0]), float(bounds[1]), ""


def _centred(draws: Array, value: float) -> Array:
    """Move resampled values so that their mean is the estimate."""
    defined = np.isfinite(draws)
    return draws - (draws[defined].mean() if defined.any() else 0.0) + value


@dataclass(frozen=True)
class StudySize:
    """The size of a study."""

    annotators: float
    stories: float
    methods: float
    per_output: float
    per_story: float


def study_size(by_annotator: pd.DataFrame) -> StudySize:
    """Return the size of the study behind rows of `annotator_cells`."""
    rows = by_annotator
    outputs = rows[["story", "method"]].drop_duplicates()
    pairs = rows[["story", "annotator"]].drop_duplicates()
    stories = rows["story"].nunique()
    return StudySize(
        float(rows["annotator"].nunique()),
        float(stories),
        float(rows["method"].nunique()),
        len(rows) / len(outputs),
        len(pairs) / stories,
    )


def reliability(
    parts: Mapping[VarianceSource, Array], size: StudySize
) -> dict[str, Array]:
    r"""Predict the reliability of means in a study of a given size.

    The share of the variance of observed means that is universe variance. With k
    ratings an output, A annotators, S stories and b annotators a story, for an output's
    mean: universe :math:`\sigma_m^2 + \sigma_s^2 + \sigma_{ms}^2`, error
    :math:`(\sigma_{ma}^2 + \sigma_{sa}^2 + \sigma_e^2)/k`, and :math:`+ \sigma_a^2/k`
    (dependability). For a method's mean: universe :math:`\sigma_m^2`, error
    :math:`\sigma_{ms}^2/S + \sigma_{ma}^2/A + \sigma_e^2/(Sk)`, and :math:`+
    \sigma_s^2/S + \sigma_a^2/A + \sigma_{sa}^2/(S b)`. Source: Brennan (2001),
    Generalizability Theory, section 4.1.
    """

    def part(*source: str) -> Array:
        return np.maximum(0.0, parts.get(source, np.zeros(())))

    k, A, S = size.per_output, size.annotators, size.stories
    m, s, a = (part(name) for name in FACTORS)
    ms, ma, sa = (
        part("method", "story"),
        part("method", "annotator"),
        part(*FACTORS[1:]),
    )
    rest = part(*FACTORS)
    output, relative = m + s + ms, (ma + sa + rest) / k
    of_method = ms / S + ma / A + rest / (S * k)
    absolute = of_method + s / S + a / A + sa / (S * size.per_story)
    return {
        "generalizability_output": divided(output, output + relative),
        "dependability_output": divided(output, output + (relative + a / k)),
        "generalizability_method": divided(m, m + of_method),
        "dependability_method": divided(m, m + absolute),
    }


def expected_reliability(
    by_annotator: pd.DataFrame,
    *,
    question: str,
    resamples: int,
    confidence: float,
    seed: int,
    annotators: Sequence[int] = PLANNED,
) -> list[TableRow]:
    """Predict the reliability of means with more or fewer annotators an output."""
    outputs = by_annotator[["story", "method"]].drop_duplicates()
    names = tuple(reliability({}, StudySize(1, 1, 1, 1, 1)))
    reason = _why_not(by_annotator) or _one_rating_each(by_annotator)
    stories = by_annotator["story"].nunique()
    found: dict[VarianceSource, Array] = {}
    draws: dict[VarianceSource, Array] = {}
    if not reason:
        design, y = _data(by_annotator)
        fit = estimate_components(design, y[:, None])
        found = {source: matrix[0, 0] for source, matrix in fit.values.items()}
        draws = _drawn(design, y, question, resamples, confidence, seed)
        draws = {s: _centred(d, float(found[s])) for s, d in draws.items()}
    rows: list[TableRow] = []
    for k in annotators:
        size = StudySize(k, stories, by_annotator["method"].nunique(), k, k)
        values = reliability(found, size)
        resampled = reliability(draws, size) if draws else {}
        for name in names:
            why = reason or _undefined(found, name)
            n = len(outputs) if name.endswith("output") else int(size.methods)
            if why or np.isnan(values[name]):
                estimate = undefined(why or sentence("all ratings are the same"), n=n)
            else:
                draws_of = resampled.get(name, np.empty(0))
                low, high, missing = interval(draws_of, confidence)
                estimate = Estimate(float(values[name]), low, high, n, reason=missing)
            rows.append(
                {
                    "question": question,
                    "statistic": name,
                    **estimate.columns(),
                    "n_annotators": k,
                    "n_stories": stories,
                }
            )
    return rows


def _one_rating_each(by_annotator: pd.DataFrame) -> str:
    if by_annotator.duplicated(["story", "method"]).any():
        return ""
    return sentence("no output has two ratings, so that their noise is not identified")


def _undefined(found: Mapping[VarianceSource, Array], name: str) -> str:
    if name.endswith("method") and ("method",) not in found:
        return sentence("only one method")
    return ""
