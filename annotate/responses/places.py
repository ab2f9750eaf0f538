"""Where an annotator's slots stand: their order, and where the next one goes."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet

from annotate.models import Annotator, Purpose, Slot, Study
from evalcore.database.prepared import Prepared

CLOSED = (Slot.State.EXCLUDED, Slot.State.WITHDRAWN)


# Between two slots of a plan there is room for checks, before the first for training.
FIRST_POSITION = 100


SPACING = 10


def own_slots(annotator: Annotator | int) -> QuerySet[Slot]:
    """Return an annotator's slots, in the order in which they are shown."""
    return (
        Slot.objects.filter(annotator=annotator, position__isnull=False)
        .exclude(state__in=CLOSED)
        .order_by("position")
    )


@dataclass(frozen=True)
class Place:
    """Where a free slot stands among those of the annotator who takes it."""

    session: int
    position: int


@dataclass(frozen=True)
class LastPlace:
    """Where an annotator's slots end: the last session, its stories, and a position."""

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
    """Return the session in which the annotator would do a slot."""
    if place is not None:
        return place.session
    if slot.session is not None:
        return slot.session
    return last_place(annotator).session_for(slot.unit.story_id)


def has_room(annotator: Annotator) -> bool:
    """Say whether the annotator may take slots beyond the own plan."""
    if annotator.study.adaptive.get("stopped"):
        return False
    cap = annotator.most_slots
    if cap is None:
        return True
    held = Slot.objects.filter(annotator=annotator, purpose=Purpose.REAL)
    return held.exclude(state=Slot.State.EXCLUDED).count() < cap
