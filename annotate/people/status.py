"""Status of each annotator, from not started to paid."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import models
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from annotate.models import Annotator, Invitation, Payment, Purpose, Slot, Study, Unit
from annotate.people import places
from annotate.people.presence import (
    Calendar,
    answers_by_day,
    calendar,
    patience_days,
)

# People of a crowd platform who left do not come back the next day.
CROWDS = ("prolific", "mturk", "sona")
PLATFORM_PATIENCE = timedelta(hours=3)


class Status(models.TextChoices):
    """Progress of an annotator, in one word."""

    NOT_STARTED = "not_started", pgettext_lazy("person", "not started")
    NO_CONSENT = "no_consent", pgettext_lazy("person", "did not agree")
    TRAINING = "training", pgettext_lazy("person", "in training")
    FAILED = "failed", _("did not pass the training")
    WORKING = "working", pgettext_lazy("person", "working")
    LEFT = "left", pgettext_lazy("person", "left")
    PAUSED = "paused", pgettext_lazy("person", "paused")
    REMOVED = "removed", pgettext_lazy("person", "removed")
    FINISHED = "finished", pgettext_lazy("person", "finished")
    PAID = "paid", pgettext_lazy("person", "paid")


_State = Annotator.State
# States that decide the status by themselves.
SETTLED = {
    _State.FAILED: Status.FAILED,
    _State.PAUSED: Status.PAUSED,
    _State.FINISHED: Status.FINISHED,
}


def statuses(
    people: Iterable[Annotator], now: datetime | None = None
) -> dict[int, Status]:
    """Return the status of each annotator, by primary key.

    The number of queries does not grow with the number of people.
    """
    now = now or timezone.now()
    of_study: dict[int, list[Annotator]] = defaultdict(list)
    for person in people:
        of_study[person.study_id].append(person)
    found: dict[int, Status] = {}
    for group in of_study.values():
        found |= _of_study(group[0].study, group, now)
    return found


def _of_study(
    study: Study, people: list[Annotator], now: datetime
) -> dict[int, Status]:
    paid = set(
        Payment.objects.filter(
            annotator__study=study, paid_at__isnull=False
        ).values_list("annotator", flat=True)
    )
    slots = Slot.objects.filter(study=study, submitted_at__isnull=False).order_by()
    answered = dict(slots.values_list("annotator").annotate(last=Max("submitted_at")))
    measure = _calendar(study)
    units = Unit.objects.filter(study=study, purpose=Purpose.TRAINING)
    trains = bool(study.training) and units.exists()
    is_over = study.state == Study.State.CLOSED
    found = {}
    for person in people:
        at = answered.get(person.pk)
        has_begun = person.consented_at is not None or at is not None
        found[person.pk] = _status(
            person,
            has_begun=has_begun,
            has_left=has_begun
            and (is_over or measure.presence(person, at, now).is_missed),
            trains=trains,
        )
    return found | dict.fromkeys(paid & found.keys(), Status.PAID)


def _calendar(study: Study) -> Calendar:
    """Return the study's calendar; people of a crowd platform are missed soon."""
    measure = calendar(study, patience_days(answers_by_day(study)))
    if study.is_open and study.recruitment.get("platform") in CROWDS:
        return replace(measure, patience=PLATFORM_PATIENCE)
    return measure


def _status(
    person: Annotator, *, has_begun: bool, has_left: bool, trains: bool
) -> Status:
    """Return the status of an unpaid person."""
    if person.declined_at is not None and person.consented_at is None:
        return Status.NO_CONSENT
    if person.left_at is not None:
        return Status.LEFT
    if person.state == _State.REVOKED:
        # People who withdraw leave by themselves; managers remove the others.
        return Status.LEFT if person.withdrawn_at else Status.REMOVED
    if person.state in SETTLED:
        return SETTLED[_State(person.state)]
    if not has_begun:
        return Status.NOT_STARTED
    if has_left:
        return Status.LEFT
    return Status.TRAINING if trains and not person.trained_at else Status.WORKING


# Why a link does not lead on any more, and the states that stop work under it.
ENDED = ("declined", "left", "withdrawn", "revoked")
HELD: dict[str, str] = {_State.PAUSED: "held", _State.FAILED: "failed"}


def why_stopped(invitation: Invitation, *, admitting: str = "") -> str:
    """Return why nobody can work under a link now; empty if somebody can.

    The reason is one of `ENDED` or `HELD`, or the state of the study. A reason that is
    `admitting` does not count.
    """
    person = invitation.annotator
    if invitation.revoked_at is not None:
        if places.may_come_back(person):
            return "declined" if person.declined_at else "left"
        has_withdrawn = person.withdrawn_at and not person.erased_at
        return "withdrawn" if has_withdrawn else "revoked"
    held = HELD.get(person.state, "")
    if held and held != admitting:
        return held
    state = person.study.state
    is_free = state == Study.State.OPEN or person.state == _State.FINISHED
    return "" if is_free else state


def stop_text(why: str) -> str:
    """Return a sentence for a reason why somebody cannot work, or not on a story."""
    texts = {
        "revoked": gettext("This invitation is no longer valid."),
        "withdrawn": gettext("You have withdrawn from this study."),
        "declined": gettext("You do not take part"),
        "left": gettext("Your place went to somebody else. Reload to take another."),
        "gone": gettext("This story is now assigned to somebody else."),
        "replaced": gettext(
            "A picture of this story was replaced. Reload the page to continue."
        ),
        "failed": gettext(
            "You did not pass the training round, so you cannot take part in this "
            "study."
        ),
        "held": gettext("Your work is paused; the study's manager can tell you why."),
    }
    return texts.get(why) or gettext(
        "The study is not accepting answers at the moment."
    )
