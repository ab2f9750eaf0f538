"""Stored pictures and videos."""

from django.db import models


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
