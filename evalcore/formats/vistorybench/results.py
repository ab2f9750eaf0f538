"""Find and read result folders of ViStoryBench, the newest run of each method.

What a folder says beside scores (boxes, judgements, times) stays in the details of a
score of the same story, or with the run, so that `writing` writes the folder again with
every number. A value that is null, not finite, or a stand-in for "undefined" becomes an
absence.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem, Problems
from analysis.tables import is_name
from evalcore.formats.folder_layouts import as_name, walked
from evalcore.formats.json_files import NO_LINK, read_json, refuse, storable
from evalcore.formats.story_scripts import ForeignScores
from evalcore.formats.vistorybench.layout import (
    FORM,
    LANGUAGES,
    MANIFEST,
    METADATA,
    OURS,
    SUMMARY,
    RunPath,
)
from evalcore.formats.vistorybench.metric_folders import MetricReader, RunReader

METRICS_FOLDER = "metrics"
LONGEST = 200


@dataclass(frozen=True)
class RunFolder:
    """A result folder, whose results it holds, and its metadata as they stand."""

    path: Path
    run: RunPath
    metadata: Any = None


def is_results(root: Path) -> bool:
    """Say whether a folder holds results of ViStoryBench's programs."""
    return any(_folders(root, []))


def find_runs(
    root: Path, *, method: str, mode: str, language: str, timestamp: str
) -> tuple[list[RunFolder], list[str]]:
    """Return the runs to be read: of each method, mode and language the newest."""
    problems: Problems[Problem] = Problems()
    notes: list[str] = []
    found = [_run(root, path, problems, notes) for path in _folders(root, notes)]
    if not found:
        what = "results of ViStoryBench: <method>/<mode>/<language>/<timestamp>/metrics"
        problems.append(Problem(str(root), what))
    if problems:
        raise InputError(problems)
    runs = [run for run in found if run is not None]
    for name, wanted in (
        ("method", method),
        ("mode", mode),
        ("language", LANGUAGES.get(language.lower(), language.lower())),
        ("timestamp", timestamp.replace("-", "_")),
    ):
        if wanted:
            kept = [r for r in runs if _plain(name, r.run) == wanted]
            if not kept:
                there = sorted({getattr(run.run, name) for run in runs})
                what = f"one of those found: {', '.join(there)}"
                refuse(f"--{name}", what, value=wanted)
            runs = kept
    return _newest(runs, notes), notes


def _plain(name: str, run: RunPath) -> str:
    value = str(getattr(run, name))
    return value.replace("-", "_") if name == "timestamp" else value


def _folders(root: Path, notes: list[str]) -> list[Path]:
    found = []
    for folder, names, files in walked(root, notes):
        names.sort()
        if METRICS_FOLDER in names and (
            METADATA in files or any((folder / METRICS_FOLDER).glob("*/*.json"))
        ):
            found.append(folder)
            names.clear()
    return found


def _run(
    root: Path, path: Path, problems: list[Problem], notes: list[str]
) -> RunFolder | None:
    """Return whose results a folder holds: as its metadata say, else as its path."""
    parts = [as_name(part) for part in path.resolve().parts[-4:]]
    said: Any = {}
    metadata = None
    if (path / METADATA).is_symlink():
        problems.append(Problem(str(path / METADATA), NO_LINK))
        return None
    if (path / METADATA).is_file():
        try:
            metadata = read_json(path / METADATA)
        except InputError as error:
            problems += error.problems
            return None
        said = metadata.get("run") if isinstance(metadata, dict) else None
        if not isinstance(said, dict):
            what = "an object with run: method, mode, language and timestamp"
            problems.append(Problem(str(path / METADATA), what))
            return None
    # Above the folder that was named, names say nothing of the run.
    known = len(path.relative_to(root).parts) if root != path else 0
    named = dict(zip(_FIELDS, parts, strict=False)) if len(parts) == 4 else {}
    values = {}
    for place, name in enumerate(_FIELDS):
        value = said.get(name, named.get(name) if place >= 4 - known else None)
        if not isinstance(value, str) or not (
            0 < len(value.strip()) <= LONGEST and is_name(value) and "/" not in value
        ):
            what = f"the {name} of the run, in {METADATA} or in the path below {root}"
            problems.append(Problem(str(path), what, value=str(value or "")[:60]))
            return None
        values[name] = as_name(value)
        if place >= 4 - known and value != named.get(name):
            notes.append(
                f"{path}: {METADATA} says {name} {value}, the path {named.get(name)}; "
                f"{value} is taken"
            )
    return RunFolder(path, RunPath(**values), metadata)


_FIELDS = ("method", "mode", "language", "timestamp")


def _newest(runs: Sequence[RunFolder], notes: list[str]) -> list[RunFolder]:
    several: dict[tuple[str, str, str], list[RunFolder]] = defaultdict(list)
    for run in runs:
        several[run.run.method, run.run.mode, run.run.language].append(run)
    chosen = []
    for key, found in sorted(several.items()):
        newest = max(found, key=lambda run: run.run.timestamp.replace("-", "_"))
        chosen.append(newest)
        if len(found) > 1:
            notes.append(
                f"{'/'.join(key)}: {len(found)} runs; the newest, "
                f"{newest.run.timestamp}, is taken (--timestamp takes another)"
            )
    return chosen


def method_names(
    runs: Sequence[RunPath], known: Collection[str]
) -> dict[tuple[str, str, str], str]:
    """Return the method of each run, by method, mode and language of its path.

    Outputs of a method with several modes or languages were imported as several
    methods, `UNO (base, en)`; so a name that is known goes before the plain one. Runs
    that would share a name are told apart in the same way.
    """
    modes, languages = defaultdict(set), defaultdict(set)
    for run in runs:
        modes[run.method].add(run.mode)
        languages[run.method].add(run.language)
    names = {}
    for run in runs:
        language = "zh" if run.language == "ch" else run.language
        both = f"{run.method} ({run.mode}, {language})"
        by_mode = f"{run.method} ({run.mode})"
        by_language = f"{run.method} ({language})"
        extra = [run.mode] * (len(modes[run.method]) > 1)
        extra += [language] * (len(languages[run.method]) > 1)
        plain = f"{run.method} ({', '.join(extra)})" if extra else run.method
        longer = (name for name in (both, by_mode, by_language) if name in known)
        names[run.method, run.mode, run.language] = next(longer, plain)
    return names


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
