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
from evalcore.formats.score_table import (
    SIDECAR,
    TABLE,
    sidecar_text,
    table_text,
    written_time,
)
from evalcore.formats.vistar import Prompts, questionnaire_files
from evalcore.formats.vistorybench.layout import FORM, LANGUAGES, RunPath
from evalcore.formats.vistorybench.writing import Results, Score, result_files
from evalcore.formats.written_files import Files, Written, write_files
from evalcore.metrics.identity import Identity, is_more_than_label
from evalcore.models import Benchmark, MetricAbsence, MetricScore, Output, Story
from evalcore.scoring.identities import Identities, words


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
    """Filters for the scores to write; an empty filter selects all.

    `identities` are first digits of identities, as the table of scores names them.
    """

    methods: Sequence[str] = ()
    metrics: Sequence[str] = ()
    identities: Sequence[str] = ()
    timestamp: str = ""

    def wants(self, identity: Identity) -> bool:
        """Return whether an identity is chosen, or the metric has none chosen."""
        keys = (identity.key, identity.asked)
        return not self.identities or any(
            key.startswith(one) for one in self.identities for key in keys
        )


@dataclass(frozen=True)
class StoredScore:
    """A score with its method, its run's options, and the end of its run."""

    method: str
    score: Score
    options: dict[str, Any]
    ended: datetime
    computed_at: datetime | None


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
        what = "scores of the chosen methods, metrics and identities"
        raise InputError([Problem(benchmark.slug, what)])
    number, files = SCORE_FORMATS[form](benchmark, stored, choice)
    return number, write_files(folder, files, replace=replace)


def _stored(benchmark: Benchmark, choice: ScoreSelection) -> Iterable[StoredScore]:
    chosen = {
        "benchmark": benchmark,
        **({"method__name__in": choice.methods} if choice.methods else {}),
        **({"metric__in": choice.metrics} if choice.metrics else {}),
    }
    known = Identities()
    for table in (MetricScore, MetricAbsence):
        rows = table.objects.filter(**chosen)
        rows = rows.select_related("run", "method", "story", "shot")
        for row in rows.order_by("pk").defer("story__extra", "shot__text"):
            identity = known.of_row(row)
            if not choice.wants(identity):
                continue
            score = row if isinstance(row, MetricScore) else None
            ended = row.run.finished_at or row.run.created_at
            yield StoredScore(
                row.method.name,
                Score(
                    identity=identity,
                    higher=score.higher_is_better if score else True,
                    value=score.value if score else None,
                    reason=row.reason if isinstance(row, MetricAbsence) else "",
                    story=row.story.key if row.story else "",
                    shot=row.shot.number if row.shot else None,
                    details=row.details,
                ),
                row.run.options,
                ended,
                known.computed_at(score) if score else None,
            )


def _table(
    _benchmark: Benchmark, stored: Sequence[StoredScore], _choice: ScoreSelection
) -> tuple[int, Files]:
    """Return the table of all values, of every identity, with the hashes beside it."""
    rows = sorted((one for one in stored if one.score.value is not None), key=_place)
    identities = {row.score.identity.key: row.score.identity for row in rows}
    files = {
        TABLE: table_text(map(_cells, rows)),
        SIDECAR: sidecar_text(identities.values()),
    }
    return len(rows), files


def _place(row: StoredScore) -> tuple[object, ...]:
    score = row.score
    made_by = score.identity.asked, score.identity.key
    shot = -1 if score.shot is None else score.shot
    return score.metric, row.method, score.story, shot, *made_by


def _cells(row: StoredScore) -> list[object]:
    """Return the cells of a value, in the order of the table's header."""
    score = row.score
    return [
        score.story,
        row.method,
        score.metric,
        score.value,
        "" if score.shot is None else score.shot,
        "true" if score.higher else "false",
        *score.identity.columns.values(),
        written_time(row.computed_at),
    ]


def _one_identity(
    stored: Sequence[StoredScore],
) -> tuple[dict[str, list[StoredScore]], list[Problem]]:
    """Return the scores by method, in one identity of each metric.

    Where only one identity of a metric has values, reasons for missing values of others
    are left out. Several with values are a problem: a folder of results holds one.
    """
    by_metric: dict[tuple[str, str], list[StoredScore]] = defaultdict(list)
    for one in stored:
        by_metric[one.method, one.score.metric].append(one)
    kept: dict[str, list[StoredScore]] = defaultdict(list)
    problems = []
    for (method, metric), rows in sorted(by_metric.items()):
        valued = {
            row.score.identity.asked: row.score.identity
            for row in rows
            if row.score.value is not None
        } or {rows[-1].score.identity.asked: rows[-1].score.identity}
        if len(valued) > 1:
            named = sorted(f"{k}: {words(one)}" for k, one in valued.items())
            what = "one identity (choose it with --identity)"
            problem = Problem(f"{method}: {metric}", what, value="; ".join(named))
            problems.append(problem)
        kept[method] += [row for row in rows if row.score.identity.asked in valued]
    return kept, problems


def _with_hashes(stored: Iterable[StoredScore], files: Files) -> Files:
    """Add the file of identities, if they say more than a version and a backend."""
    told = {one.score.identity.key: one.score.identity for one in stored}
    more = [one for one in told.values() if is_more_than_label(one)]
    return {**files, SIDECAR: sidecar_text(more)} if more else files


def _vistorybench_files(
    benchmark: Benchmark, stored: Sequence[StoredScore], choice: ScoreSelection
) -> tuple[int, Files]:
    """Return the imported result folders, and one for each other method."""
    imported: dict[RunPath, list[StoredScore]] = defaultdict(list)
    others: list[StoredScore] = []
    for row in stored:
        run = (row.options.get(FORM) or {}).get("run")
        if run:
            imported[RunPath(**run)].append(row)
        else:
            others.append(row)
    computed, problems = _one_identity(others)
    if problems:
        raise InputError(problems)
    files: Files = {}
    for run, rows in sorted(imported.items()):
        newest = max(rows, key=lambda row: row.ended)
        record = newest.options[FORM]
        files |= _run_files(run, rows, record)
    paths = _paths(benchmark, computed)
    for method, rows in computed.items():
        stamp = choice.timestamp or f"{_ended(rows):%Y%m%d_%H%M%S}"
        run = RunPath(*paths[method], stamp)
        if run in imported:
            what = "another --timestamp (imported results already use this one)"
            raise InputError([Problem(run.path, what)])
        files |= _run_files(run, rows, {})
    written = [row for rows in (*imported.values(), *computed.values()) for row in rows]
    return len(written), _with_hashes(written, files)


def _run_files(
    run: RunPath, rows: Sequence[StoredScore], record: dict[str, Any]
) -> Files:
    scores = [row.score for row in rows]
    return result_files(
        Results(run, scores, record, f"{_ended(rows):%Y-%m-%dT%H:%M:%SZ}")
    )


def _ended(rows: Iterable[StoredScore]) -> datetime:
    return max(row.ended for row in rows).astimezone(UTC)


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
) -> tuple[int, Files]:
    """Return records, rows and report of each method, one folder per method."""
    own = [
        row
        for row in stored
        if row.score.metric in envision.METRICS
        and row.score.story
        and row.score.shot is None
    ]
    if not own:
        what = "story scores of Envision's metrics"
        raise InputError([Problem(benchmark.slug, what)])
    by_method, problems = _one_identity(own)
    extras = dict(benchmark.stories.values_list("key", "extra"))
    scored = {row.score.story for rows in by_method.values() for row in rows}
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
        reports = [row.options.get(ENVISION, {}).get("report") for row in rows]
        report = next((r for r in reports if isinstance(r, dict)), {})
        timestamp = report.get("timestamp") or f"{_ended(rows):%Y-%m-%dT%H:%M:%S}"
        sequences = _sequences(rows, extras)
        made_by = {row.score.metric: row.score.identity for row in rows}
        files |= envision.result_files(
            method, sequences, timestamp=str(timestamp), made_by=made_by
        )
    written = [row for rows in by_method.values() for row in rows]
    return len(written), _with_hashes(written, files)


def _sequences(
    rows: Sequence[StoredScore], extras: Mapping[str, Any]
) -> list[envision.ScoredSequence]:
    """Return each story's values, and the details kept from their import."""
    values: dict[str, dict[str, float]] = defaultdict(dict)
    details: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in rows:
        score = row.score
        if score.value is not None:
            values[score.story][score.metric] = score.value
            details[score.story] |= (score.details or {}).get(ENVISION) or {}
    return [
        envision.ScoredSequence(extras[story][ENVISION], scores, details[story])
        for story, scores in values.items()
    ]


# Writers of a benchmark's scores, by format: how many they write, and the files.
SCORE_FORMATS: dict[
    str,
    Callable[[Benchmark, Sequence[StoredScore], ScoreSelection], tuple[int, Files]],
] = {
    "table": _table,
    FORM: _vistorybench_files,
    ENVISION: _envision_files,
}
