"""Scores of metrics, and reasons for missing ones."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from evalcore.models.benchmarks import Benchmark
from evalcore.models.columns import holds, once
from evalcore.models.metric_runs import POSTED_TO, MetricRun
from evalcore.models.outputs import Method, Output
from evalcore.models.stories import Shot, Story

# The columns that name a metric without its identity, as older programs read them.
LABEL = ("metric", "metric_version", "backend")


class ScoreIdentity(models.Model):
    """Everything that decides the values of a metric and is known in advance.

    The name under which a judge answered is known only afterwards, so that it stands
    with each score. `evalcore.metrics.identity.Identity` describes the columns.
    """

    key = models.CharField(
        max_length=12, unique=True, help_text="The identity as asked, a hash."
    )
    metric = models.CharField(max_length=100)
    metric_version = models.CharField(max_length=300, blank=True)
    profile = models.CharField(max_length=100, blank=True)
    backend = models.CharField(max_length=100, blank=True)
    weights = models.CharField(max_length=8, blank=True)
    precision = models.CharField(max_length=20, blank=True)
    judge = models.CharField(max_length=200, blank=True)
    settings = models.TextField(blank=True)
    files = models.JSONField(
        default=dict, blank=True, help_text="Full hashes of weights and prompts."
    )

    class Meta:
        ordering = ["metric", "pk"]


class MadeBy(models.Model):
    """Columns that name a metric and what made its value."""

    metric = models.CharField(max_length=100)
    metric_version = models.CharField(max_length=300, blank=True)
    backend = models.CharField(max_length=100, blank=True)
    identity = models.ForeignKey(
        ScoreIdentity,
        on_delete=models.PROTECT,
        null=True,
        db_index=False,
        related_name="+",
    )
    judge_version = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="Name under which the judge answered.",
    )

    class Meta:
        abstract = True


def _one_per_subject(what: str, *scope: str) -> list[models.BaseConstraint]:
    """Return constraints: an identity has one row per method, output or shot.

    Rows without an identity come from programs of an earlier version that still run
    while a server is upgraded.
    """
    rules: list[models.BaseConstraint] = []
    for name, metric, where in (
        (f"{what}_once", ("identity",), Q(identity__isnull=False)),
        (f"old_{what}_once", LABEL, Q(identity__isnull=True)),
    ):
        same = (*scope, *metric, "method")
        of_output = Q(story__isnull=False, shot__isnull=True)
        of_method, of_shot = Q(story__isnull=True), Q(shot__isnull=False)
        rules += [
            once(f"{name}_for_method", "benchmark", *same, where=where & of_method),
            once(f"{name}_for_output", *same, "story", where=where & of_output),
            once(f"{name}_for_shot", *same, "shot", where=where & of_shot),
        ]
    return rules


class SharedScoreManager(models.Manager["MetricScore"]):
    """Scores of benchmarks; what was posted to a single study is left out."""

    def get_queryset(self) -> "models.QuerySet[MetricScore]":
        return super().get_queryset().filter(posted_to="")


class MetricScore(MadeBy):
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
    higher_is_better = models.BooleanField(default=True)
    value = models.FloatField()
    computed_at = models.DateTimeField(
        null=True, blank=True, help_text="Empty: when its run ended."
    )
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


class MetricAbsence(MadeBy):
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


class TwinScore(MadeBy):
    """The value of a metric for a degraded copy, and that of its original.

    Both are computed together, so that the same program has seen them. Values of shots
    are averaged.
    """

    # Without a reverse name, as scores have none to degraded copies.
    twin = models.ForeignKey(Output, on_delete=models.CASCADE, related_name="+")
    value = models.FloatField()
    original = models.FloatField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["metric", "twin"]
        constraints = [
            once(
                "twin_score_once",
                "twin",
                "identity",
                where=Q(identity__isnull=False),
            ),
            once(
                "old_twin_score_once",
                "twin",
                *LABEL,
                where=Q(identity__isnull=True),
            ),
        ]
