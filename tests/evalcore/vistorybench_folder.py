"""A result folder as ViStoryBench's programs write it."""

import json
from pathlib import Path
from typing import Any

STAMP = "20260102_030405"


def run_info(method="UNO", mode="base", language="en", stamp=STAMP) -> dict[str, str]:
    return {
        "method": method,
        "mode": mode,
        "language": language,
        "dataset": "ViStory",
        "timestamp": stamp,
    }


def record(run, name, story, data, status="complete", **more) -> dict[str, Any]:
    head = {
        "run": run,
        "metric": {"name": name},
        "scope": {"level": "story", "story_id": story},
        "status": status,
    }
    return {**head, **data, **more}


def item(name, submetric, story, shot, value, **more) -> dict[str, Any]:
    scope = {"level": "item", "story_id": story, "shot_index": shot}
    for key in ("character_key", "character_name"):
        if key in more:
            scope[key] = more.pop(key)
    return {
        "metric": {"name": name, "submetric": submetric},
        "scope": scope,
        "value": value,
        **more,
        "status": "complete",
    }


def cids(
    self_mean, cross_mean, copy_paste, occm, action, raw: Any = None, shots=(1, 2, 3)
):
    """Return the results of the character evaluator for one story of three shots."""
    return {
        "cids": {"Mira": {"cross": 0.5123, "self": self_mean}},
        **{
            f"shot-{n}": {"Mira": {"box": [0.5, 0.25, 0.125, 0.75], "cross_sim": 0.61}}
            for n in shots
        },
        "copy-paste-score": copy_paste if raw is None else raw,
        "metrics": {
            "cids_self_mean": self_mean,
            "cids_cross_mean": cross_mean,
            "copy_paste_score": copy_paste,
            "occm": occm,
            "single_character_action": action,
        },
        "detailed_scores": {
            str(n): {
                "single_character_action": action,
                "single_character_action_char": {"Mira": action},
            }
            for n in shots
        },
        "new_shot_indices": list(shots),
    }


def write_run(
    root: Path, method="UNO", mode="base", language="en", stamp=STAMP, shots=(1, 2, 3)
) -> Path:
    """Write the results of two stories, 01 and 02, of three shots each."""
    run = run_info(method, mode, language, stamp)
    folder = root / method / mode / language / stamp
    stories = {
        "cids": {
            "01": cids(0.8123, 0.5123, 0.0, 100.0, 3, raw="null", shots=shots),
            "02": cids(0.9, 0.6, 0.4375, 77.8801, 2, shots=shots),
        },
        "csd": {
            s: {
                "metrics": {"self_csd": 0.5 + i / 8, "cross_csd": 0.1 + 0.2},
                "shot_details": [
                    {
                        "index": n,
                        "score": 0.31,
                        "ref_image": "a.jpg",
                        "gen_image": "狐.png",
                        "elapsed_time(seconds)": 0.0123,
                        "character_scores": [{"character_key": "Mira", "score": 0.3}],
                    }
                    for n in shots
                ],
            }
            for i, s in enumerate(("01", "02"))
        },
        "prompt_align": {
            s: {
                "metrics": {"scene": 3.5, "character_action": 2.0, "camera": 4 / 3},
                "detailed_scores": {
                    str(n): {"scene": 3, "character_action": 2, "camera": 1}
                    for n in shots
                },
            }
            for s in ("01", "02")
        },
        "aesthetic": {
            s: {
                "metrics": {"aesthetic_score": 5.59765625},
                "per_image_scores": [{"shot_index": n, "score": 5.6} for n in shots],
            }
            for s in ("01", "02")
        },
    }
    manifest: dict[str, Any] = {"version": 1, "resume_default": "verify", "metrics": {}}
    for name, records in stories.items():
        results = {s: record(run, name, s, data) for s, data in records.items()}
        put(folder / f"metrics/{name}/story_results.json", results)
        manifest["metrics"][name] = {
            s: {
                "status": "complete",
                "version": None,
                "outputs_hash": None,
                "last_updated": "2026-01-02T03:04:05.678901Z",
                "duration_ms": 1234,
            }
            for s in records
        }
    lines = {
        "cids": [
            line
            for s in ("01", "02")
            for n in shots
            for line in (
                item(
                    "cids",
                    "cross_sim",
                    s,
                    n,
                    0.61,
                    character_key="Mira",
                    unit="cosine_similarity",
                    extras={"box": "null"},
                ),
                item(
                    "prompt_align",
                    "single_character_action",
                    s,
                    str(n),
                    3,
                    character_name="Mira",
                ),
            )
        ],
        "csd": [
            item(
                "csd",
                "cross_csd",
                s,
                n,
                0.31 + n / 100,
                unit="cosine_similarity",
                extras={"ref_image": "a.jpg", "gen_image": "狐.png"},
            )
            for s in ("01", "02")
            for n in shots
        ],
        "prompt_align": [
            item("prompt_align", key, s, str(n), value)
            for s in ("01", "02")
            for n in shots
            for key, value in (("scene", 3), ("character_action", 2), ("camera", 1))
        ],
        "aesthetic": [
            item("aesthetic", "aesthetic_score", s, n, 5.6)
            for s in ("01", "02")
            for n in shots
        ],
    }
    for name, rows in lines.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"metrics/{name}/items.jsonl").write_text(text, encoding="utf-8")
    diversity = {
        "metric": {"name": "diversity"},
        "scope": {"level": "dataset"},
        "metrics": {"inception_score": 8.5, "inception_score_std": 0.0},
    }
    put(folder / "metrics/diversity/scores.json", diversity)
    summary = {
        name: {"metrics": mean_of([data["metrics"] for data in records.values()])}
        for name, records in stories.items()
    }
    put(
        folder / "summary.json",
        {"run": run, "metrics": summary | {"diversity": diversity}},
    )
    put(folder / "manifest.json", manifest)
    said = {k: v for k, v in run.items() if k != "dataset"}
    said |= {"dataset_name": "ViStory", "outputs_timestamp": "20251231_000000"}
    put(folder / "metadata.json", {"run": said})
    return folder


def mean_of(metrics):
    """Return means as the programs compute them: summed in order, then divided."""
    found: dict[str, list[float]] = {}
    for values in metrics:
        for key, value in values.items():
            found.setdefault(key, []).append(float(value))
    return {key: sum(values) / len(values) for key, values in found.items()}


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=4))
    return path


def change(path: Path, edit) -> None:
    """Rewrite a JSON file with a function that edits its content in place."""
    content = json.loads(path.read_text())
    edit(content)
    put(path, content)


def contents(root: Path) -> dict[str, Any]:
    """Return the content of files below a folder: objects, and unordered lines."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*.json*")):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            rows = [json.loads(line) for line in text.split("\n") if line]
            value: Any = sorted(json.dumps(row, sort_keys=True) for row in rows)
        else:
            value = json.loads(text)
        found[str(path.relative_to(root))] = value
    return found
