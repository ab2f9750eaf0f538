"""Rows of values and absences: finding missing ones, storing, deleting."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from evalcore.metrics import registry
from evalcore.metrics.base import FatalError, Metric, Value
from evalcore.metrics.identity import Identity, identity_of, joined
from evalcore.metrics.vistar.prompt_language import is_asked
from evalcore.models import (
    Method,
    MetricAbsence,
    MetricRun,
    MetricScore,
    Output,
    Shot,
    Story,
)
from evalcore.scoring import identities

# Levels whose values belong to one output.
OF_AN_OUTPUT = ("shot", "output", "pair")


# What the rows of a metric have in common: the identity as asked, or metric and version
# where a machine cannot know it.
RowKey = tuple[str, ...]


@dataclass(frozen=True)
class WantedMetric:
    """A metric of a run, with the labels of its rows.

    `name` may carry a profile; `version` carries it, for metrics that compare with true
    outputs the method that holds these, and the number of a judge's repetition. `asked`
    is the identity of its values; empty where this machine lacks the weights or the
    judge that decide it.
    """

    name: str
    metric: Metric
    version: str
    truth: str = ""
    repeat: str = ""
    asked: str = ""
    identity: Identity | None = None

    @property
    def key(self) -> RowKey:
        return (self.asked,) if self.asked else (self.metric.info.name, self.version)

    @property
    def of_an_output(self) -> bool:
        """Return whether its values belong to one output, not to a whole method."""
        return self.metric.info.scores in OF_AN_OUTPUT

    def applies_to(self, method: str) -> bool:
        """Return whether it scores a method: true outputs have no score themselves."""
        return not self.truth or self.truth != method


def metrics_of(names: Iterable[str], options: Mapping[str, Any]) -> list[WantedMetric]:
    """Return the metrics of a run, with the identities that its planning found."""
    metrics = []
    for name in names:
        metric = registry.load(name)
        version, truth, repeat = metric.info.full_version, "", ""
        if metric.info.against_truth:
            truth = options.get("truth", "")
            version += _against(truth)
        if metric.info.queue == "judge" and "repeat" in options:
            repeat = str(options["repeat"])
            version += f" repeat {repeat}"
        asked = options.get("identities", {}).get(name, "")
        metrics.append(WantedMetric(name, metric, version, truth, repeat, asked))
    return metrics


def identified(
    metrics: Iterable[WantedMetric], *, strict: bool = True
) -> list[WantedMetric]:
    """Add the identities, as far as this machine has the weights and the judge.

    If it has them, but cannot use them, raise a FatalError (`strict`), or leave the
    identity out.
    """
    found = []
    for one in metrics:
        identity = None
        if not one.metric.missing():
            try:
                identity = identity_of(one.metric, truth=one.truth, repeat=one.repeat)
            except FatalError:
                if strict:
                    raise
        asked = identity.asked if identity else ""
        found.append(replace(one, asked=asked, identity=identity))
    return found


def _against(truth: str) -> str:
    return f" against {truth}"


EVERY_ROW = Q()
Table = type[MetricScore] | type[MetricAbsence]
TABLES: tuple[Table, ...] = (MetricScore, MetricAbsence)
# Columns of a row that name its metric, without what made it.
KEY = ("metric", "metric_version", "backend")
# For an output: story, method and what its rows have in common; for a method: no story.
KnownRows = set[tuple[int | None, int, RowKey]]


def existing_rows(
    benchmark: int,
    metrics: Sequence[WantedMetric],
    outputs: Sequence[Output],
    *,
    only: Q = EVERY_ROW,
    tables: Sequence[Table] = TABLES,
) -> KnownRows:
    """Return the outputs and methods that already have a value or an absence."""
    existing: KnownRows = set()
    known = identities.Identities()
    names = {one.metric.info.name for one in metrics}
    stories = {output.story_id for output in outputs}
    for table in tables:
        rows = table.objects.filter(only, benchmark=benchmark, metric__in=names)
        fields = ("story", "method", *identities.FIELDS[:-1])
        of_methods = rows.filter(story=None).values_list(*fields)
        of_outputs = rows.filter(story__in=stories).values_list(*fields).distinct()
        for found_rows in (of_methods, of_outputs):
            for story, method, *cells in found_rows.order_by():
                asked = known.of((cells[0], cells[1], cells[2], cells[3], ""))
                existing.add((story, method, (asked.key,)))
                existing.add((story, method, (cells[1], cells[2])))
    return existing


def missing_metrics(
    output: Output, metrics: Iterable[WantedMetric], already: KnownRows
) -> list[WantedMetric]:
    """Return the single-output metrics that an output lacks."""
    return [
        one
        for one in metrics
        if one.of_an_output
        and is_asked(one.metric.info, output.story.extra)
        and one.applies_to(output.method.name)
        and (output.story_id, output.method_id, one.key) not in already
    ]


def asked_stories(
    outputs: Iterable[Output], metrics: Iterable[WantedMetric]
) -> dict[str, tuple[int, int]]:
    """Return how many of the stories ask for a metric, for those that some do not."""
    extras = {output.story_id: output.story.extra for output in outputs}
    counts = {
        one.name: sum(is_asked(one.metric.info, extra) for extra in extras.values())
        for one in metrics
    }
    total = len(extras)
    return {name: (n, total) for name, n in counts.items() if n < total}


def missing_method_metrics(
    method: Method, metrics: Iterable[WantedMetric], already: KnownRows
) -> list[WantedMetric]:
    """Return the whole-method metrics that a method lacks."""
    return [
        one
        for one in metrics
        if not one.of_an_output
        and one.applies_to(method.name)
        and (None, method.pk, one.key) not in already
    ]


@dataclass(frozen=True)
class ScoredOutput:
    """Outcome of a metric for an output, or for a whole method (no story)."""

    wanted: WantedMetric
    method: int
    story: int | None
    values: Sequence[Value]
    judge_versions: frozenset[str] = frozenset()

    @property
    def identity(self) -> Identity:
        """Return what made the values, with the names under which a judge answered."""
        assert self.wanted.identity is not None
        answered = joined(self.judge_versions)
        return replace(self.wanted.identity, judge_version=answered)


def store(run: MetricRun, scored: Sequence[ScoredOutput]) -> None:
    """Store values and absences, within a transaction; existing rows stay."""
    shots = _shots({one.story for one in scored if one.story is not None})
    keys = {one.identity.asked: one.identity for one in scored}
    stored = {asked: identities.store(one) for asked, one in keys.items()}
    scores, absences, now = [], [], timezone.now()
    for one in scored:
        info, identity = one.wanted.metric.info, one.identity
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
                "identity_id": stored[identity.asked],
                **identities.columns_of(identity),
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
                    computed_at=now,
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
    """Delete computed scores of an output whose shots or pictures have changed.

    Scores of its whole method go too, and those of outputs compared with it.
    """
    own = Q(method=output.method_id) | Q(
        metric_version__endswith=_against(output.method.name)
    )
    for computed in _computed(output.story.benchmark_id):
        computed.filter(own, story=output.story_id).delete()
        computed.filter(own, story=None).delete()


def forget_output(output: Output) -> int:
    """Delete every score of an output whose pictures were replaced; return how many.

    Imported and posted scores go as well: they belong to the old picture.
    """
    scores = MetricScore.everything.filter(
        story=output.story_id, method=output.method_id
    )
    number = scores.count()
    forget_computed(output)
    scores.delete()
    MetricAbsence.objects.filter(
        story=output.story_id, method=output.method_id
    ).delete()
    return number


def forget_story(story: Story) -> None:
    """Delete computed scores of a story whose data have changed."""
    for computed in _computed(story.benchmark_id):
        computed.filter(Q(story=story) | Q(story=None)).delete()


def _computed(benchmark: int) -> list[QuerySet[Any]]:
    return [
        table.objects.filter(run__source=MetricRun.Source.COMPUTED, benchmark=benchmark)
        for table in TABLES
    ]
