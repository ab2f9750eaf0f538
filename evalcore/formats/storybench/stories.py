"""Read and write StoryBench's tasks: captions of videos with their times.

`data/tasks/<data set>-<split>/<task>.json` is a list of stories. Texts come with
numbers of frames at 8 frames a second; they follow the part of the video that was given
to the methods, if the task gives one. The whole task stays with its story, to be
written again.
"""

import json
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem, Problems
from analysis.tables import is_text
from evalcore.formats.json_files import read_json, refuse
from evalcore.formats.originals import Extras, by_file
from evalcore.formats.story_scripts import ReadShot, ReadStory, can_name_a_file, origin
from evalcore.formats.written_files import Files

FRAMES_A_SECOND = 8
TASKS = ("action_exe", "story_cont", "story_gen")
SPLITS = ("-valid", "-val", "-test", "-train")


def read_tasks(file: Path) -> list[ReadStory]:
    """Read and check one file of tasks."""
    problems: Problems[Problem] = Problems()
    rows = read_json(file)
    if not isinstance(rows, list) or not rows:
        refuse(file, "a list of tasks, as data/tasks/*/story_cont.json has it")
    stories = [_story(file, i, row, problems) for i, row in enumerate(rows, start=1)]
    read = [story for story in stories if story is not None]
    keys = [story.key for story in read]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        problems.append(Problem(str(file), "a comment that occurs once", value=key))
    if problems:
        raise InputError(problems)
    return read


def _story(
    file: Path, place: int, row: Any, problems: list[Problem]
) -> ReadStory | None:
    key = row.get("comment") if isinstance(row, dict) else None

    def complain(expected: str, what: str) -> None:
        named = f"task {place}: {str(key)[:60]}: {what}"
        problems.append(Problem(str(file), expected, value=named))

    if not isinstance(key, str) or not can_name_a_file(key):
        complain("an object whose comment can name a file", "comment")
        return None
    texts, frames = row.get("texts"), row.get("exact_frames_per_prompt")
    if not isinstance(texts, list) or not texts or not all(map(_is_caption, texts)):
        complain("a list of texts", "texts")
        return None
    if (
        not isinstance(frames, list)
        or len(frames) != len(texts)
        or not all(type(count) is int for count in frames)
    ):
        complain(
            f"{len(texts)} numbers of frames, one a text", "exact_frames_per_prompt"
        )
        return None
    given = row.get("npz_video_end_frame") or 0
    background = row.get("background") or ""
    if type(given) is not int or given < 0:
        complain("a number of frames", "npz_video_end_frame")
    elif background and not _is_caption(background):
        complain("a text, or null", "background")
    else:
        tags = _tags(file, key, row)
        return ReadStory(
            file=file,
            key=key,
            title="",
            tags=tags,
            shots=_shots(texts, frames, given, background),
            conditioning=given / FRAMES_A_SECOND or None,
            extra={
                "storybench": row,
                "task": tags["task"],
                **origin(_name(file), place, fields=list(row)),
            },
        )
    return None


def _shots(
    texts: list[str], frames: list[int], given: int, background: str
) -> list[ReadShot]:
    """Return the captions one after the other, behind what was given."""
    shots, reached = [], given
    for number, (text, count) in enumerate(zip(texts, frames, strict=True), start=1):
        # A first action within the given part has no frame left, or fewer.
        end = reached + max(count, 0)
        told = {"caption": text.strip()}
        if background and number == 1:
            told = {"setting": background.strip(), **told}
        shots.append(
            ReadShot(
                number,
                {"en": told},
                start=reached / FRAMES_A_SECOND,
                end=end / FRAMES_A_SECOND,
            )
        )
        reached = end
    return shots


def _tags(file: Path, key: str, row: dict[str, Any]) -> dict[str, str]:
    """Return the task and the data set, by which results are reported."""
    mode = row.get("storybench_mode")
    task = mode if mode in TASKS else file.stem
    data_set = file.resolve().parent.name
    for split in SPLITS:
        if data_set.endswith(split):
            return {"task": task, "data set": data_set.removesuffix(split)}
    return {"task": task, "data set": key.split("_")[0]}


def _name(file: Path) -> str:
    return f"{file.resolve().parent.name}/{file.name}"


def _is_caption(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip()) and is_text(text)


def task_files(stories: Extras) -> Files:
    """Return the task files of which stories were made, with every field."""
    files = by_file(stories, "storybench", "tasks.json")
    return {
        file: json.dumps([one.row() for one in originals])
        for file, originals in files.items()
    }
