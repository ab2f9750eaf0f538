"""Which formats of benchmarks are read, and telling them apart."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from analysis.problems import InputError, Problem
from evalcore.formats.envision import stories as envision_stories
from evalcore.formats.json_files import read_json, read_json_lines, read_text
from evalcore.formats.oneig import stories as oneig_stories
from evalcore.formats.story_scripts import ReadStory
from evalcore.formats.storybench import stories as storybench_stories
from evalcore.formats.vistar import stories as vistar_stories
from evalcore.formats.vistorybench import stories as vistorybench_stories

# A benchmark's stories, and notes on what was passed over.
ReadBenchmark = tuple[list[ReadStory], list[str]]


class Form(NamedTuple):
    """A format: what the benchmark is called in lists, and what reads it."""

    source: str
    read: Callable[[Path, list[str] | None], ReadBenchmark]


def _texts(
    read: Callable[[Path], ReadBenchmark],
) -> Callable[[Path, list[str] | None], ReadBenchmark]:
    """Return a reader of a format without pictures, of which none is left out."""
    return lambda path, _left_out: read(path)


def _tasks(path: Path) -> ReadBenchmark:
    return storybench_stories.read_tasks(path), []


FORMATS = {
    "vistorybench": Form("ViStoryBench data set", vistorybench_stories.read_benchmark),
    "storybench": Form("StoryBench tasks", _texts(_tasks)),
    "envision": Form("Envision sequences", _texts(envision_stories.read_sequences)),
    "vistar": Form("VISTAR prompts", _texts(vistar_stories.read_prompts)),
    "oneig": Form("OneIG prompts", _texts(oneig_stories.read_prompts)),
}
# Fields of which the first object of a file has one, and what it is then.
TELLING = {
    "storybench": {"exact_frames_per_prompt", "npz_video", "texts"},
    "envision": {"prompts", "process_type"},
    "vistar": {"prompt_id", "questionnaire"},
    "oneig": {"prompt_en", "prompt_cn", "prompt_zh"},
}


def read_stories(
    path: Path, form: str = "", left_out: list[str] | None = None
) -> tuple[str, list[ReadStory], list[str]]:
    """Read a benchmark."""
    chosen = FORMATS[form or guess(path)]
    stories, notes = chosen.read(path, left_out)
    return chosen.source, stories, notes


def guess(path: Path) -> str:
    """Return the format of a folder or file."""
    if path.is_dir():
        return _of_folder(path)
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return "oneig"
    if suffix == ".txt":
        return "vistar"
    if suffix in (".json", ".jsonl"):
        return _of_fields(path)
    if path.exists():
        raise _unclear(path)
    raise InputError([Problem(str(path), "a readable file or folder")])


def _of_folder(path: Path) -> str:
    try:
        names = {child.name for child in path.iterdir()}
    except OSError as error:
        what = f"a readable folder ({error.strerror})"
        raise InputError([Problem(str(path), what)]) from error
    if any(name.startswith("OneIG-Bench") for name in names):
        return "oneig"
    if any(name.startswith("envision") and name.endswith(".json") for name in names):
        return "envision"
    return "vistorybench"


def _of_fields(path: Path) -> str:
    """Tell by the fields of the first object; the readers say what else is wrong."""
    fields = _first_fields(read_text(path))
    found = [name for name, telling in TELLING.items() if telling & fields]
    if not fields:  # perhaps no JSON at all: these say where
        (read_json if path.suffix.lower() == ".json" else read_json_lines)(path)
    if len(found) == 1:
        return found[0]
    raise _unclear(path)


def _first_fields(text: str) -> set[str]:
    start = text.find("{")
    try:
        first, _end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return set()
    return set(first) if isinstance(first, dict) else set()


def _unclear(path: Path) -> InputError:
    what = f"a benchmark; if it is one, --format tells which: {', '.join(FORMATS)}"
    return InputError([Problem(str(path), what)])
