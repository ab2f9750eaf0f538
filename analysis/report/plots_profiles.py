"""Figures of methods over all metrics: a profile for each."""

import numpy as np
import pandas as pd

from analysis.report.figure_layout import drawn_metrics
from analysis.report.figure_parts import (
    PALETTE,
    Drawn,
    Figure,
    Panel,
    Trace,
    as_text,
    figure_of,
    values,
)
from analysis.report.language import headed, listed, say

SECTION = "methods"
# A profile has at most as many metrics, and as many methods have one.
MOST_SPOKES, MOST_PROFILES, FEWEST_SPOKES = 16, 12, 3
# Longer names of metrics stand in the caption of profiles, not around them.
SHORT_NAME = 9


def profiles(
    cells: pd.DataFrame,
    correlations: pd.DataFrame | None,
    hypotheses: pd.DataFrame | None = None,
) -> list[Figure]:
    """Draw every method over all metrics, each divided by the best of the methods."""
    shares = metric_shares(cells)
    if len(shares.columns) > MOST_SPOKES:
        question = str(sorted(cells["question"].unique())[0])
        rows = cells[cells["question"] == question]
        best = drawn_metrics(question, rows, correlations, hypotheses, most=MOST_SPOKES)
        shares = shares[[m for m in shares if m in best]]
    if len(shares.columns) < FEWEST_SPOKES or len(shares) < 2:
        return []
    people = cells.groupby("method")["human"].mean()
    order = list(people.sort_values(ascending=False, kind="stable").index)
    order = [method for method in order if method in shares.index]
    typical = shares.median()
    caption = [
        say(
            "Each metric divided by the best of the methods (turned round where lower "
            "is better): the rim is the best. Grey is the median method. Methods in "
            "the order of people's ratings."
        )
    ]
    if any(len(str(metric)) > SHORT_NAME for metric in shares):
        names = listed(f"{i + 1} {metric}" for i, metric in enumerate(shares))
        caption.append(say("Clockwise from the top: {names}.", names=names))
    if len(order) > MOST_PROFILES:
        n, total = MOST_PROFILES, len(order)
        caption.append(say("The first {n} of {total} are drawn.", n=n, total=total))
    firsts = shares.idxmax().items()
    told = listed(headed(metric, str(method)) for metric, method in firsts)
    drawn: Drawn = [
        (_profile(method, shares.loc[method], typical), "")
        for method in order[:MOST_PROFILES]
    ]
    return figure_of(
        "profiles",
        SECTION,
        say("Profiles of methods over metrics"),
        listed(caption, " "),
        say("Polar charts; the best method by metric is {methods}", methods=told),
        drawn,
        15,
    )


def metric_shares(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the mean score of each method as a share of the best method's.

    Parameters
    ----------
    cells
        Columns question, metric, story, method, score, higher_is_better.

    Returns
    -------
    DataFrame
        Methods in rows, metrics in columns, 1 for the best method. Where lower is
        better the best score is divided by the method's (ViStoryBench, E.2). Metrics
        with a mean of 0 or below have no shares and are left out.
    """
    unique = cells.drop_duplicates(["metric", "story", "method"])
    means = unique.pivot_table(index="method", columns="metric", values="score")
    higher = unique.groupby("metric")["higher_is_better"].first().astype(bool)
    means = means.loc[:, (means > 0).all() & means.notna().all()]
    found = {}
    for metric in map(str, means.columns):
        own = means[metric]
        found[metric] = own / own.max() if higher[metric] else own.min() / own
    return pd.DataFrame(found, index=means.index)


def _profile(
    method: str, row: "pd.Series[float]", typical: "pd.Series[float]"
) -> Panel:
    names = [as_text(name) for name in row.index]
    numbered = any(len(name) > SHORT_NAME for name in map(str, row.index))
    # Long names would leave no room for the plot: the caption has them then.
    ticks = [str(i + 1) for i in range(len(names))] if numbered else names
    angles = [round(360 * i / len(names), 2) for i in range(len(names))]
    data: list[Trace] = []
    for trace, color, fill in (
        (typical, "#A0A0A0", "none"),
        (row, PALETTE[0], "toself"),
    ):
        data.append(
            {
                "type": "scatterpolar",
                "mode": "lines",
                "fill": fill,
                "r": values([*trace, trace.iloc[0]]),
                "theta": [*angles, angles[0]],
                "line": {"color": color, "width": 1.5},
                "text": [*names, names[0]],
                "hovertemplate": "%{text}: %{r:.2f}<extra></extra>",
            }
        )
    low = float(np.floor(10 * min(row.min(), typical.min())) / 10)
    layout = {
        "showlegend": False,
        "margin": {"l": 45, "r": 45, "t": 22, "b": 22},
        "polar": {
            "bgcolor": "rgba(0,0,0,0)",
            "radialaxis": {
                "range": [min(low, 0.9), 1.0],
                "nticks": 3,
                "angle": 90,
                "gridcolor": "rgba(128,128,128,0.3)",
                "tickfont": {"size": 9},
                "linecolor": "rgba(0,0,0,0)",
            },
            "angularaxis": {
                "tickmode": "array",
                "tickvals": angles,
                "ticktext": ticks,
                "gridcolor": "rgba(128,128,128,0.3)",
                "direction": "clockwise",
                "rotation": 90,
                "tickfont": {"size": 9},
            },
        },
    }
    return Panel(method, 230, data, layout)
