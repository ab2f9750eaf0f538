"""Messages to webhooks, made from the log of their study.

An event is written in the transaction of what it records, so that nothing is sent for
what was rolled back, and a worker that is killed has lost nothing.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from django.db import transaction
from django.db.models import F, Max, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from annotate.access.server_address import server_address
from annotate.coverage.counts import totals
from annotate.models import Delivery, Event, Slot, Study, Unit, Webhook

# On PostgreSQL an event may be committed after those with higher numbers, but not by
# as much: younger ones are read again.
MARGIN = timedelta(minutes=10)
KINDS = (Event.Kind.SLOT_SUBMITTED, Event.Kind.FLAG_RAISED, Event.Kind.STOPPED_EARLY)
COUNTED = Q(slot__ordinal__isnull=False, slot__state=Slot.State.SUBMITTED)


@dataclass(frozen=True)
class Message:
    """A message, the event of the log it comes from, and when that was."""

    type: Webhook.Event
    cause: int
    at: datetime
    data: dict[str, Any]


def write_messages() -> None:
    """Write the messages about new events of the log for every active webhook."""
    active = Webhook.objects.filter(switched_off_at__isnull=True)
    for pk in active.values_list("pk", flat=True):
        _write_for(pk)


def _write_for(pk: int) -> None:
    webhook = Webhook.objects.select_related("study").filter(pk=pk).first()
    if webhook is None:
        return
    now = timezone.now()
    new = webhook.study.events.filter(pk__gt=webhook.read_to)
    events = new.filter(kind__in=KINDS)
    # Read first: messages may come later than their event, but never before.
    settled = new.filter(at__lt=now - MARGIN).aggregate(last=Max("pk"))["last"]
    recent = webhook.deliveries.filter(created_at__gt=now - 2 * MARGIN)
    known = set(recent.values_list("message", flat=True))
    found = [_delivery(webhook, one) for one in _messages(webhook, events)]
    with transaction.atomic():
        if not Webhook.objects.select_for_update(no_key=True).filter(pk=pk):
            return
        Delivery.objects.bulk_create(
            [one for one in found if one.message not in known],
            batch_size=500,
            ignore_conflicts=True,
        )
        if settled:
            Webhook.objects.filter(pk=pk).update(read_to=settled)


def _messages(webhook: Webhook, events: QuerySet[Event]) -> Iterator[Message]:
    """Yield the messages that the webhook asks for."""
    study = webhook.study
    if Webhook.Event.SLOT in webhook.events:
        yield from _slots(events)
    if Webhook.Event.ITEM in webhook.events:
        yield from _items(study, events)
    if Webhook.Event.STUDY in webhook.events:
        yield from _study(study, events)
    if Webhook.Event.PERSON in webhook.events:
        yield from _people(events)


def _slots(events: QuerySet[Event]) -> Iterator[Message]:
    rows: Any = events.filter(kind=Event.Kind.SLOT_SUBMITTED, slot__isnull=False)
    for pk, at, code, purpose, name, unit, story in rows.values_list(
        "pk",
        "at",
        "slot__code",
        "slot__purpose",
        "annotator__name",
        "slot__unit",
        "slot__unit__story__key",
    ):
        data = {"slot": code, "purpose": purpose, "annotator": name}
        yield Message(Webhook.Event.SLOT, pk, at, data | _item(unit, story))


def _items(study: Study, events: QuerySet[Event]) -> Iterator[Message]:
    """Yield the items that are complete, with the submission that made them so."""
    submitted = events.filter(COUNTED, kind=Event.Kind.SLOT_SUBMITTED)
    complete = Unit.objects.filter(
        pk__in=submitted.order_by().values("slot__unit"),
        submitted__gte=F("redundancy") * study.rounds,
    )
    last = _submissions(study).filter(slot__unit__in=complete)
    rows: Any = last.values_list("slot__unit", "slot__unit__story__key").order_by()
    for unit, story, pk, at in rows.annotate(Max("pk"), Max("at")):
        yield Message(Webhook.Event.ITEM, pk, at, _item(unit, story))


def _study(study: Study, events: QuerySet[Event]) -> Iterator[Message]:
    """Yield that all ratings are in, or that they are enough by the stop rule."""
    stopped = events.filter(kind=Event.Kind.STOPPED_EARLY)
    for pk, at in stopped.values_list("pk", "at"):
        yield Message(Webhook.Event.STUDY, pk, at, {"reason": "stop rule met"})
    if not events.filter(COUNTED, kind=Event.Kind.SLOT_SUBMITTED).exists():
        return
    counted = totals(study)
    last = _submissions(study).aggregate(pk=Max("pk"), at=Max("at"))
    if counted.wanted and not counted.left and last["pk"]:
        data = {"reason": "all ratings collected"}
        yield Message(Webhook.Event.STUDY, last["pk"], last["at"], data)


def _people(events: QuerySet[Event]) -> Iterator[Message]:
    flags: Any = events.filter(kind=Event.Kind.FLAG_RAISED)
    for pk, at, name, details in flags.values_list(
        "pk", "at", "annotator__name", "details"
    ):
        data = {name: details.get(name) for name in ("rule", "action")}
        yield Message(Webhook.Event.PERSON, pk, at, {"annotator": name} | data)


def _submissions(study: Study) -> QuerySet[Event]:
    return study.events.filter(COUNTED, kind=Event.Kind.SLOT_SUBMITTED)


def _item(unit: int, story: str) -> dict[str, Any]:
    """Return how a message names an item: without its methods."""
    return {"item": unit, "story": story}


def _delivery(webhook: Webhook, message: Message) -> Delivery:
    study = webhook.study
    if "slot" in message.data:
        about = reverse("api-slot-detail", args=[study.slug, message.data["slot"]])
    else:
        about = reverse("api-study", args=[study.slug])
    data = {"study": study.slug, **message.data, "api": server_address() + about}
    item = message.data.get("item", "")
    return new_delivery(
        webhook, message.type, data, f"{message.cause} {item}", at=message.at
    )


def new_delivery(
    webhook: Webhook, kind: str, data: dict[str, Any], cause: str, *, at: datetime
) -> Delivery:
    """Return a message that is not stored yet; the same cause gives the same id."""
    body = {
        "type": kind,
        "timestamp": at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "data": data,
    }
    digest = sha256(f"{webhook.secret} {kind} {cause}".encode()).hexdigest()
    return Delivery(
        webhook=webhook,
        message=f"msg_{digest[:32]}",
        event=kind,
        body=json.dumps(body, ensure_ascii=False, separators=(",", ":")),
    )
