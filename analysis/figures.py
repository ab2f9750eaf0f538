"""The figures of a report; the only module that imports plotly.

A figure is data and layout for plotly.js, with a caption that says what to see. Colours
are those of Okabe and Ito, which people with any colour vision can tell apart; text and
background follow the reader's light or dark page.
"""

import json
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from plotly.utils import PlotlyJSONEncoder

PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A8A00",
)  # fmt: skip
LEVEL_NAMES = {
    "method": "method level",
    "story": "story level",
    "pooled": "pooled",
}
COEFFICIENT_NAMES = {
    "kendall": "Kendall's tau-b",
    "spearman": "Spearman",
    "pearson": "Pearson",
}
SCATTER_METRICS = 6
# The papers' own expectation of which metric measures which question.
NAMED_METRICS = {
    "character": ("cids_self", "cids"),
    "environment": ("csd_self", "csd"),
    "aesthetic": ("aesthetic",),
}


@dataclass(frozen=True)
class Figure:
    """One figure: its heading, its caption, and what plotly.js draws."""

    key: str
    title: str
    caption: str
    height: int
    plot: str  # JSON of {data, layout}


def plotly_source() -> str:
    """Return plotly.js, to be placed into a page once."""
    source: str = get_plotlyjs()
    return source


def all_figures(tables: dict[str, pd.DataFrame], cells: pd.DataFrame) -> list[Figure]:
    """Return the figures that the tables allow, in reading order."""
    figures = []
    correlations = tables.get("correlations")
    if correlations is not None and correlations["value"].notna().any():
        figures += forests(correlations, tables.get("agreement"))
        matrix = metric_matrix(correlations)
        figures += [matrix] if matrix is not None else []
    if cells is not None and len(cells):
        figures += scatters(cells, correlations)
    if len(tables.get("method_means", ())):
        figures += mean_bars(tables["method_means"])
    if len(tables.get("win_rates", ())):
        figures += win_bars(tables["win_rates"])
    if len(tables.get("leaderboard", ())):
        figures += ladders(tables["leaderboard"])
    return figures


def is_named_metric(question: str, metric: str) -> bool:
    """Say whether the papers expect this metric to measure this question."""
    return any(
        part in question.lower() and metric.lower() in names
        for part, names in NAMED_METRICS.items()
    )


def main_coefficient(correlations: pd.DataFrame) -> str:
    """Return the coefficient that figures show: Kendall's where it was computed."""
    present = set(correlations["coefficient"])
    return next((c for c in COEFFICIENT_NAMES if c in present), min(present))


def forests(correlations: pd.DataFrame, agreement: pd.DataFrame | None) -> list[Figure]:
    """Draw each question's coefficients with intervals and the human ceiling."""
    name = main_coefficient(correlations)
    figures = []
    data = correlations[correlations["coefficient"] == name]
    for index, (question, rows) in enumerate(data.groupby("dimension", sort=True)):
        figure = go.Figure()
        metrics = _by_value(rows)
        for i, level in enumerate(LEVEL_NAMES):
            part = rows[(rows["level"] == level) & rows["value"].notna()]
            if part.empty:
                continue
            part = part.set_index("metric").reindex(metrics).dropna(subset=["value"])
            figure.add_trace(
                go.Scatter(
                    x=part["value"],
                    y=[_marked(str(question), m) for m in part.index],
                    error_x={
                        "type": "data",
                        "symmetric": False,
                        "array": (part["high"] - part["value"]).fillna(0),
                        "arrayminus": (part["value"] - part["low"]).fillna(0),
                        "thickness": 1.5,
                        "width": 3,
                    },
                    mode="markers",
                    marker={"size": 9, "color": PALETTE[i],
                            "symbol": ("circle", "diamond", "square")[i]},
                    name=LEVEL_NAMES[level],
                )
            )  # fmt: skip
        ceiling = _ceiling(agreement, str(question), name)
        if ceiling is not None:
            figure.add_vline(
                x=ceiling, line_dash="dash", line_color="#808080",
                annotation_text="one annotator against the rest",
            )  # fmt: skip
        figure.add_vline(x=0, line_color="#808080", line_width=1)
        height = 150 + 34 * len(metrics)
        figure.update_layout(
            scattermode="group",
            xaxis_title=f"{COEFFICIENT_NAMES[name]} with people",
            yaxis={"autorange": "reversed", "automargin": True},
            legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        )
        figures.append(
            _figure(
                f"forest-{index}", f"Agreement with people: {question}",
                "Points are coefficients, bars their bootstrap intervals. Right of 0 "
                "means agreement; an interval that crosses 0 shows none. Metrics in "
                "bold are those that the papers name for this question.",
                height, figure,
            )
        )  # fmt: skip
    return figures


def _ceiling(
    agreement: pd.DataFrame | None, question: str, coefficient: str
) -> float | None:
    if agreement is None or coefficient == "pearson":
        return None
    rows = agreement[
        (agreement["question"] == question)
        & (agreement["statistic"] == f"rater_vs_rest_{coefficient}")
    ]
    if rows.empty or pd.isna(rows["value"].iloc[0]):
        return None
    return float(rows["value"].iloc[0])


def _by_value(rows: pd.DataFrame) -> list[str]:
    """Return the metrics, best first, by their mean over levels."""
    order = rows.groupby("metric")["value"].mean().sort_values(
        ascending=False, kind="stable"
    )  # fmt: skip
    return [str(metric) for metric in order.index]


def _marked(question: str, metric: str) -> str:
    return f"<b>{metric}</b>" if is_named_metric(question, metric) else metric


def metric_matrix(correlations: pd.DataFrame) -> Figure | None:
    """Draw all metrics by all questions at the first level that is defined."""
    name = main_coefficient(correlations)
    data = correlations[(correlations["coefficient"] == name)]
    data = data[data["value"].notna()]
    level = next(
        (x for x in ("story", "pooled", "method") if x in set(data["level"])), ""
    )
    data = data[data["level"] == level]
    if data["dimension"].nunique() < 2:
        return None
    table = data.pivot(index="metric", columns="dimension", values="value")
    figure = go.Figure(
        go.Heatmap(
            z=table.to_numpy(),
            x=list(table.columns),
            y=list(table.index),
            zmin=-1,
            zmax=1,
            colorscale="RdBu",
            text=[[f"{v:.2f}" if pd.notna(v) else "" for v in row]
                  for row in table.to_numpy()],
            texttemplate="%{text}",
            colorbar={"title": ""},
        )
    )  # fmt: skip
    figure.update_layout(yaxis={"autorange": "reversed", "automargin": True},
                         xaxis={"automargin": True})  # fmt: skip
    return _figure(
        "matrix",
        "Every metric by every question",
        f"{COEFFICIENT_NAMES[name]}, {LEVEL_NAMES[level]}. Blue agrees with people, "
        "red disagrees.",
        140 + 28 * len(table),
        figure,
    )


def scatters(cells: pd.DataFrame, correlations: pd.DataFrame | None) -> list[Figure]:
    """Draw method means: people against the metrics that agree best."""
    figures = []
    means = cells.groupby(["question", "metric", "method"], sort=True)[
        ["human", "score"]
    ].mean()
    for index, question in enumerate(sorted(cells["question"].unique())):
        rows = means.loc[question].reset_index()
        metrics = sorted(rows["metric"].unique())
        if correlations is not None and len(correlations):
            own = correlations[correlations["dimension"] == question]
            ranked = [m for m in _by_value(own) if m in metrics]
            metrics = ranked or metrics
        named = [m for m in metrics if is_named_metric(question, m)]
        chosen = list(dict.fromkeys([*named, *metrics]))[:SCATTER_METRICS]
        for place, metric in enumerate(chosen):
            part = rows[rows["metric"] == metric]
            figure = go.Figure(
                go.Scatter(
                    x=part["score"], y=part["human"], text=part["method"],
                    mode="markers+text" if len(part) <= 12 else "markers",
                    textposition="top center", textfont={"size": 10},
                    marker={"size": 9, "color": PALETTE[0]},
                    hovertemplate="%{text}<br>metric %{x:.3g}<br>people %{y:.3g}"
                    "<extra></extra>",
                )
            )  # fmt: skip
            figure.update_layout(
                xaxis_title=metric, yaxis_title="people", showlegend=False
            )
            figures.append(
                _figure(
                    f"scatter-{index}-{place}", f"{question}: people and {metric}",
                    "Each point is a method: the mean of its cells.", 340, figure,
                )
            )  # fmt: skip
    return figures


def mean_bars(means: pd.DataFrame) -> list[Figure]:
    """Draw what people think of each method, question by question."""
    figures = []
    for index, (question, rows) in enumerate(means.groupby("dimension", sort=True)):
        rows = rows.sort_values(["mean", "method"], kind="stable")
        figure = go.Figure(
            go.Scatter(
                x=rows["mean"], y=rows["method"], mode="markers",
                marker={"size": 10, "color": PALETTE[2]},
                error_x={
                    "type": "data", "symmetric": False, "thickness": 1.5, "width": 3,
                    "array": (rows["high"] - rows["mean"]).fillna(0),
                    "arrayminus": (rows["mean"] - rows["low"]).fillna(0),
                },
            )
        )  # fmt: skip
        figure.update_layout(
            xaxis_title="mean rating", yaxis={"automargin": True}, showlegend=False
        )
        figures.append(
            _figure(
                f"means-{index}", f"What people say: {question}",
                "Mean rating of each method with its interval.",
                130 + 26 * len(rows), figure,
            )
        )  # fmt: skip
    return figures


def win_bars(rates: pd.DataFrame) -> list[Figure]:
    """Draw wins, ties and losses of each pair by single votes."""
    figures = []
    parts = (("wins_a", PALETTE[0], "first wins"), ("ties", "#A0A0A0", "tie"),
             ("wins_b", PALETTE[1], "second wins"))  # fmt: skip
    for index, (criterion, rows) in enumerate(rates.groupby("criterion", sort=True)):
        total = rows[[name for name, _colour, _label in parts]].sum(axis=1)
        pairs = rows["method_a"] + " / " + rows["method_b"]
        figure = go.Figure()
        for name, colour, label in parts:
            figure.add_trace(
                go.Bar(x=100 * rows[name] / total, y=pairs, orientation="h", name=label,
                       marker={"color": colour}, customdata=rows[name],
                       hovertemplate="%{y}: %{customdata} votes<extra></extra>")
            )  # fmt: skip
        figure.update_layout(
            barmode="stack", xaxis={"title": "per cent of votes", "range": [0, 100]},
            yaxis={"autorange": "reversed", "automargin": True},
            legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        )  # fmt: skip
        figures.append(
            _figure(
                f"wins-{index}", f"Side by side: {criterion}",
                "Single votes; the table has the majorities, too.",
                150 + 30 * len(rows), figure,
            )
        )  # fmt: skip
    return figures


def ladders(board: pd.DataFrame) -> list[Figure]:
    """Draw the Bradley-Terry ratings with intervals."""
    figures = []
    for index, (criterion, rows) in enumerate(board.groupby("criterion", sort=True)):
        rows = rows.dropna(subset=["rating"]).sort_values("rating", kind="stable")
        if rows.empty:
            continue
        figure = go.Figure(
            go.Scatter(
                x=rows["rating"], y=rows["method"], mode="markers",
                marker={"size": 10, "color": PALETTE[3]},
                error_x={
                    "type": "data", "symmetric": False, "thickness": 1.5, "width": 3,
                    "array": (rows["high"] - rows["rating"]).fillna(0),
                    "arrayminus": (rows["rating"] - rows["low"]).fillna(0),
                },
            )
        )  # fmt: skip
        figure.update_layout(
            xaxis_title="rating (mean 1000)",
            yaxis={"automargin": True},
            showlegend=False,
        )
        figures.append(
            _figure(
                f"ladder-{index}", f"Leaderboard: {criterion}",
                "Bradley-Terry ratings; 400 points are odds of ten to one.",
                130 + 28 * len(rows), figure,
            )
        )  # fmt: skip
    return figures


def _figure(key: str, title: str, caption: str, height: int, figure: Any) -> Figure:
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 60, "r": 20, "t": 40, "b": 50},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13},
    )
    figure.update_xaxes(gridcolor="rgba(128,128,128,0.25)", zeroline=False)
    figure.update_yaxes(gridcolor="rgba(128,128,128,0.25)", zeroline=False)
    plot = json.dumps(
        figure.to_plotly_json(), cls=PlotlyJSONEncoder, sort_keys=True
    ).replace("</", "<\\/")
    return Figure(key, title, caption, height, plot)
