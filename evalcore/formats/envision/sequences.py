"""Envision's names of folders and pictures: `index_0007/index_0007_step_1.png`.

Every domain counts from 1, and the keys of its stories name it (`biology_0007`). So a
number is a story if only one has it, or if a folder on the way names the domain.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

INDEX = re.compile(r"(?:index_)?(\d{1,9})")
STEP = re.compile(r"(?:index_)?(\d{1,9})_step_\d{1,4}")
KEY = re.compile(r"(.+)_(\d{4,9})")
# What the benchmark's own files and folders have before a domain's name.
PREFIX = "envision_"
SHORTEST = 3  # letters of a domain, as in `bio`


def with_story(parts: Sequence[str], stories: Collection[str]) -> list[str]:
    """Return folder names with the story's key in place of its number.

    >>> with_story(["base", "bio", "index_0007"], {"biology_0007", "physics_0007"})
    ['base', 'biology_0007']
    >>> with_story(["index_7", "shots"], {"biology_0007"})
    ['biology_0007', 'shots']
    """
    if any(part in stories for part in parts):
        return list(parts)
    for place, part in enumerate(parts):
        number = INDEX.fullmatch(part)
        if number:
            key, domain = _key(int(number[1]), parts[:place], stories)
            if key:
                before = [p for p in parts[:place] if p != domain]
                return [*before, key, *parts[place + 1 :]]
    return list(parts)


def by_story(
    pictures: Iterable[Path], parts: Sequence[str], stories: Collection[str]
) -> tuple[dict[str, list[Path]], list[str]]:
    """Return the pictures of one folder by the story that their own names say."""
    found: dict[str, list[Path]] = defaultdict(list)
    left = list(parts)
    if not any(part in stories for part in parts):
        for picture in pictures:
            number = STEP.fullmatch(picture.stem)
            key, domain = "", ""
            if number:
                key, domain = _key(int(number[1]), parts, stories)
            if key:
                found[key].append(picture)
                left = [part for part in left if part != domain]
    return found, left


def _key(
    number: int, parts: Sequence[str], stories: Collection[str]
) -> tuple[str, str]:
    """Return the story of a number, and the folder that names its domain, if any."""
    domains = {
        match[1]: key
        for key in stories
        if (match := KEY.fullmatch(key)) and int(match[2]) == number
    }
    for part in reversed(parts):
        name = part.lower().removeprefix(PREFIX)
        named = [d for d in domains if d == name] or [
            d for d in domains if len(name) >= SHORTEST and d.startswith(name)
        ]
        if len(named) == 1:
            return domains[named[0]], part
    return (next(iter(domains.values())), "") if len(domains) == 1 else ("", "")
