"""Left and right within each person: what they see so far, and slots turned for it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.db.models import Count, Q

from annotate.assignment.designs.planned_slots import Bools, DesignUnit, Layout
from annotate.assignment.designs.shown_sides import ShownSides
from annotate.assignment.designs.side_trails import SideTrails
from annotate.models import Annotator, Purpose, Slot, Study, Unit
from annotate.responses.leasing import CLOSED


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
    """Turn slots of sessions that are not begun; units and pairs stay as balanced."""
    if study.outputs_at_once != 2:
        return
    rows = list(
        study.slots.filter(
            purpose=Purpose.REAL, annotator__isnull=False, unit__in=units
        )
        .exclude(state__in=CLOSED)
        .values_list("pk", "unit", "annotator", "a_is_left", "session")
    )
    if not rows:
        return
    pks, unit, annotator, a_is_left, _session = zip(*rows, strict=True)
    left = np.array([side is not False for side in a_is_left])
    layout = Layout([DesignUnit(pk, "", units[pk].methods) for pk in units])
    even = SideTrails(
        layout,
        layout.places(np.array(unit)),
        np.unique(annotator, return_inverse=True)[1],
        left,
        _unseen(study, rows),
        np.random.default_rng(study.seed + len(rows)),
    ).even_out()
    turned = np.flatnonzero(even != left).tolist()
    Slot.objects.bulk_update(
        [Slot(pk=pks[at], a_is_left=bool(even[at])) for at in turned],
        ["a_is_left"],
        batch_size=500,
    )


def _unseen(study: Study, rows: Sequence[tuple[Any, ...]]) -> Bools:
    """Say which slots are of sessions that are not begun, and have no draft."""
    drafted = set(
        study.slots.filter(choices__isnull=False).values_list("pk", flat=True)
    )
    waiting = Q(state=Slot.State.OPEN, started_at__isnull=True)
    begun = study.slots.filter(annotator__isnull=False).exclude(waiting)
    seen = set(begun.values_list("annotator", "session"))
    return np.array(
        [
            pk not in drafted and (annotator, session) not in seen
            for pk, _unit, annotator, _left, session in rows
        ]
    )
