"""Annotators' templates with controls marked by their place in the source.

Tests use the marks to find controls that they have not used.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from django.template.loaders import filesystem

TAG = re.compile(
    r"<(a|button|input|select|summary|textarea|video)\b(?![^>]*type=\"hidden\")"
)
LOADERS = [
    (
        "django.template.loaders.cached.Loader",
        [f"{__name__}.Marking", "django.template.loaders.app_directories.Loader"],
    )
]
# All usable elements of a page; scrollable text is not one, and keys alone use the
# cross-hair.
CONTROLS = """a, button, select, summary, textarea, input:not([type=hidden]), video,
[role=button], [tabindex="0"]:not(.sheet-script, .cross), [contenteditable]"""


def places(name: str, text: str) -> Iterator[str]:
    """Return the name of each control in a template: file, tag and number."""
    found = enumerate(TAG.finditer(text), start=1)
    return (f"{name}: {match[1]} {number}" for number, match in found)


class Marking(filesystem.Loader):
    def get_contents(self, origin) -> str:
        text = super().get_contents(origin)
        names = places(origin.template_name, text)
        return TAG.sub(lambda match: f'{match[0]} data-place="{next(names)}"', text)


def all_places(folders: Iterable[Path]) -> set[str]:
    """Return the places of all controls in annotators' templates."""
    return {
        place
        for folder in folders
        for pattern in ("rate/*.html", "_language.html")
        for file in folder.glob(pattern)
        for place in places(str(file.relative_to(folder)), file.read_text())
    }
