"""Envision's sequences, four prompts with explanations each, and its programs' results.

A file of sequences is a list of `{index, category, process_type, prompts}`; a folder
holds one a domain. Every domain counts from 1, so a story's key names it:
`biology_0001`. Pictures are called `index_0007/index_0007_step_1.png`: a number is a
story if only one has it, or if a folder on the way names the domain.

Results are a list of full records (JSON) or have a row a sequence (JSON Lines); a
folder may hold both, and a report of them. The files do not name the method.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem, Problems
from evalcore.formats.json_files import (
    number_in,
    number_of,
    read_json,
    read_rows,
    refuse,
    storable,
)
from evalcore.formats.story_scripts import (
    ForeignScores,
    FoundScore,
    ReadShot,
    ReadStory,
    can_name_a_file,
)

INDEX = re.compile(r"(?:index_)?(\d{1,9})")
STEP = re.compile(r"(?:index_)?(\d{1,9})_step_\d{1,4}")
KEY = re.compile(r"(.+)_(\d{4,9})")
# What the benchmark's own files and folders have before a domain's name.
PREFIX = "envision_"
SHORTEST = 3  # letters of a domain, as in `bio`


def with_story(parts: Sequence[str], stories: Collection[str]) -> list[str]:
    """Return folder names with the story's key in place of its number.

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
    """Return the pictures of one folder by the story that their own names say."""
    found: dict[str, list[Path]] = defaultdict(list)
    left = list(parts)
    if not any(part in stories for part in parts):
        for picture in pictures:
            number = STEP.fullmatch(picture.stem)
            key, domain = "", ""
            if number:
                key, domain = _key(int(number[1]), parts, stories)
            if key:
                found[key].append(picture)
                left = [part for part in left if part != domain]
    return found, left


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


STEPS = [1, 2, 3, 4]
MOST_SEQUENCES = 10**9
# The domain of sequences whose file names none.
NO_DOMAIN = "index"


def read_sequences(path: Path) -> tuple[list[ReadStory], list[str]]:
    """Read and check one file of sequences, or every one of a folder."""
    problems: Problems[Problem] = Problems()
    stories: dict[str, ReadStory] = {}
    for file in _files(path):
        for place, story in _read_file(file, problems):
            other = stories.setdefault(story.key, story)
            if other is not story:
                what = f"an index once a process_type; {other.file.name} has it too"
                named = f"sequence {place}: {story.key}"
                rule = "an index once a process_type"
                problems.append(Problem(str(file), what, value=named, rule=rule))
    if problems:
        raise InputError(problems)
    return list(stories.values()), []


def key_of(row: dict[str, Any]) -> str:
    """Return the key of the story that a row of Envision's files is about.

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
        complain("a list of four objects {step, prompt, explanation}", "prompts")
        return None
    steps = [prompt.get("step") for prompt in prompts]
    if not all(type(step) is int for step in steps) or sorted(steps) != STEPS:
        shown = f"steps {', '.join(map(str, steps))}"
        complain("steps 1, 2, 3 and 4, each once", shown)
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
    told = {
        name: prompt[name].strip()
        for name in ("prompt", "explanation")
        if (prompt.get(name) or "").strip()
    }
    return ReadShot(prompt["step"], {"en": told})


# Results of the programs

FORM = "envision"
PROFILE = "envision-code"
# Sub-dimensions by dimension; each name is a metric here with "envision_" before it.
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
# The programs store this one a second time, and count it twice where they count.
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


LOWEST, HIGHEST = 0, 5
# A row of scores, with its place and its file.
ResultRow = tuple[int, Path, dict[str, Any]]


def read_results(
    path: Path, *, method: str, version: str, backend: str
) -> ForeignScores:
    """Read a file of results, or those of a folder."""
    problems: Problems[Problem] = Problems()
    found = ForeignScores()
    rows: dict[str, ResultRow] = {}
    full: dict[str, ResultRow] = {}
    for file in _result_files(path):
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
                what = "an index once a process_type"
                problems.append(_problem(file, place, row, what))
            into[key] = (place, file, row)
    for key in full | rows:
        reader = _SequenceReader(key, rows.get(key), full.get(key), problems, found)
        reader.read(method, version or PROFILE, backend)
    if not found.scores and not problems:
        problems.append(Problem(str(path), "results of Envision's programs"))
    if problems:
        raise InputError(problems)
    for score in found.scores:
        score.run = str(path)
    return found


def _result_files(path: Path) -> list[Path]:
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

    def read(self, method: str, version: str, backend: str) -> None:
        scores: dict[str, FoundScore] = {}
        for place, file, said in self.sources():
            values = {name: said[name] for name in KEYS if name in said}
            for other, name in DOUBLED.items():  # fills a gap only
                if other in said:
                    values.setdefault(name, said[other])
            for name, value in values.items():
                number = self.number(place, file, name, value)
                if number is None:
                    continue
                if name in scores and scores[name].value != number:
                    what = f"the same value in {Path(scores[name].file).name}"
                    self.problem(place, file, what, f"{name}: {value}")
                scores[name] = FoundScore(
                    metric=KEYS[name],
                    method=method,
                    value=number,
                    story=self.key,
                    version=version,
                    backend=backend,
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
        """Yield what has values: the full record's two parts, and the row."""
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
        """Return a value within the scale; what is none is noted or a problem."""
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
