"""Reader of Envision's sequences: four prompts, or 2 to 16, with an explanation each.

A file of sequences is a list of `{index, category, process_type, prompts}`; a folder
holds one file per domain. Every domain counts from 1, so a story's key names its
domain: `biology_0001`. Pictures are called `index_0007/index_0007_step_1.png`: the
number identifies a story if only one story has it, or if a folder on the path names the
domain.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem, Problems
from evalcore.formats.json_files import number_in, read_json, refuse
from evalcore.formats.story_scripts import ReadShot, ReadStory, can_name_a_file
from evalcore.metrics.envision import FEWEST_STEPS, MOST_STEPS

INDEX = re.compile(r"(?:index_)?(\d{1,9})")
STEP = re.compile(r"(?:index_)?(\d{1,9})_step_\d{1,4}")
KEY = re.compile(r"(.+)_(\d{4,9})")
# Prefixes of a domain's name in the benchmark's own files and folders.
PREFIX = "envision_"
SHORTEST = 3  # length of an abbreviated domain, as in `bio`


def with_story(parts: Sequence[str], stories: Collection[str]) -> list[str]:
    """Return folder names with a story's number replaced by its key.

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
    """Return one folder's pictures by the stories in their file names."""
    pictures_by_story: dict[str, list[Path]] = defaultdict(list)
    rest = list(parts)
    if not any(part in stories for part in parts):
        for picture in pictures:
            number = STEP.fullmatch(picture.stem)
            key, domain = "", ""
            if number:
                key, domain = _key(int(number[1]), parts, stories)
            if key:
                pictures_by_story[key].append(picture)
                rest = [part for part in rest if part != domain]
    return pictures_by_story, rest


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


LENGTHS = f"{FEWEST_STEPS} to {MOST_STEPS}"
MOST_SEQUENCES = 10**9
# Domain of sequences whose file names no domain.
NO_DOMAIN = "index"


def read_sequences(path: Path) -> tuple[list[ReadStory], list[str]]:
    """Read and check one file of sequences, or all files of a folder."""
    problems: Problems[Problem] = Problems()
    stories: dict[str, ReadStory] = {}
    for file in _files(path):
        for place, story in _read_file(file, problems):
            other = stories.setdefault(story.key, story)
            if other is not story:
                what = f"each index once per process_type; {other.file.name} has it too"
                named = f"sequence {place}: {story.key}"
                rule = "each index once per process_type"
                problems.append(Problem(str(file), what, value=named, rule=rule))
    if problems:
        raise InputError(problems)
    return list(stories.values()), []


def key_of(row: dict[str, Any]) -> str:
    """Return the story's key for a row of Envision's files.

    >>> key_of({"index": 7, "category": "Science", "process_type": "Biology"})
    'biology_0007'
    >>> key_of({"index": 12})
    'index_0012'
    """
    domain = str(row.get("process_type") or row.get("category") or "").lower()
    name = re.sub(r"\W+", "_", domain).strip("_") or NO_DOMAIN
    return f"{name}_{row['index']:04d}"


def has_index(row: Any) -> bool:
    return (
        isinstance(row, dict)
        and number_in(row.get("index"), 0, MOST_SEQUENCES)
        and all(isinstance(row.get(name) or "", str) for name in _DOMAINS)
        and can_name_a_file(key_of(row))
    )


_DOMAINS = ("category", "process_type")


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(p for p in path.glob("*.json") if not p.is_symlink())
    if not files:
        refuse(path, "files such as envision_bio.json")
    return files


def _read_file(file: Path, problems: list[Problem]) -> list[tuple[int, ReadStory]]:
    try:
        rows = read_json(file)
        if not isinstance(rows, list) or not rows:
            refuse(file, "a list of sequences, each with index and prompts")
    except InputError as error:
        problems += error.problems
        return []
    return [
        (place, story)
        for place, row in enumerate(rows, start=1)
        if (story := _story(file, place, row, problems)) is not None
    ]


def _story(
    file: Path, place: int, row: Any, problems: list[Problem]
) -> ReadStory | None:
    def complain(expected: str, what: str = "") -> None:
        index = row.get("index") if isinstance(row, dict) else ""
        parts = [f"sequence {place}", f"index {index}" if index != "" else "", what]
        named = ": ".join(part for part in parts if part)
        problems.append(Problem(str(file), expected, value=named[:200]))

    if not has_index(row):
        complain("an object with a whole index, and category and process_type as text")
        return None
    prompts = row.get("prompts")
    if not isinstance(prompts, list) or not all(isinstance(p, dict) for p in prompts):
        objects = "objects {step, prompt, explanation}"
        complain(f"a list of {LENGTHS} {objects}", "prompts")
        return None
    steps = [prompt.get("step") for prompt in prompts]
    if not FEWEST_STEPS <= len(steps) <= MOST_STEPS:
        complain(f"{LENGTHS} steps, not {len(steps)}", "prompts")
        return None
    wanted = [*range(1, len(steps) + 1)]
    if not all(type(step) is int for step in steps) or sorted(steps) != wanted:
        shown = f"steps {', '.join(map(str, steps))}"
        complain(f"steps 1 to {len(steps)}, each once", shown)
        return None
    before = len(problems)
    for prompt in prompts:
        where = f"step {prompt['step']}"
        if not _is_text(prompt.get("prompt")):
            complain("a prompt with text", where)
        if not isinstance(prompt.get("explanation") or "", str):
            complain("an explanation as text", where)
    if len(problems) > before:
        return None
    return ReadStory(
        file=file,
        key=key_of(row),
        title="",
        tags={name: row[name] for name in _DOMAINS if row.get(name)},
        shots=[_shot(p) for p in sorted(prompts, key=lambda p: p["step"])],
        extra={"envision": row},
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _shot(prompt: dict[str, Any]) -> ReadShot:
    text = {
        name: prompt[name].strip()
        for name in ("prompt", "explanation")
        if (prompt.get(name) or "").strip()
    }
    return ReadShot(prompt["step"], {"en": text})
