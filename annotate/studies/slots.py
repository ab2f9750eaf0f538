"""The slots of a study: planned, free for anybody, or missing after a change."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from annotate.assignment.designs.balanced import Plan
from annotate.assignment.reassignment import judged_units
from annotate.models import Annotator, Purpose, Slot, Study, Unit
from annotate.responses.leasing import FIRST_POSITION, SPACING
from annotate.studies.definition import StudyDefinition


def planned_slots(
    study: Study, plan: Plan, people: Sequence[Annotator], units: Sequence[Unit]
) -> list[Slot]:
    """Make the slots of a planned study: each has its annotator, sitting and place."""
    ordinals: Counter[tuple[int, int]] = Counter()
    slots = []
    for planned in plan.assignments:
        ordinals[planned.unit, planned.round] += 1
        ordinal = ordinals[planned.unit, planned.round]
        unit, annotator = units[planned.unit], people[planned.annotator]
        slots.append(
            _slot(
                study,
                unit,
                ordinal,
                round=planned.round,
                level=ordinal + (planned.round - 1) * unit.redundancy,
                language=annotator.language,
                annotator=annotator,
                session=planned.session,
                position=FIRST_POSITION + SPACING * (planned.position - 1),
                a_is_left=planned.a_is_left,
            )
        )
    return slots


def free_slots(
    study: Study, units: Iterable[Unit], definition: StudyDefinition
) -> list[Slot]:
    """Make the slots of an open study: languages in turn, sides in turn.

    Sides are even in each language of a unit, then in the unit, as far as can be. The
    odd slots out of a pair of methods alternate between its units.
    """
    dice = random.Random(definition.seed)
    sides = _Sides()
    slots = []
    for unit in units:
        languages = _in_turn(definition.languages or {"": unit.redundancy})
        methods = tuple(output.method_id for output in unit.outputs)
        for ordinal, language in enumerate(languages, start=1):
            evened = (unit.pk, language), unit.pk, (methods, language), methods
            lean = sides.lean(evened)
            a_is_left = lean < 0 or (lean == 0 and dice.random() < 0.5)
            sides.put(evened, a_is_left=a_is_left)
            slots.append(
                _slot(
                    study,
                    unit,
                    ordinal,
                    level=ordinal,
                    language=language,
                    a_is_left=a_is_left,
                    draw=dice.randrange(2**31),
                )
            )
    return slots


def missing_slots(
    study: Study, definition: StudyDefinition, units: Iterable[Unit]
) -> list[Slot]:
    """Make the slots that these units lack; left and right make up for each other."""
    standing: Counter[tuple[int, int, str]] = Counter()
    highest: Counter[tuple[int, int]] = Counter()
    sides = _Sides()
    methods = {unit.pk: unit.methods for unit in judged_units(study)}
    rows = study.slots.filter(purpose=Purpose.REAL, ordinal__isnull=False)
    for pk, round_, language, ordinal, state, left in rows.values_list(
        "unit", "round", "language", "ordinal", "state", "a_is_left"
    ):
        assert ordinal is not None
        highest[pk, round_] = max(highest[pk, round_], ordinal)
        if state != Slot.State.EXCLUDED:
            standing[pk, round_, language] += 1
            sides.put(((pk, language), pk, methods[pk]), a_is_left=bool(left))
    slots = []
    for unit in units:
        for round_ in range(1, study.rounds + 1):
            level = sum(standing[unit.pk, round_, name] for name in definition.answers)
            level += (round_ - 1) * unit.redundancy
            for language, number in definition.answers.items():
                for _i in range(number - standing[unit.pk, round_, language]):
                    level += 1
                    highest[unit.pk, round_] += 1
                    evened = (unit.pk, language), unit.pk, methods[unit.pk]
                    a_is_left = sides.lean(evened) <= 0
                    sides.put(evened, a_is_left=a_is_left)
                    slots.append(
                        _slot(
                            study,
                            unit,
                            highest[unit.pk, round_],
                            round=round_,
                            level=level,
                            language=language,
                            a_is_left=a_is_left,
                        )
                    )
    return slots


class _Sides:
    """How much more often A stands on the left than on the right, by what is evened."""

    def __init__(self) -> None:
        self._lean: Counter[object] = Counter()

    def lean(self, evened: Sequence[object]) -> int:
        """Return the lean of the first that is not even."""
        return next((self._lean[key] for key in evened if self._lean[key]), 0)

    def put(self, evened: Sequence[object], *, a_is_left: bool) -> None:
        for key in evened:
            self._lean[key] += 1 if a_is_left else -1


def _slot(study: Study, unit: Unit, ordinal: int, **more: Any) -> Slot:
    return Slot(study=study, unit=unit, ordinal=ordinal, turn=ordinal, **more)


def _in_turn(numbers: Mapping[str, int]) -> list[str]:
    """Return each name as often as it says, the names mixed as evenly as can be."""
    places = [
        ((i + 0.5) / number, name)
        for name, number in numbers.items()
        for i in range(number)
    ]
    return [name for _place, name in sorted(places)]
