"""Delivery of messages that are due, and repetition of those that failed."""

import logging
import random
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotate import event_log
from annotate.models import Delivery, Event, Webhook
from annotate.webhooks.addresses import AddressError
from annotate.webhooks.sending import NotSentError, post

logger = logging.getLogger(__name__)
State = Delivery.State

# Seconds until the next attempt, after the first, the second, ...
BACKOFF = (5, 300, 1800, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600)
JITTER = 0.1
# A worker that is killed takes its claim along; others send the message after this.
CLAIM = timedelta(seconds=60)
# An address that does not reply gets its other messages no sooner.
HOLD = timedelta(seconds=60)
# A webhook sends one message at a time, so that a slow one keeps one of these.
MOST_AT_ONCE = 8
SLICE_SECONDS = 30.0
GONE = 410
KEPT = timedelta(days=30)


def due() -> QuerySet[Delivery]:
    """Return the messages whose next attempt is due, the oldest first."""
    waiting = Delivery.objects.filter(state=State.WAITING, due_at__lte=timezone.now())
    return waiting.order_by("pk")


def _ready() -> QuerySet[Webhook]:
    """Return the active webhooks with a message to send now, in turn."""
    return Webhook.objects.filter(
        Exists(due().filter(webhook=OuterRef("pk"))),
        switched_off_at__isnull=True,
        free_at__lte=timezone.now(),
    ).order_by("free_at")


def deliver_due() -> bool:
    """Send what is due, for a limited time; say whether some is left."""
    until = time.monotonic() + SLICE_SECONDS
    running: dict[Future[int], Delivery] = {}
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        while True:
            free = MOST_AT_ONCE - len(running) if time.monotonic() < until else 0
            for one in _claim(free):
                to = one.webhook
                given = to.address, to.secret, one.message, one.body
                running[pool.submit(post, *given)] = one
            if not running:
                return _ready().exists()
            done, _others = wait(running, return_when=FIRST_COMPLETED)
            for sent in done:
                _record(running.pop(sent), sent)


def _claim(most: int) -> Iterator[Delivery]:
    """Yield a message each of some webhooks, which no other worker has now."""
    for webhook in _ready()[:most]:
        own = Webhook.objects.filter(pk=webhook.pk, free_at=webhook.free_at)
        if own.update(free_at=timezone.now() + CLAIM):
            first = due().filter(webhook=webhook).select_related("webhook").first()
            if first is not None:
                yield first


@transaction.atomic
def _record(one: Delivery, sent: Future[int]) -> None:
    """Store how an attempt ended, and when the next one is due."""
    now, error = timezone.now(), sent.exception()
    if error is not None and not isinstance(error, AddressError | NotSentError):
        logger.error("message %s was not sent", one.message, exc_info=error)
    one.status = None if error else sent.result()
    one.error = str(error or "")[:300]
    one.tried_at, one.due_at = now, None
    one.attempts += 1
    is_delivered = one.status is not None and 200 <= one.status < 300
    if is_delivered:
        one.state = State.DELIVERED
    elif one.attempts > len(BACKOFF):
        one.state = State.FAILED
    else:
        later = BACKOFF[one.attempts - 1] * random.uniform(1, 1 + JITTER)
        one.due_at = now + timedelta(seconds=later)
    Delivery.objects.filter(pk=one.pk).update(  # its webhook may have been deleted
        status=one.status,
        error=one.error,
        tried_at=one.tried_at,
        due_at=one.due_at,
        attempts=one.attempts,
        state=one.state,
    )
    own = Webhook.objects.filter(pk=one.webhook_id)
    own.update(free_at=now if one.status else now + HOLD)
    if is_delivered:
        own.update(delivered_at=now)
    elif one.status == GONE or _is_hopeless(one):
        _switch_off(one.webhook)


def _is_hopeless(one: Delivery) -> bool:
    """Say whether all attempts failed, and no other message arrived meanwhile."""
    since = Webhook.objects.filter(pk=one.webhook_id, delivered_at__gt=one.created_at)
    return one.state == State.FAILED and not since.exists()


def _switch_off(webhook: Webhook) -> None:
    """Stop sending; later messages wait until a manager switches it on."""
    active = Webhook.objects.filter(pk=webhook.pk, switched_off_at__isnull=True)
    if active.update(switched_off_at=timezone.now()):
        event_log.note(
            Event.Kind.WEBHOOK_STOPPED, webhook.study_id, address=webhook.address
        )


def send_again(rows: QuerySet[Delivery]) -> None:
    """Queue messages again, with the ids that they had."""
    rows.update(state=State.WAITING, attempts=0, due_at=timezone.now())


def forget_old() -> None:
    """Delete messages that were delivered, or given up, long ago."""
    old = Delivery.objects.filter(created_at__lt=timezone.now() - KEPT)
    old.exclude(state=State.WAITING).delete()
