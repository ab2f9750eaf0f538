"""Failures of runs: what could not be computed, why, and whether it was since."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Max

from evalcore.metrics import registry
from evalcore.metrics.identity import parts_of
from evalcore.models import Benchmark, MetricChunk
from evalcore.scoring.score_rows import TABLES


@dataclass(frozen=True)
class Failure:
    """The last failure of a metric for an output, or for a whole method."""

    output: str  # method and story, or the method alone
    metric: str  # its name, with a profile if the run had one
    reason: str
    run: int

    @property
    def definition(self) -> tuple[str, str]:
        """Return the metric's plain name, and its profile if it has any."""
        metric, _at, profile = self.metric.partition("@")
        if not profile and metric in registry.METRICS:
            profile = registry.load(metric).info.profile
        return metric, profile


@dataclass
class FailureGroup:
    """Failures of a metric with the same reason."""

    metric: str
    reason: str
    outputs: list[str] = field(default_factory=list)


def grouped(failures: Iterable[Failure]) -> list[FailureGroup]:
    """Group failures by metric and reason, the commonest reason of a metric first."""
    groups: dict[tuple[str, str], FailureGroup] = {}
    for one in failures:
        key = (one.metric, one.reason)
        groups.setdefault(key, FailureGroup(*key)).outputs.append(one.output)
    return sorted(groups.values(), key=lambda one: (one.metric, -len(one.outputs)))


def open_failures(benchmark: Benchmark) -> list[Failure]:
    """Return the last failures, unless a later run has stored a value.

    Failures of a whole chunk are left out: they are those of a machine or of a judge.
    """
    chunks = MetricChunk.objects.filter(run__benchmark=benchmark).order_by("run")
    failures: dict[tuple[str, ...], Failure] = {}
    for run, rows in chunks.exclude(failures=[]).values_list("run", "failures"):
        for output, metric, reason in rows:
            if output:
                failure = Failure(output, metric, reason, run)
                failures[output, *failure.definition] = failure
    stored = _last_runs(benchmark, {metric for _output, metric, _profile in failures})
    return [one for key, one in failures.items() if stored.get(key, 0) <= one.run]


def _last_runs(benchmark: Benchmark, metrics: set[str]) -> dict[tuple[str, ...], int]:
    """Return the last run that stored something, by output, metric and profile."""
    last_runs: dict[tuple[str, ...], int] = {}
    for table in TABLES:
        rows = table.objects.filter(benchmark=benchmark, metric__in=metrics)
        columns = ("method__name", "story__key", "metric", "metric_version")
        found = rows.order_by().values_list(*columns).annotate(last=Max("run"))
        for method, story, metric, version, last in found:
            output = method if story is None else f"{method} / {story}"
            key = (output, metric, parts_of(version).get("profile", ""))
            last_runs[key] = max(last, last_runs.get(key, 0))
    return last_runs
