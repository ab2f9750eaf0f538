"""Computations and imports of scores, the chunks that workers take, and workers."""

from django.db import models
from django.db.models import Value
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalcore.models.benchmarks import Benchmark
from evalcore.models.columns import known
from evalcore.models.outputs import Method

POSTED_TO = (
    "The study whose own score this is, by its short name; empty: the benchmark's, "
    "which every study over it reads."
)
# Of a chunk; a run may also be deleted.
STATES = ["queued", "running", "done", "failed", "stopped"]


class MetricRun(models.Model):
    """One computation, or one imported file, of metric scores.

    A computation is cut into chunks, which workers take; `total` and `done` count the
    pieces of work in them: one metric of one output, or of all outputs of a method.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        STOPPED = "stopped", _("stopped")
        DELETED = "deleted", _("deleted")

    class Source(models.TextChoices):
        COMPUTED = "computed"
        IMPORTED = "imported"
        ASKED = "asked"  # a command paid a judge for what is no score

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="metric_runs"
    )
    source = models.CharField(max_length=10, choices=Source.choices)
    metrics = models.JSONField(default=list, help_text="Names of the metrics.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True)
    options = models.JSONField(
        default=dict,
        blank=True,
        help_text="What it was asked for beside metrics: the method with true outputs, "
        "outputs, what is asked again; and what of it was deleted since.",
    )
    dollars = models.FloatField(default=0, help_text="Paid to judges so far.")
    reserved = models.FloatField(
        default=0, help_text="Dollars set aside for what a judge is asked now."
    )
    reserved_at = models.DateTimeField(null=True, blank=True)
    posted_to = models.CharField(max_length=80, blank=True, help_text=POSTED_TO)
    file_name = models.CharField(max_length=300, blank=True)
    file_sha256 = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            known("metric_run_state_known", state=[*STATES, "deleted"]),
            known("metric_run_source_known", source=["computed", "imported", "asked"]),
        ]


class MetricChunk(models.Model):
    """A part of a computation, as large as one worker takes at once.

    A worker takes a queued chunk and signs it; `heartbeat_at` distinguishes a live
    worker from a killed one. The rest of a chunk follows from the scores and
    absences that are stored, so taking it twice is harmless.
    """

    class Queue(models.TextChoices):
        CPU = "cpu"
        GPU = "gpu"
        JUDGE = "judge"

    run = models.ForeignKey(MetricRun, on_delete=models.CASCADE, related_name="chunks")
    queue = models.CharField(max_length=5, choices=Queue.choices)
    metrics = models.JSONField(help_text="Names of the metrics.")
    outputs = models.JSONField(default=list, help_text="Keys of outputs to score.")
    method = models.ForeignKey(
        Method,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        help_text="Whose outputs are scored together; alternative to single outputs.",
    )
    guessed = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Pieces counted where weights were missing; a worker counts again.",
    )
    state = models.CharField(
        max_length=10,
        choices=MetricRun.State.choices,
        default=MetricRun.State.QUEUED,
    )
    worker = models.CharField(max_length=40, blank=True, help_text="Who has taken it.")
    lost = models.PositiveSmallIntegerField(
        default=0, help_text="How many workers fell silent over it."
    )
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    failures = models.JSONField(default=list, help_text="[output, metric, reason]")
    replaced = models.JSONField(
        default=list,
        db_default=Value([], models.JSONField()),
        help_text="Earlier values: [method, story, shot, metric, version, backend, "
        "value or null, reason, date]",
    )
    environment = models.JSONField(
        default=dict, help_text="With what it was computed: device, versions, weights."
    )

    class Meta:
        ordering = ["run", "id"]
        indexes = [
            models.Index(fields=["state", "queue"], name="chunk_by_state_and_queue"),
        ]
        constraints = [
            known("metric_chunk_state_known", state=STATES),
            known("metric_chunk_queue_known", queue=["cpu", "gpu", "judge"]),
        ]


class Worker(models.Model):
    """A kind of process beside the web server.

    A row a kind, however many of it there are: what matters is the last sign of life
    of any. The supervisor records when it will start it again.
    """

    class Kind(models.TextChoices):
        CPU = "cpu"
        GPU = "gpu"
        JUDGE = "judge"
        BEAT = "beat"

    kind = models.CharField(max_length=10, choices=Kind.choices, primary_key=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    restart_at = models.DateTimeField(
        null=True, blank=True, help_text="Its process has ended; it is started then."
    )

    class Meta:
        ordering = ["kind"]
        constraints = [known("worker_kind_known", kind=["cpu", "gpu", "judge", "beat"])]
