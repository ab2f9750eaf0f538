"""Reader of ViStoryBench's result folders: the newest run of each method.

Further content of a folder (boxes, judgements, times) is stored as details of a score
of the same story, or with the run, so that `writing` can write the folder back with
every number. A value that is null, not finite, or a placeholder for "undefined" becomes
an absence.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem, Problems
from analysis.tables import is_name
from evalcore.formats.folder_layouts import as_name, walked
from evalcore.formats.json_files import NO_LINK, read_json, storable
from evalcore.formats.score_table import is_made_by
from evalcore.formats.story_scripts import ForeignScores, GivenByUser, only
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
    """A result folder with its run's identity and its original metadata."""

    path: Path
    run: RunPath
    metadata: Any = None


def is_results(root: Path) -> bool:
    """Return whether a folder holds results of ViStoryBench's programs."""
    return any(_folders(root, []))


def find_runs(root: Path, facts: GivenByUser) -> tuple[list[RunFolder], list[str]]:
    """Return the runs to read: the newest of each method, mode and language."""
    problems: Problems[Problem] = Problems()
    notes: list[str] = []
    folders = [_run(root, path, problems, notes) for path in _folders(root, notes)]
    if not folders:
        what = "results of ViStoryBench: <method>/<mode>/<language>/<timestamp>/metrics"
        problems.append(Problem(str(root), what))
    if problems:
        raise InputError(problems)
    runs = [run for run in folders if run is not None]
    language = facts.language.lower()
    language, stamp = LANGUAGES.get(language, language), _plain(facts.timestamp)
    runs = only(runs, "method", facts.method, lambda run: run.run.method)
    runs = only(runs, "mode", facts.mode, lambda run: run.run.mode)
    runs = only(runs, "language", language, lambda run: run.run.language)
    runs = only(runs, "timestamp", stamp, lambda run: _plain(run.run.timestamp))
    return _newest(runs, notes), notes


def _plain(timestamp: str) -> str:
    return timestamp.replace("-", "_")


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
    """Return the run of a folder, from its metadata or else from its path."""
    parts = [as_name(part) for part in path.resolve().parts[-4:]]
    fields: Any = {}
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
        fields = metadata.get("run") if isinstance(metadata, dict) else None
        if not isinstance(fields, dict):
            what = "an object with run: method, mode, language and timestamp"
            problems.append(Problem(str(path / METADATA), what))
            return None
    # Names above the given folder do not describe the run.
    known = len(path.relative_to(root).parts) if root != path else 0
    named = dict(zip(_FIELDS, parts, strict=False)) if len(parts) == 4 else {}
    values = {}
    for place, name in enumerate(_FIELDS):
        value = fields.get(name, named.get(name) if place >= 4 - known else None)
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
    for key, candidates in sorted(several.items()):
        newest = max(candidates, key=lambda run: _plain(run.run.timestamp))
        chosen.append(newest)
        if len(candidates) > 1:
            notes.append(
                f"{'/'.join(key)}: {len(candidates)} runs; the newest, "
                f"{newest.run.timestamp}, is used (choose another with --timestamp)"
            )
    return chosen


def method_names(
    runs: Sequence[RunPath], known: Collection[str]
) -> dict[tuple[str, str, str], str]:
    """Return the method of each run, by method, mode and language of its path.

    Outputs of a method with several modes or languages were imported as several
    methods, `UNO (base, en)`; so an existing name takes precedence over the plain one.
    Runs that would share a name get such longer names too.
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
        short = f"{run.method} ({', '.join(extra)})" if extra else run.method
        longer = (name for name in (both, by_mode, by_language) if name in known)
        names[run.method, run.mode, run.language] = next(longer, short)
    return names


def read_results(
    root: Path,
    known: Collection[str],
    facts: GivenByUser,
) -> ForeignScores:
    """Read the newest run of each method, mode and language."""
    runs, notes = find_runs(root, facts)
    names = method_names([run.run for run in runs], known)
    contents = ForeignScores(notes=notes)
    problems: Problems[Problem] = Problems()
    for folder in runs:
        run = folder.run
        name = names[run.method, run.mode, run.language]
        _read_run(folder, name, problems, contents)
    if not contents.scores and not problems:
        what = "results with values"
        problems.append(Problem(str(root), what))
    if problems:
        raise InputError(problems)
    return contents


def _read_run(
    folder: RunFolder, method: str, problems: list[Problem], found: ForeignScores
) -> None:
    """Add a run's content to `found`, and its problems to `problems`."""
    ours = (folder.metadata or {}).get(OURS) or {}
    if not _names_metrics(ours):
        what = f"{OURS} as an object of folders, of keys, of texts and a direction"
        problems.append(Problem(str(folder.path / METADATA), what))
        return
    reader = RunReader(folder.run, method, ours, problems, found)
    stored: dict[str, Any] = {"run": dict(vars(folder.run))}
    for name in (METADATA, MANIFEST, SUMMARY):
        path = folder.path / name
        content = reader.json(path) if path.is_file() else None
        if content is not None and not _is_of_parts(content):
            what = "an object, with metrics (if any) as an object of objects"
            problems.append(Problem(str(path), what))
        elif content is not None:
            stored[name.removesuffix(".json")] = storable(content)
    for path in sorted((folder.path / METRICS_FOLDER).iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_symlink() or not path.is_dir():
            found.notes.append(f"{path}: not a metric's folder; left out")
        else:
            MetricReader(reader, path).read()
    stored["left"] = reader.left
    found.options[folder.run.path] = {FORM: stored}


def _is_of_parts(content: Any) -> bool:
    parts = content.get("metrics", {}) if isinstance(content, dict) else None
    return isinstance(parts, dict) and all(isinstance(p, dict) for p in parts.values())


def _names_metrics(ours: Any) -> bool:
    if not isinstance(ours, dict) or not all(
        isinstance(f, dict) for f in ours.values()
    ):
        return False
    keys = [key for folder in ours.values() for key in folder.values()]
    return all(
        isinstance(one, dict)
        and all(isinstance(one.get(w), str) for w in ("metric", "version", "backend"))
        and isinstance(one.get("higher_is_better"), bool)
        and is_made_by(one.get("identity", {}))
        for one in keys
    )
