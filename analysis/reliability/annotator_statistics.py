"""Statistics of one annotator at a time, with intervals over what he answered."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.inference.resampling import cluster_counts, estimate, expanded, stream
from analysis.inference.scaling import divided
from analysis.reliability.chance_corrected import CHUNK
from analysis.results import Array, Counts, Estimate, Mask, TableRow, undefined
from analysis.sentences import sentence

ALL_SAME = sentence("all answers are the same")
ONE_CLUSTER = sentence("no interval: all answers are in one cluster")


@dataclass(frozen=True)
class AnnotatorMeasure:
    """Statistics of one annotator, as functions of how often each cluster counts."""

    names: tuple[str, ...]
    compute: Callable[[Array], Sequence[Array]]
    n: int
    reason: str = ""


@dataclass(frozen=True)
class Sheet:
    """What is measured of one annotator on one question."""

    question: str
    annotator: str
    n_answers: int
    clusters: int
    measures: Sequence[AnnotatorMeasure]
    of_people: bool = False


def renumbered(codes: Counts | Array) -> Counts:
    """Replace values by whole numbers from 0, in the same order."""
    return np.unique(codes, return_inverse=True)[1]


def summed(columns: Array, clusters: Counts, n: int = 0) -> Array:
    """Sum columns, shape (c, N), over clusters, at least n: shape (c, clusters)."""
    return np.stack([np.bincount(clusters, column, n) for column in columns])


def mean_measure(
    name: str,
    values: Array | Mask,
    clusters: Counts,
    *,
    used: Mask | None = None,
    reason: str = "",
    n_clusters: int = 0,
) -> AnnotatorMeasure:
    entered = np.ones(len(values)) if used is None else used.astype(float)
    sums = summed(np.stack([values * entered, entered]), clusters, n_clusters)

    def compute(counts: Array) -> list[Array]:
        part, whole = sums @ counts
        return [divided(part, whole)]

    n = int(entered.sum())
    return AnnotatorMeasure((name,), compute, n, "" if n else reason)


def sheet_rows(
    sheets: Sequence[Sheet], resamples: int, confidence: float, seed: int
) -> list[TableRow]:
    """Estimate every sheet; sheets with equally many clusters share their draws."""
    found: dict[int, list[TableRow]] = {}
    for size in sorted({sheet.clusters for sheet in sheets}):
        alike = {i: sheet for i, sheet in enumerate(sheets) if sheet.clusters == size}
        drawn: dict[int, list[list[Sequence[Array]]]] = {i: [] for i in alike}
        for counts in _drawn(size, resamples if size > 1 else 0, seed):
            for i, sheet in alike.items():
                drawn[i].append(
                    [
                        [] if measure.reason else measure.compute(counts)
                        for measure in sheet.measures
                    ]
                )
        for i, sheet in alike.items():
            found[i] = _one_sheet(sheet, drawn[i], resamples, confidence)
    return [row for i in sorted(found) for row in found[i]]


def _drawn(n: int, resamples: int, seed: int) -> Iterator[Array]:
    """Draw n of n clusters, some resamples at a time: shape (n, b)."""
    rng = stream(seed, "annotators", str(n))
    step = max(1, CHUNK // n)
    for start in range(0, resamples, step):
        counts = cluster_counts(n, min(step, resamples - start), rng)
        yield np.ascontiguousarray(counts.T, float)


def _one_sheet(
    sheet: Sheet,
    drawn: list[list[Sequence[Array]]],
    resamples: int,
    confidence: float,
) -> list[TableRow]:
    total = Estimate(sheet.n_answers, n=sheet.n_answers)
    rows = [_row(sheet, "n_answers", total)]
    once = np.ones((sheet.clusters, 1))
    if sheet.of_people:
        confidence = expanded(confidence, sheet.clusters)
    for k, measure in enumerate(sheet.measures):
        values = [] if measure.reason else measure.compute(once)
        for j, name in enumerate(measure.names):
            if measure.reason:
                result = undefined(measure.reason, n=measure.n)
            elif not np.isfinite(values[j][0]):
                result = undefined(ALL_SAME, n=measure.n)
            else:
                draws = [block[k][j] for block in drawn] or [np.empty(0)]
                result = estimate(
                    float(values[j][0]), np.concatenate(draws), confidence, n=measure.n
                )
                if resamples and sheet.clusters == 1:
                    result = replace(result, reason=ONE_CLUSTER)
            rows.append(_row(sheet, name, result))
    return rows


def _row(sheet: Sheet, statistic: str, result: Estimate) -> TableRow:
    return {
        "question": sheet.question,
        "annotator": sheet.annotator,
        "statistic": statistic,
        **result.columns(),
    }
