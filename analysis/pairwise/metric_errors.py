"""Errors of metrics: missed degraded copies, and disagreements with people."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from scipy import stats
from scipy.stats import rankdata
from statsmodels.stats.proportion import proportion_confint

from analysis.inference.resampling import in_threads
from analysis.pairwise.output_pairs import Pairs
from analysis.reading.cells import CellGrid
from analysis.reading.scores import ScoreTable
from analysis.results import NAN, Array, Counts, TableRow

SEES, MISSES, OPEN = "sees", "does not see", "cannot be told"
# Scores closer than this, relative to them, differ by rounding.
SAME = 1e-9
KEYS = ["metric", "twin", "story", "method"]


def sanity_rows(
    table: ScoreTable, twins: pd.DataFrame, *, confidence: float = 0.95
) -> list[TableRow]:
    """Count the degraded outputs that score at least as high as their originals.

    Scores are means over the shots that copy and original both have. An original's
    score is the one beside its copy's if there is one, else that of `table`. The
    interval is Clopper and Pearson's, of as many outputs as those of different stories
    would be worth: :math:`n^* = (p (1 - p) / V) (t_{n-1} / t_{S-1})^2`, at most n (Korn
    and Graubard 1998, Survey Methodology 24(2)); where all are missed, or none, it is
    S.
    """
    pairs = _beside_originals(table, twins)
    rows: list[TableRow] = []
    for (metric, twin), own in pairs.groupby(["metric", "twin"], sort=True):
        known = own.dropna(subset=["score", "original"])
        sign = 1 if table.higher_is_better[str(metric)] else -1
        gap = sign * (known["score"] - known["original"]).to_numpy(float)
        size = known[["score", "original"]].abs().max(axis=1).to_numpy(float)
        alike = np.abs(gap) <= SAME * size
        missed = alike | (gap > 0)
        stories = pd.factorize(known["story"])[0]
        low, high = share_interval(missed, stories, confidence)
        rows.append(
            {
                "metric": metric,
                "twin": twin,
                "value": float(missed.mean()) if len(missed) else NAN,
                "low": low,
                "high": high,
                "n": len(missed),
                "n_stories": known["story"].nunique(),
                "n_missed": int(missed.sum()),
                "n_alike": int(alike.sum()),
                "n_unknown": len(own) - len(known),
                "verdict": SEES if high < 0.5 else MISSES if low > 0.5 else OPEN,
            }
        )
    return rows


def _beside_originals(table: ScoreTable, twins: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each degraded copy and metric: its score and the original's."""
    twins = twins[twins["metric"].isin(table.metrics)]
    if "original" in twins:
        both = twins.dropna(subset=["original"])
        told = both.groupby(KEYS)[["score", "original"]].mean()
    else:
        told = pd.DataFrame(columns=["score", "original"])
    means = twins.groupby(KEYS)[["score"]].mean().reset_index()
    cells = table.cells.rename(columns={"score": "original"})
    found = means.merge(cells, how="left", on=["metric", "story", "method"])
    if len(told):
        found = found.set_index(KEYS)
        found.loc[told.index, ["score", "original"]] = told
        found = found.reset_index()
    return found


def share_interval(
    hits: "np.typing.NDArray[np.bool_]",
    stories: "np.typing.NDArray[np.intp]",
    confidence: float,
) -> tuple[float, float]:
    """Return the bounds of a share of outputs that cluster in stories."""
    n = len(hits)
    if not n:
        return NAN, NAN
    share = float(hits.mean())
    tail = (1 - confidence) / 2
    size = _worth(hits.astype(float) - share, stories, share, tail)
    low, high = proportion_confint(share * size, size, 2 * tail, method="beta")
    return float(low), float(high)


def _worth(
    around: Array, stories: "np.typing.NDArray[np.intp]", share: float, tail: float
) -> float:
    """Return how many outputs of different stories would say as much."""
    n, sums = len(around), np.bincount(stories, around)
    if share in (0, 1) or len(sums) == 1:
        return float(len(sums))
    variance = float((sums**2).sum()) / n**2
    if not variance:
        return float(len(sums))
    wider = stats.t.isf(tail, n - 1) / stats.t.isf(tail, len(sums) - 1)
    return min(float(n), share * (1 - share) / variance * float(wider) ** 2)


# Rows that a metric gets at most.
MOST = 10
DECIMALS = 12


def cell_disagreement(
    grid: CellGrid, higher_is_better: Mapping[str, bool]
) -> list[TableRow]:
    """Find the outputs that a metric ranks furthest from where people rank them."""
    rows: list[TableRow] = []
    story, method = np.nonzero(grid.cells)
    human = grid.human[story, method]
    for k, metric in enumerate(grid.metrics):
        scores = grid.scores[k, story, method]
        if not len(scores) or np.ptp(scores) == 0 or metric in grid.method_level:
            continue
        value = np.round(_ranks(scores) - _ranks(human), DECIMALS)
        sign = 1.0 if higher_is_better[metric] else -1.0
        for c in _largest(np.abs(value), (method, story)):
            rows.append(
                {
                    "question": grid.question,
                    "metric": metric,
                    "value": float(value[c]),
                    "n": len(value),
                    "kind": "cell",
                    "source": "ratings",
                    "story": grid.stories[story[c]],
                    "method": grid.methods[method[c]],
                    "other_method": "",
                    "human": float(human[c]),
                    "human_other": NAN,
                    "score": sign * float(scores[c]),
                    "score_other": NAN,
                }
            )
    return rows


def pair_disagreement(
    pairs: Pairs, higher_is_better: Mapping[str, bool]
) -> list[TableRow]:
    """Find the pairs in which a metric strongly prefers what people reject."""
    people = _ranks(np.abs(pairs.sides[0] - pairs.sides[1]))

    def of_metric(k: int) -> list[TableRow]:
        against = np.flatnonzero(np.sign(pairs.scores[k]) == -pairs.human)
        against = against[pairs.human[against] != 0]
        if not len(against):
            return []
        value = np.round(_ranks(np.abs(pairs.scores[k])) + people, DECIMALS)
        keys = tuple(x[against] for x in (pairs.second, pairs.first, pairs.story))
        sign = 1.0 if higher_is_better[pairs.metrics[k]] else -1.0
        return [
            _pair_row(pairs, k, int(p), float(value[p]), sign)
            for p in against[list(_largest(value[against], keys))]
        ]

    found = in_threads(of_metric, range(len(pairs.metrics)))
    return [row for rows in found for row in rows]


def _pair_row(pairs: Pairs, k: int, p: int, value: float, sign: float) -> TableRow:
    story, ends = pairs.story[p], (pairs.first[p], pairs.second[p])
    liked = 0 if pairs.scores[k, p] > 0 else 1  # by the metric
    own, other = ends[liked], ends[1 - liked]
    return {
        "question": pairs.question,
        "metric": pairs.metrics[k],
        "value": value,
        "n": len(pairs.human),
        "kind": "pair",
        "source": pairs.source,
        "story": pairs.stories[story],
        "method": pairs.methods[own],
        "other_method": pairs.methods[other],
        "human": float(pairs.sides[liked, p]),
        "human_other": float(pairs.sides[1 - liked, p]),
        "score": sign * float(pairs.cells[k, story, own]),
        "score_other": sign * float(pairs.cells[k, story, other]),
    }


def _ranks(values: Array) -> Array:
    """Return the share of values below each, ties at the middle."""
    return np.asarray((rankdata(values) - 0.5) / max(len(values), 1), float)


def _largest(values: Array, keys: tuple[Counts, ...]) -> Iterator[int]:
    """Yield where the largest values stand; among equal ones the last key decides."""
    kept = np.arange(len(values))
    if len(values) > MOST:
        kept = np.flatnonzero(values >= np.partition(values, -MOST)[-MOST])
    order = np.lexsort((*(key[kept] for key in keys), -values[kept]))
    yield from kept[order[:MOST]].tolist()
