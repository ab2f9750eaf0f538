"""Recognition of what an upload holds: stories, outputs, scores or judgements."""

import json
import os
from collections import Counter
from collections.abc import Iterable
from itertools import filterfalse
from pathlib import Path
from typing import NamedTuple

import openpyxl
import pyarrow.parquet

from analysis.reading.workbooks import BROKEN, check_unpacked
from annotate.models import Upload
from annotate.uploads.unpacking import TABLES
from evalcore.formats.folder_layouts import (
    DATASET_FOLDER,
    LANGUAGES,
    PICTURES,
    SHOT_FOLDERS,
    TIMESTAMP,
    VIDEO_NAMES,
    VIDEOS,
    as_name,
    is_shown,
)
from evalcore.formats.oneig import results as oneig_results
from evalcore.importing.formats import TELLING, guess_scores
from evalcore.importing.outputs import CONTAINER

STORY_FILE = "story.json"
TAGS_FILE = "metadata.xlsx"
DATA_FOLDERS = (("ViStory",), ("ViStoryBench",))
LONGEST_LINE = 100_000
Parts = tuple[str, ...]


class Part(NamedTuple):
    """A part of an upload: what it is, where it lies, and the method's name."""

    kind: str
    # below the upload's folder
    path: str
    # for the folder of one method, else empty
    method: str = ""


def detect(root: Path, name: str) -> list[Part]:
    """Return the parts of an upload, those first that others build on.

    `name` is that of the upload; a method takes it if no folder has one.
    """
    files = [path.relative_to(root).parts for path in _files(root)]
    found: list[Part] = []
    for take in (_take_stories, _take_oneig, _take_lists, _take_results):
        parts, files = take(files)
        found += parts
    places = {_place(file) for file in files if _suffix(file) in PICTURES + VIDEOS}
    if places:
        found.append(_outputs(places, as_name(Path(name).stem)))
    for file in files:
        path = root.joinpath(*file)
        if kind := _kind_of_file(path, is_alone=len(files) == 1):
            found.append(Part(kind, "/".join(file)))
    return sorted(found, key=lambda part: Upload.KINDS.index(part.kind))


def _files(root: Path) -> Iterable[Path]:
    for folder, names, files in os.walk(root):
        names[:] = sorted(filter(is_shown, names))
        for name in sorted(filter(is_shown, files)):
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _suffix(file: Parts) -> str:
    return Path(file[-1]).suffix.lower()


def _take_stories(files: list[Parts]) -> tuple[list[Part], list[Parts]]:
    """Return data sets with a `story.json` a story, and the files beside those."""
    stories = {file[:-1] for file in files if file[-1] == STORY_FILE and len(file) > 1}
    above = {folder[:-1] for folder in stories}
    roots = {home[:-1] if home[-1:] in DATA_FOLDERS else home for home in above}
    rest = [
        file
        for file in files
        if not _lies_in(file, stories)
        and not (file[:-1] in roots and file[-1] == TAGS_FILE)
    ]
    return [Part("stories", "/".join(home)) for home in sorted(roots)], rest


def _take_oneig(files: list[Parts]) -> tuple[list[Part], list[Parts]]:
    """Return the folder of the CSV files that OneIG's programs write, and what else."""
    results = [file for file in files if oneig_results.FILE.fullmatch(file[-1])]
    if not results or len(files) == 1:
        return [], files
    rest = [file for file in files if file not in results]
    folder = _common(file[:-1] for file in results)
    return [Part("scores", "/".join(folder))], rest


def _take_lists(files: list[Parts]) -> tuple[list[Part], list[Parts]]:
    """Return data sets that are lists known by their names, and what else there is."""
    roots = {
        file[:-1]
        for file in files
        if file[-1].startswith("OneIG-Bench")
        or (file[-1].startswith("envision") and _suffix(file) == ".json")
    }
    rest = [
        file
        for file in files
        if _suffix(file) not in TABLES or not _lies_in(file, roots)
    ]
    return [Part("stories", "/".join(home)) for home in sorted(roots)], rest


def _take_results(files: list[Parts]) -> tuple[list[Part], list[Parts]]:
    """Return the folder above all runs of ViStoryBench's programs, and what else."""
    runs = {
        file[: file.index("metrics")]
        for file in files
        if "metrics" in file[:-1] and _suffix(file) in (".json", ".jsonl")
    }
    if not runs:
        return [], files
    levels = ("method", "mode", "language", "run")
    common = _common(run[: max(len(run) - len(levels), 0)] for run in runs)
    rest = [file for file in files if not _lies_in(file, runs)]
    return [Part("scores", "/".join(common))], rest


def _lies_in(file: Parts, folders: set[Parts]) -> bool:
    return any(file[:depth] in folders for depth in range(len(file)))


def _common(folders: Iterable[Parts]) -> Parts:
    first, *others = folders
    depth = len(first)
    for other in others:
        while first[:depth] != other[:depth]:
            depth -= 1
    return first[:depth]


def _place(file: Parts) -> Parts:
    """Return the folder of a picture; a video's name is like the folder of a story."""
    stem = Path(file[-1]).stem
    is_named = _suffix(file) in VIDEOS and stem.lower() not in VIDEO_NAMES
    return (*file[:-1], stem) if is_named else file[:-1]


def _outputs(places: set[Parts], name: str) -> Part:
    """Return the folder of all methods, or that of one method with its name.

    Below the folder that all media share, a method's folder has stories' folders below
    it; where there is one level only, those are stories.
    """
    common = _common(places)
    if CONTAINER in common:
        return Part("outputs", "/".join(common[: common.index(CONTAINER) + 1]))
    if any(map(_is_of_run, common)):
        home = common[: _methods_depth(common)]
        return Part("outputs", "/".join(home), as_name(home[-1]) if home else name)
    below = (len([*filterfalse(_is_of_run, one[len(common) :])]) for one in places)
    ((depth, _number),) = Counter(below).most_common(1)
    if depth > 1:
        return Part("outputs", "/".join(common))
    home = common if depth else common[:-1]  # the last one is the only story
    return Part("outputs", "/".join(home), as_name(home[-1]) if home else name)


def _methods_depth(common: Parts) -> int:
    """Return the depth of the method's folder above one run.

    Before a language stands the mode, and before that the method, unless the mode
    follows the language.
    """
    first = next(at for at, part in enumerate(common) if _is_of_run(part))
    has_language = common[first].lower() in LANGUAGES
    is_mode_next = not all(map(_is_of_run, common[first + 1 : first + 2]))
    return first - 1 if has_language and not is_mode_next and first > 1 else first


def _is_of_run(part: str) -> bool:
    """Say whether a folder belongs to one run of a method, and names neither."""
    return bool(
        TIMESTAMP.fullmatch(part)
        or DATASET_FOLDER.fullmatch(part)
        or part.lower() in (*LANGUAGES, *SHOT_FOLDERS)
    )


def _kind_of_file(path: Path, *, is_alone: bool) -> str:
    """Return what a table or list holds; empty if it is something else."""
    suffix = path.suffix.lower()
    if suffix not in TABLES:
        return ""
    columns = columns_of(path)
    if "annotator" in columns:
        if {"choice", "method_a"} <= columns:
            return "choices"
        return "rankings" if {"rank", "criterion"} <= columns else "ratings"
    if {"metric", "score"} <= columns:
        return "scores"
    if any(telling & columns for telling in TELLING.values()):
        return "stories"
    if not is_alone:
        return "scores" if {"story", "method"} <= columns else ""
    if suffix in (".json", ".jsonl"):
        return "scores" if guess_scores(path) == "envision" else "stories"
    if suffix == ".txt":
        return "stories"
    return "scores"


def columns_of(path: Path) -> set[str]:
    """Return the names in the first line of a table, or in the first object of JSON."""
    suffix = path.suffix.lower()
    try:
        if suffix == ".parquet":
            return set(pyarrow.parquet.read_schema(path).names)
        if suffix == ".xlsx":
            return _columns_of_workbook(path)
        with path.open("rb") as file:
            start = file.read(LONGEST_LINE)
    except (*BROKEN, OSError):
        return set()
    coding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = start.decode(coding, "replace")
    if suffix in (".json", ".jsonl"):
        try:
            first, _end = json.JSONDecoder().raw_decode(text, max(text.find("{"), 0))
        except (ValueError, RecursionError):
            return set()
        return set(first) if isinstance(first, dict) else set()
    line = text.splitlines()[0] if text.strip() else ""
    split = max(",;\t", key=line.count)
    return {name.strip().strip('"') for name in line.split(split)}


def _columns_of_workbook(path: Path) -> set[str]:
    check_unpacked(path)
    book = openpyxl.load_workbook(path, read_only=True)
    try:
        rows = (next(sheet.iter_rows(values_only=True), ()) for sheet in book)
        return {str(cell) for row in rows for cell in row if cell is not None}
    finally:
        book.close()
