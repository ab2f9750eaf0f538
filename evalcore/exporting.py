"""Write a benchmark's scores, and questionnaires that a judge wrote, as files.

Questionnaires can so be looked over before any picture is judged by them.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem
from evalcore.formats.envision import writing as envision
from evalcore.formats.envision.results import FORM as ENVISION
from evalcore.formats.vistorybench.layout import FORM, LANGUAGES, RunPath
from evalcore.formats.vistorybench.writing import Results, Score, result_files
from evalcore.formats.written_files import Files, Written, as_lines, write_files
from evalcore.metrics.vistar.prompt_language import parse
from evalcore.metrics.vistar.questionnaire import (
    HierarchicalQuestionnaire,
    PromptForJudge,
)
from evalcore.models import Benchmark, MetricAbsence, MetricScore, Output

FILE = "questionnaires.jsonl"
# What VISTAR's lists said of each prompt, by the story's key.
Prompts = Mapping[str, Mapping[str, Any]]


def prompts_without(benchmark: Benchmark, stories: Sequence[str]) -> Prompts:
    """Return the prompts of a benchmark that have no questionnaire."""
    extras = dict(benchmark.stories.order_by("key").values_list("key", "extra"))
    problems = [
        Problem("--stories", f"a story of {benchmark.slug}", value=key)
        for key in stories
        if key not in extras
    ]
    found = {}
    for key in stories or extras:
        told = extras.get(key, {}).get("vistar")
        if isinstance(told, Mapping):
            found[key] = told
        elif key in extras:
            what = "a prompt imported from a list of VISTAR's form"
            problems.append(Problem(f"story {key}", what))
    if problems:
        raise InputError(problems)
    return {key: told for key, told in found.items() if "questionnaire" not in told}


def told(prompt: Mapping[str, Any]) -> PromptForJudge:
    """Return what a judge is told of a prompt."""
    text = str(prompt["prompt"]).strip()
    return PromptForJudge(
        parse(text).text if text.startswith("[") else text,
        prompt.get("role") or "",
        prompt.get("angle") or "",
        prompt.get("parameters") or {},
    )


def questionnaire_file(
    prompts: Prompts, questionnaires: Mapping[str, HierarchicalQuestionnaire]
) -> Files:
    """Return the file that adds questionnaires to their prompts when it is imported."""
    rows = [
        {
            "prompt_id": key,
            "prompt": prompts[key]["prompt"],
            "questionnaire": questionnaire.as_json(),
        }
        for key, questionnaire in questionnaires.items()
    ]
    return {FILE: as_lines(rows)}


@dataclass(frozen=True)
class ScoreSelection:
    """Which scores are written; what is empty chooses all."""

    methods: Sequence[str] = ()
    metrics: Sequence[str] = ()
    version: str = ""
    backend: str = ""
    timestamp: str = ""


# A score, its run's options, and when that run ended.
StoredScore = tuple[str, Score, dict[str, Any], datetime]


def export_scores(
    benchmark: Benchmark,
    folder: Path,
    *,
    form: str = FORM,
    choice: ScoreSelection = ScoreSelection(),
    replace: bool = False,
) -> tuple[int, Written]:
    """Write scores as files of a format; a second time changes nothing."""
    stored = list(_stored(benchmark, choice))
    if not stored:
        what = "scores of the methods and metrics that were chosen"
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
    """Return the result folders that were imported, and one for each other method."""
    imported: dict[RunPath, list[StoredScore]] = defaultdict(list)
    own: dict[str, list[StoredScore]] = defaultdict(list)
    for row in stored:
        run = (row[2].get(FORM) or {}).get("run")
        if run:
            imported[RunPath(**run)].append(row)
        else:
            own[row[0]].append(row)
    problems = [p for method, rows in own.items() for p in _several(method, rows)]
    if problems:
        raise InputError(problems)
    files: Files = {}
    for run, rows in sorted(imported.items()):
        newest = max(rows, key=lambda row: row[3])
        found = newest[2][FORM]
        files |= _run_files(run, rows, found)
    paths = _paths(benchmark, own)
    for method, rows in own.items():
        stamp = choice.timestamp or f"{_ended(rows):%Y%m%d_%H%M%S}"
        run = RunPath(*paths[method], stamp)
        if run in imported:
            what = "another --timestamp: imported results have this one"
            raise InputError([Problem(run.path, what)])
        files |= _run_files(run, rows, {})
    return files


def _run_files(
    run: RunPath, rows: Sequence[StoredScore], found: dict[str, Any]
) -> Files:
    scores = [row[1] for row in rows]
    return result_files(
        Results(run, scores, found, f"{_ended(rows):%Y-%m-%dT%H:%M:%SZ}")
    )


def _ended(rows: Iterable[StoredScore]) -> datetime:
    return max(row[3] for row in rows).astimezone(UTC)


def _several(method: str, rows: Iterable[StoredScore]) -> list[Problem]:
    """Name metrics of which a method has several versions: a record holds one."""
    versions: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for _method, score, _options, _ended in rows:
        versions[score.metric].add((score.version, score.backend))
    return [
        Problem(
            f"{method}: {metric}",
            "one version (--metric-version and --backend choose)",
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
    """Return name, mode and language of methods, as their outputs tell them."""
    outputs = Output.objects.filter(
        story__benchmark=benchmark, method__name__in=list(methods)
    )
    told = {
        name: (mode, language)
        for name, mode, language in outputs.order_by("-pk").values_list(
            "method__name", "mode", "language"
        )
    }
    paths = {}
    for name in methods:
        mode, language = told.get(name, ("", ""))
        bare = re.fullmatch(r"(.+) \((.+)\)", name)
        parts = [part for part in (mode, language) if part]
        plain = name
        if bare and bare[2] in (", ".join(parts), *parts):
            plain = bare[1]
        their = LANGUAGES.get(language, language) or "en"
        paths[name] = plain, mode or "default", their
    wrong = [
        Problem(f"method {name}", "a method and mode that can name a folder each")
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
    """Return records, rows and report of each method, in a folder of its own."""
    by_method: dict[str, list[StoredScore]] = defaultdict(list)
    for row in stored:
        score = row[1]
        if score.metric in envision.METRICS and score.story and score.shot is None:
            by_method[row[0]].append(row)
    if not by_method:
        what = "scores of Envision's metrics, of stories"
        raise InputError([Problem(benchmark.slug, what)])
    problems = [p for method, rows in by_method.items() for p in _several(method, rows)]
    told = dict(benchmark.stories.values_list("key", "extra"))
    scored = {row[1].story for rows in by_method.values() for row in rows}
    what = "a story imported from envision; importing its list again adds that"
    problems += [
        Problem(f"story {story}", what)
        for story in sorted(scored)
        if ENVISION not in told[story]
    ]
    problems += [
        Problem(f"method {name}", "a method that can name a folder")
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
        sequences = _sequences(rows, told)
        files |= envision.result_files(method, sequences, timestamp=str(timestamp))
    return files


def _sequences(
    rows: Sequence[StoredScore], told: Mapping[str, Any]
) -> list[envision.ScoredSequence]:
    """Return the values of each story, and what was kept when they were imported."""
    values: dict[str, dict[str, float]] = defaultdict(dict)
    kept: dict[str, dict[str, Any]] = defaultdict(dict)
    for _method, score, _options, _end in rows:
        if score.value is not None:
            values[score.story][score.metric] = score.value
            kept[score.story] |= (score.details or {}).get(ENVISION) or {}
    return [
        envision.ScoredSequence(told[story][ENVISION], scores, kept[story])
        for story, scores in values.items()
    ]


# What writes the scores of a benchmark, by format.
SCORE_FORMATS: dict[
    str, Callable[[Benchmark, Sequence[StoredScore], ScoreSelection], Files]
] = {
    FORM: _vistorybench_files,
    ENVISION: _envision_files,
}
