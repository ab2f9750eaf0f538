"""Do several questions measure one thing? Cronbach's alpha."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.inference.resampling import cluster_counts, estimate, stream
from analysis.reading.cells import annotator_cells, human_cells
from analysis.reading.kept_answers import are_means
from analysis.reliability.chance_corrected import ROUNDING
from analysis.results import ONE, Array, Counts, Estimate, TableRow, undefined
from analysis.sentences import sentence

# A correlation with the other questions that is no longer near 0.
TOGETHER = 0.2
WHOLE, WITHOUT = "cronbach_alpha", "cronbach_alpha_without"


def cronbach(items: Array, weights: Array) -> Array:
    r"""Cronbach's alpha under many weightings of the cases.

    :math:`\alpha = k/(k-1) \cdot (1 - \sum s_i^2 / s_T^2)` with the variances of the
    items and of their sum T. It is negative when items go against each other.

    Source: Cronbach, L. J. (1951), Coefficient alpha and the internal structure of
    tests, Psychometrika 16(3), formula 2.
    """
    return _cronbach(weights @ _powers(items), items.shape[1])


def _powers(items: Array) -> Array:
    """Return 1, the centred items, their sum, and the squares of these, as columns."""
    x = items - items.mean(axis=0)
    columns = np.column_stack([x, x.sum(axis=1)])
    return np.column_stack([np.ones(len(x)), columns, columns**2])


def _cronbach(sums: Array, k: int) -> Array:
    """Cronbach's alpha of k items from weighted sums of `_powers`, shape (B, 2k+3)."""
    n = np.maximum(sums[:, :1], 1)
    variance = sums[:, k + 2 :] / n - (sums[:, 1 : k + 2] / n) ** 2
    of_items, total = variance[:, :k].sum(axis=1), variance[:, k]
    varied = total > ROUNDING * np.maximum(of_items, ROUNDING)
    ratio = of_items / np.where(varied, total, 1.0)
    return np.where(varied, k / (k - 1) * (1 - ratio), np.nan)


def scale_consistency(
    ratings: pd.DataFrame, *, resamples: int, confidence: float, seed: int
) -> list[TableRow]:
    """Measure how consistently several dimensions measure one thing."""
    names = sorted(ratings["dimension"].unique())
    cluster = "method" if (ratings["story"] == "").all() else "story"
    found: list[TableRow] = []
    for level in ("answers", "cells"):
        reason = ""
        if level == "answers" and are_means(ratings):
            reason = sentence(
                "the ratings are means over raters, so there are no single answers"
            )
        table = _cases(ratings, names, level)
        found += _scale_rows(
            table,
            cluster,
            level=level,
            reason=reason,
            resamples=resamples,
            confidence=confidence,
            rng=stream(seed, "consistency", level),
        )
    return found


def against_the_others(ratings: pd.DataFrame) -> list[str]:
    """Say which dimensions fall where the others rise."""
    names = sorted(ratings["dimension"].unique())
    x, _ = _complete(_cases(ratings, names, "cells"), "method")
    varied = np.ptp(x, axis=0) > 0 if len(x) > 2 else np.zeros(len(names), bool)
    x = x[:, varied]
    if x.shape[1] < 2:
        return []
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    loadings = np.linalg.eigh(x.T @ x)[1][:, -1]
    against = loadings < 0
    # Of two halves that of the first dimension is right.
    if against.sum() * 2 + against[0] > len(against):
        against = ~against
    x = np.where(against, -x, x)
    others = x.sum(axis=1, keepdims=True) - x
    r = [np.corrcoef(own, rest)[0, 1] for own, rest in zip(x.T, others.T, strict=True)]
    named = np.array(names, object)[varied][against & (np.array(r) > TOGETHER)]
    turned = [str(name) for name in named]
    if not turned:
        return []
    return [
        sentence(
            "Ratings of {questions} fall where those of the other "
            "questions rise. If a scale runs the other way, turn it "
            "before the questions are taken for one scale (Cronbach's "
            "alpha).",
            questions=[*turned],
        )
    ]


def panel_consistency(
    ratings: pd.DataFrame, *, resamples: int, confidence: float, seed: int
) -> list[TableRow]:
    """Measure Cronbach's alpha with the annotators of a panel for items."""
    found: list[TableRow] = []
    for name, rows in ratings.groupby("dimension", sort=True):
        keys = [key for key in ("story", "method", "shot", "round") if key in rows]
        wide = rows.pivot_table(index=keys, columns="annotator", values="rating")
        cluster = "method" if (rows["story"] == "").all() else "story"
        result = _consistency(
            *_complete(wide, cluster),
            lacking=sentence("annotators"),
            resamples=resamples,
            confidence=confidence,
            rng=stream(seed, "consistency", "panel", str(name)),
        )
        if are_means(rows):
            result = undefined(sentence("the ratings are means over raters"), n=0)
        people = 0 if are_means(rows) else wide.shape[1]
        found.append(_row("panel", WHOLE, str(name), result, people))
    return found


def _cases(rows: pd.DataFrame, names: Sequence[str], level: str) -> pd.DataFrame:
    """Lay cases out: one row a case, one column a dimension."""
    if level == "cells":
        cells, value = human_cells(annotator_cells(rows)), "human"
        keys = ["story", "method"]
    else:
        cells, value = rows, "rating"
        optional = [key for key in ("shot", "round") if key in rows]
        keys = ["story", "method", *optional, "annotator"]
    wide = cells.pivot_table(index=keys, columns="dimension", values=value)
    return wide.reindex(columns=list(names))


def _complete(wide: pd.DataFrame, cluster: str) -> tuple[Array, Counts]:
    """Return the cases that lack nothing, and the cluster of each."""
    whole = wide.dropna()
    labels = whole.index.get_level_values(cluster)
    return whole.to_numpy(float), pd.factorize(labels, sort=True)[0]


def _scale_rows(
    wide: pd.DataFrame,
    cluster: str,
    *,
    level: str,
    reason: str,
    resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> list[TableRow]:
    names = list(wide.columns)
    x, clusters = _complete(wide, cluster)
    state = rng.bit_generator.state
    found = []
    for left_out in (None, *names):
        kept = [i for i, name in enumerate(names) if name != left_out]
        # The same draws for every row, so that rows can be compared.
        rng.bit_generator.state = state
        result = _consistency(
            x[:, kept],
            clusters,
            lacking=sentence("questions"),
            resamples=resamples,
            confidence=confidence,
            rng=rng,
        )
        if reason:
            result = undefined(reason)
        statistic = WHOLE if left_out is None else WITHOUT
        found.append(_row(level, statistic, left_out or "", result, len(kept)))
    return found


def _consistency(
    x: Array,
    clusters: Counts,
    *,
    lacking: str,
    resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> Estimate:
    n, k = x.shape
    if k < 2:
        return undefined(sentence("needs two {what} or more", what=lacking), n=n)
    if n < 2:
        why = sentence(
            "only one case has an answer of all {k} {what}"
            if n
            else "no case has an answer of all {k} {what}",
            k=k,
            what=lacking,
        )
        return undefined(why, n=n)
    value = float(cronbach(x, np.ones((1, n)))[0])
    if not np.isfinite(value):
        return undefined(
            sentence("the sum of the answers is the same in all cases"), n=n
        )
    n_clusters = int(clusters.max()) + 1
    if n_clusters == 1:
        reason = (
            sentence("no interval: only {only} to draw from", only=ONE["stories"])
            if resamples
            else ""
        )
        return Estimate(value, n=n, reason=reason)
    columns = _powers(x).T
    by_cluster = np.stack([np.bincount(clusters, column) for column in columns])
    counts = cluster_counts(n_clusters, resamples, rng)
    draws = _cronbach(np.asarray(counts @ by_cluster.T, float), k)
    return estimate(value, draws, confidence, n=n)


def _row(
    level: str, statistic: str, question: str, result: Estimate, n_items: int
) -> TableRow:
    return {
        "level": level,
        "statistic": statistic,
        "question": question,
        **result.columns(),
        "n_items": n_items,
    }
