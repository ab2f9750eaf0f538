"""Formats of benchmarks and scores, and how to recognise them."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from analysis.commands.arguments import TABLE as FILES
from analysis.problems import InputError, Problem
from evalcore.formats import storybench, vistar
from evalcore.formats.envision import results as envision_results
from evalcore.formats.envision import stories as envision_stories
from evalcore.formats.envision.results import KEYS
from evalcore.formats.json_files import read_json, read_json_lines, read_text
from evalcore.formats.oneig import results as oneig_results
from evalcore.formats.oneig import stories as oneig_stories
from evalcore.formats.story_scripts import ForeignScores, GivenByUser, ReadStory
from evalcore.formats.vistorybench import results as vistorybench_results
from evalcore.formats.vistorybench import stories as vistorybench_stories
from evalcore.formats.vistorybench.results import is_results
from evalcore.models import Benchmark, Method, Story

# A benchmark's stories, and notes on skipped parts.
ReadBenchmark = tuple[list[ReadStory], list[str]]


class Form(NamedTuple):
    """A format: the benchmark's title and the function that reads it."""

    source: str
    read: Callable[[Path, list[str] | None], ReadBenchmark]


def _texts(
    read: Callable[[Path], ReadBenchmark],
) -> Callable[[Path, list[str] | None], ReadBenchmark]:
    """Return a reader for a format without pictures, where no file is left out."""
    return lambda path, _left_out: read(path)


FORMATS = {
    "vistorybench": Form("ViStoryBench data set", vistorybench_stories.read_benchmark),
    "storybench": Form("StoryBench tasks", _texts(storybench.read_tasks)),
    "envision": Form("Envision sequences", _texts(envision_stories.read_sequences)),
    "vistar": Form("VISTAR prompts", _texts(vistar.read_prompts)),
    "oneig": Form("OneIG prompts", _texts(oneig_stories.read_prompts)),
}
# Fields that identify a format: the first object of a file has one of them.
TELLING = {
    "storybench": {"exact_frames_per_prompt", "npz_video", "texts"},
    "envision": {"prompts", "process_type"},
    "vistar": {"prompt_id", "questionnaire"},
    "oneig": {"prompt_en", "prompt_cn", "prompt_zh"},
}


def read_stories(
    path: Path, form: str = "", left_out: list[str] | None = None
) -> tuple[str, list[ReadStory], list[str]]:
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
    return "storybench" if storybench.task_files(path) else "vistorybench"


def _of_fields(path: Path) -> str:
    """Return the format by the fields of the first object; readers check the rest."""
    text, fields = read_text(path), set()
    with contextlib.suppress(ValueError, RecursionError):
        first, _end = json.JSONDecoder().raw_decode(text, text.find("{"))
        fields = set(first) if isinstance(first, dict) else set()
    found = [name for name, telling in TELLING.items() if telling & fields]
    if not fields:  # If it is no JSON at all, these report where.
        (read_json if path.suffix.lower() == ".json" else read_json_lines)(path)
    if len(found) == 1:
        return found[0]
    raise _unclear(path)


def _unclear(path: Path) -> InputError:
    names = ", ".join(FORMATS)
    what = f"a benchmark in a known format (name it with --format: {names})"
    return InputError([Problem(str(path), what)])


TABLE = "table"
# Formats other than our own tables: descriptions for messages and help.
SCORE_FORMATS = {
    TABLE: f"story, method, metric, score: {FILES}",
    "vistorybench": "a folder of ViStoryBench's results",
    "envision": "Envision's full records or rows of scores, or a folder of them",
    "oneig": "OneIG's CSV files of scores, or a folder of them",
    "dover": "DOVER's table: name, aesthetic, technical, overall",
    "samples": "StoryBench's result.txt: one number per sample",
}
# Formats whose files do not name the method, or the metric.
WITHOUT_METHOD = ("envision", "dover", "samples")
WITHOUT_METRIC = ("samples",)
LONGEST_LINE = 100_000


def guess_scores(path: Path) -> str:
    """Return the format of a file or folder; our own table if no other fits."""
    if oneig_results.is_results(path):
        return "oneig"
    if path.is_dir():
        if is_results(path):
            return "vistorybench"
        names = [child.suffix.lower() for child in path.iterdir() if child.is_file()]
        return "envision" if {".json", ".jsonl"} & set(names) else "vistorybench"
    suffix, first = path.suffix.lower(), _first_line(path).replace(b"\0", b"")
    is_table = all(name in first for name in (b"method", b"metric", b"score"))
    if suffix in (".tsv", ".txt") and not is_table:
        return "dover" if suffix == ".tsv" else "samples"
    has_key = any(f'"{key}"'.encode() in first for key in KEYS)
    if suffix == ".json" or (suffix == ".jsonl" and b'"index"' in first and has_key):
        return "envision"
    return TABLE


def _first_line(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.readline(LONGEST_LINE)
    except OSError:
        return b""


def read_foreign_scores(
    path: Path,
    form: str,
    facts: GivenByUser,
    benchmark: Benchmark,
) -> ForeignScores:
    """Read scores of a benchmark in any format but a table."""
    rows = Story.objects.filter(benchmark__slug=benchmark.slug)
    stories = dict(rows.values_list("key", "tags"))
    if form == "vistorybench":
        methods = set(Method.objects.values_list("name", flat=True))
        return vistorybench_results.read_results(path, methods, facts)
    if form == "oneig":
        return oneig_results.read_results(path, stories, facts)
    missing = [
        Problem(str(path), f"--{option}: the file does not name it")
        for option, value, formats in (
            ("method", facts.method, WITHOUT_METHOD),
            ("metric", facts.metric, WITHOUT_METRIC),
        )
        if form in formats and not value
    ]
    if missing:
        raise InputError(missing)
    if form == "envision":
        return envision_results.read_results(path, facts)
    if form == "dover":
        return storybench.read_dover(path, stories, facts)
    return storybench.read_samples(path, facts)
