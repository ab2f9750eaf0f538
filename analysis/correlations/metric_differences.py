"""Differences between metrics, and clusters of equally good ones."""

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis.correlations.level_estimates import Spread, coefficients_by_draw
from analysis.inference.cluster_variance import tested, with_holm
from analysis.inference.resampling import (
    DECIMALS,
    bootstrap_p,
    interval,
    no_draws,
)
from analysis.options import Sampling
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, TableRow
from analysis.sentences import sentence

# Two coefficients differ by no more.
MOST = 2.0


def metric_differences(
    grid: CellGrid,
    level: str,
    coefficients: Sequence[str],
    spread: Spread,
    sampling: Sampling,
) -> list[TableRow]:
    """Compare every two metrics by every coefficient at one level."""
    once = no_draws(*grid.cells.shape)
    point = coefficients_by_draw(grid, level, once, coefficients)
    parts, known = spread.parts, spread.variances
    found: list[TableRow] = []
    for name in coefficients:
        rows: list[TableRow] = []
        for a, b in itertools.combinations(range(len(grid.metrics)), 2):
            apart = point[name][a, ..., 0] - point[name][b, ..., 0]
            defined = apart[np.isfinite(apart)]
            value = round(float(defined.mean()), DECIMALS) if defined.size else NAN
            row: TableRow = {
                "dimension": grid.question,
                "level": level,
                "coefficient": name,
                "metric_a": grid.metrics[a],
                "metric_b": grid.metrics[b],
                "difference": value,
                "n_groups": defined.size,
            }
            if name in known:
                of_both = partial(known[name].of, a, b)
                row |= tested(value, of_both, sampling, most=MOST)
            else:
                drawn = spread.draws.get(name, np.empty((len(grid.metrics), 0)))
                row |= _drawn(value, drawn[a] - drawn[b], parts, sampling["confidence"])
            rows.append(row)
        found += with_holm(rows)
    return found


def _drawn(
    value: float, drawn: Array, parts: tuple[str, ...], confidence: float
) -> TableRow:
    """Test a difference for what was drawn."""
    if np.isnan(value):
        drawn = drawn[:0]
    low, high, reason = interval(drawn, confidence)
    return {
        "low": low,
        "high": high,
        "p_value": bootstrap_p(drawn),
        "test": "+".join(parts) if drawn.size else "",
        "reason": reason,
    }


KEYS = ("dimension", "level", "coefficient")
SIGNIFICANT = 0.05
NOT_COMPARED = sentence(
    "not held against the other metrics, which have scores of other outputs"
)


def cluster_rows(
    correlations: pd.DataFrame, comparisons: pd.DataFrame
) -> list[TableRow]:
    """Sort the metrics of every question, level and coefficient into clusters.

    Metrics are ordered by their mean difference to the others, on the outputs that all
    of them score. A metric opens a new cluster when any metric of the current one is
    significantly better by `p_adjusted` (the ranks of WMT: Freitag et al. 2023, section
    6). A pair without a p-value counts as not different.
    """
    worse = _significantly_worse(comparisons)
    named = metrics_compared(comparisons)
    ahead = _ahead(comparisons)
    rows: list[TableRow] = []
    for key, family in correlations.groupby(list(KEYS), sort=False):
        here = named.get(tuple(key))
        others = family["value"].notna() & (here is not None)
        others &= ~family["metric"].isin(here or ())
        leads = ahead.get(tuple(key), {})
        rows.extend(_family(family[~others], worse.get(tuple(key)), leads, key))
        rows.extend(_row(row, key, NOT_COMPARED) for row in _records(family[others]))
    return rows


def metrics_compared(
    comparisons: pd.DataFrame,
) -> dict[tuple[object, ...], frozenset[str]]:
    """Return which metrics are in any comparison, by question, level, coefficient."""
    return {
        tuple(key): frozenset([*rows["metric_a"], *rows["metric_b"]])
        for key, rows in comparisons.groupby(list(KEYS), sort=False)
    }


MetricFamily = dict[tuple[str, str], bool]


def _significantly_worse(
    comparisons: pd.DataFrame,
) -> Mapping[tuple[object, ...], MetricFamily]:
    """Map each family to (worse, better) pairs; empty where nothing was tested."""
    found: dict[tuple[object, ...], MetricFamily] = {}
    for row in comparisons.to_dict("records"):
        family = found.setdefault(tuple(row[key] for key in KEYS), {})
        p, difference = float(row["p_adjusted"]), float(row["difference"])
        if math.isnan(p):
            continue
        a, b = str(row["metric_a"]), str(row["metric_b"])
        family[a, b] = p <= SIGNIFICANT and difference < 0
        family[b, a] = p <= SIGNIFICANT and difference > 0
    return found


def _ahead(comparisons: pd.DataFrame) -> dict[tuple[object, ...], dict[str, float]]:
    """Sum each metric's differences to the others, by family."""
    found: dict[tuple[object, ...], dict[str, float]] = {}
    for row in comparisons.dropna(subset=["difference"]).to_dict("records"):
        leads = found.setdefault(tuple(row[key] for key in KEYS), {})
        for name, sign in (("metric_a", 1), ("metric_b", -1)):
            metric, ahead = str(row[name]), sign * float(row["difference"])
            leads[metric] = round(leads.get(metric, 0.0) + ahead, DECIMALS)
    return found


def _family(
    family: pd.DataFrame,
    worse: MetricFamily | None,
    leads: Mapping[str, float],
    key: Sequence[object],
) -> list[TableRow]:
    records = _records(family)
    defined = [r for r in records if not math.isnan(float(r["value"]))]
    others = [r for r in records if math.isnan(float(r["value"]))]
    defined.sort(key=lambda r: (-float(r["value"]), str(r["metric"])))
    defined.sort(key=lambda r: -leads.get(str(r["metric"]), 0.0))
    names = [str(r["metric"]) for r in defined]
    tested = bool(worse) or len(names) == 1
    clusters = _clusters(names, worse or {})
    rows: list[TableRow] = []
    for i, record in enumerate([*defined, *others]):
        row = _row(record, key, _reason(record, i < len(defined), tested))
        if i < len(defined) and tested:
            worse_than_best = (worse or {}).get((names[i], names[0]), False)
            row |= {"cluster": clusters[i], "not_worse_than_best": not worse_than_best}
        rows.append(row)
    return rows


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): v for k, v in row.items()} for row in rows.to_dict("records")]


def _row(record: Mapping[str, Any], key: Sequence[object], reason: str) -> TableRow:
    """Return a row of the table, without a cluster."""
    dimension, level, coefficient = key
    estimate = ("metric", "value", "low", "high", "n")
    return {
        "question": dimension,
        **{name: record[name] for name in estimate},
        "reason": reason,
        "level": level,
        "coefficient": coefficient,
        "cluster": NAN,
        "not_worse_than_best": None,
    }


def _clusters(names: list[str], worse: MetricFamily) -> list[int]:
    """Return the cluster number of each metric; the best come first."""
    numbers: list[int] = []
    current: list[str] = []
    for name in names:
        if any(worse.get((name, other), False) for other in current):
            current = []
        if not current:
            numbers.append(numbers[-1] + 1 if numbers else 1)
        else:
            numbers.append(numbers[-1])
        current.append(name)
    return numbers


def _reason(record: Mapping[str, object], defined: bool, tested: bool) -> str:
    if defined and not tested:
        return sentence("no tests between metrics were made")
    return str(record["reason"]) if not pd.isna(np.asarray(record["reason"])) else ""
