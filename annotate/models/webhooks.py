"""Webhooks of a study, and their deliveries."""

import secrets
from base64 import b64encode

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotate.models.people import account_if_known
from annotate.models.studies import Study
from evalcore.models.columns import known, once


def new_secret() -> str:
    return f"whsec_{b64encode(secrets.token_bytes(32)).decode()}"


class Webhook(models.Model):
    """An address that gets messages about events of a study."""

    class Event(models.TextChoices):
        SLOT = "slot.submitted", _("a rating is submitted")
        ITEM = "item.complete", _("an item is complete")
        STUDY = "study.complete", _("the study is complete")
        PERSON = "person.flagged", _("a person is flagged")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="webhooks")
    address = models.CharField(max_length=500)
    events = models.JSONField(default=list, help_text='["item.complete", ...]')
    secret = models.CharField(max_length=60, default=new_secret)
    read_to = models.PositiveBigIntegerField(
        default=0, help_text="Event of the log up to which all messages are made."
    )
    delivered_at = models.DateTimeField(null=True, blank=True)
    free_at = models.DateTimeField(
        default=timezone.now, help_text="When the next message may be sent."
    )
    switched_off_at = models.DateTimeField(
        null=True, blank=True, help_text="When too many deliveries had failed."
    )
    created_by = account_if_known()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["study_id", "id"]

    def __str__(self) -> str:
        return self.address

    @property
    def is_active(self) -> bool:
        return self.switched_off_at is None


class Delivery(models.Model):
    """A message to a webhook, and how its last attempt ended."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        DELIVERED = "delivered", _("delivered")
        FAILED = "failed", _("failed")

    webhook = models.ForeignKey(
        Webhook, on_delete=models.CASCADE, related_name="deliveries"
    )
    message = models.CharField(max_length=40, help_text="The same in every attempt.")
    event = models.CharField(max_length=20)
    body = models.TextField()
    state = models.CharField(
        max_length=10, choices=State.choices, default=State.WAITING
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(null=True, blank=True, default=timezone.now)
    status = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="HTTP status of the last reply."
    )
    error = models.CharField(max_length=300, blank=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(state="waiting"),
                name="delivery_due",
            )
        ]
        constraints = [
            once("delivery_once_per_webhook", "webhook", "message"),
            known("delivery_state_known", state=["waiting", "delivered", "failed"]),
        ]
