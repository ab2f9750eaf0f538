"""Lock, lease and hold slots."""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.kinds.base import AnswerError, NotNowError, NotYetError, SlotTakenError
from annotate.models import Annotator, Event, Purpose, Slot, Study, Unit
from evalcore.database.prepared import Prepared, count, store

CLOSED = (Slot.State.EXCLUDED, Slot.State.WITHDRAWN)


# The gaps leave room for checks between planned slots, and for training before them.
FIRST_POSITION = 100


SPACING = 10


def own_slots(annotator: Annotator | int) -> QuerySet[Slot]:
    """Return an annotator's slots in the order of display."""
    return (
        Slot.objects.filter(annotator=annotator, position__isnull=False)
        .exclude(state__in=CLOSED)
        .order_by("position")
    )


@dataclass(frozen=True)
class Place:
    """Session and position of a free slot for the annotator who takes it."""

    session: int
    position: int


@dataclass(frozen=True)
class LastPlace:
    """The end of an annotator's slots: last session, its stories, last position."""

    session: int = 1
    position: int = FIRST_POSITION - SPACING
    stories: frozenset[int] | None = frozenset()

    def session_for(self, story: Hashable) -> int:
        """Return the session that a slot of this story would join."""
        closed = self.stories is None or story in self.stories
        return self.session + closed

    def place_for(self, story: Hashable) -> Place:
        """Return the place of a slot of this story."""
        return Place(self.session_for(story), self.position + SPACING)


# The columns that `place_after` needs.
PLACED = ("session", "position", "purpose", "state", "unit__story")


def last_place(annotator: Annotator) -> LastPlace:
    """Return the end of the annotator's slots."""
    latest = _latest(shown_in_session(annotator.study))
    return place_after(latest.rows(annotator=annotator.pk), annotator.study)


def latest_slots(annotator: int) -> QuerySet[Slot]:
    """Return the annotator's slots with a position, last first."""
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
    """Return the maximum number of slots in a session; up to half are checks."""
    return 2 * study.session_size


def place_after(rows: Sequence[tuple[Any, ...]], study: Study) -> LastPlace:
    """Return the last place from the `PLACED` columns of the last slots."""
    rows = rows[: shown_in_session(study)]
    real = [row for row in rows if row[2] == Purpose.REAL]
    if not real:
        return LastPlace(stories=frozenset(row[4] for row in rows if row[0] == 1))
    session, position = real[0][:2]
    here = [row for row in rows if row[0] == session and row[3] not in CLOSED]
    full = sum(row[2] == Purpose.REAL for row in here) >= study.session_size
    return LastPlace(session, position, None if full else frozenset(r[4] for r in here))


def next_position(annotator: Annotator) -> int:
    """Return the position of a slot that the annotator takes over now."""
    return last_place(annotator).position + SPACING


def session_for(slot: Slot, annotator: Annotator, place: Place | None = None) -> int:
    """Return the session in which the annotator would do a slot."""
    if place is not None:
        return place.session
    if slot.session is not None:
        return slot.session
    return last_place(annotator).session_for(slot.unit.story_id)


def has_room(annotator: Annotator) -> bool:
    """Return whether the annotator may take slots beyond their plan."""
    if annotator.study.adaptive.get("stopped"):
        return False
    cap = annotator.most_slots
    if cap is None:
        return True
    held = Slot.objects.filter(annotator=annotator, purpose=Purpose.REAL)
    return held.exclude(state=Slot.State.EXCLUDED).count() < cap


UNFINISHED = (Slot.State.OPEN, Slot.State.LEASED)


def may_work(annotator: Annotator) -> bool:
    """Return whether a loaded annotator may work now."""
    return (
        annotator.study.state == Study.State.OPEN
        and annotator.state not in Annotator.STOPPED
        and not lacking(annotator)
    )


def waiting(annotator: Annotator) -> QuerySet[Slot]:
    """Return the annotator's unfinished slots, in order."""
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
LOCKED_WAITING = Prepared[Slot](
    lambda annotator: _waiting(annotator).select_for_update(of=("self",), no_key=True)[
        :1
    ],
    annotator=int,
)


def first_waiting(annotator: Annotator, *, locks: bool = False) -> Slot | None:
    """Return the first of the `waiting` slots, locked on request."""
    query = LOCKED_WAITING if locks else FIRST_WAITING
    row = query.first(annotator=annotator.pk)
    if row is not None:
        row.study = annotator.study
    return row


@transaction.atomic
def take(slot: Slot, annotator: Annotator) -> Slot:
    """Lease a slot to the annotator and return it."""
    person = locked_annotator(annotator)
    held = locked_slot(slot.pk, person.study)
    if held.annotator_id is None:
        held.probability, held.alternatives = slot.probability, slot.alternatives
        held.offered_at = slot.offered_at
    return take_locked(held, person)


def take_locked(held: Slot, person: Annotator, place: Place | None = None) -> Slot:
    """Lease a slot as `take` does; both it and the annotator are locked."""
    if not may_work(person):
        raise SlotTakenError("This study has no stories for this annotator now.")
    is_free = held.annotator_id is None and held.state == Slot.State.OPEN
    if is_free:
        place = place or _free_place(held, person)
        held.annotator, held.claimed = person, True
        held.session, held.position = place.session, place.position
    if held.annotator_id != person.pk or held.state not in UNFINISHED:
        raise SlotTakenError("This story is assigned to somebody else, or closed.")
    if first := lacking(person, held.purpose):
        raise SlotTakenError(first)
    return start_lease(held, also=TAKEN_OVER if is_free else ())


# The fields stored for a free slot, apart from its lease.
TAKEN_OVER = (
    "annotator",
    "claimed",
    "session",
    "position",
    "probability",
    "alternatives",
)


def _free_place(free: Slot, person: Annotator) -> Place:
    """Return the place of a free slot after the annotator's others, if allowed."""
    same = Slot.objects.filter(unit=OuterRef("pk"), round=free.round, annotator=person)
    unit = Unit.objects.filter(pk=free.unit_id)
    story, judged = unit.values_list("story", Exists(same)).get()
    if judged:
        raise SlotTakenError("You have judged this story already.")
    return last_place(person).place_for(story)


def heartbeat(slot: Slot, annotator: Annotator) -> bool:
    """Renew a lease after a heartbeat; return whether it is still held."""
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


# A recent lease is not renewed, to save a write.
BARELY_BEGUN = timedelta(seconds=20)

LOCKED_ANNOTATOR = Prepared[Annotator](
    lambda pk: (
        Annotator.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .defer(*(f"study__{name}" for name in Study.LONG))
        .filter(pk=pk)
    ),
    pk=int,
)
LOCKED_SLOT = Prepared[Slot](
    lambda pk: Slot.objects.select_for_update(no_key=True).filter(pk=pk), pk=int
)
# Times are not compared, because a clock may be set back.
LAST_BEGUN = Prepared[int](
    lambda annotator: (
        Slot.objects.filter(
            annotator=annotator, started_at__isnull=False, position__isnull=False
        )
        .order_by("-position")
        .values_list("session", flat=True)[:1]
    ),
    annotator=int,
)


def renew(held: Slot) -> None:
    """Restart the lease of a locked slot."""
    if held.state == Slot.State.LEASED:
        until = timezone.now() + lease_length(held.study)
        assert held.lease_until is not None
        if until - held.lease_until >= BARELY_BEGUN:
            held.lease_until = until
            store(held, "lease_until")


def locked_annotator(annotator: Annotator) -> Annotator:
    """Return the annotator, locked and reloaded."""
    return LOCKED_ANNOTATOR.one(pk=annotator.pk)


def locked_slot(pk: int, study: Study) -> Slot:
    """Return a slot of a study, locked and reloaded."""
    held = LOCKED_SLOT.one(pk=pk)
    held.study = study
    return held


@lru_cache
def _locked_of_code(*, closes: bool) -> Prepared[Slot]:
    """Return the query that locks a slot by code, after its unit if it closes."""
    slots = Slot.objects.select_related("unit").select_for_update(
        of=("unit", "self") if closes else ("self",), no_key=True
    )
    return Prepared(lambda code: slots.filter(code=code), code=str)


def own_locked_slot(code: str, person: Annotator, *, closes: bool) -> Slot | None:
    """Return a locked annotator's slot by code, locked; None if it is not theirs."""
    held = _locked_of_code(closes=closes).first(code=code)
    if held is None or held.annotator_id != person.pk:
        return None
    held.study = person.study
    return held


def refuse_unless_held(held: Slot, person: Annotator) -> None:
    """Raise unless the person may answer the slot now; renew an expired lease."""
    if person.state in (Annotator.State.REVOKED, Annotator.State.FAILED):
        raise NotNowError(_("This invitation is no longer valid."))
    if person.state == Annotator.State.PAUSED:
        raise NotNowError(
            _("Your work is paused; the study's manager can tell you why.")
        )
    if first := lacking(person, held.purpose):
        raise NotYetError(first)
    if held.study.state != Study.State.OPEN:
        raise NotNowError(_("The study is not accepting answers at the moment."))
    if held.state == Slot.State.EXCLUDED:
        raise AnswerError(_("This answer is closed and cannot be changed."))
    if held.state == Slot.State.SUBMITTED and held.session != session_at_hand(person):
        raise AnswerError(
            _("This sitting is over. Its answers can no longer be changed.")
        )
    if held.state == Slot.State.OPEN:
        # The lease expired, but no other annotator has taken the slot.
        start_lease(held)


def start_lease(held: Slot, also: Collection[str] = ()) -> Slot:
    """Lease a locked slot to its annotator; log only new leases."""
    now = timezone.now()
    anew = held.state == Slot.State.OPEN
    held.state = Slot.State.LEASED
    held.lease += anew
    held.lease_until = now + lease_length(held.study)
    held.started_at = held.started_at or now
    held.offered_at = held.offered_at or held.started_at
    store(held, "state", "lease", "lease_until", "started_at", "offered_at", *also)
    if anew:
        chosen = {"probability": held.probability, "alternatives": held.alternatives}
        details: dict[str, Any] = chosen if held.probability is not None else {}
        event_log.note_slot(Event.Kind.SLOT_TAKEN, held, **details)
    return held


def session_at_hand(annotator: Annotator) -> int | None:
    """Return the session of the last slot that the annotator began."""
    return LAST_BEGUN.first(annotator=annotator.pk)


def lease_length(study: Study) -> timedelta:
    """Return the time after which an inactive annotator loses a slot."""
    return timedelta(minutes=study.lease_minutes)


def count_submitted(slot: Slot, change: int) -> None:
    """Update the unit's count of submitted slots, without surplus ones."""
    if slot.ordinal is not None:
        count(Unit, slot.unit_id, "submitted", change)


def lacking(person: Annotator, purpose: str = Purpose.TRAINING) -> str:
    """Return what has to be done before a slot of this purpose; empty: nothing."""
    if person.consented_at is None:
        return _("Please open your link and agree to take part first.")
    if person.instructed_at is None:
        return _("Please open your link and read the instructions first.")
    if purpose != Purpose.TRAINING and is_training_needed(person):
        return _("Please finish the training round first.")
    return ""


def is_training_needed(person: Annotator) -> bool:
    """Return whether this annotator has to pass a training round first."""
    if not person.study.training or person.trained_at is not None:
        return False
    units = Unit.objects.filter(study=person.study_id, purpose=Purpose.TRAINING)
    return units.exists()
