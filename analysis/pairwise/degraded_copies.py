"""Does a metric see what was made worse on purpose? Outputs beside degraded twins."""

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.reading.scores import ScoreTable
from analysis.results import NAN, Array, TableRow

SEES, MISSES, OPEN = "sees", "does not see", "cannot be told"
# Scores closer than this, relative to them, differ by rounding.
SAME = 1e-9
KEYS = ["metric", "twin", "story", "method"]


def sanity_rows(
    table: ScoreTable, twins: pd.DataFrame, *, confidence: float = 0.95
) -> list[TableRow]:
    r"""Count the degraded outputs that score at least as high as their originals.

    Scores are means over the shots that twin and original both have. An original's
    score is the one beside its twin's, by the same program, where there is one, else
    that of `table`.

    The interval is Clopper and Pearson's exact one of as many outputs as those of
    different stories would be worth as much as the n: :math:`n^* = (p (1 - p) / V)
    (t_{n-1} / t_{S-1})^2`, at most n, V being the variance of p over S stories, and t
    quantiles (Korn and Graubard 1998, Confidence intervals for proportions with small
    expected number of positive counts, Survey Methodology 24(2)). With one output a
    story it is n; where all are missed, or none, it is S. So no interval has width
    zero, nor is one narrower for outputs that share a story.
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
    """Return a row for each twin and metric: its score and that of its original."""
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
