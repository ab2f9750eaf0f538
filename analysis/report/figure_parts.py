"""What every figure is made of: panels, colours, axes, error bars; it draws nothing.

A panel is data and layout for plotly.js, as plain values: figures are then quick to
make, small, and alike in every run. Panels of one figure share its caption; the page
sets them side by side as its width allows. Colours are those of Okabe and Ito, which
people with any colour vision can tell apart; shape or position repeats what they say.
Text and background follow the reader's light or dark page.
"""

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.report.language import listed, say

PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#8A8A00",
)
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star")
GREY = "#808080"
# Brewer's RdBu, red low and blue high: plotly's own of that name is another.
RED_BLUE = (
    (0, "#b2182b"),
    (0.25, "#f4a582"),
    (0.5, "#f7f7f7"),
    (0.75, "#92c5de"),
    (1, "#2166ac"),
)
# Names longer than this are shortened on an axis; the tables have them whole.
LONGEST_NAME = 28
# Numbers of a figure need no more digits than a screen can show.
DIGITS = 5
# Rows that one panel shows at most; a caption says when there are more.
MOST_ROWS = 60
# With more panels than this a figure that would go on for long draws the first ones.
MOST_PANELS = 12
# What a cell of a table takes on the page.
CELL_BYTES = 22
# What fits on a sheet of A4 between its margins, in CSS pixels.
PAGE = (690, 1000)
LEGEND = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0}
Trace = dict[str, Any]


@dataclass(frozen=True)
class Panel:
    """One plot: its heading, its height in pixels, and what plotly.js draws.

    `outputs` are story and method of those outputs that a reader should look at, for a
    page that links to them.
    """

    title: str
    height: int
    data: list[Trace]
    layout: Trace
    outputs: tuple[tuple[str, str], ...] = ()

    @property
    def plot(self) -> str:
        """Return data and layout as JSON that no script element ends in."""
        text = json.dumps(
            {"data": self.data, "layout": self.layout},
            sort_keys=True,
            ensure_ascii=False,
            separators=(",", ":"),
            allow_nan=False,
        )
        return text.replace("<", "\\u003c")


@dataclass(frozen=True)
class Figure:
    """One figure of the report.

    Attributes
    ----------
    key
        Its fixed name: the id in the page and the name of its file.
    section
        Where it stands: one of the keys of `analysis.report.sections.SECTIONS`.
    title, caption
        Heading, and what to see.
    alt
        What it shows in words, with its main numbers, for who cannot see it.
    panels
        Plots side by side.
    width
        The least width of a panel in rem.
    tables
        The tables whose rows are drawn.
    """

    key: str
    section: str
    title: str
    caption: str
    alt: str
    panels: tuple[Panel, ...]
    width: int = 20
    tables: tuple[str, ...] = ()

    @property
    def weight(self) -> int:
        """Cells of a plain table that the page would hold for as many bytes."""
        return sum(len(panel.plot) for panel in self.panels) // CELL_BYTES

    @property
    def fits_a_page(self) -> bool:
        """Say whether all panels stand on one sheet of A4."""
        columns = max(1, PAGE[0] // (16 * self.width + 20))
        rows = [
            max(panel.height for panel in self.panels[i : i + columns]) + 40
            for i in range(0, len(self.panels), columns)
        ]
        return sum(rows) + 120 <= PAGE[1]


# Panels, each with what it shows in words, or with an empty text.
Drawn = Iterable[tuple[Panel, str]]


def figure_of(
    key: str,
    section: str,
    title: str,
    caption: str,
    alt: str,
    drawn: Drawn,
    width: int = 20,
    *,
    tables: tuple[str, ...] = (),
    most_panels: int | None = None,
    most_told: int | None = None,
) -> list[Figure]:
    """Return the figure of some panels; none of none.

    `alt` begins what the panels say in words.
    """
    parts = list(drawn)
    if not parts:
        return []
    panels = tuple(panel for panel, _text in parts[:most_panels])
    told = listed([text for _panel, text in parts if text][:most_told], "; ")
    alt = say("{text}.", text=listed([alt, told], " ") if told else alt)
    return [Figure(key, section, title, caption, alt, panels, width, tables)]


def cut(drawn: Sequence[tuple[Panel, str]]) -> list[str]:
    """Say that not all panels are drawn, where they are too many."""
    n, total = MOST_PANELS, len(drawn)
    if total <= n:
        return []
    return [say("The first {n} of {total} panels are drawn.", n=n, total=total)]


def as_text(name: object) -> str:
    """Return a name that plotly draws as it stands, not as markup.

    Examples
    --------
    >>> as_text("<b>")
    '&lt;b&gt;'
    """
    return html.escape(str(name), quote=False)


def short(name: object, length: int = LONGEST_NAME) -> str:
    """Return a name as plotly draws it, its middle left out if it is long.

    Examples
    --------
    >>> short("a name that goes on and on and on", 12)
    'a name…nd on'
    """
    text = str(name)
    if len(text) > length:
        half = length // 2
        text = f"{text[:half]}…{text[half + 1 - length :]}"
    return as_text(text)


def values(column: Iterable[Any]) -> list[float | None]:
    """Return numbers as a figure needs them; None where there is none."""
    found = pd.to_numeric(pd.Series(list(column)), errors="coerce").to_numpy(float)
    return [None if x != x else float(f"{x:.{DIGITS}g}") + 0.0 for x in found]


def error_bars(rows: pd.DataFrame, value: str = "value") -> Trace:
    """Return the bars from `low` to `high`; none where there is no interval."""
    return {
        "type": "data",
        "symmetric": False,
        "thickness": 1.5,
        "width": 0,
        "array": values((rows["high"] - rows[value]).astype(float).fillna(0)),
        "arrayminus": values((rows[value] - rows["low"]).astype(float).fillna(0)),
    }


def row_axis(names: Sequence[object], *, bold: Sequence[bool] = ()) -> Trace:
    """Return a vertical axis with one named row each, the first on top."""
    texts = [short(name) for name in names]
    marked = list(bold) or [False] * len(texts)
    return {
        "tickmode": "array",
        "tickvals": list(range(len(texts))),
        "ticktext": [
            f"<b>{text}</b>" if is_bold else text
            for text, is_bold in zip(texts, marked, strict=True)
        ],
        "range": [len(texts) - 0.4, -0.6],
        "automargin": True,
        "zeroline": False,
        "showgrid": True,
        "fixedrange": True,
    }


def column_axis(names: Sequence[object]) -> Trace:
    """Return a horizontal axis with one named column each."""
    return {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": [short(name, 22) for name in names],
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        # Names that do not fit would be left out on a narrow screen.
        "tickangle": -35 if sum(map(len, map(str, names))) > 24 else 0,
    }


def row_height(n_rows: int, *, lines: int = 1, extra: int = 90) -> int:
    """Return the height of a panel with rows of so many marks above one another."""
    each = 12 + 12 * lines if n_rows <= 15 else 9 + 8 * lines
    return extra + max(each, 17) * n_rows


def right_axis(
    ends: Sequence[float], places: Sequence[float | None], texts: Sequence[str]
) -> Trace:
    """Return a second vertical axis, on the right, with names at some places."""
    return {
        "overlaying": "y",
        "side": "right",
        "range": list(ends),
        "tickmode": "array",
        "tickvals": list(places),
        "ticktext": list(texts),
        "showgrid": False,
        "automargin": True,
        "zeroline": False,
    }


def vertical(x: float, *, dash: str = "solid") -> Trace:
    """Return a line from bottom to top."""
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "line": {"color": GREY, "width": 1, "dash": dash},
        "layer": "below",
    }


def line(
    i: int, name: str, x: "pd.Series[Any]", y: "pd.Series[Any]", unit: str
) -> Trace:
    """Return a curve through points, told from others by the number `i`."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": as_text(name),
        "x": values(x),
        "y": values(y),
        "line": {"color": PALETTE[i % len(PALETTE)]},
        "marker": {"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 7},
        "hovertemplate": f"%{{x}} {as_text(unit)}: %{{y:.3f}}<extra></extra>",
    }


def best_first(
    rows: pd.DataFrame, value: str = "value", name: str = "metric"
) -> pd.DataFrame:
    """Return the rows that one panel shows, the highest on top, equal ones by name."""
    return rows.sort_values([value, name], ascending=[False, True]).head(MOST_ROWS)


def said(rows: pd.DataFrame, names: str, value: str = "value", most: int = 5) -> str:
    """Return names with their values, best first: for who cannot see the figure.

    Examples
    --------
    >>> said(pd.DataFrame({"m": ["a", "b"], "value": [0.1, 0.5]}), "m")
    'b 0.5, a 0.1'
    """
    known = rows.dropna(subset=[value]).sort_values(
        value, ascending=False, kind="stable"
    )
    told = [
        f"{name} {float(x):.3g}"
        for name, x in zip(known[names][:most], known[value][:most], strict=True)
    ]
    rest = len(known) - len(told)
    if rest > 0:
        return say("{names} and {n} more", names=listed(told), n=rest)
    return listed(told)
