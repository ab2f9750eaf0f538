"""Writer of result folders in ViStoryBench's format, which its programs can read.

Content imported from such a folder is written back unchanged, with every number; a
newer score replaces the imported one.
"""

import copy
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalcore.formats.json_files import as_found, number_of
from evalcore.formats.vistorybench.layout import (
    COMPLETE,
    FORM,
    ITEMS,
    JUDGED,
    MANIFEST,
    METADATA,
    OURS,
    RECORDS,
    SCORES,
    SUMMARY,
    RunPath,
    item_line,
    means,
    method_record,
    place_of,
    story_record,
    values_in,
)
from evalcore.formats.written_files import Files, as_json, as_lines
from evalcore.metrics.identity import Identity, is_more_than_label


@dataclass(frozen=True)
class Score:
    """A metric's value for one story, shot, or all stories; or why it is missing."""

    identity: Identity
    higher: bool
    value: float | None
    reason: str = ""
    story: str = ""
    shot: int | None = None
    details: Mapping[str, Any] | None = None

    @property
    def metric(self) -> str:
        return self.identity.metric

    def found(self, name: str) -> Any:
        """Return a detail stored with the score when it was imported."""
        kept = (self.details or {}).get(FORM)
        return as_found(kept.get(name)) if isinstance(kept, Mapping) else None


@dataclass(frozen=True)
class Results:
    """The results of one run."""

    run: RunPath
    scores: Sequence[Score]
    # Details stored with the run when it was imported.
    found: Mapping[str, Any] = field(default_factory=dict)
    updated: str = ""  # time of computation, as ISO 8601


def result_files(results: Results) -> Files:
    """Return the files of a run's folder, by path below the root of all results."""
    folders: dict[str, list[Score]] = defaultdict(list)
    for score in results.scores:
        folders[place_of(score.metric)[0]].append(score)
    found = as_found(dict(results.found))
    left = found.get("left") or {}
    before = found.get("summary") or {"run": results.run.record()}
    means_before = before.get("metrics") or {}
    files: Files = {}
    summary: dict[str, Any] = {}
    stories: dict[str, list[str]] = {}
    for name in sorted({*folders, *left}):
        folder = _Folder(results.run, name, folders[name], left.get(name, {}))
        for file, text in folder.files().items():
            files[f"metrics/{name}/{file}"] = text
        summary[name] = folder.summary(means_before.get(name) or {})
        stories[name] = sorted(folder.records)
    files[METADATA] = as_json(found.get("metadata") or _metadata(results))
    files[MANIFEST] = as_json(found.get("manifest") or _manifest(results, stories))
    files[SUMMARY] = as_json(before | {"metrics": summary})
    return {f"{results.run.path}/{name}": text for name, text in files.items()}


class _Folder:
    """One metric folder: records of stories, lines of shots, a record of the method."""

    def __init__(
        self,
        run: RunPath,
        name: str,
        scores: Iterable[Score],
        left: Mapping[str, Any],
    ) -> None:
        self.run, self.name, self.left = run, name, left
        self.of_method: list[Score] = []
        self.stories: dict[str, list[Score]] = defaultdict(list)
        self.shots: list[Score] = []
        for score in scores:
            if not score.story:
                self.of_method.append(score)
            elif score.shot is None:
                self.stories[score.story].append(score)
            else:
                self.shots.append(score)
        found = (score.found("scores") for score in self.of_method)
        self.scores_before: dict[str, Any] | None = next(
            filter(None, found), self.left.get("scores")
        )
        self.before = self._records_before()
        self.records = self._records()
        self.scores = self._scores()

    def _records_before(self) -> dict[str, dict[str, Any]]:
        """Return the imported records that have more than values."""
        before = dict(self.left.get("records") or {})
        for story, scores in self.stories.items():
            found = next((r for s in scores if (r := s.found("record"))), None)
            before[story] = found or before.get(story) or self._plain(story)
        return before

    def _plain(self, story: str) -> dict[str, Any]:
        scores = self.stories[story]
        values = {place_of(score.metric)[1]: score.value for score in scores}
        reasons = {
            place_of(score.metric)[1]: score.reason
            for score in scores
            if score.value is None
        }
        return story_record(self.run, self.name, story, values, reasons)

    def _records(self) -> dict[str, dict[str, Any]]:
        records = copy.deepcopy(self.before)
        for story, scores in self.stories.items():
            values = records[story]
            if isinstance(values.get("metrics"), dict):
                values = values["metrics"]
            for score in scores:
                _overlay(values, place_of(score.metric)[1], score.value)
        for score in self.shots:
            shot = score.found("judged")
            judged = records.get(score.story, {}).get("detailed_scores", {}).get(shot)
            if judged is not None:
                _overlay(judged, JUDGED, score.value)
        return records

    def _scores(self) -> dict[str, Any] | None:
        record = copy.deepcopy(self.scores_before)
        if record is None and not self.of_method:
            return None
        record = record or method_record(self.name, {})
        for score in self.of_method:
            inner = record.get("metrics")
            values = inner if isinstance(inner, dict) else record
            _overlay(values, place_of(score.metric)[1], score.value)
        return record

    def _lines(self) -> list[dict[str, Any]]:
        lines = list(self.left.get("items") or ())
        for scores in self.stories.values():
            for score in scores:
                lines += score.found("items") or ()
        for score in self.shots:
            if score.found("judged") is not None:
                continue
            line = score.found("item")
            if line is None:
                key = place_of(score.metric)[1]
                line = item_line(
                    self.name,
                    key,
                    score.story,
                    score.shot or 0,
                    score.value,
                    score.reason,
                )
            else:
                _overlay(line, "value", score.value)
            lines.append(line)
        return sorted(lines, key=_line_order)

    def files(self) -> Files:
        files: Files = {}
        if self.records:
            files[RECORDS] = as_json(self.records)
        if lines := self._lines():
            files[ITEMS] = as_lines(lines, sort_keys=True)
        if self.scores is not None:
            files[SCORES] = as_json(self.scores)
        return files

    def summary(self, before: dict[str, Any]) -> dict[str, Any]:
        """Return the folder's part of the summary, computed as the programs do.

        Imported content stays unless its values have changed.
        """
        if self.scores is not None:
            same = before and self.scores == self.scores_before
            return before if same else self.scores
        was, now = means(self.before.values()), means(self.records.values())
        fresh = {
            key: value
            for key, value in now.items()
            if not before or was.get(key) != value
        }
        return {**before, "metrics": {**values_in(before), **fresh}}


def _overlay(values: dict[str, Any], key: str, value: float | None) -> None:
    """Set a value; leave an equal number as it was written."""
    if value is None:
        values.setdefault(key, None)
    elif number_of(values.get(key)) != value:
        values[key] = value


def _line_order(line: Mapping[str, Any]) -> tuple[str, ...]:
    scope, metric = line.get("scope") or {}, line.get("metric") or {}
    shot = str(scope.get("shot_index", ""))
    return (
        str(scope.get("story_id", "")),
        shot.zfill(9),
        str(metric.get("name", "")),
        str(metric.get("submetric", "")),
        str(scope.get("character_key") or scope.get("character_name") or ""),
    )


def _metadata(results: Results) -> Any:
    said: dict[str, dict[str, Any]] = defaultdict(dict)
    for score in results.scores:
        folder, key = place_of(score.metric)
        if key in said[folder] and score.value is None:
            continue  # an absence has no direction
        said[folder][key] = {
            "metric": score.metric,
            "version": score.identity.label,
            "backend": score.identity.backend,
            "higher_is_better": score.higher,
        }
        if is_more_than_label(score.identity):
            said[folder][key]["identity"] = score.identity.columns
    run = results.run.record()
    run["dataset_name"] = run.pop("dataset")
    return {"run": run, **({} if results.found else {OURS: said})}


def _manifest(results: Results, stories: Mapping[str, Sequence[str]]) -> Any:
    done = {
        "status": COMPLETE,
        "version": None,
        "outputs_hash": None,
        "last_updated": results.updated,
    }
    metrics = {name: dict.fromkeys(keys, done) for name, keys in stories.items()}
    return {"version": 1, "resume_default": "verify", "metrics": metrics}
