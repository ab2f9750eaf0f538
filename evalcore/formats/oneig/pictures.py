"""Folders of OneIG's pictures: `<class>/<method>/<id>.webp`, a file for each prompt.

A file is one picture or a grid of several. What follows the id in its name is ignored,
as by OneIG's programs: `000_seed7.png` belongs to prompt `000`.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from evalcore.formats.oneig.stories import CLASSES

FORM = "oneig"
SHOT = 1  # The only shot of a prompt.
NUMBER = re.compile(r"\d+")


def method_first(
    parts: Sequence[str], stories: Collection[str], form: str = ""
) -> list[str]:
    """Return folder names with the method before the class.

    They are turned round if the first names a class that prompts of the benchmark have,
    or if the user says that the folder is OneIG's.

    >>> method_first(["anime", "Kolors"], {"anime_000"})
    ['Kolors', 'anime']
    >>> method_first(["anime", "01"], {"01"}), method_first(["text", "a_0"], {"a_0"})
    (['anime', '01'], ['text', 'a_0'])
    """
    if len(parts) != 2 or parts[1] in stories or not _is_class(parts[0], stories, form):
        return list(parts)
    return [parts[1], parts[0]]


def by_prompt(
    pictures: Iterable[Path],
    parts: Sequence[str],
    stories: Collection[str],
    form: str = "",
) -> list[tuple[str, Path]]:
    """Return each picture with the story that folder and file name together name.

    `parts` are the folders below the method's.
    """
    if len(parts) != 1 or not _is_class(parts[0], stories, form):
        return []
    return [(_key(parts[0], picture.stem, stories), picture) for picture in pictures]


def _is_class(name: str, stories: Collection[str], form: str) -> bool:
    if name not in CLASSES.values() or name in stories:
        return False
    return form == FORM or any(key.startswith(f"{name}_") for key in stories)


def _key(item: str, stem: str, stories: Collection[str]) -> str:
    number = NUMBER.match(stem)
    if f"{item}_{stem}" in stories or not number:
        return f"{item}_{stem}"
    return f"{item}_{number[0]}"
