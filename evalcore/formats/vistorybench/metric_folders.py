"""Read one folder of metrics of a result folder of ViStoryBench."""

from collections import defaultdict
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
from evalcore.formats.vistorybench.writing import (
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
    metric_of,
    values_in,
)

# What records and lines consist of that say no more than values.
PLAIN = {"run", "metric", "scope", "status", "metrics", "reasons", "value", "reason"}


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
        self.stories: dict[str, dict[str, FoundScore]] = defaultdict(dict)
        self.beside: dict[str, dict[str, Any]] = defaultdict(dict)  # by story
        self.shots: dict[tuple[str, str, int], FoundScore] = {}
        self.numbers: set[int] = set()  # of shots, as any line gives them
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
        for story, kept in self.beside.items():
            scores = self.stories[story]
            keys = [key for key, score in scores.items() if score.value is not None]
            if kept and keys:
                scores[min(keys)].details = storable({FORM: kept})
        for scores in self.stories.values():
            self.run.found.scores += scores.values()
        self.run.found.scores += self.shots.values()

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
            else:
                self.record(path, story, record)

    def record(self, path: Path, story: str, record: dict[str, Any]) -> None:
        if set(record) - PLAIN:
            self.beside[story]["record"] = record
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
            self.stories[story][key] = score
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
        if set(scope) & {"character_key", "character_name"}:
            self.beside[story].setdefault("items", []).append(row)
            return
        if row.get("status", COMPLETE) != COMPLETE:
            self.odd[f"lines that are not {COMPLETE}; left out"] += 1
            return
        if name != self.folder:
            self.odd[f"lines of another metric than {self.folder}; left out"] += 1
            return
        before = self.shots.get((key, story, number))
        if before is not None and before.line is not None:
            self.odd[
                "lines of a shot that another line follows; the last is taken"
            ] += 1
        score = self.run.score(name, key, row.get("value"), path)
        score.story, score.shot, score.line = story, number, line
        if score.value is None:
            self.odd[f"lines of {key} without a value"] += 1
            score.reason = str(row.get("reason") or score.reason)
        elif set(row) - PLAIN:
            score.details = storable({FORM: {"item": row}})
        self.shots[key, story, number] = score

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
                score = self.run.score(self.folder, key, value, path)
                if set(data.get("metrics", ())) - {key}:
                    score.details = storable({FORM: {"scores": data}})
                self.run.found.scores.append(score)


def _part(row: Any, name: str) -> dict[str, Any]:
    part = row.get(name) if isinstance(row, dict) else None
    return part if isinstance(part, dict) else {}


def _undefined(folder: str, key: str, record: dict[str, Any]) -> str:
    """Return why a value is a stand-in for none, if the record tells so."""
    if (folder, key) == ("cids", "copy_paste_score"):
        raw = record.get("copy-paste-score", 0)
        return "undefined: copy-paste-score is null" if raw in (None, "null") else ""
    if (folder, key) == ("aesthetic", "aesthetic_score"):
        return "no picture" if record.get("per_image_scores") == [] else ""
    return ""
