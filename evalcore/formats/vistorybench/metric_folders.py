"""Reader of one metric's folder within a result folder of ViStoryBench."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem
from analysis.reading.texts import higher_by_name
from evalcore.formats.folder_layouts import MOST_SHOTS
from evalcore.formats.json_files import (
    NO_LINK,
    NOT_A_NUMBER,
    number_of,
    read_json,
    read_json_lines,
    storable,
)
from evalcore.formats.story_scripts import ForeignScore, ForeignScores
from evalcore.formats.vistorybench.layout import (
    COMPLETE,
    FORM,
    ITEMS,
    JUDGED,
    NO_SCORES,
    PLACES,
    PROFILE,
    RECORDS,
    SCORES,
    RunPath,
    item_line,
    method_record,
    metric_of,
    same,
    story_record,
    values_in,
)


@dataclass
class _Story:
    """Content of one metric folder for one story."""

    record: dict[str, Any] | None = None
    values: dict[str, ForeignScore] = field(default_factory=dict)
    beside: list[dict[str, Any]] = field(default_factory=list)  # lines without a score


class RunReader:
    """State shared by the metric folders of one run.

    `run`: identity of the results. `method`: the method's name here. `ours`: the metric
    of each key, from the metadata. `problems`, `found`: lists to extend.
    """

    def __init__(
        self,
        run: RunPath,
        method: str,
        ours: dict[str, Any],
        problems: list[Problem],
        found: ForeignScores,
    ) -> None:
        self.run, self.method, self.ours = run, method, ours
        self.problems, self.found = problems, found
        self.left: dict[str, dict[str, Any]] = {}  # content that belongs to no score

    def json(self, path: Path) -> Any:
        if path.is_symlink():
            self.problems.append(Problem(str(path), NO_LINK))
            return None
        try:
            return read_json(path, strange=True)
        except InputError as error:
            self.problems += error.problems
            return None

    def score(self, folder: str, key: str, value: Any, path: Path) -> ForeignScore:
        """Return a value as a score, or as an absence with its reason."""
        number = number_of(value)
        metric = metric_of(folder, key)
        default = {
            "metric": metric,
            "version": f"{PROFILE} {self.run.timestamp}",
            "backend": FORM,
            "higher_is_better": higher_by_name(metric) is not False,
        }
        labels = default | self.ours.get(folder, {}).get(key, {})
        return ForeignScore(
            metric=labels["metric"],
            method=self.method,
            value=None if isinstance(number, str) else number,
            reason=number if isinstance(number, str) else "",
            version=labels["version"],
            backend=labels["backend"],
            made_by=labels.get("identity", {}),
            higher=labels["higher_is_better"],
            file=str(path),
            run=self.run.path,
        )


class MetricReader:
    """Reader of one metric folder of a run."""

    def __init__(self, run: RunReader, path: Path) -> None:
        self.run, self.path, self.folder = run, path, path.name
        self.stories: dict[str, _Story] = defaultdict(_Story)
        self.shots: dict[tuple[str, str, int], ForeignScore] = {}
        self.numbers: set[int] = set()  # shot numbers as the lines give them
        self.rows: dict[tuple[str, str, int], dict[str, Any]] = {}
        self.methods: dict[str, ForeignScore] = {}
        self.alone: dict[str, Any] = {}  # records and lines that belong to no score
        self.odd: dict[str, int] = defaultdict(int)

    def note(self, text: str) -> None:
        self.run.found.notes.append(f"{self.path}: {text}")

    def problem(self, path: Path, expected: str, value: str, line: int = 0) -> None:
        problem = Problem(str(path), expected, line or None, value=value[:80])
        self.run.problems.append(problem)

    def read(self) -> None:
        known = {RECORDS, ITEMS, SCORES}
        names = {p.name for p in self.path.iterdir() if not p.name.startswith(".")}
        others = sorted(names - known)
        if others:
            self.note(f"not read: {', '.join(others[:5])}{', ...' * (len(others) > 5)}")
        if (self.path / RECORDS).exists():
            self.records(self.path / RECORDS)
        if (self.path / SCORES).exists():
            self.of_method(self.path / SCORES)
        if (self.path / ITEMS).exists():
            self.lines(self.path / ITEMS)
        self.count_shots_from_1()
        for what, count in sorted(self.odd.items()):
            self.note(f"{count} {what}")
        self.finish()

    def records(self, path: Path) -> None:
        data = self.run.json(path)
        if data is None:
            return
        if not isinstance(data, dict):
            self.problem(path, "an object of records by story", "")
            return
        for story, record in data.items():
            if not isinstance(record, dict):
                self.problem(path, "one object per story", f"story {story}")
            elif record.get("status", COMPLETE) != COMPLETE:
                self.odd[f"stories that are not {COMPLETE}; left out"] += 1
                self.alone.setdefault("records", {})[story] = record
            else:
                self.record(path, story, record)

    def record(self, path: Path, story: str, record: dict[str, Any]) -> None:
        entry = self.stories[story]
        entry.record = record
        reasons = record.get("reasons")
        reasons = reasons if isinstance(reasons, dict) else {}
        for key, value in values_in(record).items():
            score = self.run.score(self.folder, key, value, path)
            is_none = score.value is None and score.reason == NOT_A_NUMBER
            if (self.folder, key) in NO_SCORES or (
                is_none and score.metric not in PLACES  # cannot be a metric's value
            ):
                continue
            score.story = story
            if undefined := _undefined(self.folder, key, record):
                score.value, score.reason = None, undefined
            if score.value is None:
                self.odd[f"values of {key} that are not numbers"] += 1
                score.reason = str(reasons.get(key) or score.reason)
            elif isinstance(value, str):
                self.odd[f"values of {key} that are text; read as numbers"] += 1
            entry.values[key] = score
        characters = record.get("detailed_scores") if self.folder == "cids" else None
        for shot, details in (
            characters if isinstance(characters, dict) else {}
        ).items():
            value = details.get(JUDGED) if isinstance(details, dict) else None
            number = self.shot_number(shot)
            if number is None:
                self.problem(path, "the number of a shot", f"story {story}: {shot}")
            elif isinstance(number_of(value), float):
                score = self.run.score(self.folder, JUDGED, value, path)
                score.story, score.shot = story, number
                score.details = {FORM: {"judged": shot}}
                self.shots[JUDGED, story, number] = score
                self.numbers.add(number)

    def lines(self, path: Path) -> None:
        rows: Any
        if path.is_symlink():
            self.run.problems.append(Problem(str(path), NO_LINK))
            return
        try:
            rows = read_json_lines(path, strange=True)
        except InputError as error:
            self.run.problems += error.problems
            rows = error.table or ()
        for line, row in rows:
            self.line(path, line, row)

    def line(self, path: Path, line: int, row: Any) -> None:
        metric, scope = _part(row, "metric"), _part(row, "scope")
        name, key = metric.get("name"), metric.get("submetric")
        story, number = scope.get("story_id"), self.shot_number(scope.get("shot_index"))
        if not (
            isinstance(name, str) and isinstance(key, str) and isinstance(story, str)
        ):
            what = "an object with metric {name, submetric} and scope {story_id}"
            self.problem(path, what, "", line)
            return
        if number is None:
            index = str(scope.get("shot_index"))
            self.problem(path, "a shot_index that is a whole number", index, line)
            return
        self.numbers.add(number)
        entry = self.stories[story]
        if set(scope) & {"character_key", "character_name"}:
            entry.beside.append(row)
            return
        if row.get("status", COMPLETE) != COMPLETE:
            self.odd[f"lines that are not {COMPLETE}; left out"] += 1
            entry.beside.append(row)
            return
        if name != self.folder:
            self.odd[f"lines of another metric than {self.folder}; left out"] += 1
            entry.beside.append(row)
            return
        if (key, story, number) in self.rows:
            self.odd["repeated lines of a shot; the last one is used"] += 1
            entry.beside.append(self.rows[key, story, number])
        score = self.run.score(name, key, row.get("value"), path)
        score.story, score.shot, score.line = story, number, line
        if score.value is None:
            self.odd[f"lines of {key} without a value"] += 1
            score.reason = str(row.get("reason") or score.reason)
        self.shots[key, story, number] = score
        self.rows[key, story, number] = row

    def shot_number(self, value: Any) -> int | None:
        if isinstance(value, str) and value.isdecimal() and len(value) < 9:
            value = int(value)
        return value if type(value) is int and 0 <= value <= MOST_SHOTS else None

    def count_shots_from_1(self) -> None:
        """Shift shot numbers that some versions of the programs count from 0."""
        if 0 not in self.numbers:
            return
        self.note("shots are counted from 0 here; the scores count them from 1")
        for score in self.shots.values():
            if score.shot is not None:
                score.shot += 1

    def of_method(self, path: Path) -> None:
        data = self.run.json(path)
        if data is None:
            return
        if not isinstance(data, dict):
            self.problem(path, "an object with metrics", "")
            return
        for key, value in values_in(data).items():
            if (self.folder, key) not in NO_SCORES:
                self.methods[key] = self.run.score(self.folder, key, value, path)
        minimal = method_record(self.folder, _values(self.methods))
        if same(minimal, data):
            return
        carrier = next(_with_values(self.methods), None)
        if carrier is None:
            self.alone["scores"] = data
        else:
            carrier.details = {FORM: {"scores": data}}

    # Finishing ----------------------------------------------------------------------

    def finish(self) -> None:
        """Attach content without a score to a score of the story, or to the run."""
        for place, row in self.rows.items():
            self.keep_line(place, row)
        scores: list[ForeignScore] = [*self.methods.values(), *self.shots.values()]
        for story, entry in self.stories.items():
            scores += entry.values.values()
            leftover: dict[str, Any] = {}
            if entry.record is not None:
                why = {k: s.reason for k, s in entry.values.items() if s.value is None}
                values = _values(entry.values)
                minimal = story_record(self.run.run, self.folder, story, values, why)
                if not entry.values or not same(minimal, entry.record):
                    leftover["record"] = entry.record
            if entry.beside:
                leftover["items"] = entry.beside
            carrier = next(_with_values(entry.values), None)
            if leftover and carrier is not None:
                carrier.details = {FORM: leftover}
            elif leftover:
                if "record" in leftover:
                    self.alone.setdefault("records", {})[story] = leftover["record"]
                self.alone.setdefault("items", []).extend(leftover.get("items", []))
        for score in scores:
            score.details = storable(score.details)
        self.run.found.scores += scores
        if self.alone:
            self.run.left[self.folder] = storable(self.alone)

    def keep_line(self, place: tuple[str, str, int], row: dict[str, Any]) -> None:
        """Store a line that has more than its value.

        An absence has no details, so such a line without a value is only stored whole.
        """
        key, story, _number = place
        score = self.shots[place]
        shot = score.shot or 0
        minimal = item_line(self.folder, key, story, shot, score.value, score.reason)
        if same(minimal, row):
            return
        if score.value is None:
            self.stories[story].beside.append(row)
            del self.shots[place]
        else:
            score.details = {FORM: {"item": row}}


def _part(row: Any, name: str) -> dict[str, Any]:
    part = row.get(name) if isinstance(row, dict) else None
    return part if isinstance(part, dict) else {}


def _values(scores: dict[str, ForeignScore]) -> dict[str, float | None]:
    return {key: score.value for key, score in scores.items()}


def _with_values(scores: dict[str, ForeignScore]) -> Iterator[ForeignScore]:
    return (s for _key, s in sorted(scores.items()) if s.value is not None)


def _undefined(folder: str, key: str, record: dict[str, Any]) -> str:
    """Return why a value is a placeholder, if the record says so."""
    if (folder, key) == ("cids", "copy_paste_score"):
        raw = record.get("copy-paste-score", 0)
        return "undefined: copy-paste-score is null" if raw in (None, "null") else ""
    if (folder, key) == ("aesthetic", "aesthetic_score"):
        return "no picture" if record.get("per_image_scores") == [] else ""
    return ""
