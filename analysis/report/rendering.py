"""Figures as image files and in notebooks.

plotly draws in a browser only: headless Chromium opens a page with all figures, and
the images are read from its document, without a server.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import canonicalize

from analysis.options import check_known
from analysis.report.figure import Figure, Panel, as_text
from analysis.report.language import gettext as _
from analysis.report.page import plotly_source, templates

if TYPE_CHECKING:
    import plotly.graph_objects as go

KINDS = ("svg", "png")
# Names of Chromium's program, in order of preference.
BROWSERS = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
]
# Figures take seconds; a browser that hangs is ended after this many.
PATIENCE = 180
FOUND = re.compile(r'<pre id="images">(.*?)</pre>', re.S)
# The names of figures in a page, which are those of their files.
NAMED = re.compile(r'<figure id="figure-([a-z0-9-]+)"')
# Layout of single panels, not of the whole figure.
OWN = {"xaxis", "yaxis", "yaxis2", "shapes", "annotations"}
OWN |= {"margin", "legend", "showlegend"}
LEGEND = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0}
# Pixels between panels, for an axis and a title.
BETWEEN = 110


def browser() -> str | None:
    """Return the path of Chromium, or None if it is not installed."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def write_images(drawn: list[Figure], folder: Path, kind: str) -> str:
    """Write every figure as a file, and return a sentence on them for the page.

    `kind` is ``"svg"`` or ``"png"``; if it is empty, nothing is written or returned.
    Two runs on one machine write the same bytes.
    """
    if not kind:
        return ""
    check_known("--images", (kind,), KINDS)
    if not drawn:
        return _("This report has no figures to write as files.")
    path = browser()
    images = path and draw(drawn, kind, path)
    if not images:
        return _(
            "Figures were not written as files: Chromium did not draw them. You can "
            "save each one from this page."
            if path
            else "Figures were not written as files: Chromium was not found. You can "
            "save each one from this page."
        )
    folder.mkdir()
    for key, content in images.items():
        (folder / f"{key}.{kind}").write_bytes(content)
    return _("All figures are in figures/ as {kind}.", kind=kind.upper())


def draw(drawn: list[Figure], kind: str, path: str) -> dict[str, bytes] | None:
    """Return the figures as files by key; None if the browser fails."""
    page = (
        templates()
        .get_template("images.html")
        .render(figures=drawn, plotly=plotly_source(), kind=kind)
    )
    with tempfile.TemporaryDirectory(
        prefix="figures-", ignore_cleanup_errors=True
    ) as name:
        file = Path(name) / "images.html"
        file.write_text(page, encoding="utf-8")
        command = [
            path,
            "--headless=new",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            "--font-render-hinting=none",
            f"--user-data-dir={name}/profile",
            # Timers of the page run in virtual time, without waiting.
            "--virtual-time-budget=600000",
            "--dump-dom",
            file.as_uri(),
        ]
        if os.name == "posix" and os.geteuid() == 0:
            # Chromium's sandbox does not start for root; the page is trusted.
            command.insert(1, "--no-sandbox")
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=PATIENCE, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    text = FOUND.search(done.stdout.decode("utf-8", "replace"))
    if done.returncode or text is None or not text[1]:
        return None
    images = json.loads(html.unescape(text[1]))
    return {key: file_content(value) for key, value in images.items()}


def file_content(value: str) -> bytes:
    """Return the bytes of a file; SVG is put into canonical form."""
    if value.startswith("data:"):
        return base64.b64decode(value.partition(",")[2])
    return f"{canonicalize(value)}\n".encode()


def remove_images(out: Path) -> None:
    """Remove the images of an older report that its page names."""
    folder, page = out / "figures", out / "report.html"
    if not folder.is_dir() or not page.is_file():
        return
    for key in NAMED.findall(page.read_text(encoding="utf-8", errors="replace")):
        for kind in KINDS:
            (folder / f"{key}.{kind}").unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


# In notebooks -------------------------------------------------------------------------


def plotly_figure(panels: Sequence[Panel]) -> go.Figure:
    """Return one figure of several panels, each as high as on the page."""
    from plotly.subplots import make_subplots  # loads plotly

    heights = [panel.height for panel in panels]
    total = sum(heights) + BETWEEN * (len(panels) - 1)
    figure = make_subplots(
        rows=len(panels),
        specs=[[{"secondary_y": "yaxis2" in panel.layout}] for panel in panels],
        row_heights=heights,
        vertical_spacing=BETWEEN / total if len(panels) > 1 else 0,
        subplot_titles=[as_text(panel.title) for panel in panels],
    )
    for title in figure.layout.annotations:
        title.update(x=0, xanchor="left", yshift=14)
    named: set[str] = set()
    for row, panel in enumerate(panels, 1):
        _add(figure, panel, row, named)
    whole = {k: v for k, v in panels[0].layout.items() if k not in OWN}
    return figure.update_layout(
        **whole,
        height=total + 80,
        template="plotly_white",
        margin={"t": 80, "b": 80, "l": 20, "r": 20},
        showlegend=bool(named),
        legend=LEGEND,
    )


def _add(figure: go.Figure, panel: Panel, row: int, named: set[str]) -> None:
    """Put a panel into its row of a figure, and new names into the legend."""
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
    """Return lines and names that end at the panel, not at the figure."""
    return [
        {
            key: f"{key[0]} domain"
            if key in ("xref", "yref") and value == "paper"
            else value
            for key, value in part.items()
        }
        for part in parts
    ]
