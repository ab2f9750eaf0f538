"""Status of annotators, for managers."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotate.models import Annotator
from annotate.people.presence import USUAL_DAYS, last_seen


class Status(models.TextChoices):
    """Stage of an annotator's work."""

    NOT_STARTED = "not started", _("not started")
    NO_CONSENT = "no consent", _("did not agree")
    TRAINING = "training", _("in training")
    FAILED = "failed", _("did not pass")
    WORKING = "working", _("working")
    LEFT = "left", _("left")
    PAUSED = "paused", _("paused")
    REMOVED = "removed", _("removed")
    FINISHED = "finished", _("finished")
    PAID = "paid", _("paid")


STATES = {
    Annotator.State.PAUSED: Status.PAUSED,
    Annotator.State.REVOKED: Status.REMOVED,
    Annotator.State.FAILED: Status.FAILED,
    Annotator.State.FINISHED: Status.FINISHED,
}


def statuses(
    people: Iterable[Annotator], now: datetime | None = None
) -> dict[int, Status]:
    """Return the status of each annotator by id."""
    quiet = (now or timezone.now()) - timedelta(days=USUAL_DAYS)
    return {person.pk: _status(person, quiet) for person in people}


def _status(person: Annotator, quiet: datetime) -> Status:
    if person.state in STATES:
        return STATES[Annotator.State(person.state)]
    seen = last_seen(person, None)
    if seen is None:
        return Status.NOT_STARTED
    if seen < quiet:
        return Status.LEFT
    return Status.TRAINING if person.instructed_at is None else Status.WORKING
