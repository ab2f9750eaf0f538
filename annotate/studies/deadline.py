"""Deadline of a study: the last day for answers."""

from datetime import date, datetime, time, timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.models import Event, Study, User


class DeadlineError(ValueError):
    """A day that cannot be a deadline; the message says why."""


def end_of(day: date) -> datetime:
    """Return the last minute of a day in the server's time zone."""
    end = datetime.combine(day + timedelta(days=1), time()) - timedelta(minutes=1)
    return timezone.make_aware(end)


def day_of(study: Study) -> date | None:
    """Return the day of a study's deadline in the server's time zone."""
    return timezone.localtime(study.deadline).date() if study.deadline else None


def check(day: date | None) -> None:
    """Refuse a day that has passed, or that no calendar of the server reaches."""
    today = timezone.localdate()
    if day is not None and not today <= day < date.max - timedelta(days=2):
        text = _(
            "The deadline %(day)s has passed. Today is %(today)s: choose today or a "
            "later day, or leave the deadline out."
        )
        raise DeadlineError(text % {"day": day, "today": today})


def parse(text: str) -> date | None:
    """Return the day in a form; None if it is empty."""
    try:
        return date.fromisoformat(text.strip()) if text.strip() else None
    except ValueError as error:
        raise DeadlineError(
            _("“%(text)s” is not a day. Write it like 2026-12-31.") % {"text": text}
        ) from error


@transaction.atomic
def move(study: Study, day: date | None, *, user: User | None = None) -> None:
    """Set, move or remove the deadline of a study."""
    check(day)
    stored = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    stored.deadline = study.deadline = None if day is None else end_of(day)
    stored.save(update_fields=["deadline"])
    event_log.note(
        Event.Kind.STUDY_EDITED,
        study.pk,
        user=user,
        deadline=str(day) if day else "",
    )
