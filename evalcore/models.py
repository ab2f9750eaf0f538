"""What is judged (benchmark, story, shot, method, output) and its automatic scores."""

from collections.abc import Collection, Mapping
from typing import cast

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


def most_letters(table: type[models.Model], column: str) -> int:
    """Return how long the text in a column may be."""
    field = cast("models.CharField[str, str]", table._meta.get_field(column))
    assert field.max_length is not None
    return field.max_length


class Benchmark(models.Model):
    """A published set of stories, or the user's own."""

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    source = models.TextField(blank=True, help_text="Where it was imported from.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.title


class BenchmarkMember(models.Model):
    """Who may see a whole benchmark, plan studies over it and have scores computed.

    Owners say who else may. Managers of everything need no row; without any row a
    benchmark is theirs alone.
    """

    class Role(models.TextChoices):
        OWNER = "owner", _("owner")
        MEMBER = "member", _("member")

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="members"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="benchmarks"
    )
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)

    class Meta:
        ordering = ["benchmark_id", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "user"], name="member_once_per_benchmark"
            ),
            models.CheckConstraint(
                condition=Q(role__in=["owner", "member"]),
                name="benchmark_member_role_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} of {self.benchmark}"


class Story(models.Model):
    """The thing to be rendered: an ordered list of shots with characters."""

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="stories"
    )
    key = models.CharField(max_length=200, help_text="`story` in the three tables.")
    title = models.CharField(max_length=300, blank=True)
    tags = models.JSONField(
        default=dict, blank=True, help_text="Strata: genre, style, domain, ..."
    )
    conditioning_seconds = models.FloatField(
        null=True,
        blank=True,
        help_text="How much of a video was given to the methods, not made by them.",
    )
    extra = models.JSONField(
        default=dict,
        blank=True,
        help_text="What the benchmark's file says beyond shots and characters; "
        "metrics and exports read it.",
    )

    class Meta:
        verbose_name_plural = "stories"
        ordering = ["benchmark", "key"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "key"], name="story_key_unique_in_benchmark"
            )
        ]

    def __str__(self) -> str:
        return self.title or self.key

    def suits(self, tags: Mapping[str, Collection[str]]) -> bool:
        """Say whether each of these tags has one of these values, or is not known."""
        return all(
            tag not in self.tags or str(self.tags[tag]) in values
            for tag, values in tags.items()
        )


class MediaFile(models.Model):
    """One stored picture or video, addressed by its content.

    `sha256` is the hash of the stored bytes, which carry no metadata;
    `source_sha256` is the hash of the bytes as they were imported.
    """

    sha256 = models.CharField(max_length=64, primary_key=True)
    source_sha256 = models.CharField(max_length=64, db_index=True)
    content_type = models.CharField(max_length=50)
    extension = models.CharField(max_length=8)
    bytes = models.PositiveBigIntegerField()
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    duration_seconds = models.FloatField(null=True, blank=True)
    frame_rate = models.FloatField(
        null=True, blank=True, help_text="Frames a second; videos only."
    )


class Character(models.Model):
    """A recurring figure of a story, with reference pictures."""

    story = models.ForeignKey(
        Story, on_delete=models.CASCADE, related_name="characters"
    )
    key = models.CharField(max_length=200)
    names = models.JSONField(default=dict, help_text='{"en": ..., "zh": ...}')
    descriptions = models.JSONField(default=dict, help_text='{"en": ..., "zh": ...}')
    kind = models.CharField(
        max_length=40,
        blank=True,
        help_text="realistic_human, unrealistic_human, non_human",
    )

    class Meta:
        ordering = ["story", "key"]
        constraints = [
            models.UniqueConstraint(
                fields=["story", "key"], name="character_key_unique_in_story"
            )
        ]

    def __str__(self) -> str:
        return self.key


class CharacterImage(models.Model):
    """A reference picture of a character."""

    character = models.ForeignKey(
        Character, on_delete=models.CASCADE, related_name="images"
    )
    ordinal = models.PositiveSmallIntegerField()
    media = models.ForeignKey(MediaFile, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["character", "ordinal"]
        constraints = [
            models.UniqueConstraint(
                fields=["character", "ordinal"], name="character_image_ordinal_unique"
            )
        ]


class Shot(models.Model):
    """One step of a story.

    `text` maps language ("en", "zh") to a dictionary of the fields that exist:
    setting, plot, static, camera (ViStoryBench), caption (StoryBench),
    prompt, explanation (Envision).
    """

    story = models.ForeignKey(Story, on_delete=models.CASCADE, related_name="shots")
    number = models.PositiveIntegerField(help_text="1-based position in the story.")
    text = models.JSONField(default=dict, blank=True)
    start_seconds = models.FloatField(null=True, blank=True)
    end_seconds = models.FloatField(null=True, blank=True)
    characters = models.ManyToManyField(Character, blank=True, related_name="shots")

    class Meta:
        ordering = ["story", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["story", "number"], name="shot_number_unique_in_story"
            ),
            models.CheckConstraint(
                condition=Q(number__gte=1), name="shot_number_from_1"
            ),
        ]


class Method(models.Model):
    """A system that renders stories; `name` is `method` in the three tables."""

    name = models.CharField(max_length=200, unique=True)
    family = models.CharField(max_length=100, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class OriginalManager(models.Manager["Output"]):
    """What methods rendered; twins of it are left out."""

    def get_queryset(self) -> "models.QuerySet[Output]":
        return super().get_queryset().filter(twin_of__isnull=True)


class TwinManager(models.Manager["Output"]):
    """Degraded twins only."""

    def get_queryset(self) -> "models.QuerySet[Output]":
        return super().get_queryset().filter(twin_of__isnull=False)


class Output(models.Model):
    """One method's rendering of one story, or a degraded twin of such a rendering.

    It may have no frames at all: a table of scores or ratings can name outputs
    whose pictures are not here.

    A twin has the story and method of its original and differs from it as
    `degradation` says; whoever looks closely rates it lower. `Output.objects`, and
    with it `story.outputs` and `method.outputs`, never returns twins; foreign keys do.
    A query that reaches outputs by a join (`Frame.objects.filter(output__...)`) meets
    twins and says `output__twin_of=None` unless it wants them.
    """

    class Degradation(models.TextChoices):
        SHUFFLED = "shuffled", "shots shuffled"
        FOREIGN_SHOT = "foreign_shot", "a shot from another story"
        REPEATED_SHOT = "repeated_shot", "a repeated shot"
        BLURRED = "blurred", "blurred"
        SWAPPED_CHARACTERS = "swapped_characters", "characters swapped"

    story = models.ForeignKey(Story, on_delete=models.CASCADE, related_name="outputs")
    method = models.ForeignKey(Method, on_delete=models.CASCADE, related_name="outputs")
    video = models.ForeignKey(
        MediaFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    mode = models.CharField(max_length=100, blank=True)
    language = models.CharField(max_length=10, blank=True)
    timestamp = models.CharField(max_length=20, blank=True)
    index_shift = models.SmallIntegerField(
        default=0, help_text="Added to the file's number to get the shot's number."
    )
    source = models.TextField(
        blank=True,
        help_text="Folder it was imported from; of a twin, the seed it was made with.",
    )
    # No name for the way back: a related manager would leave the twins out.
    twin_of = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    degradation = models.CharField(
        max_length=20, choices=Degradation.choices, blank=True
    )

    # The first one is what related managers are made of.
    objects = OriginalManager()
    twins = TwinManager()
    everything = models.Manager["Output"]()

    class Meta:
        ordering = ["story", "method"]
        constraints = [
            models.UniqueConstraint(
                fields=["story", "method"],
                condition=Q(twin_of__isnull=True),
                name="output_unique_per_story_and_method",
            ),
            models.UniqueConstraint(
                fields=["twin_of", "degradation"],
                condition=Q(twin_of__isnull=False),
                name="twin_unique_per_original_and_degradation",
            ),
            models.CheckConstraint(
                condition=Q(twin_of__isnull=True, degradation="")
                | (Q(twin_of__isnull=False) & ~Q(degradation="")),
                name="twin_has_a_degradation",
            ),
            models.CheckConstraint(
                condition=Q(
                    degradation__in=[
                        "",
                        "shuffled",
                        "foreign_shot",
                        "repeated_shot",
                        "blurred",
                        "swapped_characters",
                    ]
                ),
                name="degradation_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.method} / {self.story}"


class Frame(models.Model):
    """One picture of an output; without media the shot is missing, and says so."""

    output = models.ForeignKey(Output, on_delete=models.CASCADE, related_name="frames")
    shot = models.ForeignKey(Shot, on_delete=models.CASCADE, related_name="frames")
    number = models.PositiveIntegerField(help_text="The shot's number, copied.")
    media = models.ForeignKey(
        MediaFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["output", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["output", "number"], name="frame_number_unique_in_output"
            )
        ]


POSTED_TO = (
    "The study whose own score this is, by its short name; empty: the benchmark's, "
    "which every study over it reads."
)


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
        help_text="What it was asked for beside metrics: the method with true outputs.",
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
            models.CheckConstraint(
                condition=Q(
                    state__in=["queued", "running", "done", "failed", "stopped"]
                ),
                name="metric_run_state_known",
            ),
            models.CheckConstraint(
                condition=Q(source__in=["computed", "imported", "asked"]),
                name="metric_run_source_known",
            ),
        ]


class MetricChunk(models.Model):
    """A part of a computation, as large as one worker takes at once.

    A worker takes a queued chunk and marks it as its own; `heartbeat_at` tells a live
    worker from a killed one. What is left of a chunk follows from the scores and
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
    environment = models.JSONField(
        default=dict, help_text="With what it was computed: device, versions, weights."
    )

    class Meta:
        ordering = ["run", "id"]
        indexes = [
            models.Index(fields=["state", "queue"], name="chunk_by_state_and_queue"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    state__in=["queued", "running", "done", "failed", "stopped"]
                ),
                name="metric_chunk_state_known",
            ),
            models.CheckConstraint(
                condition=Q(queue__in=["cpu", "gpu", "judge"]),
                name="metric_chunk_queue_known",
            ),
        ]


def _one_per_subject(what: str, *scope: str) -> list[models.BaseConstraint]:
    """Return that a metric has one such row for a method, an output and a shot."""
    metric = [*scope, "metric", "metric_version", "backend", "method"]
    return [
        models.UniqueConstraint(
            fields=["benchmark", *metric],
            condition=Q(story__isnull=True),
            name=f"{what}_unique_for_method",
        ),
        models.UniqueConstraint(
            fields=[*metric, "story"],
            condition=Q(story__isnull=False, shot__isnull=True),
            name=f"{what}_unique_for_output",
        ),
        models.UniqueConstraint(
            fields=[*metric, "shot"],
            condition=Q(shot__isnull=False),
            name=f"{what}_unique_for_shot",
        ),
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
            models.CheckConstraint(
                condition=Q(shot__isnull=True) | Q(story__isnull=False),
                name="score_of_shot_names_its_story",
            ),
        ]


class MetricAbsence(models.Model):
    """Why a method, an output or a shot has no value of a metric.

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


class Worker(models.Model):
    """A process that works beside the web server, by what it does.

    A row a kind, however many of it there are: what matters is the last sign of life
    of any. Whoever starts it again after its end says when.
    """

    class Kind(models.TextChoices):
        CPU = "cpu"
        GPU = "gpu"
        BEAT = "beat"

    kind = models.CharField(max_length=10, choices=Kind.choices, primary_key=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    restart_at = models.DateTimeField(
        null=True, blank=True, help_text="Its process has ended; it is started then."
    )

    class Meta:
        ordering = ["kind"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["cpu", "gpu", "beat"]), name="worker_kind_known"
            )
        ]
