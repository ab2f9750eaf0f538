"""Slots that show how somebody judges: gold units, repeats, degraded twins.

They are laid into a session when it begins, at random places, never the first, and look
like all others. What is needed for a twin or a repeat comes from earlier sessions.
"""

import random
from collections.abc import Callable, Iterable

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotate import leasing, log
from annotate.models import Annotator, Event, Purpose, Slot, Unit
from annotate.rating import locked_annotator

KINDS = (Purpose.GOLD, Purpose.REPEAT, Purpose.TWIN)


def begin_session(annotator: Annotator, following: Slot) -> None:
    """Lay the checks of a session into it, if `following` is its first slot."""
    wanted = annotator.study.checks.get("per_session", 0)
    if wanted and following.purpose != Purpose.TRAINING:
        _lay_checks(annotator, following, wanted)


@transaction.atomic
def _lay_checks(annotator: Annotator, following: Slot, wanted: int) -> None:
    person = locked_annotator(annotator)
    session = leasing.session_for(following, person)
    _drop_left_over(person, session)
    here = Slot.objects.filter(annotator=person, session=session)
    begun = Q(started_at__isnull=False) | Q(purpose__in=KINDS)
    if here.filter(begun).exists():
        return
    dice = random.Random(f"{person.study.seed} {person.pk} {session}")
    stories = {following.unit.story_id, *here.values_list("unit__story", flat=True)}
    after = _positions(person, here)[:-1]
    for position in sorted(dice.sample(after, min(wanted, len(after)))):
        _lay(person, session, position + 1, stories, dice)


def _drop_left_over(person: Annotator, session: int) -> None:
    """Withdraw checks of earlier sessions that ended before they came."""
    left = Slot.objects.filter(
        annotator=person,
        purpose__in=KINDS,
        state=Slot.State.OPEN,
        started_at__isnull=True,
        session__lt=session,
    )
    for slot in left.select_for_update(no_key=True).order_by("pk"):
        leasing.withdraw(slot)


def _positions(person: Annotator, here: QuerySet[Slot]) -> list[int]:
    """Return the positions of the session's real slots, claimed ones to come too."""
    planned = list(here.order_by("position").values_list("position", flat=True))
    if planned:
        return planned
    first = leasing.claim_position(person)
    return [first + leasing.SPACING * i for i in range(person.study.session_size)]


def _lay(
    person: Annotator,
    session: int,
    position: int,
    stories: set[int],
    dice: random.Random,
) -> None:
    """Open one check of a kind that is possible, the kinds in random order."""
    kinds = [kind for kind in KINDS if kind in person.study.checks.get("kinds", KINDS)]
    for kind in dice.sample(kinds, len(kinds)):
        found = list(CANDIDATES[kind](person, session, stories))
        if found:
            unit, original = dice.choice(found)
            slot = Slot.objects.create(
                study_id=person.study_id,
                unit=unit,
                purpose=kind,
                repeat_of=original,
                round=original.round if original else 1,
                annotator=person,
                session=session,
                position=position,
                a_is_left=_side(original, dice),
            )
            log.note_slot(Event.Kind.SLOT_OPENED, slot, purpose=kind)
            stories.add(unit.story_id)
            return


def _side(original: Slot | None, dice: random.Random) -> bool:
    """Turn the sides of a repeated pair around; draw those of other checks."""
    if original is not None and original.a_is_left is not None:
        return not original.a_is_left
    return dice.random() < 0.5


Found = Iterable[tuple[Unit, Slot | None]]


def _gold(person: Annotator, _session: int, stories: set[int]) -> Found:
    """Yield gold units whose pictures this annotator does not judge otherwise."""
    same = Slot.objects.filter(annotator=person).filter(
        Q(unit=OuterRef("pk"))
        | Q(
            unit__output_a=OuterRef("output_a"),
            unit__output_b__isnull=True,
        )
        | Q(
            unit__output_a=OuterRef("output_a"),
            unit__output_b=OuterRef("output_b"),
        )
    )
    units = Unit.objects.filter(study=person.study_id, purpose=Purpose.GOLD)
    units = units.exclude(skips__annotator=person)
    for unit in units.exclude(story__in=stories).filter(~Exists(same)):
        yield unit, None


def _twins(person: Annotator, session: int, stories: set[int]) -> Found:
    """Yield twins; where one output is shown, of those judged in earlier sessions."""
    own = Slot.objects.filter(annotator=person)
    judged = own.filter(
        purpose=Purpose.REAL, submitted_at__isnull=False, session__lt=session
    )
    units = Unit.objects.filter(
        ~Exists(own.filter(unit=OuterRef("pk"))),
        study=person.study_id,
        purpose=Purpose.TWIN,
    ).exclude(Q(story__in=stories) | Q(skips__annotator=person))
    if not person.study.is_pairwise:
        # One twin for each original: the second would be met with suspicion.
        met = own.filter(purpose=Purpose.TWIN).values("unit__original")
        units = units.filter(original__in=judged.values("unit"))
        units = units.exclude(original__in=met)
    for unit in units:
        yield unit, None


def _repeats(person: Annotator, session: int, stories: set[int]) -> Found:
    """Yield what the annotator judged in earlier sessions, once, and not twice yet."""
    own = Slot.objects.filter(annotator=person, purpose=Purpose.REAL)
    slots = own.filter(
        state=Slot.State.SUBMITTED, session__lt=session, repeats__isnull=True
    )
    for slot in slots.exclude(unit__story__in=stories).select_related("unit"):
        yield slot.unit, slot


CANDIDATES: dict[str, Callable[[Annotator, int, set[int]], Found]] = {
    Purpose.GOLD: _gold,
    Purpose.REPEAT: _repeats,
    Purpose.TWIN: _twins,
}
