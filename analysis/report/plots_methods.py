"""Figures of methods: means, rankings, wins, and their profile over metrics."""

import numpy as np
import pandas as pd

from analysis.report.figure_layout import drawn_metrics
from analysis.report.figure_parts import (
    MOST_ROWS,
    PALETTE,
    RED_BLUE,
    Drawn,
    Figure,
    Panel,
    Trace,
    as_text,
    best_first,
    dot_panel,
    figure_of,
    heat_panel,
    right_axis,
    said,
    short,
    stacked_panel,
    values,
    vertical,
)
from analysis.report.wording import per_cent

SECTION = "methods"
# With more pairs than this a matrix is drawn in place of bars.
MOST_BARS = 21
# A profile has at most as many metrics, and as many methods have one.
MOST_SPOKES, MOST_PROFILES, FEWEST_SPOKES = 16, 12, 3
# Longer names of metrics stand in the caption of profiles, not around them.
SHORT_NAME = 9
MEASURES = {
    "mean": "mean of cells",
    "standardised": "standardised by annotator",
    "mixed": "mixed model",
}


def mean_dots(means: pd.DataFrame) -> list[Figure]:
    """Draw what people think of each method, question by question."""
    drawn = []
    for question, rows in means.groupby("dimension", sort=True):
        rows = best_first(rows, "mean", "method")
        panel = dot_panel(
            str(question), rows, names="method", axis="mean rating", value="mean"
        )
        drawn.append((panel, f"{question}: {said(rows, 'method', 'mean')}"))
    return figure_of(
        "means",
        SECTION,
        "What people say of each method",
        f"Mean ratings of the methods{_with_intervals(means)}, best on top.",
        "Mean ratings.",
        drawn,
    )


def standing_dots(standings: pd.DataFrame) -> list[Figure]:
    """Draw means, standardised means and mixed-model effects side by side.

    Only where the ways do not give the same order: else the means say it all.
    """
    drawn: list[tuple[Panel, str]] = []
    alike = []
    for question, rows in standings.groupby("question", sort=True):
        shown = {
            c: t for c, t in MEASURES.items() if c in rows and rows[c].notna().any()
        }
        if len(shown) < 2:
            continue
        ranks = rows[[f"{c}_rank" for c in shown if f"{c}_rank" in rows]]
        differ = int((ranks.nunique(axis=1) > 1).sum())
        if not differ:
            alike.append(str(question))
            continue
        order = list(best_first(rows, "mean", "method")["method"])
        for column, title in shown.items():
            panel = dot_panel(
                f"{question}: {title}",
                rows[rows["method"].isin(order)].rename(
                    columns={f"{column}_low": "low", f"{column}_high": "high"}
                ),
                names="method",
                axis=title,
                value=column,
                order=order,
            )
            drawn.append((panel, ""))
        text = f"{question}: the rank of {differ} of {len(rows)} methods differs"
        drawn[-1] = drawn[-1][0], text
    caption = (
        "Methods in the order of their means. Where the next columns leave that order, "
        "strict or mild annotators, or who rated what, had made a difference."
    )
    if alike:
        caption += f" The three ways give one order for {', '.join(alike)}."
    return figure_of(
        "standings",
        SECTION,
        "The same ratings, ranked in three ways",
        caption,
        "Rankings from ratings.",
        drawn,
        18,
    )


def ladders(board: pd.DataFrame) -> list[Figure]:
    """Draw the Bradley-Terry ratings with intervals, and the intervals of ranks."""
    return _ladders(board, "ladder", "Leaderboard", "Bradley-Terry")


def ranking_ladders(board: pd.DataFrame) -> list[Figure]:
    """Draw the Plackett-Luce ratings in the same way."""
    return _ladders(board, "ranking-ladder", "Leaderboard of rankings", "Plackett-Luce")


def _ladders(board: pd.DataFrame, key: str, title: str, model: str) -> list[Figure]:
    drawn = []
    for criterion, rows in board.groupby("criterion", sort=True):
        rows = best_first(rows.dropna(subset=["rating"]), "rating", "method")
        if rows.empty:
            continue
        panel = dot_panel(
            str(criterion),
            rows,
            names="method",
            value="rating",
            axis="rating (mean 1000)",
            shapes=[vertical(1000)],
        )
        ends = panel.layout["yaxis"]["range"]
        texts = _rank_texts(rows)
        axis = right_axis(ends, range(len(rows)), texts) | {"fixedrange": True}
        panel.layout["yaxis2"] = axis
        # An axis without a trace is not drawn.
        panel.data.append(
            {
                "type": "scatter",
                "x": [1000],
                "y": [None],
                "yaxis": "y2",
                "hoverinfo": "skip",
                "showlegend": False,
            }
        )
        drawn.append((panel, f"{criterion}: {said(rows, 'method', 'rating')}"))
    caption = (
        f"{model} ratings{_with_intervals(board)}; 400 points are odds of ten to one."
    )
    if board.get("rank_low", pd.Series(dtype=float)).notna().any():
        caption += (
            " On the right the ranks that each method may have: overlapping ranges are "
            "places that are not settled."
        )
    return figure_of(key, SECTION, title, caption, f"{title}.", drawn, 22)


def _rank_texts(rows: pd.DataFrame) -> list[str]:
    if not {"rank_low", "rank_high"} <= set(rows):
        return [""] * len(rows)
    texts = []
    for low, high in zip(rows["rank_low"], rows["rank_high"], strict=True):
        known = not (pd.isna(low) or pd.isna(high))
        text = f"{low}" if known and low == high else f"{low}–{high}"
        texts.append(text if known else "")
    return texts


def wins(rates: pd.DataFrame) -> list[Figure]:
    """Draw wins, ties and losses by single votes: bars of few pairs, else a matrix."""
    few = bool((rates.groupby("criterion").size() <= MOST_BARS).all())
    draw = _win_bars if few else _win_matrix
    drawn = []
    for criterion, rows in rates.groupby("criterion", sort=True):
        votes = int(rows[["wins_a", "ties", "wins_b"]].to_numpy().sum())
        share = rows["ties"].sum() / max(1, votes)
        told = f"{criterion}: {per_cent(share)} of {votes} votes are ties"
        drawn.append((draw(str(criterion), rows), told))
    caption = (
        "Single votes, a row for each pair of methods; the table has the majorities, "
        "too."
        if few
        else "Per cent of votes that the method of the row wins against the method of "
        "the column, a tie being half a win; blue wins, red loses. Methods in the "
        "order of their wins."
    )
    return figure_of(
        "wins",
        SECTION,
        "Side by side",
        caption,
        "Wins, ties and losses.",
        drawn,
        26,
    )


def _win_bars(criterion: str, rows: pd.DataFrame) -> Panel:
    parts = (
        ("wins_a", PALETTE[0], "first"),
        ("ties", "#A0A0A0", "tie"),
        ("wins_b", PALETTE[1], "second"),
    )
    total = rows[[name for name, _colour, _label in parts]].sum(axis=1)
    bars = [
        {
            "name": label,
            "x": values(100 * rows[name] / total),
            "marker": {"color": colour},
            "customdata": values(rows[name]),
            "hovertemplate": f"{label}: %{{customdata}} votes<extra></extra>",
        }
        for name, colour, label in parts
    ]
    panel = stacked_panel(criterion, [""] * len(rows), bars, "per cent of votes")
    panel.layout["yaxis"]["ticktext"] = [
        f"{short(a, 18)} / {short(b, 18)}"
        for a, b in zip(rows["method_a"], rows["method_b"], strict=True)
    ]
    panel.layout["shapes"] = [vertical(50) | {"layer": "above"}]
    return panel


def _win_matrix(criterion: str, rows: pd.DataFrame) -> Panel:
    methods = sorted({*rows["method_a"], *rows["method_b"]})
    place = {name: i for i, name in enumerate(methods)}
    won = np.zeros((len(methods), len(methods)))
    a = rows["method_a"].map(place).to_numpy()
    b = rows["method_b"].map(place).to_numpy()
    half = rows["ties"].to_numpy(float) / 2
    np.add.at(won, (a, b), rows["wins_a"].to_numpy(float) + half)
    np.add.at(won, (b, a), rows["wins_b"].to_numpy(float) + half)
    total = won + won.T
    with np.errstate(invalid="ignore"):
        share = 100 * won / np.where(total > 0, total, np.nan)
    score = np.nan_to_num(np.nanmean(np.where(total > 0, share, np.nan), axis=1))
    order = np.argsort(-score, kind="stable")
    names = [methods[i] for i in order]
    cells: Trace = {
        "z": [values(row) for row in share[np.ix_(order, order)]],
        "zmin": 0,
        "zmax": 100,
        "colorscale": RED_BLUE,
        "texttemplate": "%{z:.0f}" if len(names) <= 12 else "",
        "hovertemplate": "%{z:.0f} %<extra></extra>",
    }
    panel = heat_panel(criterion, 170 + 19 * len(names), names, names, cells)
    panel.layout["xaxis"]["tickangle"] = -60
    return panel


def composite_dots(composites: pd.DataFrame) -> list[Figure]:
    """Draw scores that are put together from several, composite by composite."""
    drawn = []
    known = composites[composites["value"].notna()]
    for composite, rows in known.groupby("composite", sort=True):
        rows = rows.sort_values(["rank", "method"], kind="stable").head(MOST_ROWS)
        panel = dot_panel(str(composite), rows, names="method", axis=str(composite))
        drawn.append((panel, f"{composite}: first {rows['method'].iloc[0]}"))
    return figure_of(
        "composites",
        SECTION,
        "Composite scores",
        "Methods by scores that weigh several parts, best on top (of ranks, 1 is "
        "best); other weights may give another order.",
        "Composite scores.",
        drawn,
    )


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
    caption = (
        "Each metric divided by the best of the methods (turned round where lower is "
        "better): the rim is the best. Grey is the median method. Methods in the order "
        "of people's ratings."
    )
    if any(len(str(metric)) > SHORT_NAME for metric in shares):
        listed = ", ".join(f"{i + 1} {metric}" for i, metric in enumerate(shares))
        caption += f" Clockwise from the top: {listed}."
    if len(order) > MOST_PROFILES:
        caption += f" The first {MOST_PROFILES} of {len(order)} are drawn."
    firsts = shares.idxmax().items()
    told = ", ".join(f"{metric}: {method}" for metric, method in firsts)
    drawn: Drawn = [
        (_profile(method, shares.loc[method], typical), "")
        for method in order[:MOST_PROFILES]
    ]
    return figure_of(
        "profiles",
        SECTION,
        "Profiles of methods over metrics",
        caption,
        f"Polar charts; the best method by metric is {told}",
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


def _with_intervals(rows: pd.DataFrame) -> str:
    return " with their intervals" if rows["low"].notna().any() else ""
