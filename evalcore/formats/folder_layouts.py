"""Recognition of rendered stories in folders of several layouts.

Known layouts, below the outputs' root (`[x]` may be missing):

    <method>/<mode>/<lang>/<timestamp>/[shots/]<story>/[shots/]shot_01.png
    <method>/<lang>/<mode>/<timestamp>/<story>/[shots/]shot_01.png
    <method>/<dataset>_<lang>/<story>/[<timestamp>/][image_outputs/]shot_01.png
    <method>/<story>/shot_01.png
    <method>/[<mode>/<lang>/<timestamp>/]<story>/video.mp4 or <story>.mp4
    <method>/[<domain>/]index_0001/[index_0001_]step_1.png or index_0001_step_1.png
    <class>/<method>/000.webp, of OneIG's prompts
    <method>/<task>/[<data set>-<split>/]<comment>.mp4, of several StoryBench tasks

Each folder name between method and file is recognised as language, timestamp, folder of
shots, or story; any other name is the mode.
"""

import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from analysis.tables import control_character, is_text
from evalcore.formats.envision import stories as envision
from evalcore.formats.json_files import refuse
from evalcore.formats.oneig import pictures as oneig
from evalcore.formats.storybench import with_task

# Suffixes of pictures and videos; the content decides whether a file is accepted.
PICTURES = (
    *(".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".bmp", ".webp"),
    *(".avif", ".tif", ".tiff", ".heic", ".heif", ".jxl", ".jp2", ".tga", ".ppm"),
    *(".exr", ".hdr", ".psd", ".svg", ".ico", ".qoi"),
)
VIDEOS = (
    *(".mp4", ".webm", ".mov", ".mkv", ".avi", ".m4v", ".mpg", ".mpeg", ".wmv"),
    *(".flv", ".ogv", ".ts", ".3gp"),
)
# Files beside outputs; a folder with nothing else belongs to no method.
SIDE_FILES = (
    *(".txt", ".md", ".log", ".json", ".jsonl", ".yaml", ".yml", ".csv", ".tsv"),
    *(".xlsx", ".html", ".pdf", ".py", ".sh", ".ipynb", ".zip"),
)
# Files that operating systems add to folders.
SYSTEM_FILES = ("thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r")
# File names that do not identify the story; the folder does.
VIDEO_NAMES = ("video", "output", "movie", "result", "clip")
LANGUAGES = ("en", "ch", "zh")
TIMESTAMP = re.compile(r"\d{8}[-_]\d{6}")
SHOT_FOLDERS = ("shot", "shots", "image_outputs")
SHOT_ENDINGS = ("shot", "shots")
CHARACTER_FOLDERS = ("char", "chars", "character", "characters")
DATASET_FOLDER = re.compile(r"(.+)_(en|ch|zh)")
# Shot number in a file name; counters and seeds may follow it.
SHOT_NUMBERS = (
    re.compile(r"(?<![a-z])shot[ _-]*(\d+)", re.IGNORECASE),
    re.compile(r"(?<![a-z])scene[ _-]*(\d+)", re.IGNORECASE),
    re.compile(r"(?:^|_)(\d+)$"),
)
# Suffixes that operating systems add to copies.
COPY = re.compile(r" ?\(\d+\)$| - copy(?: ?\(\d+\))?$| copy(?: \d+)?$", re.IGNORECASE)
# Larger numbers in file names are dates or seeds.
MOST_SHOTS = 10_000


@dataclass(frozen=True)
class FoundFolder:
    """A folder of pictures, or a video, with the information in its path."""

    path: Path
    method: str
    mode: str
    language: str
    timestamp: str
    story: str
    pictures: tuple[Path, ...] = ()
    video: Path | None = None
    # number of the shot, if the layout decides it and not the file's name
    shot: int | None = None


@dataclass
class FoundFiles:
    """Contents of a folder of outputs."""

    # Folders of pictures; each video counts as one.
    folders: list[FoundFolder] = field(default_factory=list)
    # Folder of each method with files, even if all of them are left out.
    methods: dict[str, Path] = field(default_factory=dict)
    # notes on what was left out, with reasons
    notes: list[str] = field(default_factory=list)

    def leave_out(self, path: Path, why: str) -> None:
        text = str(path)
        plain = is_text(text) and not control_character(text)
        self.notes.append(f"{text if plain else repr(text)}: {why}; left out")


def walked(
    root: Path, notes: list[str], is_wanted: Callable[[str], bool] = bool
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield every folder with the names of its subfolders to visit and of its files.

    Links are noted and not followed: an import must not read outside its folder.
    """

    def stop(error: OSError) -> None:
        refuse(error.filename, f"a readable folder ({error.strerror})", cause=error)

    for folder, names, files in os.walk(root, onerror=stop, followlinks=False):
        names[:] = sorted(filter(is_wanted, names), key=natural)
        paths = [Path(folder) / name for name in names]
        notes += [f"{path}: a link; left out" for path in paths if path.is_symlink()]
        names[:] = [path.name for path in paths if not path.is_symlink()]
        yield Path(folder), names, files


def as_name(part: str) -> str:
    """Return a folder's name as it would appear in tables."""
    return unicodedata.normalize("NFC", part).strip()


def is_shown(name: str) -> bool:
    """Return whether a name is the user's, not one added by a system or a program."""
    return not (name.startswith((".", "__")) or name.lower() in SYSTEM_FILES)


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts shot_2 before shot_10."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts if p]


def find_folders(
    root: Path, *, stories: set[str], method: str = "", form: str = ""
) -> FoundFiles:
    """Return all folders of shots, and all videos, below the root.

    `form` names a benchmark's own layout, where stories do not tell it.
    """
    found = FoundFiles()
    for path, _names, names in walked(root, found.notes, is_wanted=is_shown):
        files = [path / name for name in sorted(filter(is_shown, names), key=natural)]
        if not files:
            continue
        parts = [as_name(part) for part in path.relative_to(root).parts]
        if not all(is_text(part) for part in parts):
            found.leave_out(path, "its name is not valid UTF-8")
            continue
        if point := control_character("".join(parts)):
            found.leave_out(path, f"its name has {point}, no letter")
            continue
        home = root if method or not parts else root / path.relative_to(root).parts[0]
        if not method and (turned := oneig.method_first(parts, stories, form)) != parts:
            parts, home = turned, path
        name = method or (parts.pop(0) if parts else "")
        parts, task = with_task(envision.with_story(parts, stories), stories)
        if _is_reference(parts, stories):
            found.leave_out(path, "pictures of characters")
            continue
        if name and any(file.suffix.lower() not in SIDE_FILES for file in files):
            found.methods.setdefault(name, home)
        videos = [file for file in files if file.suffix.lower() in VIDEOS]
        pictures = [file for file in files if file.suffix.lower() in PICTURES]
        for file in files:
            if file.suffix.lower() not in PICTURES + VIDEOS:
                found.leave_out(file, "its name has no suffix of a picture or video")
        numbered, others = envision.by_story(pictures, parts, stories)
        for key, own in numbered.items():
            place = _recognise(path, name, others, stories, key)
            if place is None:
                found.leave_out(path, "it must lie in a method's folder")
            else:
                found.folders.append(replace(place, pictures=tuple(own)))
        by_prompt = oneig.by_prompt(pictures, parts, stories, form)
        found.folders += [
            FoundFolder(path, name, "", "", "", key, (picture,), shot=oneig.SHOT)
            for key, picture in by_prompt
        ]
        taken = {picture for own in numbered.values() for picture in own}
        taken |= {picture for _key, picture in by_prompt}
        pictures = [picture for picture in pictures if picture not in taken]
        if pictures:
            place = _recognise(path, name, parts, stories)
            if place is None:
                found.leave_out(path, "it must lie in a story's folder")
            else:
                found.folders.append(replace(place, pictures=tuple(pictures)))
        stems = {as_name(video.stem) for video in videos}
        for video in videos:
            key = _own_story(video, parts, stories, stems, task)
            place = _recognise(path, name, parts, stories, key)
            if place is None:
                found.leave_out(video, "it must lie in a story's folder")
            else:
                found.folders.append(replace(place, video=video))
    return found


def _own_story(
    video: Path, parts: list[str], stories: set[str], beside: set[str], task: str
) -> str:
    """Return the story named by a video's file name; empty if its folder names it."""
    # StoryBench names some stories x.mp4.
    for name in (as_name(video.name), as_name(video.stem)):
        if task and f"{name}-{task}" in stories:
            return f"{name}-{task}"
    if as_name(video.name) in stories:
        return as_name(video.name)
    name = as_name(video.stem)
    copied = COPY.sub("", name)
    if name not in stories and copied in beside:
        name = copied
    if key := _story_key(name, stories):
        return key
    in_folder = any(_story_key(part, stories) for part in parts)
    return "" if in_folder or name.lower() in VIDEO_NAMES else name


def _is_reference(parts: list[str], stories: set[str]) -> bool:
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
    """Return whether a folder only collects shots, and names neither story nor mode."""
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
    """Return the information in the folder names, given a known story if any."""
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
        # Nothing else names a story, so this name does; fox_en is no data set then.
        rest, language = [dataset], ""
    if not method or not (rest or story):
        return None
    if not story:
        known = [part for part in rest if _story_key(part, stories)]
        story = known[-1] if known else rest[-1]
        if rest[-1] != story:
            return None  # some other folder inside a story's folder
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
    """Return the benchmark's key for a folder name, ignoring leading zeros."""
    if name in stories:
        return name
    if name.isdecimal():
        same = [key for key in stories if key.isdecimal() and int(key) == int(name)]
        return same[0] if len(same) == 1 else ""
    return ""


def shot_number(path: Path) -> int | None:
    """Return the number after "shot" or after the last underscore, if any.

    >>> [shot_number(Path(name)) for name in ("shot_01_00042_.png", "Shot 2 (1).png")]
    [1, 2]
    >>> [shot_number(Path(name)) for name in ("fox_3.png", "00004-1234567891.png")]
    [3, None]
    """
    text = path.name.split(".")[0]
    found = (pattern.search(text) for pattern in SHOT_NUMBERS)
    return next((int(match[1]) for match in found if match), None)
