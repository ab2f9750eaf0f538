"""The page of a report: what its templates are given, and what a browser may run."""

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
from analysis.report.sections import Said, first_of_each, opening_figure, sections_of
from analysis.report.tables import listed_tables
from analysis.report.uncertainty import (
    by_answers,
    by_error,
    resampled_units,
    units_drawn,
)
from analysis.report.verdict_grid import Grid, verdict_grids
from analysis.result_tables.contract import Analysis
from analysis.statistics import TABLES, coefficients

# What templates say beside messages: see `analysis.report.language`.
SPOKEN = ("counted", "listed", "remark", "current")
# How it was computed, whole, in each language.
METHODS = {"en": "methods.html", "zh-Hans": "methods.zh-Hans.html"}
# Addresses of pages, and of those on the host that the report comes from.
BEGINNINGS = ("https://", "http://", "/")
NAMED = re.compile(r"\{([^{}]*)\}")
PLACEHOLDERS = {"story", "method"}
# How plotly's source sets the text of a style element.
STYLE_TEXT = re.compile(r"\.textContent='((?:[^'\\]|\\.)*)'")
# What formulas are made of: quoted words, letters, digits, signs.
TOKEN = re.compile(r'"[^"]*"|[^\W\d_]+|\d+|\S')
# What has its bounds below and above instead of behind.
BOUNDED = tuple('∑∏"')
SCRIPTS = {
    "_": ("msub", "munder"),
    "^": ("msup", "mover"),
    "_^": ("msubsup", "munderover"),
}


@cache
def templates() -> Environment:
    """Return the templates of the page, each compiled once a process."""
    found = Environment(
        loader=PackageLoader("analysis.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    spoken = language.gettext, language.ngettext
    found.install_gettext_callables(*spoken, newstyle=False)  # type: ignore[attr-defined]
    found.globals |= {name: getattr(language, name) for name in SPOKEN}
    found.globals |= {"math": math, "display": partial(math, display=True)}
    found.globals["address_of_output"] = address
    return found


def plotly_source() -> str:
    """Return plotly.js, to be placed into a page once."""
    source: str = get_plotlyjs()
    return source


def as_html(
    analysis: Analysis,
    title: str,
    run: pd.DataFrame,
    shown: Mapping[str, pd.DataFrame],
    drawn: list[Figure],
    said: Said,
    images_note: str,
    story_link: str,
) -> str:
    """Return the whole page; it needs nothing else to be read.

    `shown` are the tables with titles for keys.
    """
    values = dict(zip(run["key"], run["value"], strict=True))
    units, errors = resampled_units(analysis), by_error(analysis)
    answers = by_answers(analysis)
    grids: list[Grid] = []
    if "verdicts" in shown:
        grids = verdict_grids(shown["verdicts"])
    first, further = first_of_each(said.verdicts)
    sections = dict(said.sections)
    opening = opening_figure(drawn) if said.methods and not grids else None
    if grids or not said.methods:
        sections["methods"] = (*said.methods, *sections.get("methods", ()))
    below = [figure for figure in drawn if figure is not opening]
    computed = _computed(analysis) | {"by_error": errors, "by_answers": answers}
    weight = sum(one.weight for one in grids) + sum(one.weight for one in drawn)
    page = (
        templates()
        .get_template("report.html")
        .render(
            title=language.gettext(title),
            run=values,
            verdicts=first,
            further=further,
            methods_said=() if grids else said.methods,
            opening=opening,
            warnings=said.warnings,
            grids=grids,
            notes=analysis.notes,
            date=values["date"].replace("T", " ").replace("+00:00", " UTC"),
            drawn=units,
            clusters=units_drawn(analysis),
            sections=sections_of(sections, below, has_metrics=computed["metrics"]),
            figures=drawn,
            plotly=plotly_source() if drawn else "",
            asked=checklist.answers(
                shown, analysis.notes, values, units, errors, answers
            ),
            tables=listed_tables({**analysis.tables, "run": run}, weight),
            computed=computed,
            computed_how=METHODS[language.current()],
            images_note=images_note,
            story_link=story_link,
            version=release(),
        )
    )
    # Indentation is a fifth of what a page with many metrics shows.
    head, script, rest = page.partition("<script>")
    return re.sub(r"\n\s+", "\n", head) + script + rest


def _computed(analysis: Analysis) -> dict[str, Any]:
    """Return what the methods section speaks of: tables, and what is in them."""
    tables = analysis.tables
    found: dict[str, Any] = {name: len(tables.get(name, ())) > 0 for name in TABLES}
    of_metrics = (one["metric"] for one in tables.values() if "metric" in one)
    found["metrics"] = any(bool(x.fillna("").ne("").any()) for x in of_metrics)
    found["cells"] = len(analysis.cells) > 0 or found["method_means"]
    for key, table, column in (
        ("sources", "pairwise_accuracy", "source"),
        ("statistics", "agreement", "statistic"),
    ):
        found[key] = set(tables[table][column]) if found[table] else set()
    found["levels"], found["coefficients"] = set(), []
    if found["correlations"]:
        known = tables["correlations"]
        found["levels"] = set(known.dropna(subset="value")["level"])
        computed = set(known["coefficient"])
        every = [one for one in coefficients().values() if one.key in computed]
        found["coefficients"] = sorted(every, key=lambda one: not one.formula)
    found["ordinal"] = "alpha_ordinal" in found["statistics"]
    of_people = analysis.resampled.get("agreement", ())
    found["by_annotators"] = "annotators" in of_people
    found["many_values"] = bool(of_people) and found["ordinal"]
    return found


# Formulas -----------------------------------------------------------------------------


def math(text: str, *, display: bool = False) -> Markup:
    """Return a formula as MathML, from text that reads like it.

    >>> print(math("a_1 = 2"))
    <math><msub><mi>a</mi><mn>1</mn></msub><mo>=</mo><mn>2</mn></math>
    """
    attribute = ' display="block"' if display else ""
    items = "".join(_items(TOKEN.findall(text)))
    return Markup(f"<math{attribute}>{items}</math>" if text else "")


def _items(tokens: list[str]) -> list[str]:
    """Take what stands before a closing brace, or the end."""
    found = []
    while tokens and tokens[0] != "}":
        found.append(_scripted(tokens))
    return found


def _scripted(tokens: list[str]) -> str:
    """Take one thing with what is set low and high."""
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
    """Refuse what is no address of a page, or names no story; an empty one is none."""
    if not template:
        return
    problem = f"--story-link: {template!r}: expected"
    if not template.startswith(BEGINNINGS):
        raise OptionError(
            f"{problem} an address that begins with https://, http:// or /"
        )
    named = set(NAMED.findall(template))
    if "story" not in named:
        raise OptionError(f"{problem} {{story}} in it, where the story's name goes")
    for name in sorted(named - PLACEHOLDERS):
        raise OptionError(f"{problem} {{story}} or {{method}}, not {{{name}}}")


def address(template: str, story: str, method: str) -> str:
    """Return the address of an output; its names stand in it by percent signs.

    >>> address("/stories/{story}#{method}", "a/b", "GPT 4&o")
    '/stories/a%2Fb#GPT%204%26o'
    """
    known = {"story": story, "method": method}
    return NAMED.sub(lambda found: quote(known[found[1]], safe=""), template)


def content_security_policy(html: str) -> str:
    """Return the strictest policy under which this page works.

    Scripts and styles run only if their text is one of the page's own, by hash. plotly
    adds an empty style element and fills it through the object model, which the hash
    of the empty text admits, and one whose text stands in its source; it also sets
    style attributes on what it draws.
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
