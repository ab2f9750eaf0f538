"""Layout of ViStoryBench's result folders: names, records and lines.

    <method>/<mode>/<language>/<timestamp>/
        metadata.json manifest.json summary.json
        metrics/<folder>/story_results.json items.jsonl scores.json

A folder has several keys; each is a metric here. Reader and writer share this module.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evalcore.formats.json_files import number_of

FORM = "vistorybench"
# Version label of scores that the benchmark's own programs computed.
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
# Deviations are not scores; they are stored as details of the value.
NO_SCORES = frozenset({("diversity", "inception_score_std")})
METADATA, MANIFEST, SUMMARY = "metadata.json", "manifest.json", "summary.json"
RECORDS, ITEMS, SCORES = "story_results.json", "items.jsonl", "scores.json"
COMPLETE = "complete"
# Key of a record that holds values of shots.
JUDGED = "single_character_action"
# Entry of metadata.json: metric, version and backend of each key that is not
# ViStoryBench's.
OURS = "plumbline"


@dataclass(frozen=True, order=True)
class RunPath:
    """Identity of a run of results, from the folder's path."""

    method: str
    mode: str
    language: str
    timestamp: str

    @property
    def path(self) -> str:
        """Return the folder's path below the root of all results."""
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
    """Return our name of the metric stored under a key.

    >>> metric_of("csd", "self_csd"), metric_of("sharpness", "sharpness")
    ('csd_self', 'sharpness')
    >>> metric_of("prompt_align", "character_existence")
    'prompt_align.character_existence'
    """
    name = key if key == folder else f"{folder}.{key}"
    return METRICS.get((folder, key), name)


def place_of(metric: str) -> tuple[str, str]:
    """Return folder and key of a metric; the inverse of `metric_of`.

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
    """Return the minimal record of a story."""
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
    """Return the minimal line of a shot."""
    line: dict[str, Any] = {
        "metric": {"name": folder, "submetric": key},
        "scope": {"level": "item", "story_id": story, "shot_index": shot},
        "value": value,
        "status": COMPLETE,
    }
    return {**line, "reason": reason} if reason else line


def method_record(folder: str, metrics: Mapping[str, float | None]) -> dict[str, Any]:
    """Return the minimal record of all stories."""
    return {
        "metric": {"name": folder},
        "scope": {"level": "dataset"},
        "metrics": dict(metrics),
    }


def values_in(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a record; very old ones have them outside `metrics`."""
    metrics = record.get("metrics")
    if isinstance(metrics, dict):
        return metrics
    return {
        key: value
        for key, value in record.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are written the same way: 3 is not 3.0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def means(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean of every number over stories, each story counting once."""
    numbers: dict[str, list[float]] = {}
    for record in records:
        for key, value in values_in(record).items():
            if isinstance(value, int | float) and isinstance(number_of(value), float):
                numbers.setdefault(key, []).append(float(value))
    return {key: sum(values) / len(values) for key, values in numbers.items()}
