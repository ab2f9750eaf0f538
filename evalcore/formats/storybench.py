"""Reader of StoryBench's stories (video captions with times) and results.

Of three tasks on three data sets, `data/tasks/<data set>-<split>/<task>.json` is a list
of stories. Of a folder of such files, a story's key is its comment and its
task. Texts come with numbers of frames at 8 frames a second; they follow the
conditioning part of the video, if the task has one. The whole entry is stored with its
story, so that it can be written back.
"""

import csv
import io
import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem, Problems
from analysis.reading.texts import higher_by_name
from analysis.tables import is_text
from evalcore.formats.json_files import (
    NO_LINK,
    number_of,
    read_json,
    read_text,
    refuse,
)
from evalcore.formats.story_scripts import (
    ForeignScore,
    ForeignScores,
    GivenByUser,
    ReadShot,
    ReadStory,
    can_name_a_file,
)

FRAMES_A_SECOND = 8
# Action execution, story continuation and story generation.
TASKS = ("action_exe", "story_cont", "story_gen")
SPLITS = ("-valid", "-val", "-test", "-train")


def read_tasks(path: Path) -> tuple[list[ReadStory], list[str]]:
    """Read and check the file of one task, or those of a folder."""
    problems: Problems[Problem] = Problems()
    files = task_files(path) if path.is_dir() else [path]
    if not files:
        refuse(path, "files called by a task, such as oops-val/story_cont.json")
    read: dict[str, ReadStory] = {}
    for file in files:
        if file.is_symlink():
            refuse(file, NO_LINK)
        rows = read_json(file)
        if not isinstance(rows, list) or not rows:
            refuse(file, "a list of stories, as data/tasks/*/story_cont.json has it")
        for place, row in enumerate(rows, start=1):
            story = _story(file, place, row, problems)
            if story is None:
                continue
            if path.is_dir():
                story.key = f"{story.key}-{story.tags['task']}"
            if read.setdefault(story.key, story) is not story:
                what = "each comment once in a task"
                problems.append(Problem(str(file), what, value=story.key))
    if problems:
        raise InputError(problems)
    return list(read.values()), []


def task_files(folder: Path) -> list[Path]:
    """Return the tasks' files in a folder, or in folders of data sets below it."""
    names = [f"{place}{task}.json" for place in ("", "*/") for task in TASKS]
    return sorted(file for name in names for file in folder.glob(name))


def with_task(parts: Sequence[str], stories: Collection[str]) -> tuple[list[str], str]:
    """Return folder names without those of task and data set, and the task.

    A folder that is called by a story's comment gets the story's key.

    >>> with_task(["story_gen", "oops-val", "a_0"], {"a_0-story_gen", "a_0-story_cont"})
    (['a_0-story_gen'], 'story_gen')
    >>> with_task(["story_gen", "a_0"], {"a_0"})
    (['story_gen', 'a_0'], '')
    """
    tasks = [part for part in parts if part in TASKS]
    if len(tasks) != 1 or not any(key.endswith(f"-{tasks[0]}") for key in stories):
        return list(parts), ""
    rest = [p for p in parts if p != tasks[0] and not p.endswith(SPLITS)]
    keys = [f"{part}-{tasks[0]}" for part in rest]
    return [k if k in stories else p for k, p in zip(keys, rest, strict=True)], tasks[0]


def _story(
    file: Path, place: int, row: Any, problems: list[Problem]
) -> ReadStory | None:
    key = row.get("comment") if isinstance(row, dict) else None

    def complain(expected: str, what: str) -> None:
        named = f"story {place}: {str(key)[:60]}: {what}"
        problems.append(Problem(str(file), expected, value=named))

    if not isinstance(key, str) or not can_name_a_file(key):
        complain("an object whose comment is a valid file name", "comment")
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
            f"{len(texts)} numbers of frames, one per text", "exact_frames_per_prompt"
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
            extra={"storybench": row, "task": tags["task"]},
        )
    return None


def _shots(
    texts: list[str], frames: list[int], given: int, background: str
) -> list[ReadShot]:
    """Return the consecutive captions after the conditioning part."""
    shots, reached = [], given
    for number, (text, count) in enumerate(zip(texts, frames, strict=True), start=1):
        # A first action inside the conditioning part has fewer frames left, or none.
        end = reached + max(count, 0)
        fields = {"caption": text.strip()}
        if background and number == 1:
            fields = {"setting": background.strip(), **fields}
        shots.append(
            ReadShot(
                number,
                {"en": fields},
                start=reached / FRAMES_A_SECOND,
                end=end / FRAMES_A_SECOND,
            )
        )
        reached = end
    return shots


def _tags(file: Path, key: str, row: dict[str, Any]) -> dict[str, str]:
    """Return the task and the data set, which results are grouped by."""
    mode = row.get("storybench_mode")
    task = mode if mode in TASKS else file.stem
    data_set = file.resolve().parent.name
    for split in SPLITS:
        if data_set.endswith(split):
            return {"task": task, "data set": data_set.removesuffix(split)}
    return {"task": task, "data set": key.split("_")[0]}


def _is_caption(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip()) and is_text(text)


# Columns of DOVER's table, in both spellings, and their metrics.
DOVER = {
    "aesthetic": "pqa_aesthetic",
    "technical": "pqa_technical",
    "overall": "pqa",
}
BACKEND = "DOVER"


def read_dover(
    path: Path, stories: Collection[str], facts: GivenByUser
) -> ForeignScores:
    """Read a table of perceptual quality: name, aesthetic, technical, overall.

    Where stories are called by comment and task, a folder on the path names the task.
    """
    text = read_text(path)
    if not is_text(text):
        refuse(path, "text without NUL or invalid characters")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t")
    header = [name.strip().removesuffix("_score") for name in next(reader, [])]
    if header[:1] != ["name"] or not set(DOVER) <= set(header):
        refuse(
            path, "tabs between the columns name, aesthetic, technical and overall", 1
        )
    problems: Problems[Problem] = Problems()
    contents = ForeignScores()
    lines: dict[str, int] = {}
    task = next((part for part in reversed(path.parts) if part in TASKS), "")
    for cells in reader:
        line = reader.line_num
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            what = f"{len(header)} columns as in the header, not {len(cells)}"
            problems.append(Problem(str(path), what, line))
            continue
        row = dict(zip(header, cells, strict=True))
        story = row["name"].strip()
        if f"{story}-{task}" in stories:
            story = f"{story}-{task}"
        cut = [key for key in stories if key.partition(".")[0] == story]
        if story not in stories and len(cut) == 1:
            story = cut[0]  # Some stories are called x.mp4.
        if story in lines:
            what = f"each name once; line {lines[story]} has the same"
            problems.append(Problem(str(path), what, line, "name", story))
        lines.setdefault(story, line)
        for column, metric in DOVER.items():
            value = number_of(row[column])
            if isinstance(value, str):
                problem = Problem(
                    str(path), "a finite number", line, column, row[column]
                )
                problems.append(problem)
                continue
            contents.scores.append(
                ForeignScore(
                    metric=metric,
                    method=facts.method,
                    value=value,
                    story=story,
                    version=facts.metric_version,
                    backend=facts.backend or BACKEND,
                    file=str(path),
                    line=line,
                    run=path.name,
                )
            )
    if not lines and not problems:
        problems.append(Problem(str(path), "at least one row below the header", 1))
    if problems:
        raise InputError(problems)
    return contents


def read_samples(path: Path, facts: GivenByUser) -> ForeignScores:
    """Read `result.txt`: one number per sample of a method's stories."""
    samples: list[float] = []
    problems: Problems[Problem] = Problems()
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        value = number_of(text.strip())
        if isinstance(value, str):
            what = "one finite number per line, one per sample"
            problems.append(Problem(str(path), what, line, value=text.strip()[:60]))
        else:
            samples.append(value)
    if not samples and not problems:
        problems.append(Problem(str(path), "one number per line, one per sample"))
    if problems:
        raise InputError(problems)
    score = ForeignScore(
        metric=facts.metric,
        method=facts.method,
        value=math.fsum(samples) / len(samples),
        version=facts.metric_version,
        backend=facts.backend,
        file=str(path),
        higher=higher_by_name(facts.metric) is not False,
        details={"storybench": {"samples": samples}},
        run=path.name,
    )
    return ForeignScores([score])
