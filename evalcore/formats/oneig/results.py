"""Reader of the CSV files that OneIG-Bench's programs write.

`<metric>_prompt_score_<EN or ZH>_<time>.csv` has a row for each prompt and a column for
each method; `<metric>_score_...` has a row for each method. A folder may hold them
directly, or in a folder for each method. Of several times the newest counts, for each
metric and method.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem, Problems
from evalcore.formats.json_files import NO_LINK, NO_VALUE, number_of, refuse
from evalcore.formats.oneig.stories import read_table
from evalcore.formats.story_scripts import (
    ForeignScore,
    ForeignScores,
    GivenByUser,
    only,
)
from evalcore.metrics.oneig.alignment import Language
from evalcore.metrics.oneig.text import combined

FORM = "oneig"
PROFILE = "oneig-code"
FILE = re.compile(
    r"(alignment|diversity|reasoning|style|text)_(prompt_|style_|)score_(EN|ZH)"
    r"(?:_([\d_-]+))?.*\.csv"
)
PROMPTS, STYLES, METHODS = "prompt_", "style_", ""
# What computes each metric in the programs.
BACKENDS = {
    "alignment": "Qwen2.5-VL-7B-Instruct",
    "diversity": "DreamSim",
    "reasoning": "LLM2CLIP",
    "style": "CSD ViT-L and OneIG's style encoder",
    "text": "Qwen2.5-VL-7B-Instruct",
}
# Metrics whose files leave out the class of their prompts.
CLASS = {"reasoning": "reasoning", "style": "anime", "text": "text"}
# Column of a method's value in its file.
OVERALL = {"diversity": "total average", "text": "text score"}
PARTS = ("ED", "CR", "WAC")
TOLERANCE = 1e-6
Scores = dict[str, ForeignScore]  # by story


@dataclass(frozen=True)
class ResultFile:
    """One file of results, with what its name says."""

    path: Path
    metric: str
    kind: str
    language: Language
    timestamp: str


def is_results(path: Path) -> bool:
    """Return whether a file, or a folder two levels deep, has results of OneIG."""
    if not path.is_dir():
        return bool(FILE.fullmatch(path.name))
    return any(FILE.fullmatch(p.name) for g in ("*", "*/*") for p in path.glob(g))


def read_results(
    path: Path,
    stories: Mapping[str, Mapping[str, Any]],
    facts: GivenByUser,
) -> ForeignScores:
    """Read a file of results, or all files of a folder.

    `stories` has the tags of the benchmark's stories; method, language and timestamp
    that the user names leave everything else out. A method's value is stored only where
    no prompts have one; otherwise it is compared with their mean.
    """
    reader = _Reader(str(path), facts)
    files = _in_language(_files(path, reader), path, stories, facts.language, reader)
    files = only(files, "timestamp", facts.timestamp, lambda file: file.timestamp)
    newest_first = sorted(files, key=lambda file: file.timestamp, reverse=True)
    for kind, read in ((PROMPTS, reader.prompts), (METHODS, reader.methods)):
        for file in newest_first:
            if file.kind == kind:
                read(file)
    found = reader.found
    if not found.scores and not reader.problems:
        what = "results of OneIG's programs, such as alignment_prompt_score_EN_*.csv"
        reader.problems.append(Problem(str(path), what))
    if reader.problems:
        raise InputError(reader.problems)
    return found


def _files(path: Path, reader: "_Reader") -> list[ResultFile]:
    files = []
    for one in sorted(path.rglob("*")) if path.is_dir() else [path]:
        match = FILE.fullmatch(one.name)
        if one.is_symlink():
            reader.problems.append(Problem(str(one), NO_LINK))
        elif one.suffix.lower() != ".csv":
            continue
        elif match is None or match[2] == STYLES:
            why = "no scores by prompt or by method"
            reader.found.notes.append(f"{one}: {why}; left out")
        else:
            language: Language = "en" if match[3] == "EN" else "zh"
            time = match[4] or ""
            files.append(ResultFile(one, match[1], match[2], language, time))
    return files


def _in_language(
    files: Sequence[ResultFile],
    path: Path,
    stories: Mapping[str, Mapping[str, Any]],
    language: str,
    reader: "_Reader",
) -> list[ResultFile]:
    """Return the files of the benchmark's language; English and Chinese are two."""
    own = {str(tags["language"]) for tags in stories.values() if tags.get("language")}
    wanted = {language.lower().replace("ch", "zh")} if language else own
    there = {file.language for file in files}
    if len(wanted) != 1:
        if len(there) > 1:
            refuse(path, "results of EN or of ZH; --language en or zh chooses")
        return list(files)
    if there and not wanted & there:
        code = wanted.pop().upper()
        refuse(path, f"results of {code}, the language of the prompts")
    for file in files:
        if file.language not in wanted:
            reader.found.notes.append(f"{file.path}: another language; left out")
    return [file for file in files if file.language in wanted]


class _Reader:
    """Collects scores, notes and problems of files."""

    def __init__(self, run: str, facts: GivenByUser) -> None:
        self.run, self.facts, self.method = run, facts, facts.method
        self.found = ForeignScores()
        self.problems: Problems[Problem] = Problems()
        # scores of prompts by metric and method
        self.by_prompt: dict[tuple[str, str], Scores] = {}
        self.timestamps: dict[tuple[str, str], str] = {}

    def prompts(self, file: ResultFile) -> None:
        """Read the values of prompts, for methods that no newer file has."""
        rows, methods = self._table(file)
        empty: dict[str, int] = defaultdict(int)
        scores: dict[str, Scores] = {name: {} for name in self._new(file, methods)}
        for line, name, cells in rows:
            item = CLASS.get(file.metric)
            story = f"{item}_{name}" if item else name
            for method, own in scores.items():
                cell = cells[method]
                if number_of(cell) == NO_VALUE:
                    empty[method] += 1
                elif story in own:
                    self._problem(file, line, "", name, "each prompt once")
                elif (value := self._value(file, line, method, cell)) is not None:
                    own[story] = self._score(file, line, method, *value, story)
        for method, own in scores.items():
            if own:
                self.by_prompt[file.metric, method] = own
                self.timestamps[file.metric, method] = file.timestamp
                self.found.scores += own.values()
        for method, count in empty.items():
            why = f"{count} prompts of {method} have no value; left out"
            self.found.notes.append(f"{file.path}: {why}")

    def methods(self, file: ResultFile) -> None:
        """Read the values of methods; note those that differ from their prompts'."""
        rows, columns = self._table(file)
        column = OVERALL.get(file.metric, file.metric)
        if columns and column not in columns:
            what = f"the column {column}"
            self._problem(file, 1, "", ", ".join(columns), what)
            return
        for line, method, cells in rows:
            known = self.by_prompt.get((file.metric, method), {})
            if self.method not in ("", method):
                continue
            if known and self.timestamps[file.metric, method] != file.timestamp:
                why = f"{method} has prompts of another time; left out"
                self.found.notes.append(f"{file.path}: {why}")
                continue
            value = self._number(file, line, column, cells[column])
            if value is None:
                continue
            if file.metric == "text":
                self._pooled(file, line, method, value, cells)
            elif not known:
                self._add_once(self._score(file, line, method, value, None, ""))
            else:
                mean = math.fsum(one.value or 0 for one in known.values()) / len(known)
                if abs(mean - value) > TOLERANCE:
                    self.found.notes.append(
                        f"{file.path}: {method} has {value:.4f}, its prompts a mean of "
                        f"{mean:.4f}, which counts"
                    )

    def _pooled(
        self,
        file: ResultFile,
        line: int,
        method: str,
        value: float,
        cells: Mapping[str, str],
    ) -> None:
        """Add the text score of a method, which pools the words of all pictures."""
        parts = {
            name: self._number(file, line, name, cells.get(name, "")) for name in PARTS
        }
        score = self._score(file, line, method, value, {FORM: parts}, "")
        score.metric = "oneig_text_pooled"
        self._add_once(score)

    def _add_once(self, score: ForeignScore) -> None:
        """Add a method's value unless a newer file has one."""
        known = {(one.metric, one.method) for one in self.found.scores if not one.story}
        if (score.metric, score.method) not in known:
            self.found.scores.append(score)

    def _new(self, file: ResultFile, methods: Iterable[str]) -> list[str]:
        wanted = [name for name in methods if self.method in ("", name)]
        new = [name for name in wanted if (file.metric, name) not in self.by_prompt]
        for name in wanted:
            if name not in new:
                why = f"{name} has newer results; left out"
                self.found.notes.append(f"{file.path}: {why}")
        return new

    def _table(
        self, file: ResultFile
    ) -> tuple[list[tuple[int, str, dict[str, str]]], list[str]]:
        """Return rows (line, first cell, the others by column) and the columns."""
        try:
            table = read_table(file.path)
        except InputError as error:
            self.problems += error.problems
            return [], []
        if len(table.columns) < 2:
            what = "a column of prompts or methods, and at least one of scores"
            self._problem(file, 1, "", ", ".join(map(str, table.columns)), what)
            return [], []
        first, *columns = map(str, table.columns)
        rows = []
        for line, cells in zip(table.index, table.to_dict("records"), strict=True):
            texts = {str(name): str(cell).strip() for name, cell in cells.items()}
            rows.append((int(line), texts.pop(first), texts))
        return rows, columns

    def _value(
        self, file: ResultFile, line: int, method: str, cell: str
    ) -> tuple[float, dict[str, Any] | None] | None:
        """Return a prompt's value and the parts of a text's; None with a problem."""
        if file.metric != "text":
            value = self._number(file, line, method, cell)
            return None if value is None else (value, None)
        parts = _parts(cell)
        if parts is None:
            self._problem(file, line, method, cell, f"[{', '.join(PARTS)}] as numbers")
            return None
        details = {FORM: dict(zip(PARTS, parts, strict=True))}
        return combined(*parts, file.language), details

    def _number(
        self, file: ResultFile, line: int, column: str, cell: str
    ) -> float | None:
        number = number_of(cell)
        if isinstance(number, float | int):
            return float(number)
        if number != NO_VALUE:
            self._problem(file, line, column, cell, "a finite number")
        return None

    def _score(
        self,
        file: ResultFile,
        line: int,
        method: str,
        value: float,
        details: dict[str, Any] | None,
        story: str,
    ) -> ForeignScore:
        return ForeignScore(
            metric=f"oneig_{file.metric}",
            method=method,
            value=value,
            story=story,
            version=self.facts.metric_version or PROFILE,
            backend=self.facts.backend or BACKENDS[file.metric],
            details=details,
            file=str(file.path),
            line=line,
            run=self.run,
        )

    def _problem(
        self, file: ResultFile, line: int, column: str, value: str, expected: str
    ) -> None:
        problem = Problem(str(file.path), expected, line, column, value[:60])
        self.problems.append(problem)


def _parts(cell: str) -> tuple[float, float, float] | None:
    """Return edit distance, completion rate and word accuracy of a text's cell."""
    try:
        numbers = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    if not isinstance(numbers, list) or len(numbers) != len(PARTS):
        return None
    if not all(isinstance(n, float | int) and math.isfinite(n) for n in numbers):
        return None
    distance, complete, accuracy = map(float, numbers)
    return distance, complete, accuracy
