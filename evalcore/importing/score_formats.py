"""Which formats of scores are read, and telling them apart."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from analysis.commands.arguments import TABLE as FILES
from analysis.problems import InputError, Problem
from evalcore.formats.envision import results as envision_results
from evalcore.formats.envision.score_names import KEYS
from evalcore.formats.foreign_scores import ForeignScores
from evalcore.formats.storybench import results as storybench_results
from evalcore.formats.vistorybench import results as vistorybench_results
from evalcore.formats.vistorybench.runs import is_results

TABLE = "table"
# Those that are no tables of ours: what they are, for messages and help.
FORMATS = {
    TABLE: f"story, method, metric, score: {FILES}",
    "vistorybench": "a folder of ViStoryBench's results",
    "envision": "Envision's full records or rows of scores, or a folder of them",
    "dover": "DOVER's table: name, aesthetic, technical, overall",
    "samples": "StoryBench's result.txt: a number a sample",
}
# Formats whose files do not say whose results they are.
WITHOUT_METHOD = ("envision", "dover", "samples")
WITHOUT_METRIC = ("samples",)
LONGEST_LINE = 100_000


@dataclass(frozen=True)
class GivenByUser:
    """What a file does not say and the user does; what is empty was not told."""

    method: str = ""
    metric: str = ""
    metric_version: str = ""
    backend: str = ""
    mode: str = ""
    language: str = ""
    timestamp: str = ""


def guess(path: Path) -> str:
    """Return the format of a file or folder; a table of ours if nothing else fits."""
    if path.is_dir():
        if is_results(path):
            return "vistorybench"
        names = [child.suffix.lower() for child in path.iterdir() if child.is_file()]
        return "envision" if {".json", ".jsonl"} & set(names) else "vistorybench"
    suffix = path.suffix.lower()
    if suffix in (".tsv", ".txt") and not _is_table(path):
        return "dover" if suffix == ".tsv" else "samples"
    if suffix == ".json" or (suffix == ".jsonl" and _is_of_envision(path)):
        return "envision"
    return TABLE


def _is_table(path: Path) -> bool:
    """Say whether the first line has the columns of a table of ours."""
    first = _first_line(path).replace(b"\0", b"")  # of UTF-16
    return all(name.encode() in first for name in ("method", "metric", "score"))


def _first_line(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.readline(LONGEST_LINE)
    except OSError:
        return b""


def _is_of_envision(path: Path) -> bool:
    """Say whether the first line is a row of Envision's; who reads it says the rest."""
    first = _first_line(path)
    return b'"index"' in first and any(f'"{key}"'.encode() in first for key in KEYS)


def read_found(
    path: Path,
    form: str,
    told: GivenByUser,
    *,
    methods: Collection[str],
    stories: Collection[str],
) -> ForeignScores:
    """Read scores in any format but a table."""
    if form == "vistorybench":
        return vistorybench_results.read_results(
            path,
            methods,
            method=told.method,
            mode=told.mode,
            language=told.language,
            timestamp=told.timestamp,
        )
    missing = [
        Problem(str(path), f"--{option}: the file does not say which it is")
        for option, value, formats in (
            ("method", told.method, WITHOUT_METHOD),
            ("metric", told.metric, WITHOUT_METRIC),
        )
        if form in formats and not value
    ]
    if missing:
        raise InputError(missing)
    known = {
        "method": told.method,
        "version": told.metric_version,
        "backend": told.backend,
    }
    if form == "envision":
        return envision_results.read_results(path, **known)
    if form == "dover":
        return storybench_results.read_dover(path, stories, **known)
    return storybench_results.read_samples(path, metric=told.metric, **known)
