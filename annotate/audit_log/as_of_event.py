"""A study as it was at an event of its log."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Max, QuerySet
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.models import MAIN, Event, Slot, Study, User
from evalcore.database.postgresql import OpenTransactionsError, await_open_transactions

Kind = Event.Kind
SlotState = Slot.State


@dataclass
class Followed:
    """The state of a slot according to the log."""

    state: str
    annotator: int | None
    ordinal: int | None


# States before each event, and the state after it.
MOVES: dict[str, tuple[tuple[str, ...], str]] = {
    Kind.SLOT_TAKEN: ((SlotState.OPEN,), SlotState.LEASED),
    Kind.SLOT_EXPIRED: ((SlotState.LEASED,), SlotState.OPEN),
    Kind.SLOT_SKIPPED: ((SlotState.OPEN, SlotState.LEASED), SlotState.OPEN),
    Kind.SLOT_FREED: ((SlotState.OPEN, SlotState.LEASED), SlotState.OPEN),
    Kind.SLOT_WITHDRAWN: ((SlotState.OPEN, SlotState.LEASED), SlotState.WITHDRAWN),
    Kind.SLOT_SUBMITTED: ((SlotState.OPEN, SlotState.LEASED), SlotState.SUBMITTED),
    Kind.SLOT_EXCLUDED: ((SlotState.SUBMITTED,), SlotState.EXCLUDED),
    Kind.EXCLUSION_UNDONE: ((SlotState.EXCLUDED,), SlotState.SUBMITTED),
}
BIRTHS: dict[str, str] = {
    Kind.SLOT_OPENED: SlotState.OPEN,
    Kind.SLOT_LATE: SlotState.LEASED,
}
# Events by the holder of a slot, or by the annotator who takes a free one.
WORK = (Kind.SLOT_TAKEN, Kind.SLOT_SUBMITTED)
FOLLOWED = [*MOVES, *BIRTHS, Kind.SLOT_SURPLUS, Kind.SLOTS_LISTED]


def problems(study: Study) -> Iterator[str]:
    """Yield a sentence for each difference between log and tables."""
    slots: dict[int, Followed] = {}
    yield from replay(study, slots)
    stored = study.slots.order_by("pk").values_list(
        "pk", "code", "state", "annotator", "ordinal"
    )
    for pk, code, state, annotator, ordinal in stored.iterator(2000):
        told = slots.pop(pk, None)
        standing = state, annotator, ordinal
        if told is None:
            yield f"slot {code}: stored, but not in the log"
        elif (told.state, told.annotator, told.ordinal) != standing:
            yield (
                f"slot {code}: stored as {_words(*standing)}, but the log says "
                f"{_words(told.state, told.annotator, told.ordinal)}"
            )
    for pk in slots:
        yield f"slot {pk}: in the log, but not stored"


def replay(
    study: Study, slots: dict[int, Followed], *, until: int | None = None
) -> Iterator[str]:
    """Replay the events since the first list; yield impossible ones."""
    events = Event.objects.filter(study=study, kind__in=FOLLOWED).order_by("pk")
    first = events.filter(kind=Kind.SLOTS_LISTED).values_list("pk", flat=True).first()
    if until is not None:
        events = events.filter(pk__lte=until)
    rows = events.filter(pk__gte=first or 0).values_list(
        "pk", "kind", "slot", "details"
    )
    for pk, kind, slot, details in rows.iterator(2000):
        if kind == Kind.SLOTS_LISTED:
            for row, *standing in details["slots"]:
                slots[row] = Followed(*standing)
        elif kind in BIRTHS:
            slots[slot] = Followed(BIRTHS[kind], details["holder"], details["ordinal"])
        elif slot not in slots:
            yield f"event {pk}: {kind}, but slot {slot} had not been opened"
        elif kind == Kind.SLOT_SURPLUS:
            slots[slot].ordinal = details["ordinal"]
        else:
            before, after = MOVES[kind]
            told = slots[slot]
            if told.state not in before:
                yield f"event {pk}: {kind}, but slot {slot} was {told.state}"
            if kind in WORK and told.annotator not in (None, details["holder"]):
                yield (
                    f"event {pk}: {kind}, but slot {slot} belonged to another annotator"
                )
            told.state = after
            told.annotator, told.ordinal = details["holder"], details["ordinal"]


def _words(state: str, annotator: int | None, ordinal: int | None) -> str:
    whose = "no annotator" if annotator is None else f"annotator {annotator}"
    place = "no number" if ordinal is None else f"number {ordinal}"
    return f"{state}, {whose}, {place}"


# Events that decide which views hide the answers of a slot.
HIDING = (Kind.SLOT_EXCLUDED, Kind.EXCLUSION_UNDONE, Kind.STUDY_EDITED)


class MomentError(ValueError):
    """The state as of this event is not available; the message says why."""


@dataclass(frozen=True)
class Moment:
    """A study as of an event, this event included."""

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
    """Log the request for a report; the report is as of this event."""
    return event_log.note(Kind.REPORT_ASKED, study.pk, user=user)


def moment(study: Study, event: int) -> Moment:
    """Return the state of the study at an event of its log."""
    try:
        await_open_transactions()
    except OpenTransactionsError as error:
        raise MomentError(
            _("A long write is in progress. Please try again later.")
        ) from error
    known = Event.objects.filter(study=study)
    if not known.filter(pk=event).exists():
        raise MomentError(
            _("Event %(event)d is not in the log of %(study)s.")
            % {"event": event, "study": study.slug}
        )
    slots: dict[int, Followed] = {}
    for _problem in replay(study, slots, until=event):
        pass  # `plumbline verify` tells them
    if not slots and study.slots.exists():
        text = _(
            "The log of %(study)s does not go back that far. Choose a later event."
        )
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


def now(study: Study) -> Moment:
    """Mark this moment in the log and return it."""
    return moment(study, mark(study).pk)


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
