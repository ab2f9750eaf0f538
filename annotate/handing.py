"""What an annotator should do next.

First comes the own plan in its order. Then come free slots: those of an open study, and
in a planned one those that somebody left behind. Answers of an open study stay within
two of each other, because a slot is handed out only while every unit is at most one
level behind.
"""

import math
import random
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotate import adaptive_pairs, checks, leasing
from annotate.crowd import Candidate, Seen, best
from annotate.leasing import UNFINISHED, own_slots
from annotate.models import Annotator, Purpose, Skip, Slot
from annotate.rating import session_at_hand

# Enough free slots to find one that suits; more are read where none of them does.
WINDOW = 64


class Next(StrEnum):
    """What comes next for an annotator."""

    WORK = "work"
    TAKEN = "taken"
    DONE = "done"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Outlook:
    """The next slot, or why there is none.

    `minutes` tells when to try again while everything that is left is with others.
    """

    kind: Next
    slot: Slot | None = None
    minutes: int = 0


def outlook(annotator: Annotator) -> Outlook:
    """Return what the annotator should do next; reads only."""
    annotator = Annotator.objects.select_related("study").get(pk=annotator.pk)
    if not leasing.may_work(annotator):
        return Outlook(Next.STOPPED)
    slot = _next(annotator)
    if slot is not None:
        return Outlook(Next.WORK, slot)
    if has_room(annotator) and (waiting := left_for(annotator)).exists():
        return Outlook(Next.TAKEN, minutes=_minutes(waiting))
    return Outlook(Next.DONE)


def next_slot(annotator: Annotator) -> Slot | None:
    """Return the next slot, or None; `outlook` says why there is none."""
    return outlook(annotator).slot


def _next(annotator: Annotator) -> Slot | None:
    own = own_slots(annotator).filter(state__in=UNFINISHED).first()
    if own is None:
        return best_free(annotator)
    if own.purpose == Purpose.REAL or own.started_at is not None:
        return own
    # In an open study the slots before a check are claimed one by one.
    if annotator.study.is_open and own.purpose != Purpose.TRAINING:
        at = leasing.claim_position(annotator)
        if at < own.position and (free := best_free(annotator)) is not None:
            return free
    return own


def take_next(annotator: Annotator) -> Outlook:
    """Take the next slot; try again while someone else is faster."""
    leasing.release_expired()
    while (following := outlook(annotator)).slot is not None:
        checks.begin_session(annotator, following.slot)
        try:
            return Outlook(Next.WORK, leasing.take(following.slot, annotator))
        except leasing.SlotTakenError:
            continue
    return following


def has_room(annotator: Annotator) -> bool:
    """Say whether the annotator may take slots beyond the own plan."""
    if annotator.study.adaptive.get("stopped"):
        return False
    cap = annotator.cap or annotator.study.cap
    if cap is None:
        return True
    held = Slot.objects.filter(annotator=annotator, purpose=Purpose.REAL)
    return held.exclude(state=Slot.State.EXCLUDED).count() < cap


def left_for(annotator: Annotator) -> QuerySet[Slot]:
    """Return the slots that this annotator may get now, or when others let go of them.

    A unit is judged once in each round, and never after it was skipped. Slots planned
    for others stay with them.
    """
    held = Slot.objects.filter(
        annotator=annotator, unit=OuterRef("unit"), round=OuterRef("round")
    )
    skipped = Skip.objects.filter(annotator=annotator, unit=OuterRef("unit"))
    return Slot.objects.filter(
        ~Exists(held),
        ~Exists(skipped),
        Q(annotator__isnull=True) | Q(claimed=True),
        study=annotator.study_id,
        ordinal__isnull=False,
        state__in=UNFINISHED,
        language__in=("", annotator.language),
        unit__set_aside_at__isnull=True,
    )


def free_slots(annotator: Annotator) -> QuerySet[Slot]:
    """Return the slots that nobody holds and this annotator may take now, in order."""
    free = left_for(annotator).filter(annotator__isnull=True, state=Slot.State.OPEN)
    if annotator.study.is_open and not annotator.study.adaptive:
        free = free.filter(level__lte=_highest_level(annotator.study_id))
    return free.order_by("level", "draw")


def _highest_level(study_id: int) -> int:
    """Return the level up to which slots are handed out.

    Every unit has an answer at each level below the lowest unfinished one.
    """
    lowest = (
        Slot.objects.filter(
            study=study_id,
            ordinal__isnull=False,
            state__in=UNFINISHED,
            unit__set_aside_at__isnull=True,
        )
        .order_by("level")
        .values_list("level", flat=True)
        .first()
    )
    return (lowest or 0) + 1


def best_free(annotator: Annotator) -> Slot | None:
    """Return the free slot that keeps the annotator's share most even."""
    if not has_room(annotator):
        return None
    free = free_slots(annotator)
    seen = _seen(annotator)
    if annotator.study.adaptive:
        new = free.exclude(unit__story__in=seen.stories)
        return adaptive_pairs.choose(annotator.study, new if new.exists() else free)
    candidates = _candidates(free[:WINDOW])
    if len(candidates) == WINDOW:
        candidates += _candidates(_of_methods_met_least(free, candidates, seen))
    # Ties fall differently for everybody, so that few want the same slot at once.
    random.Random(annotator.pk).shuffle(candidates)
    chosen = best(candidates, seen)
    if chosen is None:
        return None
    return Slot.objects.select_related("unit", "study").get(pk=chosen.slot)


def _of_methods_met_least(
    free: QuerySet[Slot], candidates: list[Candidate], seen: Seen
) -> QuerySet[Slot]:
    """Return free slots of methods that the first ones would not balance."""
    known = {method for c in candidates for method in c.methods}
    least = min(seen.methods[method] for method in known | set(seen.methods))
    short = [method for method, met in seen.methods.items() if met == least]
    missing = [method for method in short if method not in known]
    return (
        free.filter(
            Q(unit__output_a__method__in=missing)
            | Q(unit__output_b__method__in=missing)
        )[:WINDOW]
        if missing
        else free.none()
    )


def _candidates(free: QuerySet[Slot]) -> list[Candidate]:
    rows = free.values_list(
        "pk", "unit__story", "unit__output_a__method", "unit__output_b__method",
        "level", "a_is_left", "round",
    )  # fmt: skip
    return [
        Candidate(pk, story, (a,) if b is None else (a, b), level, left, round_)
        for pk, story, a, b, level, left, round_ in rows
    ]


def _seen(annotator: Annotator) -> Seen:
    """Return what the annotator was given so far, checks left out of the counts."""
    session = session_at_hand(annotator)
    rows = own_slots(annotator).values_list(
        "session", "purpose", "unit__story", "unit__output_a__method",
        "unit__output_b__method", "a_is_left",
    )  # fmt: skip
    seen = Seen()
    for number, purpose, story, a, b, left in rows:
        stories = seen.stories | ({story} if number == session else set())
        if purpose == Purpose.REAL:
            seen.add(Candidate(0, story, (a,) if b is None else (a, b), 0, left))
        seen.stories = stories
    return seen


def _minutes(waiting: QuerySet[Slot]) -> int:
    """Return in how many minutes it is worth asking again."""
    deadlines = waiting.filter(lease_until__isnull=False).order_by("lease_until")
    first = deadlines.values_list("lease_until", flat=True).first()
    if first is None:
        return 5
    return max(1, math.ceil((first - timezone.now()).total_seconds() / 60))
