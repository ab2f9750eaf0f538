"""Equivalence of two metrics within a declared margin.

Two one-sided tests (Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics
15(6)): two metrics are equivalent within delta at level alpha where the 1 - 2 alpha
interval of their difference lies inside (-delta, delta). Standard error and degrees of
freedom are those of the comparison's own test.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from analysis.inference.resampling import holm
from analysis.options import KNOWN_COEFFICIENTS
from analysis.results import Array, TableRow, records
from analysis.sentences import sentence

EQUIVALENT, APART, OPEN = "equivalent", "not equivalent", "cannot be told"
NO_ERROR = sentence("the comparison has no standard error")
KEYS = ["question", "source", "level", "statistic"]
NEEDED = [*KEYS, "metric_a", "metric_b", "difference", "n", "error", "freedom"]


def one_sided_tests(
    difference: Array, error: Array, freedom: Array, margin: float
) -> Array:
    """Return the larger p-value of the tests that a difference is beyond a margin."""
    below = stdtr(freedom, -(difference + margin) / error)
    above = stdtr(freedom, (difference - margin) / error)
    return np.asarray(np.maximum(below, above))


def tests_beyond(
    difference: Array, error: Array, freedom: Array, margin: float
) -> Array:
    """Return the p-values of the tests that a difference is within a margin.

    Both tails count: without a margin this is the two-sided test.
    """
    size = np.abs(difference)
    near = stdtr(freedom, (margin - size) / error)
    return np.asarray(near + stdtr(freedom, -(margin + size) / error))


def equivalence_rows(
    comparisons: Iterable[TableRow],
    declared: Mapping[str, tuple[str, ...]],
    *,
    margin: float,
    confidence: float,
) -> list[TableRow]:
    """Test whether metrics are equivalent, by every statistic of every question.

    Where at least two metrics are declared for a question these are compared, else each
    metric with the best.

    Parameters
    ----------
    comparisons
        Differences between two metrics, with the columns of `NEEDED`, ``test`` and
        ``reason``.
    declared
        The declared metrics of each question.
    margin
        The largest difference that does not matter, in units of the statistic.
    confidence
        1 - alpha. Intervals cover 1 - 2 alpha; p-values of both verdicts are adjusted
        (Holm) over the pairs of one statistic.
    """
    table = pd.DataFrame(list(comparisons), columns=[*NEEDED, "test", "reason"])
    found: list[TableRow] = []
    for _key, family in table.groupby(KEYS, sort=False):
        rows = _wanted(family, declared.get(str(family["question"].iloc[0]), ()))
        difference, error, freedom = (
            rows[name].to_numpy(float) for name in ("difference", "error", "freedom")
        )
        p = one_sided_tests(difference, error, freedom, margin)
        adjusted = holm(p)
        far = stdtrit(freedom, confidence) * error
        inside = adjusted <= 1 - confidence
        beyond = holm(tests_beyond(difference, error, freedom, margin))
        outside = (beyond <= 1 - confidence) & (np.abs(difference) > margin)
        most = 2.0 if family["statistic"].iloc[0] in KNOWN_COEFFICIENTS else 1.0
        rows = rows.assign(
            low=np.maximum(difference - far, -most),
            high=np.minimum(difference + far, most),
            margin=margin,
            p_value=p,
            p_adjusted=adjusted,
            verdict=np.select([inside, outside], [EQUIVALENT, APART], OPEN),
            reason=[
                row_reason or ("" if np.isfinite(one) else NO_ERROR)
                for row_reason, one in zip(rows["reason"], p, strict=True)
            ],
        )
        found += records(rows)
    return found


def _wanted(family: pd.DataFrame, declared: tuple[str, ...]) -> pd.DataFrame:
    """Return the comparisons between declared metrics, else those with the best."""
    sides = family[["metric_a", "metric_b"]]
    if len(declared) > 1:
        return family[sides.isin(declared).all(axis=1)]
    difference = family["difference"].astype(float)
    lost = pd.concat(
        [sides.loc[difference < 0, "metric_a"], sides.loc[difference > 0, "metric_b"]]
    ).value_counts()
    compared = sides.stack().value_counts()
    places = pd.DataFrame({"lost": lost, "compared": compared}).fillna(0)
    order = places.sort_values(
        ["lost", "compared"], ascending=[True, False], kind="stable"
    )
    with_best: pd.DataFrame = family[(sides == order.index[0]).any(axis=1)]
    return with_best
