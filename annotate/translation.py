"""The Chinese catalogue: found in the sources, kept in a .po file, compiled by Babel.

Babel does the work of GNU gettext, so that no system package is needed.
`make messages` runs this module: new texts appear in the .po file untranslated, texts
that are gone leave it, and the compiled catalogue is written beside it.
"""

import io
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract, extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from evalcore.metrics import registry

ROOT = Path(__file__).resolve().parent.parent
PO = ROOT / "annotate" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
MO = PO.with_suffix(".mo")
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


def find_messages() -> Catalog:
    """Return every text that pages and views mark for translation."""
    catalogue = Catalog(locale="zh_Hans", domain="django", fuzzy=False)
    kinds = (ROOT / "annotate" / "kinds").rglob("*.html")
    for path in sorted([*(ROOT / "templates").rglob("*.html"), *kinds]):
        # Indentation means something to the reader of Python that looks for the texts.
        lines = templatize(path.read_text(encoding="utf-8")).splitlines()
        source = "\n".join(line.strip() for line in lines)
        found = extract("python", io.BytesIO(source.encode()), keywords=KEYWORDS)
        _add(catalogue, path, found)
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            _add(catalogue, path, extract_from_file("python", path, KEYWORDS))
    for text in metric_texts():
        catalogue.add(text, locations=[("evalcore/metrics", None)])  # type: ignore[list-item] # no line
    return catalogue


def metric_texts() -> list[str]:
    """Return what metrics say of themselves.

    They know nothing of translation; pages translate what they say.
    """
    infos = [registry.load(name).info for name in registry.names()]
    return list(
        dict.fromkeys(
            text for info in infos for text in (info.title, info.measures, info.source)
        )
    )


def _add(catalogue: Catalog, path: Path, found: Iterable[tuple[Any, ...]]) -> None:
    for _line, message, _comments, context in found:
        name = path.relative_to(ROOT).as_posix()
        catalogue.add(message, locations=[(name, None)], context=context)  # type: ignore[list-item] # no line


def read() -> Catalog:
    with PO.open("rb") as stream:
        return read_po(stream, locale="zh_Hans", domain="django")


def update() -> Catalog:
    """Bring the .po file up to date with the sources and return it."""
    stored = read() if PO.is_file() else Catalog(locale="zh_Hans", domain="django")
    stored.update(find_messages(), no_fuzzy_matching=True)
    stored.obsolete.clear()
    stored.fuzzy = False
    stored.header_comment = "# Plumbline in Chinese. `make messages` keeps this file."
    stored.project, stored.version = "Plumbline", "1"
    stored.creation_date = stored.revision_date = FIXED_DATE
    buffer = io.BytesIO()
    write_po(buffer, stored, omit_header=False, sort_output=True, width=88)
    PO.write_bytes(buffer.getvalue())
    return stored


def compile_catalogue() -> None:
    buffer = io.BytesIO()
    write_mo(buffer, read())
    MO.write_bytes(buffer.getvalue())


def missing(catalogue: Catalog) -> list[str]:
    """Return the texts without a translation."""
    return [
        str(message.id)
        for message in catalogue
        if message.id and not all(_forms(message.string))
    ]


def _forms(string: str | Sequence[str] | None) -> Sequence[str]:
    return (string or "",) if isinstance(string, str | None) else string


if __name__ == "__main__":
    if "--compile-only" not in sys.argv:
        for text in missing(update()):
            print(f"not translated yet: {text}")
    compile_catalogue()
