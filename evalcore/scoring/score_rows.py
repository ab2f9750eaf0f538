"""Values and absences as rows: which are missing, storing them, forgetting them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from evalcore.metrics import registry
from evalcore.metrics.base import Metric, Value
from evalcore.models import (
    Method,
    MetricAbsence,
    MetricRun,
    MetricScore,
    Output,
    Shot,
    Story,
)

# Levels whose values belong to one output.
OF_AN_OUTPUT = ("shot", "output", "pair")


@dataclass(frozen=True)
class WantedMetric:
    """A metric that a run asks for, and how its rows are marked.

    `name` may carry a profile; `version` carries it and, where outputs are held against
    true ones, the method that has those.
    """

    name: str
    metric: Metric
    version: str
    truth: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        info = self.metric.info
        return info.name, self.version, info.backend

    @property
    def of_an_output(self) -> bool:
        """Say whether its values belong to one output, not to all of a method."""
        return self.metric.info.scores in OF_AN_OUTPUT


def wanted(names: Iterable[str], options: Mapping[str, str]) -> list[WantedMetric]:
    """Return the metrics of a run."""
    found = []
    for name in names:
        metric = registry.load(name)
        version, truth = metric.info.full_version, ""
        if metric.info.against_truth:
            truth = options.get("truth", "")
            version += _against(truth)
        found.append(WantedMetric(name, metric, version, truth))
    return found


def _against(truth: str) -> str:
    return f" against {truth}"


EVERY_ROW = Q()
# Of an output: story, method and the key of the metric; of a method: no story.
KnownRows = set[tuple[int | None, int, tuple[str, str, str]]]


def known(
    benchmark: int,
    metrics: Sequence[WantedMetric],
    outputs: Sequence[Output],
    *,
    only: Q = EVERY_ROW,
) -> KnownRows:
    """Return of which outputs and methods which metrics have a value or an absence."""
    found: KnownRows = set()
    names = {one.metric.info.name for one in metrics}
    stories = {output.story_id for output in outputs}
    for table in (MetricScore, MetricAbsence):
        rows = table.objects.filter(only, benchmark=benchmark, metric__in=names)
        fields = ("story", "method", "metric", "metric_version", "backend")
        of_methods = rows.filter(story=None).values_list(*fields)
        of_outputs = rows.filter(story__in=stories).values_list(*fields).distinct()
        for found_rows in (of_methods, of_outputs):
            for story, method, *key in found_rows.order_by():
                found.add((story, method, (key[0], key[1], key[2])))
    return found


def lacking(
    output: Output, metrics: Iterable[WantedMetric], already: KnownRows
) -> list[WantedMetric]:
    """Return the metrics of single outputs that an output lacks."""
    return [
        one
        for one in metrics
        if one.of_an_output
        and not (one.truth and one.truth == output.method.name)
        and (output.story_id, output.method_id, one.key) not in already
    ]


def lacking_of_method(
    method: Method, metrics: Iterable[WantedMetric], already: KnownRows
) -> list[WantedMetric]:
    """Return the metrics of all outputs of a method together that it lacks."""
    return [
        one
        for one in metrics
        if not one.of_an_output
        and not (one.truth and one.truth == method.name)
        and (None, method.pk, one.key) not in already
    ]


@dataclass(frozen=True)
class ScoredOutput:
    """What a metric said of an output, or of all outputs of a method (no story)."""

    wanted: WantedMetric
    method: int
    story: int | None
    values: Sequence[Value]


def store(run: MetricRun, scored: Sequence[ScoredOutput]) -> None:
    """Store values and absences, within a transaction; what is there stays."""
    shots = _shots({one.story for one in scored if one.story is not None})
    scores, absences = [], []
    for one in scored:
        info = one.wanted.metric.info
        for value in one.values:
            shot = None
            if value.shot is not None and one.story is not None:
                shot = shots[one.story, value.shot]
            place = {
                "run_id": run.pk,
                "benchmark_id": run.benchmark_id,
                "method_id": one.method,
                "story_id": one.story,
                "shot_id": shot,
                "metric": info.name,
                "metric_version": one.wanted.version,
                "backend": info.backend,
            }
            details = value.trace and dict(value.trace)
            if value.value is None:
                absence = MetricAbsence(**place, reason=value.reason, details=details)
                absences.append(absence)
                continue
            scores.append(
                MetricScore(
                    **place,
                    higher_is_better=info.higher_is_better,
                    value=value.value,
                    details=details,
                )
            )
    MetricScore.objects.bulk_create(scores, ignore_conflicts=True, batch_size=500)
    MetricAbsence.objects.bulk_create(absences, ignore_conflicts=True, batch_size=500)


def _shots(stories: Iterable[int]) -> dict[tuple[int, int], int]:
    rows = Shot.objects.filter(story__in=list(stories))
    return {
        (story, number): key
        for key, story, number in rows.values_list("pk", "story", "number")
    }


def forget_computed(output: Output) -> None:
    """Remove what was computed of an output whose shots or pictures have changed.

    What was computed of all outputs of its method goes too, and what compared others
    with it.
    """
    own = Q(method=output.method_id) | Q(
        metric_version__endswith=_against(output.method.name)
    )
    for computed in _computed(output.story.benchmark_id):
        computed.filter(own, story=output.story_id).delete()
        computed.filter(own, story=None).delete()


def forget_story(story: Story) -> None:
    """Remove what was computed of a story of which more is known now."""
    for computed in _computed(story.benchmark_id):
        computed.filter(Q(story=story) | Q(story=None)).delete()


def _computed(benchmark: int) -> list[QuerySet[Any]]:
    return [
        table.objects.filter(run__source=MetricRun.Source.COMPUTED, benchmark=benchmark)
        for table in (MetricScore, MetricAbsence)
    ]
