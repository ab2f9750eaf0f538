"""Differences between metrics, and clusters of equally good ones."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis.correlations.level_estimates import Spread, coefficients_by_draw
from analysis.inference.cluster_variance import (
    MOST_PAIRED,
    metric_pairs,
    tested,
    with_holm,
)
from analysis.inference.resampling import (
    DECIMALS,
    bootstrap_p,
    divided,
    follow_test,
    interval,
    no_draws,
    rejects,
)
from analysis.options import Sampling
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, TableRow, records
from analysis.sentences import sentence

# Two coefficients differ by no more.
MOST = 2.0


def metric_differences(
    grid: CellGrid,
    level: str,
    coefficients: Sequence[str],
    spread: Spread,
    sampling: Sampling,
    own: Collection[str] = (),
) -> list[TableRow]:
    """Compare metrics by every coefficient at one level: see `metric_pairs`."""
    once = no_draws(*grid.cells.shape)
    point = coefficients_by_draw(grid, level, once, coefficients)
    parts, known = spread.parts, spread.variances
    found: list[TableRow] = []
    for name in coefficients:
        rows: list[TableRow] = []
        values = _means(point[name][..., 0])
        for a, b in metric_pairs(values, grid.metrics, own):
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
        found += with_holm(rows, len(grid.metrics))
    return found


def _means(values: Array) -> Array:
    """Average values (K,), or (K, S) over the stories where they are defined."""
    if values.ndim == 1:
        return values
    known = np.isfinite(values)
    return divided(np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1))


def _drawn(
    value: float, drawn: Array, parts: tuple[str, ...], confidence: float
) -> TableRow:
    """Test a difference for what was drawn."""
    if np.isnan(value):
        drawn = drawn[:0]
    low, high, reason = interval(drawn, confidence)
    p_value = bootstrap_p(drawn)
    low, high = follow_test(low, high, value, 0.0, rejects(p_value, confidence))
    return {
        "low": low,
        "high": high,
        "p_value": p_value,
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
    6). A pair without a p-value counts as not different. Where metrics were compared
    with the best only, the first cluster holds the candidates for best.

    A metric is no candidate for best if the best of the data is better by the test of
    the two, one-sided, whose p-value is multiplied by the number of the others. The
    true best one remains in at least 95 % of studies, however many metrics there are
    (Hsu 1984, Annals of Statistics 12, with Bonferroni's bound, which holds for any
    correlation of the tests).
    """
    tests = _tests(comparisons)
    named = metrics_compared(comparisons)
    rows: list[TableRow] = []
    for key, family in correlations.groupby(list(KEYS), sort=False):
        here = named.get(tuple(key))
        others = family["value"].notna() & (here is not None)
        others &= ~family["metric"].isin(here or ())
        own = family[~others]
        # Undefined differences do not make metrics compared with the best only.
        with_best = len(here or ()) > MOST_PAIRED
        found = tests.get(tuple(key), {})
        rows.extend(_family(own, found, key, with_best=with_best))
        rows.extend(_row(row, key, NOT_COMPARED) for row in records(family[others]))
    return rows


def metrics_compared(
    comparisons: pd.DataFrame,
) -> dict[tuple[object, ...], frozenset[str]]:
    """Return which metrics are in any comparison, by question, level, coefficient."""
    return {
        tuple(key): frozenset([*rows["metric_a"], *rows["metric_b"]])
        for key, rows in comparisons.groupby(list(KEYS), sort=False)
    }


@dataclass(frozen=True)
class _Test:
    """The lead of the first of two metrics, and its p-values."""

    difference: float
    p_value: float
    p_adjusted: float

    @property
    def is_worse(self) -> bool:
        return self.p_adjusted <= SIGNIFICANT and self.difference < 0


MetricTests = Mapping[tuple[str, str], _Test]


def _tests(
    comparisons: pd.DataFrame,
) -> dict[tuple[object, ...], dict[tuple[str, str], _Test]]:
    """Return the test of each two metrics, in both orders, by family."""
    found: dict[tuple[object, ...], dict[tuple[str, str], _Test]] = {}
    known = comparisons.dropna(subset=["difference"])
    columns = [known[name] for name in (*KEYS, "metric_a", "metric_b")]
    for *key, a, b, difference, p_value, p_adjusted in zip(
        *columns,
        known["difference"],
        known["p_value"],
        known["p_adjusted"],
        strict=True,
    ):
        family = found.setdefault(tuple(key), {})
        family[a, b] = _Test(difference, p_value, p_adjusted)
        family[b, a] = _Test(-difference, p_value, p_adjusted)
    return found


def _family(
    family: pd.DataFrame, tests: MetricTests, key: Sequence[object], *, with_best: bool
) -> list[TableRow]:
    given = records(family)
    defined = [r for r in given if not math.isnan(float(r["value"]))]
    others = [r for r in given if math.isnan(float(r["value"]))]
    leads: defaultdict[str, float] = defaultdict(float)
    met: Counter[str] = Counter()
    for (metric, _other), test in tests.items():
        leads[metric] = round(leads[metric] + test.difference, DECIMALS)
        met[metric] += 1
    defined.sort(key=lambda r: (-float(r["value"]), str(r["metric"])))
    defined.sort(key=lambda r: -leads[str(r["metric"])])
    names = [str(r["metric"]) for r in defined]
    tested = any(not math.isnan(t.p_adjusted) for t in tests.values())
    best = names[0] if names else ""
    if with_best:
        best = max(names, key=met.__getitem__, default="")
    p_best = [_p_best(tests.get((best, name)), len(names)) for name in names]
    is_candidate = [not p <= SIGNIFICANT for p in p_best]
    clusters = [1 if stays else 2 for stays in is_candidate]
    if not with_best:
        clusters = _clusters(names, tests)
    rows: list[TableRow] = []
    for i, record in enumerate([*defined, *others]):
        known = i < len(defined) and (tested or len(names) == 1)
        row = _row(record, key, _reason(record, i < len(defined), known))
        if known:
            row |= {"cluster": clusters[i], "candidate": is_candidate[i]}
            row |= {"p_best": p_best[i]}
        rows.append(row)
    return rows


def _p_best(test: _Test | None, n: int) -> float:
    """Return the adjusted p-value that a metric is the best one of n."""
    if test is None:
        return 1.0
    one_sided = test.p_value / 2 if test.difference > 0 else 1 - test.p_value / 2
    return min((n - 1) * one_sided, 1.0)


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
        "candidate": None,
        "p_best": NAN,
    }


def _clusters(names: list[str], tests: MetricTests) -> list[int]:
    """Return the cluster number of each metric; the best come first."""
    worse = {pair for pair, test in tests.items() if test.is_worse}
    numbers: list[int] = []
    current: list[str] = []
    for name in names:
        if any((name, other) in worse for other in current):
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
