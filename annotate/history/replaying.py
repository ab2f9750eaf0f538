"""Following the slots of a study through its log, and comparing with what is stored."""

from collections.abc import Iterator
from dataclasses import dataclass

from annotate.models import Event, Slot, Study

Kind = Event.Kind
SlotState = Slot.State


@dataclass
class Followed:
    """A slot as the log tells it."""

    state: str
    annotator: int | None
    ordinal: int | None


# What each event finds, and the state that it leaves behind.
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
# What only the holder of a slot can do, or whoever takes a free one.
WORK = (Kind.SLOT_TAKEN, Kind.SLOT_SUBMITTED)
FOLLOWED = [*MOVES, *BIRTHS, Kind.SLOT_SURPLUS, Kind.SLOTS_LISTED]


def problems(study: Study) -> Iterator[str]:
    """Yield a sentence for each place where log and tables tell different stories."""
    slots: dict[int, Followed] = {}
    yield from replay(study, slots)
    stored = study.slots.order_by("pk").values_list(
        "pk", "code", "state", "annotator", "ordinal"
    )
    for pk, code, state, annotator, ordinal in stored.iterator(2000):
        told = slots.pop(pk, None)
        standing = state, annotator, ordinal
        if told is None:
            yield f"slot {code}: the log does not know it"
        elif (told.state, told.annotator, told.ordinal) != standing:
            yield (
                f"slot {code}: stored as {_words(*standing)}, but by the log "
                f"{_words(told.state, told.annotator, told.ordinal)}"
            )
    for pk in slots:
        yield f"slot {pk}: in the log, but not stored"


def replay(
    study: Study, slots: dict[int, Followed], *, until: int | None = None
) -> Iterator[str]:
    """Follow the events since the first list; yield what could not have happened."""
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
            yield f"event {pk}: {kind}, but no slot {slot} was opened before"
        elif kind == Kind.SLOT_SURPLUS:
            slots[slot].ordinal = details["ordinal"]
        else:
            before, after = MOVES[kind]
            told = slots[slot]
            if told.state not in before:
                yield f"event {pk}: {kind}, but slot {slot} was {told.state}"
            if kind in WORK and told.annotator not in (None, details["holder"]):
                yield f"event {pk}: {kind}, but slot {slot} was somebody else's"
            told.state = after
            told.annotator, told.ordinal = details["holder"], details["ordinal"]


def _words(state: str, annotator: int | None, ordinal: int | None) -> str:
    whose = "nobody's" if annotator is None else f"of annotator {annotator}"
    place = "without ordinal" if ordinal is None else f"number {ordinal}"
    return f"{state}, {whose}, {place}"
