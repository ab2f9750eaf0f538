"""How ViStoryBench's result folders are laid out: names, records and lines.

    <method>/<mode>/<language>/<timestamp>/
        metadata.json manifest.json summary.json
        metrics/<folder>/story_results.json items.jsonl scores.json

A folder has several keys; each is a metric here. Reading and writing share this page.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evalcore.formats.json_files import number_of

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


def story_record(
    run: RunPath,
    folder: str,
    story: str,
    metrics: Mapping[str, float | None],
    reasons: Mapping[str, str],
) -> dict[str, Any]:
    """Return the record of a story that says no more than its values."""
    record: dict[str, Any] = {
        "run": run.record(),
        "metric": {"name": folder},
        "scope": {"level": "story", "story_id": story},
        "status": COMPLETE,
        "metrics": dict(metrics),
    }
    return {**record, "reasons": dict(reasons)} if reasons else record


def item_line(
    folder: str, key: str, story: str, shot: int, value: float | None, reason: str
) -> dict[str, Any]:
    """Return the line of a shot that says no more than its value."""
    line: dict[str, Any] = {
        "metric": {"name": folder, "submetric": key},
        "scope": {"level": "item", "story_id": story, "shot_index": shot},
        "value": value,
        "status": COMPLETE,
    }
    return {**line, "reason": reason} if reason else line


def method_record(folder: str, metrics: Mapping[str, float | None]) -> dict[str, Any]:
    """Return the record of all stories that says no more than its values."""
    return {
        "metric": {"name": folder},
        "scope": {"level": "dataset"},
        "metrics": dict(metrics),
    }


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


def same(one: Any, other: Any) -> bool:
    """Say whether two JSON values would be written alike: 3 is not 3.0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def means(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean of every number over stories, each story counting once."""
    found: dict[str, list[float]] = {}
    for record in records:
        for key, value in values_in(record).items():
            if isinstance(value, int | float) and isinstance(number_of(value), float):
                found.setdefault(key, []).append(float(value))
    return {key: sum(values) / len(values) for key, values in found.items()}
