"""Panels of a kind: rows of dots with intervals, stacked bars, fields of colour."""

from collections.abc import Iterable, Sequence

import pandas as pd

from analysis.report.figure_parts import (
    LEGEND,
    PALETTE,
    SYMBOLS,
    Panel,
    Trace,
    as_text,
    column_axis,
    error_bars,
    row_axis,
    row_height,
    values,
)


def dot_panel(
    title: str,
    rows: pd.DataFrame,
    *,
    names: str,
    axis: str,
    groups: str = "",
    value: str = "value",
    shapes: Sequence[Trace] = (),
    order: Sequence[object] = (),
    span: Sequence[float] = (),
    bold: Sequence[bool] = (),
    marks: Sequence[object] = (),
) -> Panel:
    """Draw one row for each name; groups stand below one another inside it.

    Parameters
    ----------
    rows
        With the columns `names`, `value`, low, high and, if given, `groups`.
    order
        Names from top to bottom; those of the rows in their order if empty.
    span
        Numbers that the axis shows in any case.
    bold
        Which names of `order` stand out.
    marks
        All groups that figures of this kind know, so that each has its own mark in all
        of them; those of the rows in their order if empty.
    """
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
        symbol = SYMBOLS[mark % len(SYMBOLS)]
        trace: Trace = {
            "type": "scatter",
            "mode": "markers",
            "name": as_text(part),
            "x": values(own[value]),
            "y": [round(float(place[name] + shift), 3) for name in own[names]],
            "marker": {"color": color, "symbol": symbol, "size": 7},
            "hovertemplate": "%{text}%{x:.3g}<extra></extra>",
            "text": [f"{as_text(label)}: " for label in own[names]] or "",
        }
        if {"low", "high"} <= set(own) and own["low"].notna().any():
            trace["error_x"] = error_bars(own, value) | {"color": color}
        data.append(trace)
    layout = {
        "xaxis": {
            "title": {"text": as_text(axis)},
            "zeroline": False,
            "range": _axis_range(rows, value, span),
        },
        "yaxis": row_axis(order, bold=bold),
        "shapes": list(shapes),
        "showlegend": bool(groups),
        "legend": LEGEND,
    }
    lines = max(1, round(len(parts) * 0.7))
    extra = 70 + (30 if groups else 0)
    return Panel(title, row_height(len(order), lines=lines, extra=extra), data, layout)


def stacked_panel(
    title: str,
    names: Sequence[object],
    parts: Iterable[Trace],
    axis: str,
    *,
    gap: float = 0.25,
    extra: int = 110,
) -> Panel:
    """Draw a bar of 100 per cent for each name; `parts` are what bars are made of."""
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
    return Panel(title, height, [bar | part for part in parts], layout)


def heat_panel(
    title: str,
    height: int,
    names: Sequence[object],
    columns: Sequence[object],
    cells: Trace,
    *,
    gap: int = 1,
) -> Panel:
    """Draw a field of colour for each name and column."""
    look = {"type": "heatmap", "showscale": False, "xgap": gap, "ygap": gap}
    layout = {
        "yaxis": row_axis(names) | {"showgrid": False},
        "xaxis": column_axis(columns),
    }
    return Panel(title, height, [look | cells], layout)


def _axis_range(rows: pd.DataFrame, value: str, span: Sequence[float]) -> list[float]:
    """Return the ends of an axis that holds values, intervals and `span`."""
    known = [rows[name] for name in (value, "low", "high") if name in rows]
    ends = pd.concat([*known, pd.Series(list(span), dtype=float)]).astype(float)
    ends = ends.dropna()
    if ends.empty:
        return [0.0, 1.0]
    room = 0.06 * (ends.max() - ends.min()) or 0.5
    return [float(f"{x:.4g}") for x in (ends.min() - room, ends.max() + room)]
