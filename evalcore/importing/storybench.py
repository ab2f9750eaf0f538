"""Read StoryBench's tasks: captions of videos with their times.

`data/tasks/<data set>-<split>/<task>.json` is a list of stories. Texts come with
numbers of frames at 8 frames a second; they follow the part of the video that was given
to the methods, if the task gives one.
"""

import json
from pathlib import Path
from typing import Any

from analysis.tables import InputError, Problem, is_text
from evalcore.importing.scripts import ReadShot, ReadStory
from evalcore.models import Story

FRAMES_A_SECOND = 8
LONGEST_KEY = Story._meta.get_field("key").max_length
TASKS = ("action_exe", "story_cont", "story_gen")
SPLITS = ("-valid", "-val", "-test", "-train")


def read_tasks(file: Path) -> list[ReadStory]:
    """Read and check one file of tasks.

    Raises
    ------
    InputError
        With every problem.
    """
    problems: list[Problem] = []
    rows = _rows(file)
    stories = [_story(file, i, row, problems) for i, row in enumerate(rows, start=1)]
    read = [story for story in stories if story is not None]
    keys = [story.key for story in read]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        problems.append(Problem(str(file), "a comment that occurs once", value=key))
    if problems:
        raise InputError(problems)
    return read


def _rows(file: Path) -> list[Any]:
    try:
        rows = json.loads(file.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError([Problem(str(file), "UTF-8 text")]) from error
    except json.JSONDecodeError as error:
        what = f"JSON ({error.msg})"
        raise InputError([Problem(str(file), what, error.lineno)]) from error
    except RecursionError as error:
        raise InputError([Problem(str(file), "JSON that is nested less")]) from error
    except OSError as error:
        what = f"a readable file ({error.strerror})"
        raise InputError([Problem(str(file), what)]) from error
    if not isinstance(rows, list) or not rows:
        what = "a list of tasks, as data/tasks/*/story_cont.json has it"
        raise InputError([Problem(str(file), what)])
    return rows


def _story(
    file: Path, place: int, row: Any, problems: list[Problem]
) -> ReadStory | None:
    """Return one task as a story; what is wrong with it is noted."""
    key = row.get("comment") if isinstance(row, dict) else None

    def complain(expected: str, what: str) -> None:
        named = f"task {place}: {str(key)[:60]}: {what}"
        problems.append(Problem(str(file), expected, value=named))

    if not isinstance(key, str) or not is_text(key) or not _can_name_a_file(key):
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
        return ReadStory(
            file=file,
            key=key,
            title="",
            tags=_tags(file, key, row),
            shots=_shots(texts, frames, given, background),
            conditioning=given / FRAMES_A_SECOND or None,
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


def _is_caption(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip()) and is_text(text)


def _can_name_a_file(key: str) -> bool:
    return (
        0 < len(key) <= LONGEST_KEY
        and key not in (".", "..")
        and not set(key) & set("/\\\0")
    )
