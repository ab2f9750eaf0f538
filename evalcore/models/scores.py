"""Scores of metrics, and reasons for missing ones."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from evalcore.models.benchmarks import Benchmark
from evalcore.models.columns import holds, once
from evalcore.models.metric_runs import POSTED_TO, MetricRun
from evalcore.models.outputs import Method, Output
from evalcore.models.stories import Shot, Story


def _one_per_subject(what: str, *scope: str) -> list[models.BaseConstraint]:
    """Return constraints: a metric has one row per method, output or shot."""
    metric = [*scope, "metric", "metric_version", "backend", "method"]
    return [
        once(
            f"{what}_unique_for_method",
            "benchmark",
            *metric,
            where=Q(story__isnull=True),
        ),
        once(
            f"{what}_unique_for_output",
            *metric,
            "story",
            where=Q(story__isnull=False, shot__isnull=True),
        ),
        once(f"{what}_unique_for_shot", *metric, "shot", where=Q(shot__isnull=False)),
    ]


class SharedScoreManager(models.Manager["MetricScore"]):
    """Scores of benchmarks; what was posted to a single study is left out."""

    def get_queryset(self) -> "models.QuerySet[MetricScore]":
        return super().get_queryset().filter(posted_to="")


class MetricScore(models.Model):
    """The value of a metric for a method, an output, or a shot of an output.

    Without story it is a method-level value (a published table); without shot it
    belongs to the whole output. A missing value is an absent row, never 0.

    Beside the benchmark's value may stand that of a study it was posted to, which
    only that study reads, instead of the benchmark's. `MetricScore.objects`, and with
    it every way back from another row, never returns those of studies.
    """

    run = models.ForeignKey(MetricRun, on_delete=models.CASCADE, related_name="scores")
    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="metric_scores"
    )
    method = models.ForeignKey(Method, on_delete=models.CASCADE, related_name="scores")
    story = models.ForeignKey(
        Story, on_delete=models.CASCADE, null=True, blank=True, related_name="scores"
    )
    shot = models.ForeignKey(
        Shot, on_delete=models.CASCADE, null=True, blank=True, related_name="scores"
    )
    metric = models.CharField(max_length=100)
    metric_version = models.CharField(max_length=300, blank=True)
    backend = models.CharField(max_length=100, blank=True)
    higher_is_better = models.BooleanField(default=True)
    value = models.FloatField()
    posted_to = models.CharField(max_length=80, blank=True, help_text=POSTED_TO)
    details = models.JSONField(
        null=True, blank=True, help_text="What led to it: answers, boxes, matches."
    )

    # The first one is what related managers are made of.
    objects = SharedScoreManager()
    everything = models.Manager["MetricScore"]()

    class Meta:
        ordering = ["metric", "method", "story", "shot"]
        indexes = [
            models.Index(fields=["benchmark", "metric"], name="score_by_metric"),
        ]
        constraints = [
            *_one_per_subject("score", "posted_to"),
            holds(
                "score_of_shot_names_its_story",
                Q(shot__isnull=True) | Q(story__isnull=False),
            ),
        ]


class MetricAbsence(models.Model):
    """The reason for a missing value of a metric.

    It stands where a score would stand, so that it is not computed in vain again. What
    may turn out otherwise another time, a judge that does not answer or a picture that
    cannot be read, is no absence but a failure of the run.
    """

    run = models.ForeignKey(
        MetricRun, on_delete=models.CASCADE, related_name="absences"
    )
    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="metric_absences"
    )
    method = models.ForeignKey(Method, on_delete=models.CASCADE, related_name="+")
    story = models.ForeignKey(
        Story, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    shot = models.ForeignKey(
        Shot, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    metric = models.CharField(max_length=100)
    metric_version = models.CharField(max_length=300, blank=True)
    backend = models.CharField(max_length=100, blank=True)
    reason = models.TextField()
    details = models.JSONField(
        null=True, blank=True, help_text="What led to it: refused answers."
    )

    class Meta:
        ordering = ["metric", "method", "story", "shot"]
        indexes = [
            models.Index(fields=["benchmark", "metric"], name="absence_by_metric"),
        ]
        constraints = _one_per_subject("absence")


class TwinScore(models.Model):
    """The value of a metric for a degraded copy, and that of its original.

    Both are computed together, so that the same program has seen them. Values of shots
    are averaged.
    """

    # Without a reverse name, as scores have none to degraded copies.
    twin = models.ForeignKey(Output, on_delete=models.CASCADE, related_name="+")
    metric = models.CharField(max_length=100)
    metric_version = models.CharField(max_length=300, blank=True)
    backend = models.CharField(max_length=100, blank=True)
    value = models.FloatField()
    original = models.FloatField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["metric", "twin"]
        constraints = [
            once("twin_score_unique", "twin", "metric", "metric_version", "backend")
        ]
