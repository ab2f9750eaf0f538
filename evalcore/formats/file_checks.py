"""Checks of every file of an import before anything is stored.

A file that is no picture or video, is damaged or too large is unreadable and may be
left out. Three problems are never skipped: a link, a file that the machine refuses to
read (permissions, a failing disk), and a picture that differs from the stored one,
which people may have judged.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from analysis.problems import Problem
from evalcore import media
from evalcore.formats.json_files import NO_LINK
from evalcore.formats.renderings import FolderRendering
from evalcore.models import MediaFile
from evalcore.video import storing
from evalcore.video.decoding import UnreadableVideoError

# Stored media by method, story and shot number, which is VIDEO for a video.
VIDEO = 0
PreparedFiles = dict[Path, MediaFile]
StoredMedia = Mapping[tuple[str, str, int], MediaFile]
# Returns what is expected if another file is stored, else empty; adds notes on
# assumptions to a list.
FileCheck = Callable[[Path, MediaFile | None, list[str]], str]
FileJob = tuple[Path, MediaFile | None, FileCheck]
ANOTHER = "a different rendering counts as a different method (name it with --method)"


@dataclass(frozen=True)
class BadFile:
    """An unusable file, with what was expected instead."""

    path: Path
    expected: str
    is_unreadable: bool = False
    is_stored: bool = False

    def problem(self) -> Problem:
        """Return the problem to report if no file may be left out."""
        how = "; --skip-unreadable leaves it out" if self.is_unreadable else ""
        return Problem(str(self.path), self.expected + how)

    def __str__(self) -> str:
        return str(Problem(str(self.path), self.expected))


def check_picture(path: Path, notes: list[str]) -> BadFile | None:
    """Return why the file of a new picture is unusable; None if it is usable."""
    return _bad((path, None, _picture), notes)


def _bad(job: FileJob, notes: list[str]) -> BadFile | None:
    path, stored, check = job
    try:
        expected = check(path, stored, notes)
    except (media.UnreadablePictureError, UnreadableVideoError) as error:
        return BadFile(path, str(error), True, stored is not None)
    except OSError as error:
        return BadFile(path, f"a readable file ({error.strerror})")
    return BadFile(path, expected) if expected else None


def _picture(path: Path, stored: MediaFile | None, notes: list[str]) -> str:
    data = media.read(path)
    if stored is None:
        notes += [f"{path}: {note}" for note in media.check_picture(data)]
    elif not media.is_same_picture(stored, data):
        return f"the picture that is stored for this shot; {ANOTHER}"
    else:
        remarks = media.remarks_on_stored(stored, data)
        notes += [f"{path}: {remark}" for remark in remarks]
    return ""


def _video(path: Path, stored: MediaFile | None, _notes: list[str]) -> str:
    if stored is None:
        storing.check_video(path)
    elif not storing.is_same_video(stored, path):
        return f"the video that is stored for this story; {ANOTHER}"
    return ""


def check_files(
    renderings: Iterable[FolderRendering], stored: StoredMedia, warnings: list[str]
) -> list[BadFile]:
    """Read every file of the renderings and return the bad ones."""
    jobs: list[FileJob] = []
    for r in renderings:
        if r.video is not None:
            jobs.append((r.video, stored.get((r.method, r.story, VIDEO)), _video))
        for number, path in r.by_shot.items():
            jobs.append((path, stored.get((r.method, r.story, number)), _picture))

    def look(job: FileJob) -> tuple[BadFile | None, list[str]]:
        notes: list[str] = []
        link = job[0].is_symlink()
        return BadFile(job[0], NO_LINK) if link else _bad(job, notes), notes

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        looked = pool.map(look, jobs)
        checked = list(tqdm(looked, total=len(jobs), desc="checking", disable=None))
    warnings += [note for _bad_file, notes in checked for note in notes]
    return [bad for bad, _notes in checked if bad is not None]


def without(
    renderings: Iterable[FolderRendering], paths: set[Path], warnings: list[str]
) -> list[FolderRendering]:
    """Return the renderings without some files; drop those with no file left."""
    remaining = []
    for r in renderings:
        reduced = replace(
            r,
            pictures={n: path for n, path in r.pictures.items() if path not in paths},
            video=None if r.video in paths else r.video,
        )
        if reduced.pictures or reduced.video:
            remaining.append(reduced)
        else:
            what = "none of its files is readable, so none is imported"
            warnings.append(f"{r.method}: story {r.story}: {what}")
    return remaining


def ignore(_done: int, _of: int) -> None:
    """Ignore the progress of files."""


def written(
    paths: Iterable[Path],
    write: Callable[[Path], MediaFile],
    what: str,
    tell: Callable[[int, int], object] = ignore,
) -> PreparedFiles:
    """Write files in parallel; the progress bar shows `what` they are.

    `tell` is called with the number of files written and of all files.
    """
    listed = list(paths)
    done: PreparedFiles = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bar = tqdm(pool.map(write, listed), total=len(listed), desc=what, disable=None)
        for path, one in zip(listed, bar, strict=True):
            done[path] = one
            tell(len(done), len(listed))
    return done
