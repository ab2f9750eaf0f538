"""Which answers are left out, seen through which view."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotate.models.slots import Slot
from annotate.models.studies import Study

# The two views that every study has.
MAIN = "main"
EVERYTHING = "everything"
# Instead of a quality rule: whoever gave the answers does not want them used.
WITHDRAWN = "consent withdrawn"


class AnalysisView(models.Model):
    """A named way to look at a study's answers; exclusions hide answers from views."""

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="analysis_views"
    )
    key = models.SlugField(max_length=40)
    title = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["study_id", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "key"], name="analysis_view_key_unique_in_study"
            )
        ]

    def __str__(self) -> str:
        return self.key


class Exclusion(models.Model):
    """A submitted slot left out of analyses, with reason and author."""

    slot = models.ForeignKey(Slot, on_delete=models.CASCADE, related_name="exclusions")
    views = models.ManyToManyField(AnalysisView, related_name="exclusions")
    rule = models.CharField(max_length=40, blank=True)
    reason = models.CharField(max_length=300)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    undone_at = models.DateTimeField(null=True, blank=True)
    replacement = models.ForeignKey(
        Slot, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["slot"],
                condition=Q(undone_at__isnull=True),
                name="exclusion_one_in_force",
            ),
            models.CheckConstraint(
                condition=~Q(reason=""), name="exclusion_has_reason"
            ),
        ]
