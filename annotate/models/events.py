"""The log of a study, and snapshots as of its events."""

from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotate.models.people import Annotator, account_if_known
from annotate.models.slots import Slot
from annotate.models.studies import Study


class EventQuerySet(models.QuerySet["Event"]):
    """Query set of events, which are only added and read."""

    def update(self, **_changes: object) -> int:
        raise TypeError("Events are never changed.")

    def strike_out(self, event: int, details: dict[str, Any]) -> None:
        """Remove the name of an erased person from an event."""
        models.QuerySet.update(self.filter(pk=event), details=details)


class Event(models.Model):
    """One line of the study's log; rows are added, never changed."""

    class Kind(models.TextChoices):
        STUDY_PLANNED = "study planned", _("study planned")
        STORIES_DRAWN = "stories drawn", _("stories drawn")
        STUDY_EXTENDED = "study extended", _("people or items added")
        STUDY_EDITED = "study edited", _("study edited")
        STUDY_RENAMED = "study renamed", _("study renamed")
        TEXTS_CORRECTED = "texts corrected", _("texts corrected")
        PICTURE_REPLACED = "picture replaced", _("picture replaced")
        SCORES_CHANGED = "scores changed", _("metric scores changed")
        STUDY_ARCHIVED = "study archived", _("study archived")
        STUDY_RESTORED = "study restored", _("taken out of the archive")
        STUDY_LAUNCHED = "study launched", _("study launched")
        STUDY_PAUSED = "study paused", _("study paused")
        STUDY_CLOSED = "study closed", _("study closed")
        ANSWERS_IMPORTED = "answers imported", _("answers imported")
        MEMBER_ADDED = "member added", _("member added")
        MEMBER_CHANGED = "member changed", _("role of a member changed")
        MEMBER_REMOVED = "member removed", _("member removed")
        ANNOTATOR_INVITED = "annotator invited", _("annotator invited")
        ANNOTATOR_ADDED = "annotator added", _("annotator added")
        ANNOTATOR_JOINED = "annotator joined", _("annotator joined")
        LINK_OPENED = "link opened", _("link opened")
        ANNOTATOR_PAUSED = "annotator paused", _("annotator paused")
        ANNOTATOR_RESUMED = "annotator resumed", _("annotator resumed")
        ANNOTATOR_FAILED = (
            "annotator not admitted",
            _("annotator did not pass the training"),
        )
        TRAINING_PASSED = "training passed", _("training passed")
        SECOND_LINK = "second link opened", _("second link opened")
        FLAG_RAISED = "flag raised", _("flag raised")
        FLAG_RESOLVED = "flag resolved", _("flag resolved")
        JOIN_LINK_MADE = "join link made", _("public link created")
        JOIN_LINK_CLOSED = "join link closed", _("public link closed")
        STOPPED_EARLY = "stop rule met", _("stop rule met")
        REPORT_ASKED = "report asked for", _("report requested")
        REPORT_PUBLISHED = "report published", _("report published")
        REPORT_WITHDRAWN = "report withdrawn", _("report no longer public")
        ANNOTATOR_REVOKED = "annotator revoked", _("annotator removed")
        ANNOTATOR_FINISHED = "annotator finished", _("annotator finished")
        LINK_REPLACED = "link replaced", _("link replaced")
        CONSENT_WITHDRAWN = "consent withdrawn", _("consent withdrawn")
        PERSON_ERASED = "personal data erased", _("personal data erased")
        CONSENT_REFUSED = "consent refused", _("did not agree")
        WAY_BACK_GIVEN = "way back given", _("let in from another browser")
        PAYMENT_DECIDED = "payment decided", _("pay decided")
        CONSENT_GIVEN = "consent given", _("consent given")
        WEBHOOK_ADDED = "webhook added", _("webhook added")
        WEBHOOK_DELETED = "webhook deleted", _("webhook deleted")
        WEBHOOK_STOPPED = "webhook switched off", _("webhook switched off")
        WEBHOOK_RESUMED = "webhook switched on", _("webhook switched on")
        SLOTS_LISTED = "slots listed", _("ratings planned")
        SLOTS_ASSIGNED = "slots assigned", _("ratings assigned")
        SLOT_TAKEN = "slot taken", _("rating started")
        SLOT_EXPIRED = "lease expired", _("rating expired")
        SLOT_SKIPPED = "slot skipped", _("rating skipped")
        SLOT_FREED = "slot freed", _("rating given back")
        SLOT_OPENED = "slot opened", _("rating added")
        SLOT_WITHDRAWN = "slot withdrawn", _("rating withdrawn")
        SLOT_SURPLUS = "slot surplus", _("rating made extra")
        SLOT_LATE = "late answer kept", _("late answer kept")
        SLOT_SUBMITTED = "slot submitted", _("rating submitted")
        SLOT_EXCLUDED = "slot excluded", _("rating left out")
        EXCLUSION_UNDONE = "exclusion undone", _("rating counted again")

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="events", db_index=False
    )
    at = models.DateTimeField(default=timezone.now, editable=False)
    kind = models.CharField(max_length=40, choices=Kind.choices)
    annotator = models.ForeignKey(
        Annotator, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    user = account_if_known()
    slot = models.ForeignKey(
        Slot, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    details = models.JSONField(default=dict, blank=True)

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["study_id", "id"]
        indexes = [
            models.Index(fields=["study", "id"], name="event_in_order"),
            models.Index(fields=["study", "kind"], name="event_by_kind"),
        ]

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise TypeError("Events are never changed.")
        super().save(*args, **kwargs)


class Snapshot(models.Model):
    """Cached figures of a study as of an event of its log."""

    study = models.OneToOneField(
        Study, on_delete=models.CASCADE, related_name="snapshot"
    )
    event = models.PositiveBigIntegerField(default=0)
    at = models.DateTimeField(default=timezone.now)
    seconds = models.FloatField(default=0)
    data = models.JSONField(default=dict)
