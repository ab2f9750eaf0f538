"""Adding, testing, resuming and deleting webhooks."""

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.models import Delivery, Event, Study, User, Webhook
from annotate.webhooks.addresses import AddressError, target
from annotate.webhooks.delivering import send_again
from annotate.webhooks.messages import new_delivery
from evalcore.models.columns import most_letters

MOST = 10
TEST = "webhook.test"


class WebhookError(ValueError):
    """A webhook that cannot be added; the message says why."""


def check(address: str, events: Collection[str]) -> list[str]:
    """Return the events in order; raise WebhookError unless all is right."""
    wrong = [event for event in events if event not in Webhook.Event.values]
    if wrong or not events:
        known = ", ".join(Webhook.Event.values)
        raise WebhookError(_("Choose one or more of these events: %s.") % known)
    if len(address) > most_letters(Webhook, "address"):
        raise WebhookError(_("This address is too long."))
    try:
        target(address)
    except AddressError as error:
        raise WebhookError(str(error)) from error
    return [event for event in Webhook.Event.values if event in events]


def add(
    study: Study, address: str, events: Collection[str], *, by: User | None
) -> Webhook:
    """Add a webhook; it gets messages about all later events."""
    ordered = check(address, events)
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if locked.webhooks.count() >= MOST:
            text = _("A study has at most %(most)d webhooks. Delete one first.")
            raise WebhookError(text % {"most": MOST})
        added = event_log.note(
            Event.Kind.WEBHOOK_ADDED, study.pk, user=by, address=address
        )
        return Webhook.objects.create(
            study=study,
            address=address,
            events=ordered,
            read_to=added.pk,
            created_by=by,
        )


def test(webhook: Webhook) -> Delivery:
    """Queue a message of the type `webhook.test`."""
    now = timezone.now()
    data = {"study": webhook.study.slug}
    delivery = new_delivery(webhook, TEST, data, now.isoformat(), at=now)
    delivery.save()
    return delivery


@transaction.atomic
def resume(webhook: Webhook, *, by: User | None) -> None:
    """Switch a webhook on; what it missed is sent."""
    off = Webhook.objects.filter(pk=webhook.pk, switched_off_at__isnull=False)
    if off.update(switched_off_at=None, free_at=timezone.now()):
        send_again(webhook.deliveries.filter(state=Delivery.State.FAILED))
        event_log.note(
            Event.Kind.WEBHOOK_RESUMED,
            webhook.study_id,
            user=by,
            address=webhook.address,
        )


@transaction.atomic
def delete(webhook: Webhook, *, by: User | None) -> None:
    """Delete a webhook with its messages."""
    event_log.note(
        Event.Kind.WEBHOOK_DELETED, webhook.study_id, user=by, address=webhook.address
    )
    webhook.delete()
