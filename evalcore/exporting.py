"""Write a benchmark's scores as files, and find its VISTAR prompts."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from analysis.problems import InputError, Problem
from evalcore.formats.envision import writing as envision
from evalcore.formats.envision.results import FORM as ENVISION
from evalcore.formats.vistar import Prompts, questionnaire_files
from evalcore.formats.vistorybench.layout import FORM, LANGUAGES, RunPath
from evalcore.formats.vistorybench.writing import Results, Score, result_files
from evalcore.formats.written_files import Files, Written, write_files
from evalcore.models import Benchmark, MetricAbsence, MetricScore, Output, Story


def vistar_prompts(benchmark: Benchmark, stories: Sequence[str]) -> Prompts:
    """Return VISTAR's fields of the chosen prompts of a benchmark; of all if empty."""
    extras = dict(benchmark.stories.order_by("key").values_list("key", "extra"))
    problems = [
        Problem("--stories", f"a story of {benchmark.slug}", value=key)
        for key in stories
        if key not in extras
    ]
    prompts = {}
    for key in stories or extras:
        prompt = extras.get(key, {}).get("vistar")
        if isinstance(prompt, Mapping):
            prompts[key] = prompt
        elif key in extras:
            what = "a prompt imported from a list in VISTAR's format"
            problems.append(Problem(f"story {key}", what))
    if problems:
        raise InputError(problems)
    return prompts


def prompts_with_questionnaires(benchmark: Benchmark) -> QuerySet[Story]:
    """Return the VISTAR prompts of a benchmark that have a questionnaire."""
    having = benchmark.stories.filter(extra__vistar__has_key="questionnaire")
    return having.order_by("key")


def export_questionnaires(benchmark: Benchmark) -> Files:
    """Return the questionnaires of a benchmark's prompts as files."""
    rows = prompts_with_questionnaires(benchmark).values_list("key", "extra")
    return questionnaire_files({key: extra["vistar"] for key, extra in rows})


@dataclass(frozen=True)
class ScoreSelection:
    """Filters for the scores to write; an empty filter selects all."""

    methods: Sequence[str] = ()
    metrics: Sequence[str] = ()
    version: str = ""
    backend: str = ""
    timestamp: str = ""


# A score, its run's options and end time.
StoredScore = tuple[str, Score, dict[str, Any], datetime]


def export_scores(
    benchmark: Benchmark,
    folder: Path,
    *,
    form: str = FORM,
    choice: ScoreSelection = ScoreSelection(),
    replace: bool = False,
) -> tuple[int, Written]:
    """Write scores as files of a format; a second call changes nothing."""
    stored = list(_stored(benchmark, choice))
    if not stored:
        what = "scores of the chosen methods and metrics"
        raise InputError([Problem(benchmark.slug, what)])
    files = SCORE_FORMATS[form](benchmark, stored, choice)
    return len(stored), write_files(folder, files, replace=replace)


def _stored(benchmark: Benchmark, choice: ScoreSelection) -> Iterable[StoredScore]:
    chosen = {
        "benchmark": benchmark,
        **({"method__name__in": choice.methods} if choice.methods else {}),
        **({"metric__in": choice.metrics} if choice.metrics else {}),
        **({"metric_version": choice.version} if choice.version else {}),
        **({"backend": choice.backend} if choice.backend else {}),
    }
    for table in (MetricScore, MetricAbsence):
        rows = table.objects.filter(**chosen)
        rows = rows.select_related("run", "method", "story", "shot")
        for row in rows.order_by("pk").defer("story__extra", "shot__text"):
            score = row if isinstance(row, MetricScore) else None
            yield (
                row.method.name,
                Score(
                    metric=row.metric,
                    version=row.metric_version,
                    backend=row.backend,
                    higher=score.higher_is_better if score else True,
                    value=score.value if score else None,
                    reason=row.reason if isinstance(row, MetricAbsence) else "",
                    story=row.story.key if row.story else "",
                    shot=row.shot.number if row.shot else None,
                    details=row.details,
                ),
                row.run.options,
                row.run.finished_at or row.run.created_at,
            )


def _vistorybench_files(
    benchmark: Benchmark, stored: Sequence[StoredScore], choice: ScoreSelection
) -> Files:
    """Return the imported result folders, and one for each other method."""
    imported: dict[RunPath, list[StoredScore]] = defaultdict(list)
    computed: dict[str, list[StoredScore]] = defaultdict(list)
    for row in stored:
        run = (row[2].get(FORM) or {}).get("run")
        if run:
            imported[RunPath(**run)].append(row)
        else:
            computed[row[0]].append(row)
    problems = [p for method, rows in computed.items() for p in _several(method, rows)]
    if problems:
        raise InputError(problems)
    files: Files = {}
    for run, rows in sorted(imported.items()):
        newest = max(rows, key=lambda row: row[3])
        record = newest[2][FORM]
        files |= _run_files(run, rows, record)
    paths = _paths(benchmark, computed)
    for method, rows in computed.items():
        stamp = choice.timestamp or f"{_ended(rows):%Y%m%d_%H%M%S}"
        run = RunPath(*paths[method], stamp)
        if run in imported:
            what = "another --timestamp (imported results already use this one)"
            raise InputError([Problem(run.path, what)])
        files |= _run_files(run, rows, {})
    return files


def _run_files(
    run: RunPath, rows: Sequence[StoredScore], record: dict[str, Any]
) -> Files:
    scores = [row[1] for row in rows]
    return result_files(
        Results(run, scores, record, f"{_ended(rows):%Y-%m-%dT%H:%M:%SZ}")
    )


def _ended(rows: Iterable[StoredScore]) -> datetime:
    return max(row[3] for row in rows).astimezone(UTC)


def _several(method: str, rows: Iterable[StoredScore]) -> list[Problem]:
    """Return a problem for each metric with several versions; a record holds one."""
    versions: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for _method, score, _options, _ended in rows:
        versions[score.metric].add((score.version, score.backend))
    return [
        Problem(
            f"{method}: {metric}",
            "one version (choose it with --metric-version and --backend)",
            value="; ".join(
                f"{v or '(none)'} by {b or '(none)'}" for v, b in sorted(of)
            ),
        )
        for metric, of in sorted(versions.items())
        if len(of) > 1
    ]


def _paths(
    benchmark: Benchmark, methods: Iterable[str]
) -> dict[str, tuple[str, str, str]]:
    """Return name, mode and language of methods, taken from their outputs."""
    outputs = Output.objects.filter(
        story__benchmark=benchmark, method__name__in=list(methods)
    )
    modes = {
        name: (mode, language)
        for name, mode, language in outputs.order_by("-pk").values_list(
            "method__name", "mode", "language"
        )
    }
    paths = {}
    for name in methods:
        mode, language = modes.get(name, ("", ""))
        match = re.fullmatch(r"(.+) \((.+)\)", name)
        parts = [part for part in (mode, language) if part]
        short = name
        if match and match[2] in (", ".join(parts), *parts):
            short = match[1]
        folder_language = LANGUAGES.get(language, language) or "en"
        paths[name] = short, mode or "default", folder_language
    wrong = [
        Problem(f"method {name}", "a method and a mode that are valid folder names")
        for name, parts in paths.items()
        if any(not _names_a_folder(part) for part in parts)
    ]
    if wrong:
        raise InputError(wrong)
    return paths


def _names_a_folder(part: str) -> bool:
    return part.strip(". ") != "" and not set(part) & set("/\\\0")


def _envision_files(
    benchmark: Benchmark, stored: Sequence[StoredScore], _choice: ScoreSelection
) -> Files:
    """Return records, rows and report of each method, one folder per method."""
    by_method: dict[str, list[StoredScore]] = defaultdict(list)
    for row in stored:
        score = row[1]
        if score.metric in envision.METRICS and score.story and score.shot is None:
            by_method[row[0]].append(row)
    if not by_method:
        what = "story scores of Envision's metrics"
        raise InputError([Problem(benchmark.slug, what)])
    problems = [p for method, rows in by_method.items() for p in _several(method, rows)]
    extras = dict(benchmark.stories.values_list("key", "extra"))
    scored = {row[1].story for rows in by_method.values() for row in rows}
    what = "a story from Envision's list (import the list again to add its fields)"
    problems += [
        Problem(f"story {story}", what)
        for story in sorted(scored)
        if ENVISION not in extras[story]
    ]
    problems += [
        Problem(f"method {name}", "a method that is a valid folder name")
        for name in by_method
        if not _names_a_folder(name)
    ]
    if problems:
        raise InputError(problems)
    files: Files = {}
    for method, rows in by_method.items():
        reports = [row[2].get(ENVISION, {}).get("report") for row in rows]
        report = next((r for r in reports if isinstance(r, dict)), {})
        timestamp = report.get("timestamp") or f"{_ended(rows):%Y-%m-%dT%H:%M:%S}"
        sequences = _sequences(rows, extras)
        files |= envision.result_files(method, sequences, timestamp=str(timestamp))
    return files


def _sequences(
    rows: Sequence[StoredScore], extras: Mapping[str, Any]
) -> list[envision.ScoredSequence]:
    """Return each story's values, and the details kept from their import."""
    values: dict[str, dict[str, float]] = defaultdict(dict)
    details: dict[str, dict[str, Any]] = defaultdict(dict)
    for _method, score, _options, _end in rows:
        if score.value is not None:
            values[score.story][score.metric] = score.value
            details[score.story] |= (score.details or {}).get(ENVISION) or {}
    return [
        envision.ScoredSequence(extras[story][ENVISION], scores, details[story])
        for story, scores in values.items()
    ]


# Writers of a benchmark's scores, by format.
SCORE_FORMATS: dict[
    str, Callable[[Benchmark, Sequence[StoredScore], ScoreSelection], Files]
] = {
    FORM: _vistorybench_files,
    ENVISION: _envision_files,
}
