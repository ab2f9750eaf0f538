"""Intervals of what repeated trials do to means: over trials, not over stories."""

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import Unpack

import numpy as np
import pandas as pd
from scipy import stats

from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.correlations.levels import merged_by_rounding
from analysis.inference.resampling import (
    DECIMALS,
    cluster_counts,
    divided,
    interval,
    stream,
    unit_of,
)
from analysis.options import Sampling
from analysis.reading.cells import CellGrid, common_grid
from analysis.reading.column_cleaning import key_texts
from analysis.reading.scores import score_table
from analysis.reliability.matrices import Reliability, icc, rating_reliability
from analysis.results import NAN, Array, Estimate, TableRow, in_unit, undefined
from analysis.sentences import sentence

SAME = sentence("no interval: the trials have the same means")
OF_THESE = sentence(
    "no interval is made: it is of these trials, not of trials in general"
)


def trial_interval(value: float, freedom: float, confidence: float) -> Estimate:
    r"""Return a standard deviation over trials with its interval.

    Means over many outputs are normal, so that :math:`\nu s^2 / \sigma^2` is
    chi-square: the bounds are :math:`s \sqrt{\nu / \chi^2_{\nu, 1 - a / 2}}` and
    :math:`s \sqrt{\nu / \chi^2_{\nu, a / 2}}`.
    """
    if value < 10**-DECIMALS:
        return Estimate(value, reason=SAME)
    tail = (1 - confidence) / 2
    low, high = (
        value * float(np.sqrt(freedom / stats.chi2.ppf(share, freedom)))
        for share in (1 - tail, tail)
    )
    return Estimate(value, low, high)


def freedom_of_noise(means: Array) -> float:
    r"""Return the degrees of freedom of the mean over methods of their variances.

    With n = K - 1 and the covariances S of methods over trials it is
    :math:`n (\mathrm{tr}\,S)^2 / \mathrm{tr}(S^2)` (Box 1954, Annals of Mathematical
    Statistics 25(2), 290-302): n where trials move all methods together, up to n times
    the number of methods where they move each by itself. Of few trials it is rather
    too small, so that intervals are rather too wide.
    """
    covariance = np.atleast_2d(np.cov(means, rowvar=False))
    squares = float((covariance**2).sum())
    n = float(len(means) - 1)
    return n * float(np.trace(covariance)) ** 2 / squares if squares > 0 else n


PEOPLE = "people"
OVER_TRIALS = (
    "mean",
    "sd",
    "sd_population",
    "minimum",
    "maximum",
    "coefficient_of_variation",
    "sd_output",
    "same_share",
)
# What is in units of the scores.
IN_UNITS = ("mean", "sd", "sd_population", "minimum", "maximum", "sd_output")
OF_OUTPUTS = ("icc_2_1", "icc_2_k", "noise_to_methods")


def rating_trials(ratings: pd.DataFrame) -> pd.DataFrame:
    """Take a judge's answers in the columns of ratings; the annotator is the judge."""
    named = ratings.rename(
        columns={"dimension": "question", "annotator": "metric", "rating": "value"}
    )
    rounds = named["round"] if "round" in named else pd.Series("", named.index)
    keys = ["question", "metric", "story", "method", "round"]
    rows = named.assign(round=rounds).dropna(subset=["value"])
    for key in keys:
        rows[key] = key_texts(rows[key])
    return rows.groupby(keys)["value"].mean().reset_index()


def stability(
    trials: pd.DataFrame, *, resamples: int, confidence: float, seed: int
) -> list[TableRow]:
    """Describe how a judge's scores vary over trials, in all and for each method.

    ``mean`` to ``coefficient_of_variation`` are of the means over outputs of the K
    trials (ViStoryBench, H.6; Envision, equations 5 to 7). ``sd_output`` is the root
    mean square of the outputs' own standard deviations, ``same_share`` the share of
    outputs with one score in all trials, ``noise_to_methods`` the root mean square over
    methods of their sd over trials, by the standard deviation of their means.
    """
    found: list[TableRow] = []
    for (question, metric), rows in trials.groupby(["question", "metric"], sort=True):
        key = str(question), str(metric)
        rng = stream(seed, "stability", *key)
        found += _of_judge(key, rows, resamples, confidence, rng)
    return found


def _of_judge(
    key: tuple[str, str],
    rows: pd.DataFrame,
    resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> list[TableRow]:
    names = (*OVER_TRIALS, *OF_OUTPUTS)
    table = rows.pivot(index=["story", "method"], columns="round", values="value")
    table = table[np.isfinite(table.to_numpy()).all(axis=1)]
    reason = ""
    if table.shape[1] < 2:
        reason = sentence("only one trial")
    elif table.empty:
        reason = sentence("no output has a score in every trial")
    if reason:
        return [_row(key, "", name, Estimate(NAN, reason=reason)) for name in names]
    unit = unit_of(table.to_numpy(float))
    table = table / unit
    x = table.to_numpy(float)
    stories = np.unique(table.index.get_level_values("story"), return_inverse=True)[1]
    methods = table.index.get_level_values("method").to_numpy(str)
    n_stories = int(stories.max()) + 1
    counts = cluster_counts(n_stories, resamples if n_stories > 1 else 0, rng)
    weights = counts[:, stories].astype(float)
    found = []
    for method in ["", *np.unique(methods)]:
        here = methods == method if method else np.ones(len(x), bool)
        values = _over_trials(x[here], np.ones((1, int(here.sum()))))
        draws = _over_trials(x[here], weights[:, here])
        if not method:
            long = table.reset_index().melt(["story", "method"], value_name="rating")
            data = rating_reliability(long.rename(columns={"round": "annotator"}))
            one = np.ones((1, len(x)))
            values |= _of_outputs(x, methods, one, data)
            draws |= _of_outputs(x, methods, weights, data)
        freedom = _freedom(x[here], methods[here]) if resamples else {}
        for name, value in values.items():
            estimate = _estimate(float(value[0]), draws[name], confidence, name)
            if name in freedom and np.isfinite(estimate.value):
                estimate = trial_interval(estimate.value, freedom[name], confidence)
            estimate = in_unit(estimate, unit if name in IN_UNITS else 1.0)
            found.append(_row(key, method, name, estimate, int(here.sum())))
    return found


def _row(
    key: tuple[str, str], method: str, name: str, found: Estimate, n: int = 0
) -> TableRow:
    return {
        "question": key[0],
        "metric": key[1],
        **found.columns(),
        "n": n,
        "method": method,
        "statistic": name,
    }


UNDEFINED = {
    "coefficient_of_variation": sentence("the mean is 0"),
    "icc_2_1": sentence("the estimated variance of the scores is not positive"),
    "icc_2_k": sentence("the estimated variance of the scores is not positive"),
    "noise_to_methods": sentence("the methods' means do not differ"),
}


def _estimate(value: float, draws: Array, confidence: float, name: str) -> Estimate:
    if np.isnan(value):
        return undefined(UNDEFINED[name])
    if name in ("minimum", "maximum"):
        return Estimate(value, reason=OF_THESE)
    low, high, reason = interval(draws, confidence)
    return Estimate(value, low, high, reason=reason)


def _freedom(x: Array, methods: Array) -> dict[str, float]:
    """Return the degrees of freedom of what K trials do to means: x (U, K)."""
    means = [x[methods == method].mean(axis=0) for method in np.unique(methods)]
    of_all = float(x.shape[1] - 1)
    names = ("sd", "sd_population", "coefficient_of_variation")
    return dict.fromkeys(names, of_all) | {
        "noise_to_methods": freedom_of_noise(np.array(means).T)
    }


def _over_trials(x: Array, weights: Array) -> dict[str, Array]:
    """Describe weighted outputs: x (U, K), weights (B, U), values (B,)."""
    total = weights.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = weights @ x / total[:, None]
        mean, sd = means.mean(axis=1), means.std(axis=1, ddof=1)
        return {
            "mean": mean,
            "sd": sd,
            "sd_population": means.std(axis=1),
            "minimum": means.min(axis=1),
            "maximum": means.max(axis=1),
            "coefficient_of_variation": np.where(mean != 0, sd / np.abs(mean), np.nan),
            "sd_output": np.sqrt(weights @ x.var(axis=1, ddof=1) / total),
            "same_share": weights @ (np.ptp(x, axis=1) == 0) / total,
        }


def _of_outputs(
    x: Array, methods: Array, weights: Array, data: Reliability
) -> dict[str, Array]:
    found = {name: icc(data, weights, name) for name in ("icc_2_1", "icc_2_k")}
    means, noise = [], []
    for method in np.unique(methods):
        here = methods == method
        w = weights[:, here]
        total = w.sum(axis=1)[:, None]
        of_trials = divided(w @ x[here], total)
        means.append(of_trials.mean(axis=1))
        noise.append(of_trials.var(axis=1, ddof=1))
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        # A draw may leave a method out, or all but one.
        spread = np.nanstd(means, axis=0, ddof=1)
        found["noise_to_methods"] = divided(np.sqrt(np.nanmean(noise, axis=0)), spread)
    return found


def judge_values(trials: pd.DataFrame) -> pd.DataFrame:
    """Average trials: columns question, metric (the judge), story, method, value."""
    keys = ["question", "metric", "story", "method"]
    sized = trials.assign(size=trials["value"].abs())
    means = sized.groupby(keys)[["value", "size"]].mean()
    for _, own in means.groupby(["question", "metric"]):
        value, size = own["value"].to_numpy(float), own["size"].to_numpy(float)
        means.loc[own.index, "value"] = merged_by_rounding(value, size)
    return means["value"].reset_index()


def judges(
    values: pd.DataFrame,
    people: pd.DataFrame | None = None,
    *,
    levels: Sequence[str],
    coefficients: Sequence[str],
    parts: tuple[str, ...],
    **sampling: Unpack[Sampling],
) -> list[TableRow]:
    """Correlate every two judges, and every judge with people, question by question."""
    found: list[TableRow] = []
    for question, rows in values.groupby("question", sort=True):
        name = str(question)
        sides: list[tuple[str, pd.DataFrame, str]] = []  # without a judge: people
        own = {str(judge): part for judge, part in rows.groupby("metric", sort=True)}
        if people is not None:
            rated = people[people["dimension"] == name]
            if not rated.empty:
                sides += [("", rated, judge) for judge in own]
        for a, b in combinations(own, 2):
            names = {"metric": "annotator", "value": "rating"}
            sides.append((a, own[a].rename(columns=names), b))
        for judge, rated, b in sides:
            scores = own[b].rename(columns={"value": "score"})
            grid, _ = common_grid(name, rated, score_table(scores), judge=judge)
            for level in levels:
                here = _at_level(grid, level, coefficients, parts, **sampling)
                for coefficient, value in here.items():
                    found.append(
                        {
                            "question": name,
                            "metric_a": judge or PEOPLE,
                            "metric_b": b,
                            "coefficient": coefficient,
                            "level": level,
                            **value.columns(),
                            "n_groups": value.n_groups,
                            "left_out": value.groups.why if value.groups else "",
                        }
                    )
    return found


def _at_level(
    grid: CellGrid,
    level: str,
    coefficients: Sequence[str],
    parts: tuple[str, ...],
    **sampling: Unpack[Sampling],
) -> dict[str, Estimate]:
    reason = ""
    if not grid.metrics or not grid.cells.any():
        reason = sentence("no output has a value of both")
    elif not grid.has_level(level, grid.metrics[0]):
        reason = sentence("values are of whole methods, without stories")
    if reason:
        return dict.fromkeys(coefficients, undefined(reason))
    spread = level_spread(grid, level, coefficients, parts, sampling)
    values = level_estimates(grid, level, coefficients, spread, sampling)
    return {name: values[grid.metrics[0], name] for name in coefficients}
