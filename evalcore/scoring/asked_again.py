"""Runs that compute existing values again: what they ask, and what they replace.

An old value stays until its new one is stored in the same transaction; its record goes
to the chunk that replaces it. Rows of the run `since`, and of later ones, are new. A
run that follows one with the same request, which waits, computes or was interrupted,
has the same `since`: both do the work once. Imported values are never replaced.
"""

from collections.abc import Sequence
from typing import Any, Literal

from django.db.models import Q

from evalcore.metrics.identity import PARTS
from evalcore.models import (
    Benchmark,
    MetricAbsence,
    MetricRun,
    MetricScore,
    Output,
)
from evalcore.scoring import score_rows
from evalcore.scoring.failures import open_failures
from evalcore.scoring.identities import Identities
from evalcore.scoring.judged_outputs import output_name
from evalcore.scoring.score_rows import (
    TABLES,
    KnownRows,
    ScoredOutput,
    Table,
    WantedMetric,
)

# Columns of the record of replaced values.
RECORD = (
    *("method", "story", "shot", "metric"),
    *(*PARTS, "identity", "value", "reason", "computed_at"),
)
# All outputs, or those with an absence, a failure or nothing at all.
Which = Literal["all", "undefined"]
# Options that say what a run is asked for; others are found while it is planned.
REQUEST = ("truth", "outputs", "repeat", "again")


def note_start(
    benchmark: Benchmark, metrics: Sequence[str], options: dict[str, Any]
) -> None:
    """Note from which run on values are new, if this run continues another one.

    All values: a run with the same request that is not complete; a killed one still
    counts as running. Undefined ones: one with failures, whose answers it uses.
    `options`: those of the new run, with `again`.
    """
    last = benchmark.metric_runs.filter(
        source=MetricRun.Source.COMPUTED,
        metrics=list(metrics),
        options__has_key="again",
    ).first()
    if last is None or last.state in (MetricRun.State.DONE, MetricRun.State.DELETED):
        return
    if options["again"] == "undefined":
        if cache_name(last):
            options["since"] = since(last)
        return
    asked = {key: last.options[key] for key in REQUEST if key in last.options}
    waits = last.state == MetricRun.State.QUEUED
    if asked == options and (waits or last.done < last.total):
        options["since"] = since(last)


def since(run: MetricRun) -> int:
    """Return the first run whose values are new to this one."""
    return int(run.options.get("since", run.pk))


def cache_name(run: MetricRun) -> str:
    """Return the name of the features that a run may use; empty for all stored ones.

    Unusable answers are never stored, so a run for undefined values may use all, unless
    it continues one that asked everything again.
    """
    fresh = run.options.get("again") == "all" or "since" in run.options
    return str(since(run)) if fresh else ""


def existing_rows(
    run: MetricRun, metrics: Sequence[WantedMetric], outputs: Sequence[Output]
) -> KnownRows:
    """Return the outputs and methods that the run need not compute."""
    existing = score_rows.existing_rows(run.benchmark_id, metrics, outputs)
    which = run.options.get("again")
    if which is None:
        return existing
    if which == "all":
        return existing - _old(run, metrics, outputs, TABLES)
    undefined = _old(run, metrics, outputs, [MetricAbsence])
    return existing - undefined - _failed(run, metrics, outputs)


def _old(
    run: MetricRun,
    metrics: Sequence[WantedMetric],
    outputs: Sequence[Output],
    tables: Sequence[Table],
) -> KnownRows:
    """Return the outputs and methods with computed rows from before the run."""
    old = Q(run__lt=since(run), run__source=MetricRun.Source.COMPUTED)
    return score_rows.existing_rows(
        run.benchmark_id, metrics, outputs, only=old, tables=tables
    )


def _failed(
    run: MetricRun, metrics: Sequence[WantedMetric], outputs: Sequence[Output]
) -> KnownRows:
    """Return the cells that failed, and for which no run has stored a value since."""
    failed = {(one.output, *one.definition) for one in open_failures(run.benchmark)}
    labels: dict[tuple[int | None, int], str] = {}
    for output in outputs:
        labels[output.story_id, output.method_id] = output_name(output)
        labels[None, output.method_id] = output.method.name
    return {
        (story, method, one.key)
        for one in metrics
        for (story, method), label in labels.items()
        if (label, one.metric.info.name, one.metric.info.profile) in failed
    }


def remove_old(run: MetricRun, scored: Sequence[ScoredOutput]) -> list[list[Any]]:
    """Delete the values that new ones replace, and return their record.

    Call it in the transaction that stores the new ones.
    """
    if "again" not in run.options:
        return []
    cells = {(one.story, one.method, one.wanted.key) for one in scored}
    known = Identities()
    records: list[list[Any]] = []
    for table in TABLES:
        rows = table.objects.filter(
            Q(story=None) | Q(story__in={one.story for one in scored} - {None}),
            run__lt=since(run),
            run__source=MetricRun.Source.COMPUTED,
            benchmark=run.benchmark_id,
            metric__in={one.wanted.metric.info.name for one in scored},
            method__in={method for _story, method, _key in cells},
        ).select_related("run", "method", "story", "shot")
        old = [
            row
            for row in rows
            if (row.story_id, row.method_id, (known.of_row(row).asked,)) in cells
        ]
        records += [_record(row, known) for row in old]
        table.objects.filter(pk__in=[row.pk for row in old]).delete()
    return records


def _record(row: MetricScore | MetricAbsence, known: Identities) -> list[Any]:
    """Return the cells of `RECORD`."""
    computed = row.run.finished_at or row.run.created_at
    if isinstance(row, MetricScore) and row.computed_at:
        computed = row.computed_at
    identity = known.of_row(row)
    return [
        row.method.name,
        row.story.key if row.story else None,
        row.shot.number if row.shot else None,
        identity.metric,
        *identity.columns.values(),
        row.value if isinstance(row, MetricScore) else None,
        row.reason if isinstance(row, MetricAbsence) else "",
        computed.isoformat(timespec="seconds"),
    ]


def replaced_by(run: MetricRun) -> list[list[Any]]:
    """Return the record of what a run has replaced."""
    return [
        row for rows in run.chunks.values_list("replaced", flat=True) for row in rows
    ]
