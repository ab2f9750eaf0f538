"""The slots of an open study: nobody's until somebody takes them."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping

from annotate.models import Slot, Study, Unit
from annotate.studies.definition import StudyDefinition


def free_slots(
    study: Study, units: Iterable[Unit], definition: StudyDefinition
) -> list[Slot]:
    """Make the slots of an open study: languages in turn, sides in turn.

    Sides are even in each language of a unit, then in the unit, as far as can be. The
    odd slots out of a pair of methods alternate between its units.
    """
    dice = random.Random(definition.seed)
    lean: Counter[object] = Counter()
    slots = []
    for unit in units:
        languages = _in_turn(definition.languages or {"": unit.redundancy})
        methods = tuple(output.method_id for output in unit.outputs)
        for ordinal, language in enumerate(languages, start=1):
            evened = (unit.pk, language), unit.pk, (methods, language), methods
            left = next((lean[key] for key in evened if lean[key]), 0)
            a_is_left = left < 0 or (left == 0 and dice.random() < 0.5)
            for key in evened:
                lean[key] += 1 if a_is_left else -1
            slots.append(
                Slot(
                    study=study,
                    unit=unit,
                    ordinal=ordinal,
                    level=ordinal,
                    language=language,
                    a_is_left=a_is_left,
                    turn=ordinal,
                    draw=dice.randrange(2**31),
                )
            )
    return slots


def _in_turn(numbers: Mapping[str, int]) -> list[str]:
    """Return each name as often as it says, the names mixed as evenly as can be."""
    places = [
        ((i + 0.5) / number, name)
        for name, number in numbers.items()
        for i in range(number)
    ]
    return [name for _place, name in sorted(places)]
