"""Deletion of a metric's values, and of whole runs; the runs stay as a record."""

from collections import Counter
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from evalcore.metrics.identity import parts_of
from evalcore.models import (
    Benchmark,
    MetricAbsence,
    MetricRun,
    MetricScore,
)
from evalcore.scoring.chunks import ScoringError
from evalcore.scoring.identities import FIELDS, Identities
from evalcore.scoring.score_rows import TABLES


@dataclass(frozen=True)
class StoredValues:
    """Values and absences of a benchmark that can be deleted together."""

    benchmark: Benchmark
    what: str  # how their deletion is named in the record
    condition: Q
    with_posted: bool = False  # whether scores posted to one study belong to them

    @property
    def scores(self) -> QuerySet[MetricScore]:
        table = MetricScore.everything if self.with_posted else MetricScore.objects
        return table.filter(self.condition, benchmark=self.benchmark)

    @property
    def absences(self) -> QuerySet[MetricAbsence]:
        return MetricAbsence.objects.filter(self.condition, benchmark=self.benchmark)


def values_of(benchmark: Benchmark, name: str) -> StoredValues:
    """Return the values of `metric`, or of `metric@profile`, in all their versions."""
    metric, at, profile = name.partition("@")
    condition = Q(metric=metric)
    if at:
        versions = {
            version
            for table in (MetricScore.objects, MetricAbsence.objects)
            for version in table.filter(condition, benchmark=benchmark)
            .order_by()
            .values_list("metric_version", flat=True)
            .distinct()
            if parts_of(version).get("profile") == profile
        }
        condition &= Q(metric_version__in=versions)
    return StoredValues(benchmark, name, condition)


def values_of_identity(
    benchmark: Benchmark, metric: str, identity: str
) -> StoredValues:
    """Return a metric's values of an identity, in full or as it was asked."""
    known, condition = Identities(), Q(pk=None)
    for table in TABLES:
        rows = table.objects.filter(benchmark=benchmark, metric=metric).order_by()
        for cells in rows.values_list(*FIELDS).distinct():
            one = known.of(cells)
            if identity in (one.key, one.asked):
                condition |= Q(**dict(zip(FIELDS, cells, strict=True)))
    return StoredValues(benchmark, f"{metric} {identity}", condition)


def values_of_run(run: MetricRun) -> StoredValues:
    """Return the values that a run has stored."""
    return StoredValues(run.benchmark, f"run {run.pk}", Q(run=run), with_posted=True)


def delete(values: StoredValues, by: str) -> tuple[int, int]:
    """Delete values and absences; return how many of each.

    `by`: the name of the person who does it. The runs that stored them note it; a run
    that has none left is marked as deleted. Raises ScoringError while a run computes.
    """
    with transaction.atomic():
        runs = MetricRun.objects.select_for_update().filter(benchmark=values.benchmark)
        if runs.filter(state__in=(MetricRun.State.QUEUED, MetricRun.State.RUNNING)):
            raise ScoringError(
                _(
                    "Scores are being computed. Wait for the end, or stop the run "
                    "(score --stop)."
                )
            )
        scores = Counter(values.scores.order_by().values_list("run", flat=True))
        absences = Counter(values.absences.order_by().values_list("run", flat=True))
        values.scores.delete()
        values.absences.delete()
        for run in runs.filter(pk__in=scores.keys() | absences.keys()):
            note = {
                "what": values.what,
                "by": by,
                "at": timezone.now().isoformat(timespec="seconds"),
                "values": scores[run.pk],
                "absences": absences[run.pk],
            }
            run.options = {
                **run.options,
                "deleted": [*run.options.get("deleted", []), note],
            }
            scored = MetricScore.everything.filter(run=run)
            if not (scored.exists() or run.absences.exists()):
                run.state = MetricRun.State.DELETED
            run.save(update_fields=["options", "state"])
    return scores.total(), absences.total()
