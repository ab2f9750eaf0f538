"""Kinds of panels: rows of dots with intervals, stacked bars, heat maps, curves.

Colours are those of Okabe and Ito, which are distinct for any colour vision; shape or
position repeats their meaning. Text and background follow the reader's light or dark
page.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from analysis.report.figure import (
    DECLARED,
    Panel,
    Trace,
    as_text,
    best_first,
    best_values,
    grouped,
    short,
    values,
)
from analysis.report.language import gettext as _
from analysis.report.language import headed

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A8A00")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star")
GREY = "#808080"
Colours = Sequence[tuple[float, str]]
LEGEND = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0}


def error_bars(rows: pd.DataFrame, value: str = "value", **look: object) -> Trace:
    """Return the error bars from `low` to `high`, of length 0 without an interval."""
    bars = {"type": "data", "symmetric": False, "thickness": 1.5, "width": 0}
    above, below = rows["high"] - rows[value], rows[value] - rows["low"]
    bars["array"] = values(above.astype(float).fillna(0))
    bars["arrayminus"] = values(below.astype(float).fillna(0))
    return bars | look


def has_intervals(rows: pd.DataFrame) -> bool:
    """Tell whether any row has an interval."""
    return "low" in rows and bool(rows["low"].notna().any())


def in_per_cent(rows: pd.DataFrame, names: str, column: str, kind: str) -> pd.DataFrame:
    """Return a share with its bounds in per cent, and the kind of share."""
    ends = {"value": column, "low": f"{column}_low", "high": f"{column}_high"}
    shares = {name: 100 * rows[end] for name, end in ends.items()}
    return rows[[names]].assign(kind=kind, **shares)


# Axes ---------------------------------------------------------------------------------


def _named_axis(
    places: Sequence[float | None], texts: Sequence[str], **look: object
) -> Trace:
    axis = {"tickmode": "array", "tickvals": list(places), "ticktext": list(texts)}
    return axis | {"automargin": True, "zeroline": False, "fixedrange": True} | look


def row_axis(names: Sequence[object], *, bold: Sequence[bool] = ()) -> Trace:
    """Return a vertical axis with a row for each name, the first on top."""
    texts = [short(name) for name in names]
    marked = zip(texts, list(bold) or [False] * len(texts), strict=True)
    texts = [f"<b>{text}</b>" if is_bold else text for text, is_bold in marked]
    ends = [len(texts) - 0.4, -0.6]
    return _named_axis(range(len(texts)), texts, range=ends, showgrid=True)


def column_axis(names: Sequence[object]) -> Trace:
    """Return a horizontal axis with a column for each name."""
    texts = [short(name, 22) for name in names]
    # On a narrow screen, plotly drops names that do not fit.
    angle = -35 if sum(map(len, map(str, names))) > 24 else 0
    return _named_axis(range(len(texts)), texts, showgrid=False, tickangle=angle)


def row_height(n_rows: int, *, lines: int = 1, extra: int = 90) -> int:
    """Return the height of a panel whose rows have `lines` marks each."""
    each = 12 + 12 * lines if n_rows <= 15 else 9 + 8 * lines
    return extra + max(each, 17) * n_rows


def name_on_the_right(
    panel: Panel, places: Sequence[float | None], names: Sequence[str]
) -> Panel:
    """Add names to a panel at some places of its right side."""
    look = {"overlaying": "y", "side": "right", "showgrid": False}
    look["range"] = panel.layout["yaxis"]["range"]
    panel.layout["yaxis2"] = _named_axis(places, names, **look)
    # plotly does not draw an axis without a trace.
    mark = {"type": "scatter", "x": panel.layout["xaxis"]["range"][:1], "y": [None]}
    panel.data.append(mark | {"yaxis": "y2", "hoverinfo": "skip", "showlegend": False})
    return panel


def line(place: float, *, dash: str = "solid", across: bool = False) -> Trace:
    """Return a line from bottom to top, or from left to right."""
    at, along = ("y", "x") if across else ("x", "y")
    ends = {f"{at}0": place, f"{at}1": place, f"{along}0": 0, f"{along}1": 1}
    look = {"color": GREY, "width": 1, "dash": dash}
    return {"type": "line", f"{along}ref": "paper", "line": look} | ends


# Kinds of panels ----------------------------------------------------------------------


def dots_of(
    key: str, table: pd.DataFrame, by: str = "question", **look: Any
) -> Iterator[Panel]:
    """Draw a panel of dots for each question or other group, the highest on top."""
    declared = DECLARED[key].look
    for title, rows in grouped(table, by):
        rows = best_first(rows, declared.get("value", "value"), declared["names"])
        yield dots(key, title, rows, **look)


def dots(key: str, title: str, rows: pd.DataFrame, **look: Any) -> Panel:
    """Draw rows of dots as `figures.toml` declares; `look` overrides it."""
    declared = {"axis": ""} | dict(DECLARED[key].look)
    axis = {"axis": _(declared["axis"])}
    return rows_of_dots(title, rows, **(declared | axis | look))


def rows_of_dots(
    title: str,
    rows: pd.DataFrame,
    names: str,
    axis: str,
    value: str = "value",
    groups: str = "",
    lines: Sequence[float] = (),
    dashed: Sequence[float] = (),
    dotted: Sequence[float] = (),
    order: Sequence[object] = (),
    span: Sequence[float] | None = None,
    bold: Sequence[bool] = (),
    marks: Sequence[object] = (),
    words: str | None = None,
) -> Panel:
    """Draw one row for each name, with a line for each group."""
    order = list(order) or list(dict.fromkeys(rows[names]))
    place = {name: i for i, name in enumerate(order)}
    parts = list(dict.fromkeys(rows[groups])) if groups else [""]
    known = list(marks) or parts
    parts = sorted(parts, key=known.index)
    data = []
    for i, part in enumerate(parts):
        own = rows[rows[groups] == part] if groups else rows
        own, mark = own[own[names].isin(order)], known.index(part)
        shift = 0.7 * ((i + 0.5) / len(parts) - 0.5)
        color = PALETTE[mark % len(PALETTE)]
        trace: Trace = {
            "type": "scatter",
            "mode": "markers",
            "name": as_text(part),
            "x": values(own[value]),
            "y": [round(float(place[name] + shift), 3) for name in own[names]],
            "marker": {
                "color": color,
                "symbol": SYMBOLS[mark % len(SYMBOLS)],
                "size": 7,
            },
            "hovertemplate": "%{text}%{x:.3g}<extra></extra>",
            "text": [f"{as_text(label)}: " for label in own[names]] or "",
        }
        if "high" in own and has_intervals(own):
            trace["error_x"] = error_bars(own, value, color=color)
        data.append(trace)
    ends = _ends(rows, value, [*lines, *dashed] if span is None else span)
    drawn = (("solid", lines), ("dash", dashed), ("dot", dotted))
    layout = {
        "xaxis": {"title": {"text": as_text(axis)}, "zeroline": False, "range": ends},
        "yaxis": row_axis(order, bold=bold),
        "shapes": [
            line(x, dash=dash) | {"layer": "below"}
            for dash, places in drawn
            for x in places
        ],
        "showlegend": bool(groups),
        "legend": LEGEND,
    }
    extra = 70 + (30 if groups else 0)
    height = row_height(len(order), lines=max(1, round(len(parts) * 0.7)), extra=extra)
    if words is None:
        words = headed(title, best_values(rows, names, value))
    return Panel(title, height, data, layout, words)


def _ends(rows: pd.DataFrame, value: str, span: Sequence[float]) -> list[float]:
    """Return the ends of an axis that covers values, intervals and `span`."""
    known = [rows[name] for name in (value, "low", "high") if name in rows]
    ends = pd.concat([*known, pd.Series(list(span), dtype=float)]).astype(float)
    ends = ends.dropna()
    if ends.empty:
        return [0.0, 1.0]
    room = 0.06 * (ends.max() - ends.min()) or 0.5
    return [float(f"{x:.4g}") for x in (ends.min() - room, ends.max() + room)]


def stacked(
    title: str,
    names: Sequence[object],
    parts: Iterable[Trace],
    axis: str,
    *,
    gap: float = 0.25,
    extra: int = 110,
    words: str = "",
) -> Panel:
    """Draw a bar of 100 per cent for each name, stacked from `parts`."""
    bar = {"type": "bar", "orientation": "h", "y": list(range(len(names)))}
    layout = {
        "barmode": "stack",
        "bargap": gap,
        "xaxis": {"title": {"text": axis}, "range": [0, 100]},
        "yaxis": row_axis(names),
        "showlegend": True,
        "legend": LEGEND | {"traceorder": "normal"},
    }
    height = row_height(len(names), extra=extra)
    return Panel(title, height, [bar | part for part in parts], layout, words)


def heat(
    title: str,
    z: pd.DataFrame,
    text: pd.DataFrame,
    ends: tuple[float, float],
    colours: Colours,
    *,
    height: int,
    angle: int | None = None,
    words: str = "",
    **look: object,
) -> Panel:
    """Draw a heat map of the rows and columns of two tables.

    `look` has further attributes of plotly's heat map.
    """
    cells: Trace = {
        "type": "heatmap",
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "z": [values(row) for row in z.to_numpy()],
        "text": text.to_numpy().tolist(),
        "texttemplate": "%{text}",
        "zmin": ends[0],
        "zmax": ends[1],
        "colorscale": colours,
    }
    layout = {
        "yaxis": row_axis(list(z.index)) | {"showgrid": False},
        "xaxis": column_axis(list(z.columns)),
    }
    if angle is not None:
        layout["xaxis"]["tickangle"] = angle
    return Panel(title, height, [cells | look], layout, words)


def curve(
    i: int,
    name: str,
    x: Iterable[Any],
    y: Iterable[Any],
    unit: str = "",
    hover: str = "",
) -> Trace:
    """Return a curve through points; the number `i` gives colour and mark."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": as_text(name),
        "x": values(x),
        "y": values(y),
        "line": {"color": PALETTE[i % len(PALETTE)]},
        "marker": {"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 7},
        "hovertemplate": hover or f"%{{x}} {as_text(unit)}: %{{y:.3f}}<extra></extra>",
    }


def curves(
    title: str,
    traces: list[Trace],
    axes: tuple[str, str],
    ticks: Sequence[float],
    *,
    top: float = 1.02,
    height: int = 280,
    target: float | None = None,
    words: str = "",
) -> Panel:
    """Draw curves over a growing size, with a dotted line at the target."""
    layout = {
        "xaxis": {
            "title": {"text": axes[0]},
            "type": "log",
            "tickvals": list(ticks),
            "ticktext": [f"{tick:g}" for tick in ticks],
        },
        "yaxis": {
            "title": {"text": axes[1]},
            "range": [0, top],
            "zeroline": False,
            "automargin": True,
        },
        "showlegend": True,
        "legend": LEGEND,
    }
    if target is not None:
        layout["shapes"] = [line(target, dash="dot", across=True)]
    return Panel(title, height, traces, layout, words)
