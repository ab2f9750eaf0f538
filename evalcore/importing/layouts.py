"""Find the rendered stories in a tree of folders, whatever its layout.

Known layouts, below the outputs' root (`[x]` may be missing):

    <method>/<mode>/<lang>/<timestamp>/<story>/[shots/]shot_01.png
    <method>/<lang>/<mode>/<timestamp>/<story>/[shots/]shot_01.png
    <method>/<mode>/<lang>/<timestamp>/shots/<story>/shot_01.png
    <method>/<dataset>_<lang>/<story>/<timestamp>/shot_01.png
    <method>/<dataset>_<lang>/<story>/[<timestamp>/]image_outputs/shot_01.png
    <method>/<story>/shot_01.png

Instead of one pattern a layout, each folder name between method and picture is
recognised for what it is: language, timestamp, folder of shots, or story. What is left
over is the mode.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp")
LANGUAGES = ("en", "ch", "zh")
TIMESTAMP = re.compile(r"\d{8}[-_]\d{6}")
SHOT_FOLDER = re.compile(r"(.*[-_ ])?shots?|image_outputs", re.IGNORECASE)
CHARACTER_FOLDER = re.compile(r"(.*[-_ ])?(chars?|characters?)", re.IGNORECASE)
DATASET_FOLDER = re.compile(r"(.+)_(en|ch|zh)")


@dataclass(frozen=True)
class FoundFolder:
    """A folder of pictures, and what its path says about them."""

    path: Path
    method: str
    mode: str
    language: str
    timestamp: str
    story: str
    pictures: tuple[Path, ...]


def picture_folders(root: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Yield every folder with pictures and its pictures, in natural order.

    Links are not followed: an import reads nothing outside the tree it was given.
    """
    for folder, names, files in os.walk(root, followlinks=False):
        names.sort(key=natural)
        pictures = [
            Path(folder) / name
            for name in sorted(files, key=natural)
            if Path(name).suffix.lower() in PICTURES
        ]
        if pictures:
            yield Path(folder), pictures


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts shot_2 before shot_10."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts if p]


def find_folders(
    root: Path, *, stories: set[str], method: str = ""
) -> tuple[list[FoundFolder], list[str]]:
    """Return all folders of rendered shots below the root.

    Parameters
    ----------
    root
        The outputs' folder, or with `method` the folder of that one method.
    stories
        Story keys that the benchmark knows; they settle which folder names a story.
    method
        Name of the method when the root is its own folder.

    Returns
    -------
    tuple
        The folders, and notes on folders that were passed over.
    """
    found, notes = [], []
    for path, pictures in picture_folders(root):
        parts = list(path.relative_to(root).parts)
        name = method or (parts.pop(0) if parts else "")
        if any(CHARACTER_FOLDER.fullmatch(part) for part in parts):
            continue
        folder = _recognise(path, name, parts, stories, tuple(pictures))
        if folder is None:
            notes.append(f"{path}: no folder names a story; left out")
        else:
            found.append(folder)
    return found, notes


def _recognise(
    path: Path,
    method: str,
    parts: list[str],
    stories: set[str],
    pictures: tuple[Path, ...],
) -> FoundFolder | None:
    timestamp = language = ""
    rest: list[str] = []
    for part in parts:
        dataset = DATASET_FOLDER.fullmatch(part)
        if TIMESTAMP.fullmatch(part):
            timestamp = max(timestamp, part.replace("-", "_"))
        elif part.lower() in LANGUAGES and not language:
            language = part.lower()
        elif dataset and not language and part not in stories:
            language = dataset[2]
        elif not SHOT_FOLDER.fullmatch(part) or part in stories:
            rest.append(part)
    if not method or not rest:
        return None
    known = [part for part in rest if _story_key(part, stories)]
    story = known[-1] if known else rest[-1]
    rest.remove(story)
    return FoundFolder(
        path,
        method,
        "/".join(rest),
        "zh" if language in ("ch", "zh") else language,
        timestamp,
        _story_key(story, stories) or story,
        pictures,
    )


def _story_key(name: str, stories: set[str]) -> str:
    """Return the benchmark's key for a folder name: as it is, or with zeros before."""
    if name in stories:
        return name
    if name.isdigit():
        same = [key for key in stories if key.isdigit() and int(key) == int(name)]
        return same[0] if len(same) == 1 else ""
    return ""


def shot_number(path: Path) -> int | None:
    """Return the number after the last underscore, or None for another file name."""
    text = path.name.split(".")[0].rsplit("_", 1)[-1]
    return int(text) if text.isdecimal() else None
