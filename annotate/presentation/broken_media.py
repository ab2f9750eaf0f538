"""Reports of broken pictures and videos, for managers."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from annotate.kinds.base import BadAnswerError
from annotate.models import Fault, Study
from annotate.presentation import slot_view
from annotate.responses.writing import Held, Row, refuse_unknown_shot
from evalcore.models import Output


@dataclass(frozen=True)
class Reported:
    """A broken item: a shot of an output, its video, or a character's picture."""

    output: Output | None
    story: str
    shot: int
    people: int
    since: datetime
    faults: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class FaultRow(Row):
    """An annotator's report of a broken picture or video; the story stays ratable."""

    is_answer = False

    side: str
    shot: int

    @property
    def place(self) -> tuple[str | int, ...]:
        return "fault", self.side, self.shot

    def store(self, held: Held) -> None:
        """Store the report, or raise if the story has no such side or shot."""
        slot = held.slot
        if self.side and self.side not in slot_view.sides(slot):
            raise BadAnswerError(f"This story has no side {self.side!r}.")
        if self.shot:
            refuse_unknown_shot(slot, self.shot)
        Fault.objects.get_or_create(
            slot=slot, annotator=held.person, side=self.side, shot=self.shot
        )


def reported(study: Study) -> list[Reported]:
    """Return the unresolved reports, most frequent first."""
    open_ = (
        Fault.objects.filter(slot__study=study, resolved_at__isnull=True)
        .select_related(
            "slot__unit__story", *study.output_paths("slot__unit__", "__method")
        )
        .order_by("pk")
    )
    by_place: dict[tuple[int | None, str, int], list[Fault]] = defaultdict(list)
    for fault in open_:
        output = slot_view.sides(fault.slot).get(fault.side)
        story = fault.slot.unit.story.key
        by_place[output.pk if output else None, story, fault.shot].append(fault)
    reports = [_summed_up(faults) for faults in by_place.values()]
    return sorted(reports, key=lambda each: (-each.people, each.since))


def _summed_up(faults: list[Fault]) -> Reported:
    first = faults[0]
    return Reported(
        slot_view.sides(first.slot).get(first.side),
        first.slot.unit.story.key,
        first.shot,
        len({fault.annotator_id for fault in faults}),
        first.created_at,
        tuple(fault.pk for fault in faults),
    )


def settle(study: Study, faults: Iterable[int]) -> int:
    """Mark reports as handled; return how many were open."""
    rows = Fault.objects.filter(slot__study=study, pk__in=faults)
    return rows.filter(resolved_at__isnull=True).update(resolved_at=timezone.now())
