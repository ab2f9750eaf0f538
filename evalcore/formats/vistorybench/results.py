"""Read result folders of ViStoryBench into scores.

Values that a folder has for a story or a shot become scores. All that it says beside
them (boxes, characters' own similarities, judgements, times) stays in the details of a
score of the same story, or with the run, so that
`evalcore.formats.vistorybench.writing` writes the folder again with every number. A
value that is null, not finite, or known to be a stand-in for "undefined" becomes an
absence, never 0.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem, Problems
from evalcore.formats.foreign_scores import ForeignScores
from evalcore.formats.json_files import storable
from evalcore.formats.vistorybench.layout import FORM, MANIFEST, METADATA, OURS, SUMMARY
from evalcore.formats.vistorybench.metric_folders import MetricReader, RunReader
from evalcore.formats.vistorybench.runs import (
    METRICS_FOLDER,
    RunFolder,
    find_runs,
    method_names,
)


def read_results(
    root: Path,
    known: Collection[str],
    *,
    method: str = "",
    mode: str = "",
    language: str = "",
    timestamp: str = "",
) -> ForeignScores:
    """Read the newest run of each method, mode and language."""
    runs, notes = find_runs(
        root, method=method, mode=mode, language=language, timestamp=timestamp
    )
    names = method_names([run.run for run in runs], known)
    found = ForeignScores(notes=notes)
    problems: Problems[Problem] = Problems()
    for folder in runs:
        run = folder.run
        name = names[run.method, run.mode, run.language]
        _read_run(folder, name, problems, found)
    if not found.scores and not problems:
        what = "results with values; there are none yet"
        problems.append(Problem(str(root), what))
    if problems:
        raise InputError(problems)
    return found


def _read_run(
    folder: RunFolder, method: str, problems: list[Problem], found: ForeignScores
) -> None:
    """Add what a run's folder has to what was found; problems are noted."""
    ours = (folder.metadata or {}).get(OURS) or {}
    if not _names_metrics(ours):
        what = f"{OURS} as an object of folders, of keys, of texts and a direction"
        problems.append(Problem(str(folder.path / METADATA), what))
        return
    reader = RunReader(folder.run, method, ours, problems, found)
    kept: dict[str, Any] = {"run": dict(vars(folder.run))}
    for name in (METADATA, MANIFEST, SUMMARY):
        path = folder.path / name
        content = reader.json(path) if path.is_file() else None
        if content is not None and not _is_of_parts(content):
            what = "an object, with metrics (if any) as an object of objects"
            problems.append(Problem(str(path), what))
        elif content is not None:
            kept[name.removesuffix(".json")] = storable(content)
    for path in sorted((folder.path / METRICS_FOLDER).iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_symlink() or not path.is_dir():
            found.notes.append(f"{path}: no folder of a metric; left out")
        else:
            MetricReader(reader, path).read()
    kept["left"] = reader.left
    found.options[folder.run.path] = {FORM: kept}


def _is_of_parts(content: Any) -> bool:
    parts = content.get("metrics", {}) if isinstance(content, dict) else None
    return isinstance(parts, dict) and all(isinstance(p, dict) for p in parts.values())


def _names_metrics(ours: Any) -> bool:
    """Say whether metadata name metrics as the exporter does."""
    if not isinstance(ours, dict) or not all(
        isinstance(f, dict) for f in ours.values()
    ):
        return False
    said = [key for folder in ours.values() for key in folder.values()]
    return all(
        isinstance(one, dict)
        and all(isinstance(one.get(w), str) for w in ("metric", "version", "backend"))
        and isinstance(one.get("higher_is_better"), bool)
        for one in said
    )
