"""Choice of an annotator's next slot, and the likely ones after it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any
from zlib import crc32

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotate.assignment import adaptive_pairs, control_slots
from annotate.assignment.designs.shown_sides import (
    Candidate,
    SeenSoFar,
    best,
    keeps_even,
)
from annotate.kinds.base import SlotTakenError
from annotate.models import Annotator, Purpose, Skip, Slot
from annotate.responses import giving_back, leasing
from annotate.responses.leasing import UNFINISHED, LastPlace, Place
from evalcore.database.prepared import Prepared, store

ReadSlot = Callable[[int], Slot]

# Filters for the slots that an annotator may take.
IDS: dict[str, type] = {"study": int, "annotator": int, "language": str}
# Usually enough free slots to find a suitable one; more are read if not.
WINDOW, WIDE_WINDOW = 40, 1000
# An annotator's share is balanced over this many slots, at least a session's.
MEMORY = 100
# The waiting time if no lease determines it.
MINUTES = 5


class Next(StrEnum):
    """The kind of an annotator's next step."""

    WORK = "work"
    TAKEN = "taken"
    DONE = "done"
    STOPPED = "stopped"


@dataclass(frozen=True)
class NextStep:
    """The next slot, or the reason for its absence."""

    kind: Next
    slot: Slot | None = None
    minutes: int = 0
    place: Place | None = None
    taken: bool = False


def next_step(annotator: Annotator) -> NextStep:
    """Return the annotator's next step."""
    person = Annotator.objects.select_related("study").get(pk=annotator.pk)
    own = leasing.first_waiting(person)
    return _next_step(person, own, lambda pk: Slot.objects.get(pk=pk))


def _next_step(person: Annotator, own: Slot | None, read: ReadSlot) -> NextStep:
    """Return the next step; `read` loads a chosen free slot."""
    if not leasing.may_work(person):
        return NextStep(Next.STOPPED)
    if own is None:
        work = _best_free(person, read)
    elif _is_check_to_come(own) and _precedes(leasing.next_position(person), own):
        # Free slots are claimed before a check that was placed among them.
        work = _best_free(person, read) or NextStep(Next.WORK, own)
    else:
        work = NextStep(Next.WORK, own)
    if work is not None:
        return work
    if leasing.has_room(person) and may_get_more(person):
        return NextStep(Next.TAKEN, minutes=_minutes(person))
    return NextStep(Next.DONE)


def _is_check_to_come(own: Slot) -> bool:
    is_check = own.purpose not in (Purpose.REAL, Purpose.TRAINING)
    return is_check and own.started_at is None


def _precedes(position: int, own: Slot) -> bool:
    return own.position is not None and position < own.position


def next_slot(annotator: Annotator) -> Slot | None:
    """Return the next slot, or None; `next_step` gives the reason."""
    return next_step(annotator).slot


def next_for(
    annotator: Annotator, *, session: int | None = None, wish: str = ""
) -> NextStep:
    """Take the next slot; try again if somebody else took it first."""
    giving_back.release_expired()
    control_slots.begin_training(annotator)
    with transaction.atomic():
        person = leasing.locked_annotator(annotator)
        own = leasing.first_waiting(person, locks=True)
        return next_while_locked(person, own, session=session, wish=wish)


def next_while_locked(
    person: Annotator, own: Slot | None, *, session: int | None, wish: str
) -> NextStep:
    """Take the next slot like `next_for`, while the annotator is locked."""
    read = partial(leasing.locked_slot, study=person.study)
    while True:
        following = _wished(person, own, wish) or _next_step(person, own, read)
        slot, place = following.slot, following.place
        if slot is None or not _goes_on(person, following, session):
            return following
        has_checks = bool(person.study.checks.get("per_session"))
        if has_checks and control_slots.begin_session(person, slot, place):
            place = None
        try:
            taken = leasing.take_locked(slot, person, place)
        except SlotTakenError:
            own = leasing.first_waiting(person, locks=True)
            continue
        person.last_seen_at = taken.started_at
        store(person, "last_seen_at")
        return NextStep(Next.WORK, taken, taken=True)


def _wished(person: Annotator, own: Slot | None, wish: str) -> NextStep | None:
    """Return the requested free slot, unless the annotator's plan has another first."""
    if (
        not wish
        or person.study.adaptive
        or not leasing.may_work(person)
        or not leasing.has_room(person)
        or (own is not None and own.started_at is not None)
    ):
        return None
    last = leasing.last_place(person)
    if own is not None and not _precedes(last.position + leasing.SPACING, own):
        return None
    # Only the taken slot is locked, because two people may request each other's.
    slot = _locked_free(person.study.rounds).first(code=wish, **_ids(person))
    if slot is None:
        return None
    slot.study = person.study
    return NextStep(Next.WORK, slot, place=last.place_for(slot.unit.story_id))


@lru_cache
def _locked_free(rounds: int) -> Prepared[Slot]:
    return Prepared(
        lambda code, **ids: (
            _free(rounds, **ids)
            .filter(code=code)
            .select_related("unit")
            .select_for_update(of=("self",), no_key=True)
        ),
        code=str,
        **IDS,
    )


def _goes_on(person: Annotator, following: NextStep, session: int | None) -> bool:
    slot = following.slot
    if session is None:
        return True
    assert slot is not None
    if slot.annotator_id is None and person.state == Annotator.State.FINISHED:
        return False
    at = (following.place or slot).session
    return session == (leasing.session_for(slot, person) if at is None else at)


def _ids(annotator: Annotator) -> dict[str, Any]:
    return {
        "study": annotator.study_id,
        "annotator": annotator.pk,
        "language": annotator.language,
    }


def left_for(annotator: Annotator) -> QuerySet[Slot]:
    """Return the slots that an annotator can get now or later."""
    return left(annotator.study.rounds, **_ids(annotator))


def left(rounds: int, study: int, annotator: int, language: str) -> QuerySet[Slot]:
    found = _wanted(study, language).filter(Q(annotator__isnull=True) | Q(claimed=True))
    skipped = Skip.objects.filter(annotator=annotator)
    found = found.exclude(unit__in=skipped.values("unit"))
    held = Slot.objects.filter(annotator=annotator)
    if rounds == 1:
        return found.exclude(unit__in=held.values("unit"))
    for number in range(1, rounds + 1):
        here = held.filter(round=number)
        found = found.exclude(Q(round=number) & Q(unit__in=here.values("unit")))
    return found


def may_get_more(annotator: Annotator) -> bool:
    """Return whether any slot is left for this annotator, now or later."""
    # The order makes the database use the index of unfinished slots.
    return left_for(annotator).order_by("level").values("pk").first() is not None


def free_slots(annotator: Annotator) -> QuerySet[Slot]:
    """Return the free slots that this annotator may take now, in order."""
    return _free(annotator.study.rounds, **_ids(annotator))


def _free(rounds: int, study: int, annotator: int, language: str) -> QuerySet[Slot]:
    free = left(rounds, study, annotator, language).filter(
        annotator__isnull=True, state=Slot.State.OPEN
    )
    return free.order_by("level", "draw")


def free_slot(annotator: Annotator, code: str, related: Sequence[str]) -> Slot | None:
    """Return the slot of a code if it is one of the `free_slots`, without taking it."""
    return free_slots(annotator).select_related(*related).filter(code=code).first()


def _wanted(study: int, language: str) -> QuerySet[Slot]:
    """Return the unfinished slots in a language, without surplus ones."""
    return Slot.objects.filter(
        study=study,
        ordinal__isnull=False,
        state__in=UNFINISHED,
        language__in=("", language),
        unit__set_aside_at__isnull=True,
    )


def _best_free(annotator: Annotator, read: ReadSlot) -> NextStep | None:
    """Return the free slot that keeps the annotator's share most balanced."""
    if not leasing.has_room(annotator):
        return None
    if annotator.study.adaptive:
        free = free_slots(annotator)
        seen, _last = _seen(annotator)
        new = free.exclude(unit__story__in=seen.stories)
        drawn = adaptive_pairs.choose(
            annotator.study, new if new.exists() else free, seen.sides
        )
        if drawn is None:
            return None
        slot = read(drawn.pk)
        slot.probability, slot.alternatives = drawn.probability, drawn.alternatives
        return NextStep(Next.WORK, slot)
    candidates = _candidates(annotator, WINDOW)
    if not candidates:
        return None
    seen, last = _seen(annotator)
    chosen = best(candidates, seen)
    assert chosen is not None
    if len(candidates) == WINDOW and not keeps_even(chosen, seen):
        chosen = best(_candidates(annotator, WIDE_WINDOW), seen) or chosen
    return NextStep(Next.WORK, read(chosen.slot), place=last.place_for(chosen.story))


@lru_cache
def _first_free(
    number: int, rounds: int, methods: tuple[str, ...]
) -> Prepared[tuple[Any, ...]]:
    fields = ("pk", "unit__story", "level", "a_is_left", "round", *methods)
    return Prepared(
        lambda **ids: _free(rounds, **ids).values_list(*fields)[:number], **IDS
    )


def _candidates(annotator: Annotator, number: int) -> list[Candidate]:
    """Return a limited number of free slots to choose from."""
    study = annotator.study
    methods = study.output_paths("unit__", "__method")
    rows = _first_free(number, study.rounds, methods).rows(**_ids(annotator))
    candidates = [
        Candidate(pk, story, tuple(methods), level, left, round_)
        for pk, story, level, left, round_, *methods in rows
    ]
    if study.is_open and not study.adaptive:
        candidates = [one for one in candidates if one.level <= candidates[0].level + 1]
    # Ties are broken by annotator, so that few want the same slot at once, and always
    # in the same order for one annotator.
    return sorted(candidates, key=lambda c: crc32(f"{annotator.pk} {c.slot}".encode()))


def _seen(annotator: Annotator) -> tuple[SeenSoFar, LastPlace]:
    """Return the annotator's slots so far, and their last place."""
    number = max(MEMORY, leasing.shown_in_session(annotator.study))
    methods = annotator.study.output_paths("unit__", "__method")
    rows = _latest(number, methods).rows(annotator=annotator.pk)
    seen = SeenSoFar()
    for _session, _position, purpose, state, story, left, *shown in reversed(rows):
        if state in leasing.CLOSED:
            continue
        if purpose == Purpose.REAL:
            seen.add(Candidate(0, story, tuple(shown), 0, left))
        else:
            seen.sides.add(tuple(shown), left)
    place = leasing.place_after([row[:5] for row in rows], annotator.study)
    seen.stories = set(place.stories or ())
    return seen, place


@lru_cache
def _latest(number: int, methods: tuple[str, ...]) -> Prepared[tuple[Any, ...]]:
    def build(annotator: int) -> QuerySet[Slot, tuple[Any, ...]]:
        latest = leasing.latest_slots(annotator).values("pk")[:number]
        # Finding the slots first avoids a join over all of them.
        slots = Slot.objects.filter(pk__in=latest).order_by("-position")
        return slots.values_list(*leasing.PLACED, "a_is_left", *methods)

    return Prepared(build, annotator=int)


def _minutes(person: Annotator) -> int:
    """Return the minutes until a lease may expire."""
    leased = left_for(person).filter(state=Slot.State.LEASED)
    deadlines = leased.order_by("lease_until").values_list("lease_until", flat=True)
    if (first := deadlines.first()) is None:
        return MINUTES
    return max(1, math.ceil((first - timezone.now()).total_seconds() / 60))


# A session has to work offline; loading more would be wasted.
MOST = 8


def foreseen(annotator: Annotator, row: Slot) -> list[Slot]:
    """Return the likely slots after a slot in its session, in order."""
    if row.purpose == Purpose.TRAINING or not leasing.may_work(annotator):
        return []
    here = leasing.waiting(annotator).filter(session=row.session)
    own = list(here.exclude(pk=row.pk).exclude(purpose=Purpose.TRAINING))
    free = [] if len(own) >= MOST else _free_to_come(annotator, row)
    return _in_order(own, free, leasing.next_position(annotator))[:MOST]


def _free_to_come(annotator: Annotator, row: Slot) -> list[Slot]:
    """Return free slots that may join the session, most suitable first."""
    if (
        annotator.study.adaptive
        or annotator.state == Annotator.State.FINISHED
        or not leasing.has_room(annotator)
    ):
        return []
    real = leasing.own_slots(annotator).filter(purpose=Purpose.REAL)
    room = annotator.study.session_size - real.filter(session=row.session).count()
    if annotator.most_slots is not None:
        room = min(room, annotator.most_slots - real.count())
    candidates = _candidates(annotator, WINDOW)
    seen, place = _seen(annotator)
    chosen: list[Candidate] = []
    while len(chosen) < min(MOST, room):
        following = best(candidates, seen)
        if following is None or following.story in seen.stories:
            break
        if place.session_for(following.story) != row.session:
            break
        chosen.append(following)
        seen.add(following)
    slots = Slot.objects.in_bulk([candidate.slot for candidate in chosen])
    return [slots[candidate.slot] for candidate in chosen]


def _in_order(own: list[Slot], free: list[Slot], position: int) -> list[Slot]:
    """Insert free slots before later checks, in the order of assignment."""
    order = []
    for slot in own:
        laid = slot.purpose != Purpose.REAL and slot.started_at is None
        assert slot.position is not None
        while laid and free and position < slot.position:
            order.append(free.pop(0))
            position += leasing.SPACING
        order.append(slot)
    return order + free
