"""How a study stood at an event of its log, so that its numbers can be made again."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Max, QuerySet
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.history import replaying
from annotate.history.replaying import Followed
from annotate.models import MAIN, Event, Slot, Study, User
from evalcore.database.postgresql import OpenTransactionsError, await_open_transactions

Kind = Event.Kind
# What decides from which views the answers of a slot are hidden.
HIDING = (Kind.SLOT_EXCLUDED, Kind.EXCLUSION_UNDONE, Kind.STUDY_EDITED)


class MomentError(ValueError):
    """The study cannot be looked at as of this event; the message says why."""


@dataclass(frozen=True)
class Moment:
    """A study as of an event, whose id is part of what is seen."""

    event: int
    at: datetime
    slots: dict[int, Followed]
    hidden: dict[int, frozenset[str]]

    @cached_property
    def submitted(self) -> dict[int, Followed]:
        """The slots that have answers, excluded ones too."""
        closed = (Slot.State.SUBMITTED, Slot.State.EXCLUDED)
        return {pk: slot for pk, slot in self.slots.items() if slot.state in closed}

    def hidden_from(self, view: str) -> set[int]:
        """Return the slots whose answers a view hides."""
        return {slot for slot, views in self.hidden.items() if view in views}


def mark(study: Study, user: User | None = None) -> Event:
    """Log that a report is asked for, which is one as of this event."""
    return event_log.note(Kind.REPORT_ASKED, study.pk, user=user)


def moment(study: Study, event: int) -> Moment:
    """Return how the study stood at an event of its log."""
    try:
        await_open_transactions()
    except OpenTransactionsError as error:
        raise MomentError(
            _("Something is being written for a long time; please try again.")
        ) from error
    known = Event.objects.filter(study=study)
    if not known.filter(pk=event).exists():
        raise MomentError(
            _("Event %(event)d is not in the log of %(study)s.")
            % {"event": event, "study": study.slug}
        )
    slots: dict[int, Followed] = {}
    for _problem in replaying.replay(study, slots, until=event):
        pass  # `manage.py verify` tells them
    if not slots and study.slots.exists():
        text = _("The log does not follow the slots of %(study)s as early as that.")
        raise MomentError(text % {"study": study.slug})
    events = known.filter(pk__lte=event)
    told = hidden_views(events)
    hidden = {
        pk: told.get(pk, frozenset([MAIN]))  # excluded before there were views
        for pk, slot in slots.items()
        if slot.state == Slot.State.EXCLUDED
    }
    at = events.aggregate(Max("at"))["at__max"]
    return Moment(event, at, slots, hidden)


def now(study: Study, user: User | None = None) -> Moment:
    """Mark this moment in the log and return it."""
    return moment(study, mark(study, user).pk)


def hidden_views(events: QuerySet[Event]) -> dict[int, frozenset[str]]:
    """Return by slot the keys of the views that hide its answers, by these events."""
    told: dict[int, frozenset[str]] = {}
    rows = events.filter(kind__in=HIDING).order_by("pk")
    for kind, slot, details in rows.values_list("kind", "slot", "details"):
        if kind == Kind.SLOT_EXCLUDED:
            told[slot] = frozenset(details.get("views", [MAIN]))
        elif kind == Kind.EXCLUSION_UNDONE:
            told.pop(slot, None)
        else:
            for row, views in details.get("hidden", ()):
                told[row] = frozenset(views)
    return told
