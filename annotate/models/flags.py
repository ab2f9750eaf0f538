"""What quality rules found about annotators."""

from django.db import models
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import pgettext_lazy

from annotate.models.people import Annotator
from annotate.models.users import account_if_known
from annotate.quality_rules import findings


class Flag(models.Model):
    """What a quality rule found about an annotator, and what was done."""

    class Action(models.TextChoices):
        NOTE = "note", pgettext_lazy("flag", "note")
        WARN = "warn", pgettext_lazy("flag", "warning")
        PAUSE = "pause", pgettext_lazy("flag", "pause")
        EXCLUDE = "exclude", pgettext_lazy("flag", "exclusion")

    annotator = models.ForeignKey(
        Annotator, on_delete=models.CASCADE, related_name="flags"
    )
    rule = models.CharField(max_length=40)
    signal = models.CharField(max_length=20)
    action = models.CharField(max_length=10, choices=Action.choices)
    value = models.FloatField(null=True)
    n = models.PositiveIntegerField()
    finding = models.JSONField(
        default=dict, help_text="What was found; empty in flags of older versions."
    )
    text = models.CharField(max_length=300, help_text="The finding, in English.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    shown_at = models.DateTimeField(
        null=True, blank=True, help_text="When the annotator read the warning."
    )
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = account_if_known()

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["annotator", "rule"],
                condition=Q(resolved_at__isnull=True),
                name="flag_one_in_force",
            ),
            models.CheckConstraint(
                condition=Q(action__in=["note", "warn", "pause", "exclude"]),
                name="flag_action_known",
            ),
        ]

    @classmethod
    def unread_warnings(cls, annotator: int) -> QuerySet["Flag"]:
        """Return the warnings that an annotator has yet to read; none are settled."""
        unread = cls.objects.filter(shown_at=None, resolved_at=None)
        return unread.filter(annotator=annotator, action=cls.Action.WARN)

    @property
    def sentence(self) -> str:
        """Return what was found, in the reader's language where that is known."""
        return findings.sentence(self.finding) if self.finding else self.text

    @property
    def brief(self) -> str:
        """Return the same without what is expected."""
        return findings.brief(self.finding) if self.finding else self.text
