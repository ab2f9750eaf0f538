"""Outputs of methods, and degraded copies of them."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from evalcore.models.columns import holds, once
from evalcore.models.stories import MediaFile, Shot, Story


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
    """Outputs of methods, without degraded copies."""

    def get_queryset(self) -> "models.QuerySet[Output]":
        return super().get_queryset().filter(twin_of__isnull=True)


class TwinManager(models.Manager["Output"]):
    """Degraded copies only."""

    def get_queryset(self) -> "models.QuerySet[Output]":
        return super().get_queryset().filter(twin_of__isnull=False)


class Output(models.Model):
    """One method's rendering of one story, or a degraded copy of such a rendering.

    It may have no frames at all: a table of scores or ratings can name outputs
    whose pictures are not here.

    A degraded copy has the story and method of its original and differs from it as
    `degradation` says; attentive people rate it lower. `Output.objects`, and
    with it `story.outputs` and `method.outputs`, never returns them; foreign keys do.
    A query that reaches outputs by a join (`Frame.objects.filter(output__...)`) meets
    degraded copies; it needs `output__twin_of=None` to leave them out.
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
    # No reverse name: a related manager would leave degraded copies out.
    twin_of = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    degradation = models.CharField(
        max_length=20, choices=Degradation.choices, blank=True
    )

    parts = models.JSONField(
        default=list,
        blank=True,
        help_text="Of a twin that is a video, for each shot: its number, first frame "
        "and end, and the shot of its original that it shows, or 0.",
    )

    # The first one is what related managers are made of.
    objects = OriginalManager()
    twins = TwinManager()
    everything = models.Manager["Output"]()

    class Meta:
        ordering = ["story", "method"]
        constraints = [
            once(
                "output_unique_per_story_and_method",
                "story",
                "method",
                where=Q(twin_of__isnull=True),
            ),
            once(
                "twin_unique_per_original_and_degradation",
                "twin_of",
                "degradation",
                where=Q(twin_of__isnull=False),
            ),
            holds(
                "twin_has_a_degradation",
                Q(twin_of__isnull=True, degradation="")
                | (Q(twin_of__isnull=False) & ~Q(degradation="")),
            ),
            holds(
                "degradation_known",
                Q(
                    degradation__in=[
                        "",
                        "shuffled",
                        "foreign_shot",
                        "repeated_shot",
                        "blurred",
                        "swapped_characters",
                    ]
                ),
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
        constraints = [once("frame_number_unique_in_output", "output", "number")]
