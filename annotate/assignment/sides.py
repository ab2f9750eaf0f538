"""Left and right within each person: what they see so far, and slots turned for it.

What is dealt anew must make up for what stays in its unit, and can rarely do that and
keep its new holder even as well. Sessions to come are therefore balanced together.
"""

from collections.abc import Mapping

import numpy as np
from django.db.models import Count

from annotate.assignment.designs.planned_slots import Bools, DesignUnit, Layout
from annotate.assignment.designs.shown_sides import ShownSides
from annotate.assignment.designs.side_trails import SideTrails
from annotate.models import Annotator, Purpose, Slot, Study, Unit
from annotate.slots.leasing import CLOSED


def sides_of(annotator: Annotator) -> ShownSides:
    """Return the sides of all slots that the annotator has or is to get, checks too."""
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


def even_sides(study: Study, units: Mapping[int, Unit]) -> None:
    """Turn slots of sessions that are not begun; units and pairs stay as balanced.

    A browser fetches the rest of a session beforehand, sides and all, but not more.
    Call with the study's annotators locked.
    """
    slots = list(
        study.slots.filter(
            purpose=Purpose.REAL, annotator__isnull=False, unit__in=units
        ).exclude(state__in=CLOSED)
    )
    if not slots or study.outputs_at_once != 2:
        return
    layout = Layout([DesignUnit(pk, "", units[pk].methods) for pk in units])
    left = SideTrails(
        layout,
        layout.places(np.array([slot.unit_id for slot in slots])),
        np.unique([slot.annotator_id for slot in slots], return_inverse=True)[1],
        np.array([slot.a_is_left is not False for slot in slots]),
        _unseen(study, slots),
        np.random.default_rng(study.seed + len(slots)),
    ).even_out()
    turned = []
    for slot, first in zip(slots, left.tolist(), strict=True):
        if (slot.a_is_left is not False) != first:
            slot.a_is_left = first
            turned.append(slot)
    Slot.objects.bulk_update(turned, ["a_is_left"], batch_size=500)


def _unseen(study: Study, slots: list[Slot]) -> Bools:
    """Say which slots are of sessions that are not begun, and have no draft."""
    drafted = set(
        study.slots.filter(choices__isnull=False).values_list("pk", flat=True)
    )
    begun = {
        (slot.annotator_id, slot.session)
        for slot in slots
        if slot.state != Slot.State.OPEN or slot.started_at is not None
    }
    return np.array(
        [
            slot.pk not in drafted and (slot.annotator_id, slot.session) not in begun
            for slot in slots
        ]
    )
