"""Stories: their shots, characters and stored pictures and videos."""

from collections.abc import Collection, Mapping

from django.db import models
from django.db.models import Q

from evalcore.models.benchmarks import Benchmark
from evalcore.models.columns import holds, once


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
        constraints = [once("story_key_unique_in_benchmark", "benchmark", "key")]

    def __str__(self) -> str:
        return self.title or self.key

    def suits(self, tags: Mapping[str, Collection[str]]) -> bool:
        """Say whether each of these tags has one of these values, or is not known."""
        return all(
            tag not in self.tags or str(self.tags[tag]) in values
            for tag, values in tags.items()
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
        constraints = [once("character_key_unique_in_story", "story", "key")]

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
        constraints = [once("character_image_ordinal_unique", "character", "ordinal")]


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
            once("shot_number_unique_in_story", "story", "number"),
            holds("shot_number_from_1", Q(number__gte=1)),
        ]
