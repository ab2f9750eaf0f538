"""Figures of the page as plotly has them in Python, the panels below one another."""

from collections.abc import Iterable, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.report.figure import Panel, as_text

# What a panel says of its own axes, and of the figure as a whole.
AXES = ("xaxis", "yaxis", "yaxis2")
OWN = (*AXES, "shapes", "annotations", "margin", "legend", "showlegend")
LEGEND = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0}
# Room above each panel for its title, below it for the axis, in pixels.
BETWEEN = 110


def plotly_figure(panels: Sequence[Panel]) -> go.Figure:
    """Return one figure of some panels, each as high as on the page."""
    heights = [panel.height for panel in panels]
    total = sum(heights) + BETWEEN * (len(panels) - 1)
    found = make_subplots(
        rows=len(panels),
        specs=[[{"secondary_y": "yaxis2" in panel.layout}] for panel in panels],
        row_heights=heights,
        vertical_spacing=BETWEEN / total if len(panels) > 1 else 0,
        subplot_titles=[as_text(panel.title) for panel in panels],
    )
    for title in found.layout.annotations:
        title.update(x=0, xanchor="left", yshift=14)
    named: set[str] = set()
    for row, panel in enumerate(panels, 1):
        _add(found, panel, row, named)
    whole = {k: v for k, v in panels[0].layout.items() if k not in OWN}
    return found.update_layout(
        **whole,
        height=total + 80,
        template="plotly_white",
        margin={"t": 80, "b": 80, "l": 20, "r": 20},
        showlegend=bool(named),
        legend=LEGEND,
    )


def _add(figure: go.Figure, panel: Panel, row: int, named: set[str]) -> None:
    """Put a panel into its row of a figure; a name stands in the legend once."""
    place = {"row": row, "col": 1}
    for trace in panel.data:
        second = trace.get("yaxis") == "y2"
        own = {key: value for key, value in trace.items() if key != "yaxis"}
        name = str(trace.get("name", ""))
        own["showlegend"] = bool(panel.layout.get("showlegend")) and name not in named
        named |= {name} if own["showlegend"] else set()
        figure.add_trace(own, **place, secondary_y=second or None)
    figure.update_xaxes(panel.layout.get("xaxis", {}), **place)
    figure.update_yaxes(panel.layout.get("yaxis", {}), **place, secondary_y=False)
    if "yaxis2" in panel.layout:
        second = {k: v for k, v in panel.layout["yaxis2"].items() if k != "overlaying"}
        figure.update_yaxes(second, **place, secondary_y=True)
    for shape in _in_panel(panel.layout.get("shapes", ())):
        figure.add_shape(shape, **place)
    for note in _in_panel(panel.layout.get("annotations", ())):
        figure.add_annotation(note, **place)


def _in_panel(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return lines and names whose ends are those of the panel, not of the figure."""
    return [
        {
            key: f"{key[0]} domain"
            if key in ("xref", "yref") and value == "paper"
            else value
            for key, value in part.items()
        }
        for part in parts
    ]
