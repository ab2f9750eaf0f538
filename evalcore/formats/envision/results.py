"""Reader of Envision's results: full records, rows of scores, or both.

A file is a list of full records (JSON) or has one row per sequence (JSON Lines); a
folder may hold both, with a report. The files do not name the method.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem, Problems
from evalcore.formats.envision.stories import has_index, key_of
from evalcore.formats.json_files import (
    NO_LINK,
    number_of,
    read_json,
    read_rows,
    storable,
)
from evalcore.formats.score_table import is_made_by
from evalcore.formats.story_scripts import ForeignScore, ForeignScores, GivenByUser

FORM = "envision"
PROFILE = "envision-code"
# Sub-dimensions by dimension; each name is a metric here with the prefix "envision_".
PARTS = {
    "consistency": {
        "semantic_consistency": "semantic",
        "factual_consistency": "factual",
        "spatial_temporal_consistency": "spatial_temporal",
    },
    "aesthetic": {
        "expressiveness": "expressiveness",
        "artistic_quality": "artistic_quality",
        "authenticity": "authenticity",
    },
    "physicality": {
        "basic_properties": "basic_properties",
        "dynamics_interactivity": "dynamics",
        "physical_reliability": "physical_reliability",
    },
}
# The programs store this score twice, and count it twice in their averages.
DOUBLED = {"dynamics_and_interactivity": "dynamics_interactivity"}
SINGLE = {key: name for part in PARTS.values() for key, name in part.items()}
DERIVED = {
    "consistency_score": "consistency",
    "aesthetic_score": "aesthetic",
    "physicality_score": "physicality",
    "overall_score": "overall",
}
KEYS = {
    key: f"envision_{name}"
    for group in (SINGLE, DERIVED)
    for key, name in group.items()
}
REPORT = "analysis_report.json"
# In a report that was written here: what made the scores of each metric.
OURS = "plumbline"
LOWEST, HIGHEST = 0, 5
# A row of scores with its position and its file.
ResultRow = tuple[int, Path, dict[str, Any]]


def read_results(path: Path, facts: GivenByUser) -> ForeignScores:
    """Read a file of results, or all files of a folder."""
    problems: Problems[Problem] = Problems()
    contents = ForeignScores()
    rows: dict[str, ResultRow] = {}
    full: dict[str, ResultRow] = {}
    for file in _files(path):
        if file.name == REPORT:
            continue
        listed = "a list of records, each with index and individual_scores"
        for place, row in read_rows(file, listed, strange=True):
            if not has_index(row):
                what = "an object with a whole index, and category and process_type"
                problems.append(_problem(file, place, row, what))
                continue
            into = full if "individual_scores" in row else rows
            key = key_of(row)
            if key in into:
                what = "each index once per process_type"
                problems.append(_problem(file, place, row, what))
            into[key] = (place, file, row)
    for key in full | rows:
        reader = _SequenceReader(key, rows.get(key), full.get(key), problems, contents)
        reader.read(facts)
    report = path / REPORT
    if path.is_dir() and report.is_symlink():
        problems.append(Problem(str(report), NO_LINK))
    if not contents.scores and not problems:
        problems.append(Problem(str(path), "results of Envision's programs"))
    if problems:
        raise InputError(problems)
    if path.is_dir() and report.is_file():
        told = read_json(report)
        contents.options[str(path)] = {FORM: {"report": storable(told)}}
        made_by = told.get(OURS, {}) if isinstance(told, dict) else {}
        if not isinstance(made_by, dict) or not all(map(is_made_by, made_by.values())):
            what = f"{OURS} as an object of texts for each metric"
            raise InputError([Problem(str(report), what)])
        for score in contents.scores:
            score.made_by = made_by.get(score.metric, {})
    for score in contents.scores:
        score.run = str(path)
    return contents


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = [p for p in path.iterdir() if p.suffix.lower() in (".json", ".jsonl")]
    return sorted(p for p in files if not p.is_symlink())


def _problem(file: Path, place: int, row: Any, expected: str, key: str = "") -> Problem:
    index = row.get("index") if isinstance(row, dict) else ""
    line = place if file.suffix.lower() == ".jsonl" else None
    parts = [f"record {place}", f"index {index}" if index != "" else "", key]
    named = ": ".join(part for part in parts if part)[:120]
    return Problem(str(file), expected, line, value=named)


class _SequenceReader:
    def __init__(
        self,
        key: str,
        row: ResultRow | None,
        full: ResultRow | None,
        problems: list[Problem],
        found: ForeignScores,
    ) -> None:
        self.key, self.row, self.full = key, row, full
        self.problems, self.found = problems, found

    def read(self, facts: GivenByUser) -> None:
        scores: dict[str, ForeignScore] = {}
        for place, file, said in self.sources():
            values = {name: said[name] for name in KEYS if name in said}
            for other, name in DOUBLED.items():  # the row only fills gaps
                if other in said:
                    values.setdefault(name, said[other])
            for name, value in values.items():
                number = self.number(place, file, name, value)
                if number is None:
                    continue
                if name in scores and scores[name].value != number:
                    what = f"the same value in {Path(scores[name].file).name}"
                    self.problem(place, file, what, f"{name}: {value}")
                scores[name] = ForeignScore(
                    metric=KEYS[name],
                    method=facts.method,
                    value=number,
                    story=self.key,
                    version=facts.metric_version or PROFILE,
                    backend=facts.backend,
                    file=str(file),
                    line=place if file.suffix.lower() == ".jsonl" else None,
                )
        kept: dict[str, Any] = {}
        for name, source in (("row", self.row), ("full", self.full)):
            if source is not None:
                kept[name] = source[2]
        if scores:
            carrier = scores.get("overall_score") or scores[min(scores)]
            carrier.details = storable({FORM: kept})
        elif not self.problems:
            self.found.notes.append(f"{self.key}: no score; left out")
        self.found.scores += scores.values()

    def sources(self) -> Iterable[ResultRow]:
        """Yield the objects with values: both parts of the full record, and the row."""
        if self.full is not None:
            place, file, record = self.full
            for part in ("individual_scores", "comprehensive_scores"):
                said = record.get(part)
                if isinstance(said, dict):
                    yield place, file, said
                elif said is not None:
                    self.problem(place, file, "an object of scores", part)
        if self.row is not None:
            yield self.row

    def number(self, place: int, file: Path, name: str, value: Any) -> float | None:
        """Return a value on the scale; otherwise add a note or a problem."""
        number = number_of(value)
        if isinstance(number, str):
            self.found.notes.append(f"{file}: {self.key}: {name}: {number}; left out")
            return None
        if not LOWEST <= number <= HIGHEST:
            what = f"a score from {LOWEST} to {HIGHEST}"
            self.problem(place, file, what, f"{name}: {value}")
        return number

    def problem(self, place: int, file: Path, expected: str, what: str) -> None:
        source = self.full if self.full and self.full[1] == file else self.row
        row = source[2] if source else {}
        self.problems.append(_problem(file, place, row, expected, what))
