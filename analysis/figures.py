"""The figures of a report; the only module that imports plotly.

A figure is data and layout for plotly.js, with a caption that says what to see. Colours
are those of Okabe and Ito, which people with any colour vision can tell apart; text and
background follow the reader's light or dark page.
"""

import html
import json
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from plotly.utils import PlotlyJSONEncoder

from analysis.claims import number
from analysis.layout import (
    COEFFICIENT_NAMES,
    MOST_SCATTERS,
    axis_range,
    by_value,
    drawn_metrics,
    forest_caption,
    human_ceiling,
    is_named_metric,
    label_places,
    main_coefficient,
)

PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A8A00",
)  # fmt: skip
LEVEL_NAMES = {
    "method": "method level",
    "story": "story level",
    "pooled": "pooled",
}
MOST_LABELS = 12
LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
CATEGORIES = {"automargin": True, "type": "category"}


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


def forests(correlations: pd.DataFrame, agreement: pd.DataFrame | None) -> list[Figure]:
    """Draw each question's coefficients with intervals and the human ceiling."""
    name = main_coefficient(correlations)
    figures = []
    data = correlations[correlations["coefficient"] == name]
    for index, (question, rows) in enumerate(data.groupby("dimension", sort=True)):
        rows = rows[rows["value"].notna()]
        if rows.empty:
            continue
        figure = go.Figure()
        metrics = by_value(rows)
        names = {metric: _marked(str(question), metric) for metric in metrics}
        # plotly stacks groups upwards: the last one stands on top.
        for i, level in reversed(list(enumerate(LEVEL_NAMES))):
            part = rows[rows["level"] == level].set_index("metric")
            part = part.reindex([metric for metric in metrics if metric in part.index])
            if part.empty:
                continue
            figure.add_trace(
                go.Scatter(
                    x=part["value"],
                    y=[names[metric] for metric in part.index],
                    error_x=_bars(part, "value"),
                    mode="markers",
                    # Puts the levels of a metric below one another.
                    orientation="h",
                    marker={"size": 9, "color": PALETTE[i],
                            "symbol": ("circle", "diamond", "square")[i]},
                    name=LEVEL_NAMES[level],
                )
            )  # fmt: skip
        ceiling = human_ceiling(agreement, str(question), name)
        if ceiling is not None:
            figure.add_vline(x=ceiling, line_dash="dash", line_color="#808080")
        figure.add_vline(x=0, line_color="#808080", line_width=1)
        figure.update_layout(
            scattermode="group",
            xaxis_title=COEFFICIENT_NAMES[name], xaxis_range=axis_range(rows, ceiling),
            yaxis={
                **CATEGORIES, "categoryorder": "array",
                "categoryarray": list(names.values())[::-1],
            },
            legend={**LEGEND, "traceorder": "reversed"}, showlegend=True,
        )  # fmt: skip
        figures.append(
            _figure(
                f"forest-{index}", f"Agreement with people: {question}",
                forest_caption(
                    rows, ceiling,
                    bold=any(is_named_metric(str(question), m) for m in metrics),
                ),
                150 + 44 * len(metrics), figure,
            )
        )  # fmt: skip
    return figures


def _bars(rows: pd.DataFrame, value: str) -> dict[str, Any]:
    """Return the error bars from `low` to `high`; none where there is no interval."""
    return {
        "type": "data", "symmetric": False, "thickness": 1.5, "width": 3,
        "array": (rows["high"] - rows[value]).fillna(0),
        "arrayminus": (rows[value] - rows["low"]).fillna(0),
    }  # fmt: skip


def _marked(question: str, metric: str) -> str:
    name = _as_text(metric)
    return f"<b>{name}</b>" if is_named_metric(question, metric) else name


def _as_text(name: str) -> str:
    """Return a name that plotly draws as it stands, not as markup."""
    return html.escape(name, quote=False)


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
            x=[_as_text(question) for question in table.columns],
            y=[_as_text(metric) for metric in table.index],
            zmin=-1,
            zmax=1,
            colorscale="RdBu",
            text=[[number(v) if pd.notna(v) else "" for v in row]
                  for row in table.to_numpy()],
            texttemplate="%{text}",
            showscale=False,
        )
    )  # fmt: skip
    figure.update_layout(
        yaxis={**CATEGORIES, "autorange": "reversed"}, xaxis=CATEGORIES
    )
    return _figure(
        "matrix",
        "Every metric by every question",
        f"{COEFFICIENT_NAMES[name]}, {LEVEL_NAMES[level]}. Blue agrees with people, "
        "red disagrees.",
        200 + 28 * len(table),
        figure,
    )


def scatters(cells: pd.DataFrame, correlations: pd.DataFrame | None) -> list[Figure]:
    """Draw method means: people against the metrics that agree best."""
    keys = ["question", "metric", "method"]
    values = ["human", "score", "higher_is_better"]
    means = cells.groupby(keys, sort=True)[values].mean().reset_index()
    ranked = {
        str(question): drawn_metrics(str(question), rows, correlations)
        for question, rows in cells.groupby("question", sort=True)
    }
    caption = "Each point is a method: the mean of its cells."
    if sum(len(metrics) for metrics in ranked.values()) > MOST_SCATTERS:
        ranked = {question: metrics[:1] for question, metrics in ranked.items()}
        caption += " Of each question only the best metric is drawn."
    figures = []
    for index, (question, metrics) in enumerate(ranked.items()):
        named = [m for m in metrics if is_named_metric(question, m)]
        for place, metric in enumerate(dict.fromkeys([*named, *metrics])):
            here = (means["question"] == question) & (means["metric"] == metric)
            part = means[here]
            named_axis = metric
            if not part["higher_is_better"].all():
                named_axis += " (lower is better)"
            figures.append(
                _figure(
                    f"scatter-{index}-{place}", f"{question}: people and {metric}",
                    caption, 340, _scatter(part, named_axis),
                )
            )  # fmt: skip
    return figures


def _scatter(part: pd.DataFrame, axis: str) -> Any:
    figure = go.Figure(
        go.Scatter(
            x=part["score"], y=part["human"],
            text=[_as_text(method) for method in part["method"]],
            mode="markers+text" if len(part) <= MOST_LABELS else "markers",
            textposition=label_places(part), textfont={"size": 10},
            cliponaxis=False,
            marker={"size": 9, "color": PALETTE[0]},
            hovertemplate="%{text}<br>metric %{x:.3g}<br>people %{y:.3g}"
            "<extra></extra>",
        )
    )  # fmt: skip
    figure.update_layout(
        xaxis_title=_as_text(axis), yaxis_title="people", showlegend=False
    )
    return figure


def mean_bars(means: pd.DataFrame) -> list[Figure]:
    """Draw what people think of each method, question by question."""
    figures = []
    for index, (question, rows) in enumerate(means.groupby("dimension", sort=True)):
        rows = rows.sort_values(["mean", "method"], kind="stable")
        figure = go.Figure(
            go.Scatter(
                x=rows["mean"], y=[_as_text(name) for name in rows["method"]],
                mode="markers", marker={"size": 10, "color": PALETTE[2]},
                error_x=_bars(rows, "mean"),
            )
        )  # fmt: skip
        figure.update_layout(
            xaxis_title="mean rating", yaxis=CATEGORIES, showlegend=False
        )
        figures.append(
            _figure(
                f"means-{index}", f"What people say: {question}",
                f"Mean ratings of the methods{_with_intervals(rows)}.",
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
        pairs = [_as_text(name) for name in rows["method_a"] + " / " + rows["method_b"]]
        figure = go.Figure()
        for name, colour, label in parts:
            figure.add_trace(
                go.Bar(x=100 * rows[name] / total, y=pairs, orientation="h", name=label,
                       marker={"color": colour}, customdata=rows[name],
                       hovertemplate="%{y}: %{customdata} votes<extra></extra>")
            )  # fmt: skip
        figure.update_layout(
            barmode="stack", xaxis={"title": "per cent of votes", "range": [0, 100]},
            yaxis={**CATEGORIES, "autorange": "reversed"},
            legend={**LEGEND, "traceorder": "normal"},
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
                x=rows["rating"], y=[_as_text(name) for name in rows["method"]],
                mode="markers", marker={"size": 10, "color": PALETTE[3]},
                error_x=_bars(rows, "rating"),
            )
        )  # fmt: skip
        figure.update_layout(
            xaxis_title="rating (mean 1000)",
            yaxis=CATEGORIES,
            showlegend=False,
        )
        figures.append(
            _figure(
                f"ladder-{index}", f"Leaderboard: {criterion}",
                f"Bradley-Terry ratings{_with_intervals(rows)}; 400 points are odds of "
                "ten to one.",
                130 + 28 * len(rows), figure,
            )
        )  # fmt: skip
    return figures


def _with_intervals(rows: pd.DataFrame) -> str:
    return " with their intervals" if rows["low"].notna().any() else ""


def _figure(key: str, title: str, caption: str, height: int, figure: Any) -> Figure:
    figure.update_layout(
        template="none",
        height=height,
        margin={
            "l": 10,
            "r": 20,
            "t": 20 if figure.layout.showlegend is False else 40,
            "b": 60,
        },
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13},
    )
    axis = {"gridcolor": "rgba(128,128,128,0.25)", "zeroline": False}
    figure.update_xaxes(**axis, title_standoff=12)
    figure.update_yaxes(**axis, automargin=True)
    plot = json.dumps(
        figure.to_plotly_json(), cls=PlotlyJSONEncoder, sort_keys=True
    ).replace("<", "\\u003c")
    return Figure(key, title, caption, height, plot)
