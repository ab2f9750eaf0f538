"""The Chinese catalogues: found in the sources, kept in .po files, compiled by Babel.

Babel does the work of GNU gettext, so that no system package is needed.
`make messages` runs this module: new texts appear in the .po files untranslated, texts
that are gone leave them, and the compiled catalogues are written beside them. One
catalogue is of pages, the other of the reports that the library writes.
"""

import ast
import io
import sys
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract, extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize
from jinja2.ext import babel_extract

from analysis.options import DOES, title
from analysis.sentences import counted
from analysis.statistics import TABLE_GROUPS, TABLES, coefficients, named
from evalcore.metrics import registry

ROOT = Path(__file__).resolve().parent.parent
PO = ROOT / "annotate" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
REPORT_PO = ROOT / "analysis" / "report" / "locale" / "zh_Hans/LC_MESSAGES/report.po"
# A date that never changes keeps the file free of noise.
FIXED_DATE = datetime(2025, 1, 1, tzinfo=UTC)
SOURCES = ("annotate", "annotate/reports", "evalcore", "fixtures")
KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "gettext_noop": None,
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
# What the library says: in sentences alone, and in the texts of its reports.
SENTENCES = {"sentence": None, "chained": None, "counted": (1, 2)}
REPORT_KEYWORDS = SENTENCES | {"_": None, "gettext_noop": None}


def find_messages() -> Catalog:
    """Return every text that pages and views mark for translation."""
    catalogue = Catalog(locale="zh_Hans", domain="django", fuzzy=False)
    kinds = (ROOT / "annotate" / "kinds").rglob("*.html")
    for path in sorted([*(ROOT / "templates").rglob("*.html"), *kinds]):
        # Indentation means something to the reader of Python that looks for the texts.
        lines = templatize(path.read_text(encoding="utf-8")).splitlines()
        source = "\n".join(line.strip() for line in lines)
        found = extract("python", io.BytesIO(source.encode()), keywords=KEYWORDS)
        _add(catalogue, found)
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            _add(catalogue, extract_from_file("python", path, KEYWORDS))
    for text in metric_texts():
        catalogue.add(text)
    return catalogue


def find_report_messages() -> Catalog:
    """Return every text that reports say, and what the library tells in sentences."""
    catalogue = Catalog(locale="zh_Hans", domain="report", fuzzy=False)
    report = ROOT / "analysis" / "report"
    for path in sorted((ROOT / "analysis").rglob("*.py")):
        _add(catalogue, extract_from_file(extract_calls, path, REPORT_KEYWORDS))  # type: ignore[arg-type]
    for path in sorted((ROOT / "annotate" / "reports").rglob("*.py")):
        _add(catalogue, extract_from_file(extract_calls, path, SENTENCES))  # type: ignore[arg-type]
    for path in sorted((report / "templates").iterdir()):
        _add(catalogue, extract_from_file(babel_extract, path, {"_": None}))  # type: ignore[arg-type]
        for noun in extract_from_file(babel_extract, path, {"counted": (2,)}):  # type: ignore[arg-type]
            catalogue.add(_of_noun(str(noun[1])))
    for path in (report / "words.toml", report / "figures.toml"):
        tables = [*tomllib.loads(path.read_text(encoding="utf-8")).values()]
        texts = [t for one in tables for key, t in one.items() if key != "section"]
        texts += [
            one["look"]["axis"] for one in tables if "axis" in one.get("look", {})
        ]
        _add(catalogue, ((0, x, [], None) for x in texts if isinstance(x, str)))
    for text in declared_texts() - {""}:
        catalogue.add(text)
    return catalogue


def declared_texts() -> set[str]:
    """Return what tables, statistics and the reports of commands are called."""
    names = {text for key in ("name", "title", "asked") for text in named(key).values()}
    names |= {one.explained for one in coefficients().values()}
    names |= set(TABLE_GROUPS) | {table.title for table in TABLES.values()}
    return names | {title(name) for name in DOES} | {title("align", with_metrics=False)}


def extract_calls(
    file: IO[bytes],
    keywords: Collection[str],
    tags: Collection[str],
    options: object,
) -> Iterator[tuple[int, str, str | tuple[str, str], list[str]]]:
    """Extract messages for Babel from calls, of both branches of a condition, too."""
    for call in ast.walk(ast.parse(file.read())):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if name not in keywords:
            continue
        texts = [*map(_texts, call.args), [], []]
        first, second, others = texts[0], texts[1], texts[2:]
        found: Iterable[str | tuple[str, str]] = first
        if name == "counted":
            found = [_of_noun(noun, *(others[0] if others else [])) for noun in second]
        yield from ((call.lineno, name, message, []) for message in found)


def _of_noun(noun: str, plural: str = "") -> tuple[str, str]:
    one, many = (counted(n, noun, plural)[1:] for n in (1, 2))
    return f"{{n}}{one}", f"{{n}}{many}"


def _texts(node: ast.expr) -> list[str]:
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body), *_texts(node.orelse)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    return []


def metric_texts() -> list[str]:
    """Return the texts that describe metrics.

    Metrics know nothing of translation; pages translate these texts.
    """
    infos = [registry.load(name).info for name in registry.names()]
    return list(
        dict.fromkeys(
            text
            for info in infos
            for text in (
                info.title,
                info.measures,
                info.source,
                registry.import_only(info.name),
            )
            if text
        )
    )


def _add(catalogue: Catalog, found: Iterable[tuple[Any, ...]]) -> None:
    for _line, message, _comments, context in found:
        catalogue.add(message, context=context)


def read(path: Path = PO) -> Catalog:
    with path.open("rb") as stream:
        return read_po(stream, locale="zh_Hans", domain=path.stem)


def update(path: Path, find: Callable[[], Catalog]) -> Catalog:
    """Bring a .po file up to date with the sources and return it."""
    stored = (
        read(path) if path.is_file() else Catalog(locale="zh_Hans", domain=path.stem)
    )
    stored.update(find(), no_fuzzy_matching=True)
    stored.obsolete.clear()
    stored.fuzzy = False
    stored.header_comment = "# Plumbline in Chinese. `make messages` keeps this file."
    stored.project, stored.version = "Plumbline", "1"
    stored.creation_date = stored.revision_date = FIXED_DATE
    buffer = io.BytesIO()
    write_po(buffer, stored, sort_output=True, width=88, no_location=True)
    path.write_bytes(buffer.getvalue())
    return stored


def compile_catalogue(path: Path) -> None:
    buffer = io.BytesIO()
    write_mo(buffer, read(path))
    path.with_suffix(".mo").write_bytes(buffer.getvalue())


def missing(catalogue: Catalog) -> list[str]:
    """Return the texts without a translation."""
    return [
        str(message.id)
        for message in catalogue
        if message.id and not all(_forms(message.string))
    ]


def _forms(string: str | Sequence[str] | None) -> Sequence[str]:
    return (string or "",) if isinstance(string, str | None) else string


CATALOGUES = {PO: find_messages, REPORT_PO: find_report_messages}

if __name__ == "__main__":
    for path, find in CATALOGUES.items():
        if "--compile-only" not in sys.argv:
            for text in missing(update(path, find)):
                print(f"not translated yet: {text}")
        compile_catalogue(path)
