"""Webhooks of a study, and their deliveries."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.base import Body, Listed, StudyView, created, read
from annotate.models import Delivery, Webhook
from annotate.tasks import ring, wake_webhooks
from annotate.webhooks import delivering, managing


class WebhookSerializer(serializers.ModelSerializer):
    events = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Webhook
        fields = ["id", "address", "events", "created_at", "switched_off_at"]


class NewWebhookSerializer(WebhookSerializer):
    secret = serializers.CharField(
        help_text="verifies signatures (Standard Webhooks); not shown again"
    )

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]


class DeliverySerializer(serializers.ModelSerializer):
    class Meta:
        model = Delivery
        fields = (
            "id",
            "message",
            "event",
            "body",
            "state",
            "attempts",
            "due_at",
            "status",
            "error",
            "tried_at",
            "created_at",
        )


class WebhookBody(Body):
    address = serializers.CharField(max_length=500, help_text="begins with https://")
    events = serializers.ListField(
        child=serializers.ChoiceField(Webhook.Event.choices), allow_empty=False
    )


class WebhookList(Listed, StudyView):
    readers = "manager"
    takes_key = False  # the secret is not kept

    @extend_schema(
        operation_id="list_webhooks",
        tags=["webhooks"],
        responses=WebhookSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the webhooks."""
        return self.page(self.study.webhooks.all(), WebhookSerializer)

    @extend_schema(
        operation_id="add_webhook",
        tags=["webhooks"],
        request=WebhookBody,
        responses={201: NewWebhookSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add a webhook; it gets messages about all later events."""
        row = managing.add(self.study, **read(WebhookBody, request), by=request.user)
        return created(NewWebhookSerializer(row).data, "api-webhook", slug, row.pk)


class OfWebhook(StudyView):
    readers = "manager"

    def webhook(self) -> Webhook:
        return get_object_or_404(self.study.webhooks, pk=self.kwargs["pk"])

    def queued(self, delivery: Delivery) -> Response:
        """Wake a worker; the message is in the list of deliveries."""
        ring(wake_webhooks)
        args: tuple[Any, ...] = self.study.slug, delivery.webhook_id
        shown = DeliverySerializer(delivery).data
        return created(shown, "api-webhook-deliveries", *args, status=202)


class OneWebhook(OfWebhook):
    @extend_schema(
        operation_id="get_webhook", tags=["webhooks"], responses=WebhookSerializer
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return a webhook, without its secret."""
        return Response(WebhookSerializer(self.webhook()).data)

    @extend_schema(
        operation_id="delete_webhook", tags=["webhooks"], responses={204: None}
    )
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Delete a webhook with its messages."""
        managing.delete(self.webhook(), by=request.user)
        return Response(status=204)


class WebhookTest(OfWebhook):
    @extend_schema(
        operation_id="test_webhook",
        tags=["webhooks"],
        request=None,
        responses={202: DeliverySerializer},
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Send a message of the type `webhook.test`."""
        return self.queued(managing.test(self.webhook()))


class WebhookResume(OfWebhook):
    @extend_schema(
        operation_id="resume_webhook",
        tags=["webhooks"],
        request=None,
        responses=WebhookSerializer,
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Switch a webhook on that was switched off; what it missed is sent."""
        managing.resume(self.webhook(), by=request.user)
        ring(wake_webhooks)
        return Response(WebhookSerializer(self.webhook()).data)


class DeliveryList(Listed, OfWebhook):
    @extend_schema(
        operation_id="list_deliveries",
        tags=["webhooks"],
        responses=DeliverySerializer(many=True),
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """List the deliveries of the last 30 days, the newest first."""
        return self.page(self.webhook().deliveries.all(), DeliverySerializer)


class DeliveryAgain(OfWebhook):
    @extend_schema(
        operation_id="send_delivery_again",
        tags=["webhooks"],
        request=None,
        responses={202: DeliverySerializer},
    )
    def post(self, request: Request, slug: str, pk: int, delivery_pk: int) -> Response:
        """Send a message again, with the same id."""
        row = get_object_or_404(self.webhook().deliveries, pk=delivery_pk)
        delivering.send_again(Delivery.objects.filter(pk=row.pk))
        row.refresh_from_db()
        return self.queued(row)
