"""Findings of quality rules about annotators, and answers left out."""

from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import pgettext_lazy

from annotate.models.people import Annotator, account_if_known
from annotate.models.slots import Slot
from annotate.models.studies import Study
from annotate.quality_rules import findings
from evalcore.models.columns import holds, known, once


class Flag(models.Model):
    """A finding of a quality rule about an annotator, and its resolution."""

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
            once(
                "flag_one_in_force",
                "annotator",
                "rule",
                where=Q(resolved_at__isnull=True),
            ),
            known("flag_action_known", action=["note", "warn", "pause", "exclude"]),
        ]

    @classmethod
    def unread_warnings(cls, annotator: int) -> QuerySet["Flag"]:
        """Return the warnings that an annotator has yet to read; none are settled."""
        unread = cls.objects.filter(shown_at=None, resolved_at=None)
        return unread.filter(annotator=annotator, action=cls.Action.WARN)

    @property
    def sentence(self) -> str:
        """Return the finding in the reader's language if possible."""
        return findings.sentence(self.finding) if self.finding else self.text

    @property
    def brief(self) -> str:
        """Return the finding without the expected value."""
        return findings.brief(self.finding) if self.finding else self.text


# The two views that every study has.
MAIN = "main"
EVERYTHING = "everything"
# Instead of a quality rule: the annotator withdrew these answers, or they are about a
# picture that was replaced. Such answers are hidden from every view for good.
WITHDRAWN = "consent withdrawn"
PICTURE_REPLACED = "picture replaced"
FINAL = (WITHDRAWN, PICTURE_REPLACED)


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
        constraints = [once("analysis_view_key_unique_in_study", "study", "key")]

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
            once("exclusion_one_in_force", "slot", where=Q(undone_at__isnull=True)),
            holds("exclusion_has_reason", ~Q(reason="")),
        ]

    @property
    def is_final(self) -> bool:
        """Say whether it hides its slot from every view and cannot be undone."""
        return self.rule in FINAL
