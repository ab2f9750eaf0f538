"""Figures as files: one headless start of Chromium draws them all.

plotly draws in a browser only. A page with all figures is opened without a window, and
what it made is read from its document: no other program and no server is needed.
"""

import base64
import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from xml.etree.ElementTree import canonicalize

from analysis.options import check_known
from analysis.report import language
from analysis.report.figure import Figure
from analysis.report.page import plotly_source, templates

KINDS = ("svg", "png")
# The names under which Chromium is installed; the first that is found is taken.
BROWSERS = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
]
# Figures of one report take seconds; a browser that hangs is ended after this many.
PATIENCE = 180
FOUND = re.compile(r'<pre id="images">(.*?)</pre>', re.S)
# Where a page names its figures, which are the names of their files.
NAMED = re.compile(r'<figure id="figure-([a-z0-9-]+)"')


def browser() -> str | None:
    """Return the path of Chromium, or None where there is none."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def write_images(drawn: list[Figure], folder: Path, kind: str) -> str:
    """Write every figure as a file and say where they lie, or why there are none.

    The sentence, for the page, is empty if `kind`, ``"svg"`` or ``"png"``, is empty.
    Two runs on one machine write the same bytes.
    """
    if not kind:
        return ""
    check_known("--images", (kind,), KINDS)
    if not drawn:
        return language.say("There is no figure to write as a file.")
    path = browser()
    images = path and draw(drawn, kind, path)
    if not images:
        return language.say(
            "Figures were not written as files: Chromium did not draw them. Each can "
            "be saved from this page."
            if path
            else "Figures were not written as files: Chromium was not found. Each can "
            "be saved from this page."
        )
    folder.mkdir()
    for key, content in images.items():
        (folder / f"{key}.{kind}").write_bytes(content)
    return language.say("Every figure lies in figures/ as {kind}.", kind=kind.upper())


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
            # The page's own time: what waits for a timer does not wait at all.
            "--virtual-time-budget=600000",
            "--dump-dom",
            file.as_uri(),
        ]
        if os.name == "posix" and os.geteuid() == 0:
            # Chromium's sandbox does not start for root; the page is our own.
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
    """Return the bytes of a file; a drawing with its attributes in one order."""
    if value.startswith("data:"):
        return base64.b64decode(value.partition(",")[2])
    return f"{canonicalize(value)}\n".encode()


def remove_images(out: Path) -> None:
    """Remove the images of an older report, as its page names them, and no others."""
    folder, page = out / "figures", out / "report.html"
    if not folder.is_dir() or not page.is_file():
        return
    for key in NAMED.findall(page.read_text(encoding="utf-8", errors="replace")):
        for kind in KINDS:
            (folder / f"{key}.{kind}").unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()
