"""Read one folder of metrics of a result folder of ViStoryBench."""

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
from evalcore.formats.story_scripts import ForeignScores, FoundScore
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
    """What one folder of metrics says of one story."""

    record: dict[str, Any] | None = None
    values: dict[str, FoundScore] = field(default_factory=dict)
    beside: list[dict[str, Any]] = field(default_factory=list)  # lines without a score


class RunReader:
    """What the folders of metrics of one run share.

    `run`: whose results they are. `method`: what that method is called here. `ours`:
    which metric each key is, where metadata say it. `problems`, `found`: what is wrong,
    and what was found, is added to these.
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
        self.left: dict[str, dict[str, Any]] = {}  # what no score carries

    def json(self, path: Path) -> Any:
        if path.is_symlink():
            self.problems.append(Problem(str(path), NO_LINK))
            return None
        try:
            return read_json(path, strange=True)
        except InputError as error:
            self.problems += error.problems
            return None

    def score(self, folder: str, key: str, value: Any, path: Path) -> FoundScore:
        """Return a value as a score, or as an absence with its reason."""
        number = number_of(value)
        metric = metric_of(folder, key)
        plain = {
            "metric": metric,
            "version": f"{PROFILE} {self.run.timestamp}",
            "backend": FORM,
            "higher_is_better": higher_by_name(metric) is not False,
        }
        said = plain | self.ours.get(folder, {}).get(key, {})
        return FoundScore(
            metric=said["metric"],
            method=self.method,
            value=None if isinstance(number, str) else number,
            reason=number if isinstance(number, str) else "",
            version=said["version"],
            backend=said["backend"],
            higher=said["higher_is_better"],
            file=str(path),
            run=self.run.path,
        )


class MetricReader:
    """Reads one folder of metrics of a run."""

    def __init__(self, run: RunReader, path: Path) -> None:
        self.run, self.path, self.folder = run, path, path.name
        self.stories: dict[str, _Story] = defaultdict(_Story)
        self.shots: dict[tuple[str, str, int], FoundScore] = {}
        self.numbers: set[int] = set()  # of shots, as any line gives them
        self.rows: dict[tuple[str, str, int], dict[str, Any]] = {}
        self.methods: dict[str, FoundScore] = {}
        self.alone: dict[str, Any] = {}  # records and lines that no score carries
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
                self.problem(path, "an object a story", f"story {story}")
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
                is_none and score.metric not in PLACES  # no metric could give that
            ):
                continue
            score.story = story
            if undefined := _undefined(self.folder, key, record):
                score.value, score.reason = None, undefined
            if score.value is None:
                self.odd[f"values of {key} that are none"] += 1
                score.reason = str(reasons.get(key) or score.reason)
            elif isinstance(value, str):
                self.odd[f"values of {key} that are text; taken as numbers"] += 1
            entry.values[key] = score
        judged = record.get("detailed_scores") if self.folder == "cids" else None
        for shot, said in (judged if isinstance(judged, dict) else {}).items():
            value = said.get(JUDGED) if isinstance(said, dict) else None
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
            found = str(scope.get("shot_index"))
            self.problem(path, "a shot_index that is a whole number", found, line)
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
            self.odd[
                "lines of a shot that another line follows; the last is taken"
            ] += 1
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
        """Shift numbers that some versions of the programs count from 0."""
        if 0 not in self.numbers:
            return
        self.note(
            "shots are counted from 0 here; each number is one more in the scores"
        )
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
        plain = method_record(self.folder, _values(self.methods))
        if same(plain, data):
            return
        carrier = next(_with_values(self.methods), None)
        if carrier is None:
            self.alone["scores"] = data
        else:
            carrier.details = {FORM: {"scores": data}}

    # All -------------------------------------------------------------------------

    def finish(self) -> None:
        """Give what has no score of its own to one of the same story, or to the run."""
        for place, row in self.rows.items():
            self.keep_line(place, row)
        scores: list[FoundScore] = [*self.methods.values(), *self.shots.values()]
        for story, entry in self.stories.items():
            scores += entry.values.values()
            kept: dict[str, Any] = {}
            if entry.record is not None:
                why = {k: s.reason for k, s in entry.values.items() if s.value is None}
                values = _values(entry.values)
                plain = story_record(self.run.run, self.folder, story, values, why)
                if not entry.values or not same(plain, entry.record):
                    kept["record"] = entry.record
            if entry.beside:
                kept["items"] = entry.beside
            carrier = next(_with_values(entry.values), None)
            if kept and carrier is not None:
                carrier.details = {FORM: kept}
            elif kept:
                if "record" in kept:
                    self.alone.setdefault("records", {})[story] = kept["record"]
                self.alone.setdefault("items", []).extend(kept.get("items", []))
        for score in scores:
            score.details = storable(score.details)
        self.run.found.scores += scores
        if self.alone:
            self.run.left[self.folder] = storable(self.alone)

    def keep_line(self, place: tuple[str, str, int], row: dict[str, Any]) -> None:
        """Keep a line that says more than its value.

        An absence has no details, so such a line without a value is only kept.
        """
        key, story, _number = place
        score = self.shots[place]
        shot = score.shot or 0
        plain = item_line(self.folder, key, story, shot, score.value, score.reason)
        if same(plain, row):
            return
        if score.value is None:
            self.stories[story].beside.append(row)
            del self.shots[place]
        else:
            score.details = {FORM: {"item": row}}


def _part(row: Any, name: str) -> dict[str, Any]:
    part = row.get(name) if isinstance(row, dict) else None
    return part if isinstance(part, dict) else {}


def _values(scores: dict[str, FoundScore]) -> dict[str, float | None]:
    return {key: score.value for key, score in scores.items()}


def _with_values(scores: dict[str, FoundScore]) -> Iterator[FoundScore]:
    return (s for _key, s in sorted(scores.items()) if s.value is not None)


def _undefined(folder: str, key: str, record: dict[str, Any]) -> str:
    """Return why a value is a stand-in for none, if the record tells so."""
    if (folder, key) == ("cids", "copy_paste_score"):
        raw = record.get("copy-paste-score", 0)
        return "undefined: copy-paste-score is null" if raw in (None, "null") else ""
    if (folder, key) == ("aesthetic", "aesthetic_score"):
        return "no picture" if record.get("per_image_scores") == [] else ""
    return ""
