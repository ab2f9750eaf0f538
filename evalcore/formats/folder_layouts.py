"""Find the rendered stories in a tree of folders, whatever its layout.

Known layouts, below the outputs' root (`[x]` may be missing):

    <method>/<mode>/<lang>/<timestamp>/<story>/[shots/]shot_01.png
    <method>/<lang>/<mode>/<timestamp>/<story>/[shots/]shot_01.png
    <method>/<mode>/<lang>/<timestamp>/shots/<story>/shot_01.png
    <method>/<dataset>_<lang>/<story>/<timestamp>/shot_01.png
    <method>/<dataset>_<lang>/<story>/[<timestamp>/]image_outputs/shot_01.png
    <method>/<story>/shot_01.png

In place of a story's pictures there may be one video, in the story's folder or named
like the story:

    <method>/[<mode>/<lang>/<timestamp>/]<story>/video.mp4
    <method>/[<mode>/<lang>/<timestamp>/]<story>.mp4

Envision's sequences are numbered in each domain (see `sequences`):

    <method>/[<domain>/]index_0001/[index_0001_]step_1.png
    <method>/[<domain>/]index_0001_step_1.png

Instead of one pattern a layout, each folder name between method and file is
recognised for what it is: language, timestamp, folder of shots, or story. What is left
over is the mode.
"""

import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.tables import control_character, is_text
from evalcore.formats.envision import sequences
from evalcore.formats.json_files import refuse

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp")
VIDEOS = (".mp4", ".webm", ".mov", ".mkv", ".avi", ".m4v")
# Names of files that say nothing of the story; its folder does.
VIDEO_NAMES = ("video", "output", "movie", "result", "clip")
LANGUAGES = ("en", "ch", "zh")
TIMESTAMP = re.compile(r"\d{8}[-_]\d{6}")
SHOT_FOLDERS = ("shot", "shots", "image_outputs")
SHOT_ENDINGS = ("shot", "shots")
CHARACTER_FOLDERS = ("char", "chars", "character", "characters")
DATASET_FOLDER = re.compile(r"(.+)_(en|ch|zh)")
# A larger number in a file's name is a date or a seed.
MOST_SHOTS = 10_000


@dataclass(frozen=True)
class FoundFolder:
    """A folder of pictures, or a video, and what the path says about them."""

    path: Path
    method: str
    mode: str
    language: str
    timestamp: str
    story: str
    pictures: tuple[Path, ...] = ()
    video: Path | None = None


def media_folders(root: Path, notes: list[str]) -> Iterator[tuple[Path, list[Path]]]:
    """Yield every folder with pictures or videos, and these, in natural order."""
    for folder, _names, files in walked(root, notes, shown=_is_shown):
        found = [
            folder / name
            for name in sorted(filter(_is_shown, files), key=natural)
            if Path(name).suffix.lower() in PICTURES + VIDEOS
        ]
        if found:
            yield folder, found


def walked(
    root: Path, notes: list[str], shown: Callable[[str], bool] = bool
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield every folder, the names of those in it that are gone through, and of files.

    Links are not followed, and noted: an import reads nothing outside the tree it was
    given.

    Raises
    ------
    InputError
        A folder cannot be read.
    """

    def stop(error: OSError) -> None:
        refuse(error.filename, f"a readable folder ({error.strerror})", cause=error)

    for folder, names, files in os.walk(root, onerror=stop, followlinks=False):
        names[:] = sorted(filter(shown, names), key=natural)
        paths = [Path(folder) / name for name in names]
        notes += [f"{path}: a link; left out" for path in paths if path.is_symlink()]
        names[:] = [path.name for path in paths if not path.is_symlink()]
        yield Path(folder), names, files


def as_name(part: str) -> str:
    """Return a folder's name as tables would write it."""
    return unicodedata.normalize("NFC", part).strip()


def _is_shown(name: str) -> bool:
    """Say whether a name is the user's, not one that a system or a program adds."""
    return not name.startswith((".", "__"))


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts shot_2 before shot_10."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts if p]


def find_folders(
    root: Path, *, stories: set[str], method: str = ""
) -> tuple[list[FoundFolder], list[str]]:
    """Return all folders of rendered shots, and all videos, below the root.

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
        The folders, a video as one of its own, and notes on what was passed over.
    """
    found: list[FoundFolder] = []
    notes: list[str] = []
    for path, files in media_folders(root, notes):
        parts = [as_name(part) for part in path.relative_to(root).parts]
        if not all(is_text(part) for part in parts):
            notes.append(f"{path!r}: its name is not UTF-8; left out")
            continue
        if point := control_character("".join(parts)):
            notes.append(f"{str(path)!r}: its name has {point}, no letter; left out")
            continue
        name = method or (parts.pop(0) if parts else "")
        parts = sequences.with_story(parts, stories)
        if _is_reference(parts, stories):
            notes.append(f"{path}: pictures of characters; left out")
            continue
        videos = [file for file in files if file.suffix.lower() in VIDEOS]
        pictures = [file for file in files if file not in videos]
        numbered, others = sequences.by_story(pictures, parts, stories)
        for key, own in numbered.items():
            place = _recognise(path, name, others, stories, key)
            if place is not None:
                found.append(replace(place, pictures=tuple(own)))
        taken = {picture for own in numbered.values() for picture in own}
        pictures = [picture for picture in pictures if picture not in taken]
        if pictures:
            place = _recognise(path, name, parts, stories)
            if place is None:
                notes.append(f"{path}: a story's own folder was expected; left out")
            else:
                found.append(replace(place, pictures=tuple(pictures)))
        for video in videos:
            key = _own_story(video, parts, stories)
            place = _recognise(path, name, parts, stories, key)
            if place is None:
                notes.append(f"{video}: a story's own folder was expected; left out")
            else:
                found.append(replace(place, video=video))
    return found, notes


def _own_story(video: Path, parts: list[str], stories: set[str]) -> str:
    """Return the story that a video's own name says, or nothing: its folder does."""
    if as_name(video.name) in stories:
        return as_name(video.name)  # StoryBench names some stories x.mp4
    name = as_name(video.stem)
    if key := _story_key(name, stories):
        return key
    in_folder = any(_story_key(part, stories) for part in parts)
    return "" if in_folder or name.lower() in VIDEO_NAMES else name


def _is_reference(parts: list[str], stories: set[str]) -> bool:
    """Say whether a folder holds pictures of characters and not of shots.

    Its name is one of `CHARACTER_FOLDERS`, or ends so inside a story's folder.
    """
    for place, part in enumerate(parts):
        name = part.lower()
        if part in stories or not name.endswith(CHARACTER_FOLDERS):
            continue
        inside = any(_story_key(before, stories) for before in parts[:place])
        last = 0 < place == len(parts) - 1
        if name in CHARACTER_FOLDERS or inside or last:
            return True
    return False


def _is_shot_folder(parts: list[str], place: int, stories: set[str]) -> bool:
    """Say whether a folder only gathers shots, and names neither story nor mode."""
    name = parts[place].lower()
    if parts[place] in stories:
        return False
    last = 0 < place == len(parts) - 1
    return name in SHOT_FOLDERS or (last and name.endswith(SHOT_ENDINGS))


def _recognise(
    path: Path,
    method: str,
    parts: list[str],
    stories: set[str],
    story: str = "",
) -> FoundFolder | None:
    """Return what the folder names say, with the story that is known already."""
    timestamp = language = dataset = ""
    rest: list[str] = []
    for place, part in enumerate(parts):
        with_language = DATASET_FOLDER.fullmatch(part)
        if TIMESTAMP.fullmatch(part):
            timestamp = max(timestamp, part.replace("-", "_"))
        elif part.lower() in LANGUAGES and not language:
            language = part.lower()
        elif with_language and not language and part not in stories:
            dataset, language = part, with_language[2]
        elif not _is_shot_folder(parts, place, stories):
            rest.append(part)
    if not rest and dataset and not story:
        # Nothing else names a story, so this does: fox_en is no data set then.
        rest, language = [dataset], ""
    if not method or not (rest or story):
        return None
    if not story:
        known = [part for part in rest if _story_key(part, stories)]
        story = known[-1] if known else rest[-1]
        if rest[-1] != story:
            return None  # some other folder inside a story's
        rest.pop()
    return FoundFolder(
        path,
        method,
        "/".join(rest),
        "zh" if language in ("ch", "zh") else language,
        timestamp,
        _story_key(story, stories) or story,
    )


def _story_key(name: str, stories: set[str]) -> str:
    """Return the benchmark's key for a folder name: as it is, or with zeros before."""
    if name in stories:
        return name
    if name.isdecimal():
        same = [key for key in stories if key.isdecimal() and int(key) == int(name)]
        return same[0] if len(same) == 1 else ""
    return ""


def shot_number(path: Path) -> int | None:
    """Return the number after the last underscore, or None for another file name."""
    text = path.name.split(".")[0].rsplit("_", 1)[-1]
    return int(text) if text.isdecimal() else None
