"""The page of a report: its templates, and the policy for browsers."""

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache, partial
from typing import Any
from urllib.parse import quote

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from analysis.options import OptionError, release
from analysis.report import checklist, language
from analysis.report.figure import Figure
from analysis.report.sections import (
    Findings,
    opened,
    opening_figure,
    sample_line,
    sections_of,
)
from analysis.report.tables import listed_tables
from analysis.report.uncertainty import interval_sources, units_drawn
from analysis.report.verdict_grid import Grid, verdict_grids
from analysis.report.wording import word
from analysis.result_tables.contract import Analysis
from analysis.statistics import TABLES, coefficients

# Functions of `analysis.report.language` that templates use beside `gettext`.
SPOKEN = ("counted", "listed", "remark", "current")
# The methods section in each language.
METHODS = {"en": "methods.html", "zh-Hans": "methods.zh-Hans.html"}
# Beginnings of addresses: of any page, or of the host that serves the report.
BEGINNINGS = ("https://", "http://", "/")
NAMED = re.compile(r"\{([^{}]*)\}")
PLACEHOLDERS = {"story", "method"}
# The text of a style element in plotly's source.
STYLE_TEXT = re.compile(r"\.textContent='((?:[^'\\]|\\.)*)'")
# Tokens of formulas: quoted words, letters, digits, signs.
TOKEN = re.compile(r'"[^"]*"|[^\W\d_]+|\d+|\S')
# Operators with their bounds below and above.
BOUNDED = tuple('∑∏"')
SCRIPTS = {
    "_": ("msub", "munder"),
    "^": ("msup", "mover"),
    "_^": ("msubsup", "munderover"),
}


@cache
def templates() -> Environment:
    """Return the templates of the page, compiled once in each process."""
    environment = Environment(
        loader=PackageLoader("analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {name: getattr(language, name) for name in SPOKEN}
    environment.globals |= {"math": math, "display": partial(math, display=True)}
    environment.globals |= {"_": language.gettext, "address_of_output": address}
    return environment


def plotly_source() -> str:
    """Return the source of plotly.js."""
    source: str = get_plotlyjs()
    return source


def as_html(
    analysis: Analysis,
    title: str,
    run: pd.DataFrame,
    shown: Mapping[str, pd.DataFrame],
    drawn: list[Figure],
    findings: Findings,
    images_note: str,
    story_link: str,
) -> str:
    """Return the whole page, which needs no other file.

    `shown` are the tables with titles in place of keys.
    """
    values = dict(zip(run["key"], run["value"], strict=True))
    sources = interval_sources(analysis)
    grids: list[Grid] = []
    if "verdicts" in shown:
        grids = verdict_grids(shown)
    first, further = opened(findings.verdicts)
    sections = dict(findings.sections)
    opening = opening_figure(drawn) if findings.methods and not grids else None
    if grids or not findings.methods:
        sections["methods"] = (*findings.methods, *sections.get("methods", ()))
    below = [figure for figure in drawn if figure is not opening]
    computed = _computed(analysis)
    weight = sum(one.weight for one in grids) + sum(one.weight for one in drawn)
    page = (
        templates()
        .get_template("report.html")
        .render(
            title=language.gettext(title),
            run=values,
            sample=sample_line(shown, analysis.judged),
            verdicts=first,
            further=further,
            uses={word("uses", k): own for k, own in findings.uses.items() if own},
            of_methods=() if grids else findings.methods,
            opening=opening,
            warnings=findings.warnings,
            grids=grids,
            notes=analysis.notes,
            date=values["date"].replace("T", " ").replace("+00:00", " UTC"),
            intervals=sources,
            clusters=units_drawn(analysis),
            sections=sections_of(sections, below, has_metrics=computed["metrics"]),
            figures=drawn,
            plotly=plotly_source() if drawn else "",
            asked=checklist.answers(shown, analysis.notes, values, sources),
            tables=listed_tables({**analysis.tables, "run": run}, weight),
            computed=computed,
            computed_how=METHODS[language.current()],
            images_note=images_note,
            story_link=story_link,
            version=release(),
        )
    )
    # Indentation is a fifth of a page with many metrics.
    head, script, rest = page.partition("<script>")
    return re.sub(r"\n\s+", "\n", head) + script + rest


def _computed(analysis: Analysis) -> dict[str, Any]:
    """Return the tables and statistics that the methods section describes."""
    tables = analysis.tables
    features: dict[str, Any] = {name: len(tables.get(name, ())) > 0 for name in TABLES}
    of_metrics = (one["metric"] for one in tables.values() if "metric" in one)
    features["metrics"] = any(bool(x.fillna("").ne("").any()) for x in of_metrics)
    features["cells"] = len(analysis.cells) > 0 or features["method_means"]
    for key, table, column in (
        ("sources", "pairwise_accuracy", "source"),
        ("statistics", "agreement", "statistic"),
    ):
        features[key] = set(tables[table][column]) if features[table] else set()
    features["levels"], features["coefficients"] = set(), []
    if features["correlations"]:
        known = tables["correlations"]
        features["levels"] = set(known.dropna(subset="value")["level"])
        computed = set(known["coefficient"])
        every = [one for one in coefficients().values() if one.key in computed]
        features["coefficients"] = sorted(every, key=lambda one: not one.formula)
    features["ordinal"] = "alpha_ordinal" in features["statistics"]
    of_people = analysis.resampled.get("agreement", ())
    features["by_annotators"] = "annotators" in of_people
    features["many_values"] = bool(of_people) and features["ordinal"]
    return features


# Formulas -----------------------------------------------------------------------------


def math(text: str, *, display: bool = False) -> Markup:
    """Return a formula as MathML, from a text in a simple notation.

    >>> print(math("a_1 = 2"))
    <math><msub><mi>a</mi><mn>1</mn></msub><mo>=</mo><mn>2</mn></math>
    """
    attribute = ' display="block"' if display else ""
    items = "".join(_items(TOKEN.findall(text)))
    return Markup(f"<math{attribute}>{items}</math>" if text else "")


def _items(tokens: list[str]) -> list[str]:
    """Parse items up to a closing brace, or to the end."""
    items = []
    while tokens and tokens[0] != "}":
        items.append(_scripted(tokens))
    return items


def _scripted(tokens: list[str]) -> str:
    """Parse one item with its subscript and superscript."""
    is_bounded = tokens[0].startswith(BOUNDED)
    parts, signs = [_one(tokens)], ""
    while tokens and tokens[0] in ("_", "^"):
        signs += tokens.pop(0)
        parts.append(_one(tokens))
    return _tag(SCRIPTS[signs][is_bounded], *parts) if signs else parts[0]


def _one(tokens: list[str]) -> str:
    token = tokens.pop(0)
    if token == "{":
        items = _items(tokens)
        tokens.pop(0)
        return items[0] if len(items) == 1 else _tag("mrow", *items)
    if token == "frac":
        return _tag("mfrac", _one(tokens), _one(tokens))
    if token == "sqrt":
        return _tag("msqrt", _one(tokens))
    if token == "bar":
        return _tag("mover", _one(tokens), _tag("mo", "¯"))
    if token.startswith('"'):
        return _tag("mtext", Markup.escape(token.strip('"')))
    kind = "mi" if token.isalpha() else "mn" if token.isdigit() else "mo"
    return _tag(kind, Markup.escape(token))


def _tag(name: str, *parts: str) -> str:
    return f"<{name}>{''.join(parts)}</{name}>"


# What a browser may do ----------------------------------------------------------------


def check_story_link(template: str) -> None:
    """Raise an error if a template is not an address with a story; it may be empty."""
    if not template:
        return
    problem = f"--story-link: {template!r}: expected"
    if not template.startswith(BEGINNINGS):
        raise OptionError(
            f"{problem} an address that begins with https://, http:// or /"
        )
    named = set(NAMED.findall(template))
    if "story" not in named:
        raise OptionError(f"{problem} {{story}} in place of the story's name")
    for name in sorted(named - PLACEHOLDERS):
        raise OptionError(f"{problem} {{story}} or {{method}}, not {{{name}}}")


def address(template: str, story: str, method: str) -> str:
    """Return the address of an output, its names percent-encoded.

    >>> address("/stories/{story}#{method}", "a/b", "GPT 4&o")
    '/stories/a%2Fb#GPT%204%26o'
    """
    known = {"story": story, "method": method}
    return NAMED.sub(lambda name: quote(known[name[1]], safe=""), template)


def content_security_policy(html: str) -> str:
    """Return the strictest content security policy under which this page works.

    Scripts and styles are admitted by hash. plotly adds an empty style element, which
    it fills through the object model, and one whose text is in its source; it also sets
    style attributes on its drawings.
    """
    scripts = re.findall(r"<script>(.*?)</script>", html, re.S)
    styles = re.findall(r"<style>(.*?)</style>", html, re.S)
    styles += [*STYLE_TEXT.findall(html), ""]
    return "; ".join(
        [
            "default-src 'none'",
            "img-src data: blob:",
            f"script-src {' '.join(map(_hash, scripts))}",
            f"style-src-elem {' '.join(map(_hash, styles))}",
            "style-src-attr 'unsafe-inline'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
