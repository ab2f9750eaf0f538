"""How ViStoryBench's result folders are laid out; scores written as such folders.

<method>/<mode>/<language>/<timestamp>/
    metadata.json manifest.json summary.json
    metrics/<folder>/story_results.json items.jsonl scores.json
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalcore.formats.json_files import number_of
from evalcore.formats.written_files import Files, as_json, as_lines

FORM = "vistorybench"
# Whose definitions the numbers of its own programs follow.
PROFILE = "vsb-code"
LANGUAGES = {"zh": "ch"}
METRICS = {
    ("cids", "cids_self_mean"): "cids_self",
    ("cids", "cids_cross_mean"): "cids_cross",
    ("cids", "copy_paste_score"): "copy_paste",
    ("cids", "occm"): "occm",
    ("cids", "single_character_action"): "pa_action",
    ("csd", "self_csd"): "csd_self",
    ("csd", "cross_csd"): "csd_cross",
    ("prompt_align", "scene"): "pa_scene",
    ("prompt_align", "character_action"): "pa_interaction",
    ("prompt_align", "camera"): "pa_camera",
    ("aesthetic", "aesthetic_score"): "aesthetic",
    ("diversity", "inception_score"): "inception_score",
}
PLACES = {metric: place for place, metric in METRICS.items()}
# How far a value scatters is no score of its own; it stays beside the value.
NO_SCORES = frozenset({("diversity", "inception_score_std")})
METADATA, MANIFEST, SUMMARY = "metadata.json", "manifest.json", "summary.json"
RECORDS, ITEMS, SCORES = "story_results.json", "items.jsonl", "scores.json"
COMPLETE = "complete"
# The key of a record that has values of shots in it.
JUDGED = "single_character_action"
# In metadata.json: which metric, version and backend each key is, if not their own.
OURS = "plumbline"


@dataclass(frozen=True, order=True)
class RunPath:
    """Whose results a folder holds, in the words of its path."""

    method: str
    mode: str
    language: str
    timestamp: str

    @property
    def path(self) -> str:
        """Return the folder's path below that of all results."""
        return f"{self.method}/{self.mode}/{self.language}/{self.timestamp}"

    def record(self) -> dict[str, str]:
        return {
            "method": self.method,
            "mode": self.mode,
            "language": self.language,
            "dataset": "ViStory",
            "timestamp": self.timestamp,
        }


def metric_of(folder: str, key: str) -> str:
    """Return what a key is called here.

    >>> metric_of("csd", "self_csd"), metric_of("sharpness", "sharpness")
    ('csd_self', 'sharpness')
    >>> metric_of("prompt_align", "character_existence")
    'prompt_align.character_existence'
    """
    own = key if key == folder else f"{folder}.{key}"
    return METRICS.get((folder, key), own)


def place_of(metric: str) -> tuple[str, str]:
    """Return folder and key of a metric; `metric_of` gives it back.

    >>> place_of("csd_self"), place_of("sharpness"), place_of("prompt_align.extra")
    (('csd', 'self_csd'), ('sharpness', 'sharpness'), ('prompt_align', 'extra'))
    """
    folder, dot, key = metric.partition(".")
    return PLACES.get(
        metric, (folder, key) if dot and folder and key else (metric,) * 2
    )


def values_in(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a record, which very old ones have outside `metrics`."""
    metrics = record.get("metrics")
    if isinstance(metrics, dict):
        return metrics
    return {
        key: value
        for key, value in record.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def means(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean of every number over stories, each story counting once."""
    found: dict[str, list[float]] = {}
    for record in records:
        for key, value in values_in(record).items():
            if isinstance(value, int | float) and isinstance(number_of(value), float):
                found.setdefault(key, []).append(float(value))
    return {key: sum(values) / len(values) for key, values in found.items()}


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
