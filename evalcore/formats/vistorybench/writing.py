"""Write scores as result folders of ViStoryBench, which its own programs read."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalcore.formats.vistorybench.layout import (
    COMPLETE,
    ITEMS,
    MANIFEST,
    METADATA,
    OURS,
    RECORDS,
    SCORES,
    SUMMARY,
    RunPath,
    means,
    place_of,
)
from evalcore.formats.written_files import Files, as_json, as_lines


@dataclass(frozen=True)
class Score:
    """A value of a metric for one story, shot, or all stories; or why there is none."""

    metric: str
    version: str
    backend: str
    higher: bool
    value: float | None
    reason: str = ""
    story: str = ""
    shot: int | None = None

    @property
    def key(self) -> str:
        """Return what it is called in its folder of metrics."""
        return place_of(self.metric)[1]


def result_files(run: RunPath, scores: Sequence[Score]) -> Files:
    """Return the files of a run's folder, by their path below that of all results."""
    folders: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        folders[place_of(score.metric)[0]].append(score)
    files: Files = {}
    summary: dict[str, Any] = {}
    stories: dict[str, list[str]] = {}
    for name, own in sorted(folders.items()):
        records = _records(run, name, own)
        whole = {s.key: s.value for s in own if not s.story}
        summary[name] = {"metrics": means(records.values())}
        stories[name] = sorted(records)
        if records:
            files[f"metrics/{name}/{RECORDS}"] = as_json(records)
        if lines := _lines(name, own):
            files[f"metrics/{name}/{ITEMS}"] = as_lines(lines, sort_keys=True)
        if whole:
            summary[name] = {
                "metric": {"name": name},
                "scope": {"level": "dataset"},
                "metrics": whole,
            }
            files[f"metrics/{name}/{SCORES}"] = as_json(summary[name])
    said = run.record()
    files[MANIFEST] = as_json(_manifest(run, stories))
    files[SUMMARY] = as_json({"run": dict(said), "metrics": summary})
    said["dataset_name"] = said.pop("dataset")
    files[METADATA] = as_json({"run": said, OURS: _versions(scores)})
    return {f"{run.path}/{name}": text for name, text in files.items()}


def _records(
    run: RunPath, folder: str, scores: Iterable[Score]
) -> dict[str, dict[str, Any]]:
    """Return the record of each story that has values, or reasons why it has none."""
    records: dict[str, dict[str, Any]] = {}
    for score in scores:
        if not score.story or score.shot is not None:
            continue
        record = records.setdefault(
            score.story,
            {
                "run": run.record(),
                "metric": {"name": folder},
                "scope": {"level": "story", "story_id": score.story},
                "status": COMPLETE,
                "metrics": {},
            },
        )
        if score.value is None:
            record["metrics"].setdefault(score.key, None)
            record.setdefault("reasons", {})[score.key] = score.reason
        else:
            record["metrics"][score.key] = score.value
    return records


def _lines(folder: str, scores: Iterable[Score]) -> list[dict[str, Any]]:
    """Return the lines of shots, in the same order on every machine."""
    shots = [s for s in scores if s.story and s.shot is not None]
    return [
        {
            "metric": {"name": folder, "submetric": s.key},
            "scope": {"level": "item", "story_id": s.story, "shot_index": s.shot},
            "value": s.value,
            "status": COMPLETE,
            **({"reason": s.reason} if s.reason else {}),
        }
        for s in sorted(shots, key=lambda s: (s.story, s.shot or 0, s.key))
    ]


def _versions(scores: Iterable[Score]) -> dict[str, dict[str, Any]]:
    """Return metric, version, backend and direction of each key of a folder."""
    said: dict[str, dict[str, Any]] = defaultdict(dict)
    for score in scores:
        folder, key = place_of(score.metric)
        if key in said[folder] and score.value is None:
            continue  # an absence has no direction
        said[folder][key] = {
            "metric": score.metric,
            "version": score.version,
            "backend": score.backend,
            "higher_is_better": score.higher,
        }
    return said


def _manifest(run: RunPath, stories: Mapping[str, Sequence[str]]) -> Any:
    stamp = r"(\d{4})(\d\d)(\d\d)[-_](\d\d)(\d\d)(\d\d)"
    ended = re.sub(stamp, r"\1-\2-\3T\4:\5:\6Z", run.timestamp)
    done = {
        "status": COMPLETE,
        "version": None,
        "outputs_hash": None,
        "last_updated": ended,
    }
    metrics = {name: dict.fromkeys(keys, done) for name, keys in stories.items()}
    return {"version": 1, "resume_default": "verify", "metrics": metrics}
