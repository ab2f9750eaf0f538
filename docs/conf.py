"""Settings of Sphinx, which builds the documentation: `make docs`."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.writers.html5 import HTML5Translator

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

from analysis.options import VERSION  # noqa: E402

project = "Plumbline"
author = "The Plumbline authors"
release = version = VERSION
copyright = f"{datetime.now(UTC).year}, {author}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
# Other pages lie in the folders of their kind.
PAGES = ("index.md", "coverage.md")
exclude_patterns = [
    "_build",
    *(path.name for path in DOCS.glob("*.md") if path.name not in PAGES),
]
templates_path = ["_templates"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
# Blocks of code show sessions, trees and file formats that no lexer reads in full.
suppress_warnings = ["misc.highlighting_failure"]
napoleon_google_docstring = False
autodoc_member_order = "groupwise"
autodoc_typehints = "none"

highlight_language = "none"

html_theme = "furo"
html_title = f"Plumbline {VERSION}"
html_static_path = ["_static"]
html_css_files = ["plumbline.css"]
html_favicon = "../annotate/static/plumbline/icon.svg"
html_copy_source = html_show_sourcelink = False
html_use_index = html_domain_indices = False
html_permalinks_icon = "#"
html_math_renderer = "mathml"

INCLUDED = {
    "ARCHITECTURE.md": "explanation/architecture.md",
    "CHANGELOG.md": "reference/changelog.md",
}
# The product serves these pages under its own policy, which refuses both.
INLINE = re.compile(r"<style|<script(?![^>]*\ssrc=)|<[a-z][^<>]*\sstyle=")


def forbid_inline(app: Sphinx, exception: Exception | None) -> None:
    """Fail when a page holds an inline script or style."""
    if exception is None and app.builder.name == "html":
        for path in Path(app.outdir).rglob("*.html"):
            if match := INLINE.search(path.read_text("utf-8")):
                raise SphinxError(f"{path}: inline script or style: {match[0]!r}")


def name_included_pages(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Lead links to files of the project's folder to the pages that include them."""
    for name, page in INCLUDED.items():
        source[0] = source[0].replace(f"](../../{name}", f"](/{page}")


def write_inline_formula(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula as MathML, which browsers draw without scripts."""
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def write_formula(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula between paragraphs."""
    writer.body.append(tex2mathml(node.astext(), as_block=True))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register what Sphinx calls before, while and after it writes pages."""
    app.add_html_math_renderer(
        "mathml", (write_inline_formula, None), (write_formula, None)
    )
    app.connect("source-read", name_included_pages)
    app.connect("build-finished", forbid_inline)
