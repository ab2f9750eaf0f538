"""Control slots: training, gold units, repeats, degraded copies."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotate import event_log
from annotate.assignment.designs.shown_sides import ShownSides
from annotate.models import Annotator, Event, Purpose, Skip, Slot, Unit
from annotate.models.studies import LETTERS
from annotate.responses import giving_back, leasing
from annotate.responses.leasing import CLOSED, is_training_needed, locked_annotator


def sides_of(annotator: Annotator) -> ShownSides:
    """Return the sides of all slots of the annotator, including checks."""
    sides = ShownSides()
    rows = (
        Slot.objects.filter(annotator=annotator)
        .exclude(state__in=CLOSED)
        .values_list("a_is_left", *annotator.study.output_paths("unit__", "__method"))
        .annotate(n=Count("pk"))
        .order_by()
    )
    for a_is_left, *methods, n in rows:
        sides.add(tuple(methods), a_is_left, n)
    return sides


def begin_training(annotator: Annotator) -> None:
    """Open a slot of each training unit, unless this round has open ones."""
    if is_training_needed(annotator):
        _open_round(annotator)


@transaction.atomic
def _open_round(annotator: Annotator) -> None:
    person = locked_annotator(annotator)
    own = Slot.objects.filter(annotator=person, purpose=Purpose.TRAINING)
    waiting = own.filter(state__in=leasing.UNFINISHED).exists()
    if not is_training_needed(person) or person.state in Annotator.STOPPED or waiting:
        return
    round_ = person.training_attempts + 1
    first = own.count() + 1
    dice = random.Random(f"{person.study.seed} {person.pk} {first}")
    slots = [
        Slot(
            study_id=person.study_id,
            unit=unit,
            purpose=Purpose.TRAINING,
            round=round_,
            annotator=person,
            session=0,
            position=position,
        )
        for position, unit in enumerate(_left(person, round_, dice), start=first)
    ]
    arrange_sides(slots, sides_of(person), dice)
    for slot in slots:
        slot.save()
        event_log.note_slot(Event.Kind.SLOT_OPENED, slot, purpose=Purpose.TRAINING)


def _left(person: Annotator, round_: int, dice: random.Random) -> list[Unit]:
    """Return the units that a round still needs; those met least often come first.

    Units that were met come in another order. A copy stays behind its original.
    """
    own = Slot.objects.filter(annotator=person, purpose=Purpose.TRAINING)
    here = set(own.filter(round=round_).values_list("unit", flat=True))
    earlier = own.filter(round__lt=round_).order_by("position")
    rows = list(earlier.values_list("round", "unit"))
    met = Counter(unit for _round, unit in rows)
    last = [unit for number, unit in rows if number == round_ - 1]
    items: dict[int, list[Unit]] = {}
    units = Unit.objects.filter(study=person.study_id, purpose=Purpose.TRAINING)
    for unit in units.order_by("pk"):
        items.setdefault(unit.original_id or unit.pk, []).append(unit)
    most = person.study.training.get("per_round") or len(items)
    # Somebody who returns finishes the items that were begun.
    chosen = sorted(
        items.values(),
        key=lambda item: (all(one.pk not in here for one in item), met[item[0].pk]),
    )[:most]
    if any(met[item[0].pk] for item in chosen):
        dice.shuffle(chosen)
        if [one.pk for item in chosen for one in item] == last:
            chosen.reverse()
    return [one for item in chosen for one in item if one.pk not in here]


def arrange_sides(
    slots: Sequence[Slot], sides: ShownSides, dice: random.Random
) -> None:
    """Return sides such that left and right are right answers about equally often."""
    leaning = 0
    for slot in sorted(slots, key=lambda one: -abs(_leaning(one, True, 0))):
        unit = slot.unit
        methods = tuple(output.method_id for output in unit.outputs)
        ways = [(True, 0), (False, 0)]
        if len(methods) > 2:
            ways = [(True, turn) for turn in range(len(methods))]
        slot.a_is_left, slot.turn = min(
            dice.sample(ways, len(ways)),
            key=lambda way: (
                abs(leaning + _leaning(slot, *way)),
                sides.cost(methods, way[0]),
            ),
        )
        leaning += _leaning(slot, slot.a_is_left, slot.turn)
        sides.add(methods, slot.a_is_left)


def _leaning(slot: Slot, a_is_left: bool, turn: int) -> int:
    """Return the number of right answers that prefer left minus the others."""
    order = Slot(unit=slot.unit, a_is_left=a_is_left, turn=turn).order
    leaning = 0
    for expected in slot.unit.expected.values():
        if isinstance(expected, str) and expected != "tie":
            better, *worse = (LETTERS.index(letter) for letter in expected)
            other = worse[0] if worse else 1 - better
            leaning += 1 if order.index(better) < order.index(other) else -1
    return leaning


KINDS = (Purpose.GOLD, Purpose.REPEAT, Purpose.TWIN)

Candidates = Iterable[tuple[Unit, Slot | None]]


def begin_session(
    annotator: Annotator, following: Slot, place: leasing.Place | None = None
) -> bool:
    """Insert the checks of a session if `following` is its first slot."""
    per_session = annotator.study.checks.get("per_session", 0)
    if not per_session or following.purpose != Purpose.REAL:
        return False
    session = leasing.session_for(following, annotator, place)
    begun = Q(started_at__isnull=False) | Q(purpose__in=KINDS)
    if Slot.objects.filter(begun, annotator=annotator, session=session).exists():
        return False
    _drop_left_over(annotator, session)
    # Without the story of a dropped check, the old session may continue.
    if leasing.session_for(following, annotator) == session:
        _lay_checks(annotator, following, session, per_session)
    return True


def _lay_checks(person: Annotator, following: Slot, session: int, wanted: int) -> None:
    here = Slot.objects.filter(annotator=person, session=session)
    dice = random.Random(f"{person.study.seed} {person.pk} {session}")
    stories = {following.unit.story_id, *here.values_list("unit__story", flat=True)}
    positions = _places(person, here)
    for place in sorted(dice.sample(positions, min(wanted, len(positions)))):
        _lay(person, session, place, stories, dice)


def _drop_left_over(person: Annotator, session: int) -> None:
    """Withdraw checks of earlier sessions that ended before them."""
    left = Slot.objects.filter(
        annotator=person,
        purpose__in=KINDS,
        state=Slot.State.OPEN,
        started_at__isnull=True,
        session__lt=session,
    )
    for slot in left.select_for_update(no_key=True).order_by("pk"):
        giving_back.withdraw(slot)


def _places(person: Annotator, here: QuerySet[Slot]) -> list[int]:
    """Return the positions right after each real slot of the session."""
    planned = cast("list[int]", list(here.values_list("position", flat=True)))
    if not planned:
        first = leasing.next_position(person)
        planned = [
            first + leasing.SPACING * i for i in range(person.study.session_size)
        ]
    return [position + 1 for position in planned]


def _lay(
    person: Annotator,
    session: int,
    position: int,
    stories: set[int],
    dice: random.Random,
) -> None:
    """Open one possible check, trying the kinds in random order."""
    kinds = [kind for kind in KINDS if kind in person.study.checks.get("kinds", KINDS)]
    for kind in dice.sample(kinds, len(kinds)):
        candidates = list(CANDIDATES[kind](person, session, stories))
        if candidates:
            unit, original, a_is_left = _choose(person, candidates, dice)
            slot = Slot.objects.create(
                study_id=person.study_id,
                unit=unit,
                purpose=kind,
                repeat_of=original,
                round=original.round if original else 1,
                annotator=person,
                session=session,
                position=position,
                a_is_left=a_is_left,
                turn=original.turn + 1 if original else 0,
            )
            event_log.note_slot(Event.Kind.SLOT_OPENED, slot, purpose=kind)
            stories.add(unit.story_id)
            return


def _choose(
    person: Annotator, found: list[tuple[Unit, Slot | None]], dice: random.Random
) -> tuple[Unit, Slot | None, bool]:
    """Choose a check, with sides that balance what this person saw left and right."""
    sides = sides_of(person)
    paths = person.study.output_paths("", "__method")
    units = Unit.objects.filter(pk__in=[unit.pk for unit, _original in found])
    methods = {pk: tuple(shown) for pk, *shown in units.values_list("pk", *paths)}
    ways = [
        (unit, original, left)
        for unit, original in found
        for left in (True, False)
        if original is None or original.a_is_left != left
    ]
    dice.shuffle(ways)
    return min(ways, key=lambda way: sides.cost(methods[way[0].pk], way[2]))


def _may_meet(person: Annotator, purpose: Purpose, stories: set[int]) -> QuerySet[Unit]:
    """Return units of a purpose that the annotator has neither seen nor skipped."""
    own = Slot.objects.filter(annotator=person, unit=OuterRef("pk"))
    return Unit.objects.filter(
        ~Exists(own),
        ~Exists(Skip.objects.filter(annotator=person, unit=OuterRef("pk"))),
        study=person.study_id,
        purpose=purpose,
        set_aside_at__isnull=True,
    ).exclude(story__in=stories)


def _gold(person: Annotator, _session: int, stories: set[int]) -> Candidates:
    """Yield gold units whose outputs this annotator does not rate otherwise."""
    same = Q(unit__output_a=OuterRef("output_a")) & (
        Q(unit__output_b=OuterRef("output_b")) | Q(unit__output_b__isnull=True)
    )
    seen = Slot.objects.filter(same, annotator=person)
    for unit in _may_meet(person, Purpose.GOLD, stories).filter(~Exists(seen)):
        yield unit, None


def _twins(person: Annotator, session: int, stories: set[int]) -> Candidates:
    """Yield degraded copies, shown alone only after their original was rated."""
    units = _may_meet(person, Purpose.TWIN, stories)
    if not person.study.is_side_by_side:
        own = Slot.objects.filter(annotator=person)
        judged = own.filter(
            purpose=Purpose.REAL, state=Slot.State.SUBMITTED, session__lt=session
        )
        # Each original has one copy; a second one would look suspicious.
        met = own.filter(purpose=Purpose.TWIN).values("unit__original")
        units = units.filter(original__in=judged.values("unit"))
        units = units.exclude(original__in=met)
    for unit in units:
        yield unit, None


def _repeats(person: Annotator, session: int, stories: set[int]) -> Candidates:
    """Yield units that the annotator rated once, in earlier sessions."""
    slots = Slot.objects.filter(
        annotator=person,
        purpose=Purpose.REAL,
        state=Slot.State.SUBMITTED,
        session__lt=session,
        repeats__isnull=True,
        unit__set_aside_at__isnull=True,
    )
    for slot in slots.exclude(unit__story__in=stories).select_related("unit"):
        yield slot.unit, slot


CANDIDATES: dict[str, Callable[[Annotator, int, set[int]], Candidates]] = {
    Purpose.GOLD: _gold,
    Purpose.REPEAT: _repeats,
    Purpose.TWIN: _twins,
}
