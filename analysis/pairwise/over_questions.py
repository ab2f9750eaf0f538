"""A metric's accuracy and coefficient over several questions of one study.

Questions share stories, methods and people, so that their values are not independent.
The value over all of them is their plain mean, and its variance comes from the mean of
what stories and pairs of methods add to each (`analysis.inference.cluster_variance`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.correlations.level_estimates import (
    CoefficientVariances,
    coefficient_variances,
)
from analysis.correlations.levels import NOT_TESTED, is_tested, level_point
from analysis.inference.cluster_variance import LEAST, ClusterVariances
from analysis.inference.meta_analysis import ALL, CHANCES
from analysis.options import Sampling
from analysis.pairwise.accuracy_differences import AccuracyVariances, accuracy_variances
from analysis.pairwise.output_pairs import Pairs
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, Estimate, TableRow
from analysis.sentences import sentence
from analysis.statistics import coefficient

OTHER_OUTPUTS = sentence("questions are about different outputs")
FEW_METHODS = sentence("too few methods for a variance of method means")
HALF = "ppa_half"


def accuracy_over_questions(
    every: Sequence[Pairs],
    metrics: Sequence[str],
    parts: tuple[str, ...],
    sampling: Sampling,
) -> list[TableRow]:
    """Return each metric's half accuracy by question, and their mean."""
    known = [
        (pairs, accuracy_variances(pairs, HALF, epsilon="0", parts=parts))
        for pairs in every
    ]
    rows: list[TableRow] = []
    for metric in metrics:
        own = [
            (pairs, one, pairs.metrics.index(metric))
            for pairs, one in known
            if metric in pairs.metrics and one.n_pairs
        ]
        keys = {"metric": metric, "statistic": HALF, "level": "pairs"}
        for pairs, one, k in own:
            rows.append(keys | {"part": pairs.question} | _accuracy(one, k, sampling))
        if len(own) > 1:
            rows.append(keys | {"part": ALL} | _accuracy(_joined(own), 0, sampling))
            rows[-1]["n"] = len(own)
    return [row | {"over": "questions"} for row in rows]


def _accuracy(known: AccuracyVariances, k: int, sampling: Sampling) -> TableRow:
    if not sampling["resamples"]:
        return _row(Estimate(float(known.values[k]), n=1), None)
    one = known.estimate(k, sampling["confidence"])
    own = replace(one, n=1, drawn="+".join(known.parts) if not one.reason else "")
    return _row(own, known.of(k))


def _joined(own: Sequence[tuple[Pairs, AccuracyVariances, int]]) -> AccuracyVariances:
    """Return the mean of several questions, over the stories and methods of any."""
    placed = [(_names(pairs), known, k) for pairs, known, k in own]
    stories = sorted({name for (names, _), _, _ in placed for name in names})
    methods = sorted({name for (_, names), _, _ in placed for name in names})
    Q, S, M = len(placed), len(stories), len(methods)
    i, j = np.triu_indices(M, 1)
    code = np.zeros((M, M), int)
    code[i, j] = np.arange(len(i))
    total = np.zeros((1, S, len(i)))
    for (own_stories, own_methods), known, k in placed:
        rows = np.searchsorted(stories, own_stories)
        at = np.searchsorted(methods, own_methods)
        first, second = np.triu_indices(len(at), 1)
        columns = code[at[first], at[second]]
        # A contribution is a share of the mean over all stories and pairs.
        more = S * len(i) / (len(rows) * len(columns))
        total[0][np.ix_(rows, columns)] += known.contributions[k] * more / Q
    values = np.array([np.mean([known.values[k] for _, known, k in placed])])
    chances = np.array([CHANCES[HALF]])
    n_pairs = sum(known.n_pairs for _, known, _ in placed)
    parts = placed[0][1].parts
    return AccuracyVariances(
        values, chances, total, np.zeros_like(total), n_pairs, M, parts, chances * NAN
    )


def _names(pairs: Pairs) -> tuple[list[str], list[str]]:
    """Return the stories and the methods that have a pair, sorted."""
    stories = np.array(pairs.stories, str)[np.unique(pairs.story)]
    used = np.unique([pairs.first, pairs.second])
    return [*map(str, stories)], [*map(str, np.array(pairs.methods, str)[used])]


def coefficients_over_questions(
    grids: Sequence[CellGrid],
    metrics: Sequence[str],
    levels: Sequence[str],
    name: str,
    parts: tuple[str, ...],
    sampling: Sampling,
) -> list[TableRow]:
    """Return each metric's coefficient by question, and their mean, at every level.

    The same stories are drawn for all questions, so that their errors stay together.
    """
    rows: list[TableRow] = []
    for metric in metrics:
        own = [grid for grid in grids if metric in grid.metrics]
        for level in levels:
            at_level = [
                (grid.question, replace(grid.with_metrics((metric,)), question=""))
                for grid in own
                if grid.has_level(level, metric) and grid.cells.any()
            ]
            keys = {"metric": metric, "statistic": name, "level": level}
            found = _coefficients(at_level, level, name, parts, sampling)
            rows += [keys | row for row in found]
    return [row | {"over": "questions"} for row in rows]


def _coefficients(
    own: Sequence[tuple[str, CellGrid]],
    level: str,
    name: str,
    parts: tuple[str, ...],
    sampling: Sampling,
) -> list[TableRow]:
    """Return the coefficient of a metric by question, and over all of them."""
    rows, values, known = [], [], []
    for question, grid in own:
        point, _ = level_point(grid, level, (name,))
        value = float(point[name][0, 0])
        if np.isnan(value):
            continue
        values.append(value)
        if sampling["resamples"] and "annotators" not in parts:
            asked = grid, level, (name,), parts
            known.append(coefficient_variances(*asked, seed=sampling["seed"])[name])
        of_one = known[-1].of(0) if known else None
        rows.append({"part": question} | _tested(value, of_one, level, name, sampling))
    if len(values) < 2:
        return rows
    mean, (first, *others) = float(np.mean(values)), [grid for _, grid in own]
    whole = _row(Estimate(mean, reason=OTHER_OUTPUTS), None)
    if all(_same_outputs(first, grid) for grid in others) and len(own) == len(values):
        joined = _mean_of(known).of(0) if known else None
        whole = _tested(mean, joined, level, name, sampling)
    return [*rows, {"part": ALL} | whole | {"n": len(values)}]


def _same_outputs(one: CellGrid, other: CellGrid) -> bool:
    names = one.stories == other.stories and one.methods == other.methods
    return names and bool((one.cells == other.cells).all())


def _mean_of(known: Sequence[CoefficientVariances]) -> CoefficientVariances:
    """Return what the variance of the mean of several coefficients rests on."""

    def mean(arrays: Sequence[Array | None]) -> Array | None:
        given = [one for one in arrays if one is not None]
        return np.mean(given, axis=0) if given else None

    left_out = mean([one.left_out for one in known])
    assert left_out is not None
    return replace(
        known[0],
        left_out=left_out,
        by_story=mean([one.by_story for one in known]),
        by_output=mean([one.by_output for one in known]),
        n_pairs=sum(one.n_pairs for one in known),
    )


def _tested(
    value: float,
    known: ClusterVariances | None,
    level: str,
    name: str,
    sampling: Sampling,
) -> TableRow:
    if known is None:
        return _row(Estimate(value, n=1), None)
    if not is_tested(level, name):
        return _row(Estimate(value, n=1, reason=NOT_TESTED), None)
    if level == "method" and known.n_methods < LEAST:
        return _row(Estimate(value, n=1, reason=FEW_METHODS), None)
    of_pairs = coefficient(name).counts == "pairs"
    known = known.narrowed()
    one = known.coefficient(value, sampling["confidence"], of_pairs=of_pairs)
    return _row(replace(one, n=1), known)


def _row(one: Estimate, known: ClusterVariances | None) -> TableRow:
    """Return the columns of an estimate, with its standard error."""
    row = one.columns() | {"p_value": one.p_value, "drawn": one.drawn}
    row |= {"error": NAN, "freedom": NAN}
    if known is not None and not known.why_not and np.isfinite(known.variance):
        error = float(np.sqrt(known.variance))
        row |= {"error": error, "freedom": float(known.freedom)}
    return row
