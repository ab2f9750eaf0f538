"""Who may fill a slot, and until when.

Whoever takes a slot locks the annotator and the slot, and looks again at both: two
browsers cannot both win. A lease that runs out puts the slot back, and the draft stays
with its annotator: a planned slot waits for them, a claimed one is free for anyone
(`annotate.submission.late_answers` knows what becomes of an answer that comes after
that).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotate import event_log
from annotate.models import (
    Annotator,
    Event,
    Purpose,
    Skip,
    Slot,
    Study,
    Unit,
)
from annotate.slots import skip_allowance
from annotate.slots.admission import lacking
from annotate.slots.errors import SlotTakenError
from annotate.slots.locking import (
    lease_length,
    locked_annotator,
    locked_slot,
    start_lease,
)
from evalcore.database.prepared import Prepared

UNFINISHED = (Slot.State.OPEN, Slot.State.LEASED)
CLOSED = (Slot.State.EXCLUDED, Slot.State.WITHDRAWN)
# Between two slots of a plan there is room for checks, before the first for training.
FIRST_POSITION, SPACING = 100, 10
# So many people who say why they skip a unit mean that something is wrong with it.
SKIPS_TO_SET_ASIDE = 3


def own_slots(annotator: Annotator | int) -> QuerySet[Slot]:
    """Return an annotator's slots, in the order in which they are shown."""
    return (
        Slot.objects.filter(annotator=annotator, position__isnull=False)
        .exclude(state__in=CLOSED)
        .order_by("position")
    )


def may_work(annotator: Annotator) -> bool:
    """Say whether this person may do anything now, as the row at hand tells."""
    return (
        annotator.study.state == Study.State.OPEN
        and annotator.state not in Annotator.STOPPED
        and not lacking(annotator)
    )


def waiting(annotator: Annotator) -> QuerySet[Slot]:
    """Return the annotator's unfinished slots, in order.

    What is set aside is passed over until somebody has looked at it, unless it was
    begun.
    """
    return _waiting(annotator.pk)


def _waiting(annotator: int) -> QuerySet[Slot]:
    own = Slot.objects.filter(
        Q(state=Slot.State.LEASED) | Q(unit__set_aside_at__isnull=True),
        annotator=annotator,
        position__isnull=False,
        state__in=UNFINISHED,
    )
    return own.order_by("position")


FIRST_WAITING = Prepared[Slot](lambda annotator: _waiting(annotator)[:1], annotator=int)


def first_waiting(annotator: Annotator) -> Slot | None:
    """Return the first of the slots that are `waiting`."""
    return FIRST_WAITING.first(annotator=annotator.pk)


@transaction.atomic
def take(slot: Slot, annotator: Annotator) -> Slot:
    """Lease a slot to the annotator and return it as it now stands.

    Raises
    ------
    SlotTakenError
        The slot went to somebody else in the meantime, or the annotator may not work.
    """
    return take_locked(slot, locked_annotator(annotator))


def take_locked(slot: Slot, person: Annotator, place: "Place | None" = None) -> Slot:
    """Lease a slot as `take` does, to an annotator who is locked already.

    `place` is where a free slot is to stand, if it was locked to find that out.
    """
    if not may_work(person):
        raise SlotTakenError("This study has no work for this annotator now.")
    held = slot if place else locked_slot(slot.pk, person.study)
    is_free = held.annotator_id is None and held.state == Slot.State.OPEN
    if is_free:
        held.probability, held.alternatives = slot.probability, slot.alternatives
        held.offered_at = slot.offered_at
        place = place or _free_place(held, person)
        held.annotator, held.claimed = person, True
        held.session, held.position = place.session, place.position
    if held.annotator_id != person.pk or held.state not in UNFINISHED:
        raise SlotTakenError("This story is with somebody else, or closed.")
    if first := lacking(person, held.purpose):
        raise SlotTakenError(first)
    return start_lease(held, also=TAKEN_OVER if is_free else ())


# What is stored of a free slot beside its lease.
TAKEN_OVER = (
    "annotator",
    "claimed",
    "session",
    "position",
    "probability",
    "alternatives",
)


@dataclass(frozen=True)
class Place:
    """Where a free slot stands among those of the annotator who takes it."""

    session: int
    position: int


def _free_place(free: Slot, person: Annotator) -> Place:
    """Return where a free slot becomes the annotator's last one, if it may."""
    same = Slot.objects.filter(unit=OuterRef("pk"), round=free.round, annotator=person)
    unit = Unit.objects.filter(pk=free.unit_id)
    story, judged = unit.values_list("story", Exists(same)).get()
    if judged:
        raise SlotTakenError("You have judged this story already.")
    return last_place(person).place_for(story)


@dataclass(frozen=True)
class LastPlace:
    """Where an annotator's slots end: the last session, its stories, and a position.

    `stories` is None where the session takes no more slots.
    """

    session: int = 1
    position: int = FIRST_POSITION - SPACING
    stories: frozenset[int] | None = frozenset()

    def session_for(self, story: Hashable) -> int:
        """Return the session that a slot of this story would join."""
        closed = self.stories is None or story in self.stories
        return self.session + closed

    def place_for(self, story: Hashable) -> Place:
        """Return where a slot of this story would stand."""
        return Place(self.session_for(story), self.position + SPACING)


# What `place_after` needs to know of a slot.
PLACED = ("session", "position", "purpose", "state", "unit__story")


def last_place(annotator: Annotator) -> LastPlace:
    """Return where the annotator's slots end."""
    latest = _latest(shown_in_session(annotator.study))
    return place_after(latest.rows(annotator=annotator.pk), annotator.study)


def latest_slots(annotator: int) -> QuerySet[Slot]:
    """Return all slots that were an annotator's turn, the last first."""
    return Slot.objects.filter(annotator=annotator, position__isnull=False).order_by(
        "-position"
    )


@lru_cache
def _latest(number: int) -> Prepared[tuple[Any, ...]]:
    return Prepared(
        lambda annotator: latest_slots(annotator).values_list(*PLACED)[:number],
        annotator=int,
    )


def shown_in_session(study: Study) -> int:
    """Return how many slots a session has at most: as many checks as others."""
    return 2 * study.session_size


def place_after(rows: Sequence[tuple[Any, ...]], study: Study) -> LastPlace:
    """Return where slots end, of which the last ones are given, `PLACED` of each."""
    rows = rows[: shown_in_session(study)]
    real = [row for row in rows if row[2] == Purpose.REAL]
    if not real:
        return LastPlace(stories=frozenset(row[4] for row in rows if row[0] == 1))
    session, position = real[0][:2]
    here = [row for row in rows if row[0] == session and row[3] not in CLOSED]
    full = sum(row[2] == Purpose.REAL for row in here) >= study.session_size
    return LastPlace(session, position, None if full else frozenset(r[4] for r in here))


def next_position(annotator: Annotator) -> int:
    """Return where a slot stands that the annotator takes over now."""
    return last_place(annotator).position + SPACING


def session_for(slot: Slot, annotator: Annotator, place: Place | None = None) -> int:
    """Return the session in which the annotator would do a slot.

    `place` is where a free slot will stand, if that is known already.
    """
    if place is not None:
        return place.session
    if slot.session is not None:
        return slot.session
    return last_place(annotator).session_for(slot.unit.story_id)


def heartbeat(slot: Slot, annotator: Annotator) -> bool:
    """Let a lease run on because its annotator gives a sign; say whether it does.

    One that ran out begins again while the slot is still the annotator's.
    """
    renewed = Slot.objects.filter(
        pk=slot.pk, annotator=annotator, state=Slot.State.LEASED
    ).update(lease_until=timezone.now() + lease_length(slot.study))
    Annotator.objects.filter(pk=annotator.pk).update(last_seen_at=timezone.now())
    if renewed:
        return True
    still_own = Slot.objects.filter(
        pk=slot.pk, annotator=annotator, state=Slot.State.OPEN, started_at__isnull=False
    )
    try:
        return still_own.exists() and bool(take(slot, annotator))
    except SlotTakenError:
        return False


def release_expired() -> int:
    """Put slots whose lease has run out back; return how many.

    A planned one stays with its annotator, a claimed one becomes free for anyone.
    """
    now = timezone.now()
    # Looking comes first: as a rule nothing has run out, and no lock is wanted.
    return _release(_due(now)) if DUE.first(now=now) is not None else 0


def _due(now: datetime) -> QuerySet[Slot]:
    return Slot.objects.filter(state=Slot.State.LEASED, lease_until__lt=now)


DUE = Prepared[int](
    lambda now: _due(now).order_by().values_list("pk", flat=True)[:1], now=datetime
)


@transaction.atomic
def _release(due: QuerySet[Slot]) -> int:
    # Where locked rows cannot be passed over, SQLite, there is one writer anyway.
    skips = transaction.get_connection().features.has_select_for_update_skip_locked
    rows = due.select_for_update(no_key=True, skip_locked=skips)
    expired = list(rows.order_by("pk"))
    before = [(slot, slot.annotator_id) for slot in expired]
    for slot in expired:
        slot.state, slot.lease_until = Slot.State.OPEN, None
        if slot.claimed and slot.ordinal is not None:
            _free(slot)
    _store(expired)
    event_log.note_each(Event.Kind.SLOT_EXPIRED, before)
    return len(expired)


# What is left of a slot that nobody holds any more.
FREED = {
    "state": Slot.State.OPEN,
    "lease_until": None,
    "started_at": None,
    "offered_at": None,
    "annotator": None,
    "session": None,
    "position": None,
    "probability": None,
    "alternatives": None,
    "claimed": False,
}


def _free(slot: Slot) -> None:
    for name, value in FREED.items():
        setattr(slot, name, value)


def _store(slots: list[Slot]) -> None:
    Slot.objects.bulk_update(slots, [*FREED, "ordinal"], batch_size=500)


def free_unfinished(annotator: Annotator) -> int:
    """Give all unsubmitted slots of an annotator back to the study; return how many.

    What only concerned this annotator, surplus and checks, is withdrawn. Call with the
    annotator locked.
    """
    held = Slot.objects.filter(annotator=annotator, state__in=UNFINISHED)
    locked = list(held.select_for_update(no_key=True).order_by("pk"))
    for own in [slot for slot in locked if slot.ordinal is None]:
        withdraw(own)
    freed = [slot for slot in locked if slot.ordinal is not None]
    for slot in freed:
        _free(slot)
    _store(freed)
    event_log.note_each(Event.Kind.SLOT_FREED, [(slot, annotator.pk) for slot in freed])
    return len(freed)


def withdraw(slot: Slot) -> None:
    """Ask nobody for this judgement any more; drafts in it are kept, unused.

    Call with the slot locked. A submitted slot cannot be withdrawn.
    """
    if slot.submitted_at is not None:
        raise ValueError(f"Slot {slot.code} was submitted; its answers are kept.")
    before = slot.annotator_id
    _free(slot)
    slot.state, slot.ordinal = Slot.State.WITHDRAWN, None
    _store([slot])
    event_log.note_slot(Event.Kind.SLOT_WITHDRAWN, slot, by=before)


@transaction.atomic
def skip(slot: Slot, annotator: Annotator, *, reason: str, comment: str = "") -> Skip:
    """Let somebody else judge a unit; this annotator never gets it again.

    Its other rounds go to somebody else as well. A unit of which several people say in
    words why they skip it is set aside until a manager has looked at it.
    """
    person = locked_annotator(annotator)
    unit = Unit.objects.select_for_update(no_key=True).get(pk=slot.unit_id)
    held = locked_slot(slot.pk, person.study)
    if not may_work(person):
        raise SlotTakenError("This study has no work for this annotator now.")
    if held.annotator_id != person.pk or held.state not in UNFINISHED:
        raise SlotTakenError("This story is with somebody else, or closed.")
    row = Skip.objects.create(
        slot=held, unit=unit, annotator=person, reason=reason, comment=comment
    )
    same = Slot.objects.filter(annotator=person, unit=unit, state__in=UNFINISHED)
    others = same.exclude(pk=held.pk).select_for_update(no_key=True)
    for left in [held, *others.order_by("pk")]:
        _leave(left, person, reason)
    people = skip_allowance.with_reason(unit)
    if people >= SKIPS_TO_SET_ASIDE and unit.set_aside_at is None:
        unit.set_aside_at = timezone.now()
        unit.save(update_fields=["set_aside_at"])
    return row


def _leave(slot: Slot, person: Annotator, reason: str) -> None:
    """Give a locked slot to anyone, or withdraw it if it was for this person only."""
    if slot.ordinal is None:
        withdraw(slot)
        return
    _free(slot)
    _store([slot])
    event_log.note_slot(Event.Kind.SLOT_SKIPPED, slot, by=person.pk, reason=reason)
