"""Webhooks of a study, and their deliveries."""

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers

from annotate.api import fields
from annotate.api.base import StudyView
from annotate.api.operations import list_operation, operation, show_operation
from annotate.models import Delivery, Webhook
from annotate.tasks import ring, wake_webhooks
from annotate.webhooks import delivering, managing


class WebhookSerializer(serializers.ModelSerializer):
    events = fields.texts()
    Meta = fields.meta(Webhook, "id address events created_at switched_off_at")


class NewWebhookSerializer(WebhookSerializer):
    secret = fields.CharField(
        help_text="verifies signatures (Standard Webhooks); not shown again"
    )
    Meta = fields.meta(Webhook, "secret", WebhookSerializer)


class DeliverySerializer(serializers.ModelSerializer):
    Meta = fields.meta(
        Delivery,
        "id message event body state attempts due_at status error tried_at created_at",
    )


class WebhookBody(fields.Body):
    address = fields.CharField(max_length=500, help_text="begins with https://")
    events = fields.ListField(
        child=fields.ChoiceField(Webhook.Event.choices), allow_empty=False
    )


class OfWebhooks(StudyView):
    readers = "manager"

    def rows(self) -> Any:
        return self.study.webhooks.all()

    def sent(self, delivery: Delivery) -> Delivery:
        """Wake a worker; the message is in the list of deliveries."""
        address = self.study.slug, delivery.webhook_id
        self.queue(wake_webhooks, "webhook-deliveries", *address)
        return delivery


class WebhookList(OfWebhooks):
    takes_key = False  # the secret is not kept

    get = list_operation("list_webhooks", WebhookSerializer, "List the webhooks.")

    @operation("add_webhook", NewWebhookSerializer, takes=WebhookBody, status=201)
    def post(self, given: dict[str, Any]) -> Webhook:
        """Add a webhook; it gets messages about all later events."""
        row = managing.add(self.study, **given, by=self.user)
        self.locate("webhook", self.study.slug, row.pk)
        return row


class OneWebhook(OfWebhooks):
    get = show_operation(
        "get_webhook", WebhookSerializer, "Return a webhook, without its secret."
    )

    @operation("delete_webhook")
    def delete(self) -> None:
        """Delete a webhook with its messages."""
        managing.delete(self.row(), by=self.user)


class WebhookTest(OfWebhooks):
    @operation("test_webhook", DeliverySerializer, status=202)
    def post(self) -> Delivery:
        """Send a message of the type `webhook.test`."""
        return self.sent(managing.test(self.row()))


class WebhookResume(OfWebhooks):
    @operation("resume_webhook", WebhookSerializer)
    def post(self) -> Any:
        """Switch a webhook on that was switched off; what it missed is sent."""
        managing.resume(self.row(), by=self.user)
        ring(wake_webhooks)
        return self.row()


class DeliveryList(OfWebhooks):
    @operation("list_deliveries", DeliverySerializer, many=True)
    def get(self) -> Any:
        """List the deliveries of the last 30 days, the newest first."""
        return self.row().deliveries.all()


class DeliveryAgain(OfWebhooks):
    @operation("send_delivery_again", DeliverySerializer, status=202)
    def post(self) -> Delivery:
        """Send a message again, with the same id."""
        own = self.row().deliveries
        row = get_object_or_404(own, pk=self.kwargs["delivery_pk"])
        delivering.send_again(Delivery.objects.filter(pk=row.pk))
        row.refresh_from_db()
        return self.sent(row)
