"""Processes that work beside the web server."""

from django.db import models
from django.db.models import Q


class Worker(models.Model):
    """A process that works beside the web server, by what it does.

    A row a kind, however many of it there are: what matters is the last sign of life
    of any. Whoever starts it again after its end says when.
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
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["cpu", "gpu", "judge", "beat"]),
                name="worker_kind_known",
            )
        ]
