"""Rows of comparisons between two metrics: difference, interval, test, adjustment."""

import itertools
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from analysis.inference.cluster_variance import ClusterVariances
from analysis.inference.resampling import DECIMALS
from analysis.inference.significance import holm
from analysis.options import Sampling
from analysis.results import NAN, Array, TableRow
from analysis.sentences import sentence


def compared(
    values: Array,
    names: Sequence[str],
    variances: Callable[[int, int], ClusterVariances],
    sampling: Sampling,
) -> list[TableRow]:
    """Test every two of several shares; Holm's adjustment is over all of them."""
    rows: list[TableRow] = []
    for a, b in itertools.combinations(range(len(names)), 2):
        value = round(float(values[a] - values[b]), DECIMALS)
        row = {"metric_a": names[a], "metric_b": names[b], "difference": value}
        rows.append(row | tested(value, partial(variances, a, b), sampling, most=1.0))
    return with_holm(rows)


def with_holm(rows: list[TableRow]) -> list[TableRow]:
    """Add p-values that are adjusted over the rows of one family."""
    adjusted = holm(np.array([row["p_value"] for row in rows], float))
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
    """Return what a comparison holds of a difference, at most `most`, but its value."""
    row: TableRow = dict.fromkeys(("low", "high", "p_value"), NAN)
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
    return row | bounds | {"test": "+".join(known.parts)}
