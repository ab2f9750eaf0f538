"""Renderings found in folders: the method, story and shot of each picture or video.

Reads names only, no file and no database.
"""

import difflib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from analysis.problems import Problem
from evalcore.formats.folder_layouts import (
    MOST_SHOTS,
    FoundFolder,
    natural,
    shot_number,
)
from evalcore.formats.story_scripts import only

# Known shot numbers of each story.
Shots = dict[str, set[int]]
# Longest texts in the columns of methods, stories and modes.
LONGEST_NAME, LONGEST_MODE = 200, 100
SHOWN_STORIES = 10
SHOWN_REASONS = 3


@dataclass
class FolderRendering:
    """One output as the folders have it.

    `pictures` has the numbers of the files; `index_shift` turns them into shot numbers.
    A `video` has none.
    """

    method: str
    story: str
    folder: FoundFolder
    pictures: dict[int, Path] = field(default_factory=dict)
    index_shift: int = 0
    video: Path | None = None

    @property
    def by_shot(self) -> dict[int, Path]:
        return {n + self.index_shift: path for n, path in self.pictures.items()}


def choose(
    folders: list[FoundFolder],
    mode: str,
    language: str,
    timestamp: str,
    warnings: list[str],
) -> list[FoundFolder]:
    """Return the chosen folders; of several timestamps the newest of each story."""
    language = language.lower().replace("ch", "zh")
    folders = only(folders, "mode", mode, lambda f: f.mode)
    folders = only(folders, "language", language, lambda f: f.language)
    timestamp = timestamp.replace("-", "_")
    folders = only(folders, "timestamp", timestamp, lambda f: f.timestamp)
    newest: dict[tuple[str, str, str, str], str] = {}
    for f in folders:
        key = f.method, f.mode, f.language, f.story
        newest[key] = max(newest.get(key, ""), f.timestamp)
    chosen = [
        f
        for f in folders
        if f.timestamp == newest[f.method, f.mode, f.language, f.story]
    ]
    runs: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for f in chosen:
        runs[f.method, f.mode, f.language].add(f.timestamp)
    for (method, *_rest), stamps in sorted(runs.items()):
        if len(stamps) > 1:
            warnings.append(
                f"{method}: stories from {len(stamps)} runs, each from its newest: "
                f"{', '.join(sorted(stamps))} (choose one run with --timestamp)"
            )
    return chosen


def gather(
    folders: list[FoundFolder], problems: list[Problem], warnings: list[str]
) -> list[FolderRendering]:
    """Collect the pictures or the video of each output, and name its method."""
    modes: dict[str, set[str]] = defaultdict(set)
    languages: dict[str, set[str]] = defaultdict(set)
    for folder in folders:
        modes[folder.method].add(folder.mode)
        languages[folder.method].add(folder.language)
    outputs: dict[tuple[str, str], FolderRendering] = {}
    for folder in folders:
        extra = []
        if len(modes[folder.method]) > 1 and folder.mode:
            extra.append(folder.mode)
        if len(languages[folder.method]) > 1 and folder.language:
            extra.append(folder.language)
        name = f"{folder.method} ({', '.join(extra)})" if extra else folder.method
        rendering = outputs.setdefault(
            (name, folder.story), FolderRendering(name, folder.story, folder)
        )
        for path in folder.pictures:
            number = folder.shot or shot_number(path)
            if number is None:
                warnings.append(f"{path}: no shot number in the name; left out")
            elif number > MOST_SHOTS:
                what = f"a shot number of at most {MOST_SHOTS:,} in the name"
                problems.append(Problem(str(path), what, value=str(number)))
            elif number in rendering.pictures:
                other = rendering.pictures[number].name
                what = f"one picture of shot {number}; {other} is too"
                problems.append(Problem(str(path), what, rule="one picture of a shot"))
            else:
                rendering.pictures[number] = path
        if folder.video is not None:
            if rendering.video is not None:
                what = f"one video of story {folder.story}; {rendering.video} is too"
                rule = "one video of a story"
                problems.append(Problem(str(folder.video), what, rule=rule))
            rendering.video = rendering.video or folder.video
    return [
        outputs[k] for k in sorted(outputs) if outputs[k].pictures or outputs[k].video
    ]


def check_methods(
    methods: dict[str, Path],
    renderings: list[FolderRendering],
    notes: list[str],
    problems: list[Problem],
) -> None:
    """Note or report each method without any output, and why."""
    remaining = {rendering.folder.method for rendering in renderings}
    for method, folder in sorted(methods.items()):
        if method not in remaining:
            reasons_of_method = [
                note.removeprefix(str(folder)).lstrip("/: ").removesuffix("; left out")
                for note in notes
                if note.startswith((f"{folder}/", f"{folder}: "))
            ]
            reasons = "; ".join(reasons_of_method[:SHOWN_REASONS])
            rest = f"; and {len(reasons_of_method) - SHOWN_REASONS} more"
            what = (
                f"at least one output of method {method}, as pictures named like "
                "shot_01.png or one video; otherwise remove the folder; left out are: "
                f"{reasons}{rest * (len(reasons_of_method) > SHOWN_REASONS)}"
            )
            problems.append(Problem(str(folder), what, rule=f"an output of {method}"))


def settle(
    renderings: list[FolderRendering], judged: set[tuple[str, str]], warnings: list[str]
) -> None:
    """Prefer the video over pictures, unless people may have judged the pictures.

    `judged` has method and story of the outputs whose pictures are stored.
    """
    for rendering in renderings:
        if rendering.video is None or not rendering.pictures:
            continue
        if (rendering.method, rendering.story) in judged:
            what = "its pictures are already stored, so the video is left out"
            rendering.video = None
        else:
            what = "the video is used, and the pictures are left out"
            rendering.pictures = {}
        warnings.append(
            f"{rendering.method}: story {rendering.story} has pictures and a video; "
            f"{what}"
        )


def set_shifts(
    renderings: list[FolderRendering], shots: Shots, warnings: list[str]
) -> None:
    """Decide for each method whether its files count from 0.

    If a story's first shot failed, it has no file 0. It then counts like the method's
    other stories, if that fits its shots.
    """
    from_zero = {
        r.method
        for r in renderings
        if 0 in r.pictures and 0 not in shots.get(r.story, ())
    }
    for rendering in renderings:
        if rendering.method not in from_zero or not rendering.pictures:
            continue
        known = shots.get(rendering.story)
        if 0 in rendering.pictures:
            rendering.index_shift = 1
        elif not known or max(rendering.pictures) + 1 in known:
            rendering.index_shift = 1
            warnings.append(
                f"{rendering.folder.path}: no file 0, but counted from 0 like the "
                f"other stories of {rendering.method}"
            )


def note_absent(renderings: list[FolderRendering], warnings: list[str]) -> None:
    """Note stories that other methods have and one lacks: nobody rates those."""
    stories_of: dict[str, set[str]] = defaultdict(set)
    for rendering in renderings:
        stories_of[rendering.method].add(rendering.story)
    stories = set().union(*stories_of.values())
    for method, rendered in sorted(stories_of.items()):
        if absent := sorted(stories - rendered, key=natural):
            warnings.append(
                f"{method}: no output of these stories, which others have: "
                f"{', '.join(absent[:SHOWN_STORIES])}"
                f"{', ...' * (len(absent) > SHOWN_STORIES)}"
            )


def add_new_shots(shots: Shots, renderings: list[FolderRendering]) -> None:
    """Give each story without shots as many as methods rendered; a video has one."""
    for story in {r.story for r in renderings if not shots.get(r.story)}:
        counts = [max(r.by_shot, default=1) for r in renderings if r.story == story]
        shots[story] = set(range(1, 1 + max(counts)))


def check_fit(
    rendering: FolderRendering, shots: Shots, problems: list[Problem]
) -> None:
    """Report a story or shots that the benchmark lacks."""
    for what, name, longest in (
        ("method", rendering.method, LONGEST_NAME),
        ("story", rendering.story, LONGEST_NAME),
        ("mode", rendering.folder.mode, LONGEST_MODE),
    ):
        if len(name) > longest:
            expected_name = f"a {what} name of at most {longest} letters"
            problems.append(Problem(str(rendering.folder.path), expected_name))
            return
    expected = shots.get(rendering.story)
    if expected is None:
        close = difflib.get_close_matches(rendering.story, shots, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        rule = "a story of the benchmark"
        what = f"{rule}{hint} (--create-stories adds new ones)"
        where = str(rendering.folder.path)
        problems.append(Problem(where, what, value=rendering.story, rule=rule))
        return
    for number, path in sorted(rendering.by_shot.items()):
        if number not in expected:
            what = f"a shot of story {rendering.story}, which has {len(expected)} shots"
            if not expected:
                what += " (--create-stories adds them)"
            shot = f"shot {number}"
            problems.append(Problem(str(path), what, value=shot, rule="a shot"))
