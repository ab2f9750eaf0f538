"""Writing the log of a study.

Every change of a slot's state, annotator or ordinal is written in the same transaction,
so that `annotate.audit_log.as_of_event` can follow the slots from the log alone.
"""

from collections.abc import Iterable, Sequence

from annotate.models import Annotator, Event, Slot, Study, User
from evalcore.database.prepared import add

CHUNK = 1000


def note(
    kind: Event.Kind,
    study_id: int,
    *,
    annotator: Annotator | None = None,
    user: User | None = None,
    **details: object,
) -> Event:
    """Add a line about a study or one of its annotators."""
    return Event.objects.create(
        study_id=study_id, kind=kind, annotator=annotator, user=user, details=details
    )


def note_slot(
    kind: Event.Kind,
    slot: Slot,
    *,
    by: int | None = None,
    user: User | None = None,
    **details: object,
) -> Event:
    """Add a line about the present state of a slot.

    `by` is the annotator (by id) whose slot it was, where it is nobody's any more.
    """
    event = Event(**_about(kind, slot, by, user, details))
    add(event)
    return event


def note_each(kind: Event.Kind, slots: Iterable[tuple[Slot, int | None]]) -> None:
    """Add the same line for several slots, each with its annotator."""
    Event.objects.bulk_create(
        [Event(**_about(kind, slot, by, None, {})) for slot, by in slots],
        batch_size=CHUNK,
    )


def _about(
    kind: Event.Kind,
    slot: Slot,
    by: int | None,
    user: User | None,
    details: dict[str, object],
) -> dict[str, object]:
    stands = {"lease": slot.lease, "holder": slot.annotator_id, "ordinal": slot.ordinal}
    return {
        "study_id": slot.study_id,
        "kind": kind,
        "slot": slot,
        "annotator_id": by or slot.annotator_id,
        "user": user,
        "details": stands | details,
    }


def list_slots(
    study: Study, slots: Sequence[Slot], *, user: User | None = None
) -> None:
    """Record the number of slots: planned, imported, or reassigned."""
    rows = [[s.pk, str(s.state), s.annotator_id, s.ordinal] for s in slots]
    Event.objects.bulk_create(
        Event(
            study=study,
            kind=Event.Kind.SLOTS_LISTED,
            user=user,
            details={"slots": rows[start : start + CHUNK]},
        )
        for start in range(0, len(rows), CHUNK)
    )
