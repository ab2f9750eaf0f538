"""Figures of the report: panels with alternative texts, names and numbers.

A panel is data and layout for plotly.js, as plain values: the page, the file of a
figure and a notebook draw the same. `panels` has the kinds of panels, `figures.toml`
the texts of each figure.
"""

import html
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from importlib.resources import files
from inspect import signature
from typing import Any

import pandas as pd

from analysis.report.language import SEMICOLON, SPACE, listed
from analysis.report.language import gettext as _

# Longer names are shortened on an axis; the tables have them in full.
LONGEST_NAME = 28
# A screen cannot show more digits than this.
DIGITS = 5
# A panel shows at most this many rows; a caption says if there are more.
MOST_ROWS = 60
# Long figures draw at most this many panels.
MOST_PANELS = 12
# Alternative texts name at most this many values.
MOST_NAMED = 5
# The size of a table's cell on the page.
CELL_BYTES = 22
# The printable area of a sheet of A4, in CSS pixels.
PAGE = (690, 1000)
Trace = dict[str, Any]


@dataclass(frozen=True)
class Panel:
    """One plot: its heading, its height in pixels, and the input of plotly.js.

    `words` are its alternative text; `outputs` are story and method of the outputs that
    a page links to.
    """

    title: str
    height: int
    data: list[Trace]
    layout: Trace
    words: str = ""
    outputs: tuple[tuple[str, str], ...] = ()

    @property
    def plot(self) -> str:
        """Return data and layout as JSON that cannot close a script element."""
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
    """One figure: `key` is its id in the page and the name of its file.

    `alt` is its alternative text, `width` the least width of a panel in rem, `tables`
    are those whose rows are drawn.
    """

    key: str
    title: str
    caption: str
    alt: str
    panels: tuple[Panel, ...]
    width: int = 20
    tables: tuple[str, ...] = ()
    section: str = ""

    @property
    def weight(self) -> int:
        """The number of table cells that take as many bytes on the page."""
        return sum(len(panel.plot) for panel in self.panels) // CELL_BYTES

    @property
    def fits_a_page(self) -> bool:
        """Tell whether all panels fit on one sheet of A4."""
        columns = max(1, PAGE[0] // (16 * self.width + 20))
        rows = [
            max(panel.height for panel in self.panels[i : i + columns]) + 40
            for i in range(0, len(self.panels), columns)
        ]
        return sum(rows) + 120 <= PAGE[1]


@dataclass(frozen=True)
class Declared:
    """The texts and the limits of a figure, as `figures.toml` declares them."""

    section: str
    title: str = ""
    caption: str = ""
    alt: str = ""
    width: int = 20
    panels: int | None = None
    words: int | None = None
    names_cut: bool = False
    further: bool = False
    look: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Instead:
    """Texts and tables of a figure that replace the declared ones.

    A `key` begins another figure.
    """

    title: str = ""
    alt: str = ""
    tables: tuple[str, ...] = ()
    key: str = ""


# A panel, a part of the caption (ignored if empty or False), or other texts.
Part = Panel | Instead | str | bool
DECLARED = {
    key: Declared(**given)
    for key, given in tomllib.loads(
        files("analysis.report").joinpath("figures.toml").read_text(encoding="utf-8")
    ).items()
}
# Functions that draw the declared figures, by key.
DRAWN: dict[str, Callable[..., list[Figure]]] = {}


def figure(
    key: str,
) -> Callable[[Callable[..., Iterable[Part]]], Callable[..., list[Figure]]]:
    """Decorate a generator of a declared figure's parts to return the figures.

    Its parameters name the tables that it draws; rows come from the first.
    """

    def decorated(draw: Callable[..., Iterable[Part]]) -> Callable[..., list[Figure]]:
        first = next(iter(signature(draw).parameters))
        tables = () if first == "cells" else (first,)

        @wraps(draw)
        def drawn(*given: Any, **further: Any) -> list[Figure]:
            groups: dict[str, list[Part]] = {key: []}
            current = key
            for part in draw(*given, **further):
                current = part.key or current if isinstance(part, Instead) else current
                groups.setdefault(current, []).append(part)
            made = (_figure(name, key, own, tables) for name, own in groups.items())
            return [one for one in made if one is not None]

        DRAWN[key] = drawn
        return drawn

    return decorated


def _figure(
    key: str, declared: str, parts: Iterable[Part], tables: tuple[str, ...]
) -> Figure | None:
    """Return the figure of some parts, or nothing without a panel."""
    look, texts = DECLARED[declared], Instead()
    drawn: list[Panel] = []
    caption = [_(look.caption)] if look.caption else []
    for part in parts:
        if isinstance(part, Panel):
            drawn.append(part)
        elif isinstance(part, Instead):
            texts = part
        elif part:
            caption.append(str(part))
    if not drawn:
        return None
    n, total = look.panels, len(drawn)
    if look.names_cut and n and total > n:
        caption.append(
            _("The first {n} of {total} panels are drawn.", n=n, total=total)
        )
    words = [panel.words for panel in drawn if panel.words][: look.words]
    alt = [texts.alt or _(look.alt)]
    alt += [listed(words, SEMICOLON)] if words else []
    return Figure(
        key,
        texts.title or _(look.title),
        listed(caption, SPACE),
        _("{text}.", text=listed(alt, SPACE)),
        tuple(drawn[:n]),
        look.width,
        texts.tables or tables,
        look.section,
    )


def grouped(
    rows: pd.DataFrame, column: str = "question"
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Return the rows of each question, or of another column, by name."""
    for name, own in rows.groupby(column, sort=True):
        yield str(name), own


# Names and numbers --------------------------------------------------------------------


def as_text(name: object) -> str:
    """Return a name that plotly draws as text, not as markup."""
    return html.escape(str(name), quote=False)


def short(name: object, length: int = LONGEST_NAME) -> str:
    """Return a name as plotly draws it, a long one without its middle.

    >>> short("a name of twenty-two signs", 12)
    'a name…signs'
    """
    text = str(name)
    if len(text) > length:
        half = length // 2
        text = f"{text[:half]}…{text[half + 1 - length :]}"
    return as_text(text)


def values(column: Iterable[Any]) -> list[float | None]:
    """Return numbers with the digits of a figure; None for missing ones."""
    numbers = pd.to_numeric(pd.Series(list(column)), errors="coerce").to_numpy(float)
    return [None if x != x else float(f"{x:.{DIGITS}g}") + 0.0 for x in numbers]


def best_first(
    rows: pd.DataFrame, value: str = "value", name: str = "metric"
) -> pd.DataFrame:
    """Return the rows of one panel, the highest on top, equal ones by name."""
    return rows.sort_values([value, name], ascending=[False, True]).head(MOST_ROWS)


def best_values(rows: pd.DataFrame, names: str, value: str = "value") -> str:
    """Return names with their values, best first, as an alternative text.

    >>> best_values(pd.DataFrame({"m": ["a", "b"], "value": [0.1, 0.5]}), "m")
    'b 0.5, a 0.1'
    """
    known = rows.dropna(subset=[value])
    known = known.sort_values(value, ascending=False, kind="stable")
    first = known[:MOST_NAMED]
    pairs = zip(first[names], first[value], strict=True)
    text = listed(f"{name} {float(x):.3g}" for name, x in pairs)
    rest = len(known) - MOST_NAMED
    return _("{names} and {n} more", names=text, n=rest) if rest > 0 else text
