"""Quality signals of checklist ticks, from the database."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, F

from annotate.kinds.registry import kind_of
from annotate.models import Annotator, Purpose, Rating, Slot
from annotate.quality_rules.checklist_signals import TickedShot, measure_boxes
from annotate.quality_rules.judged import Signal
from evalcore.models import Shot as StoryShot
from evalcore.models import Story

# A slot or unit, and the number of the shot.
ShotKey = tuple[int, int]


class SubmittedSlot(NamedTuple):
    """Columns of a submitted slot that the signals use."""

    pk: int
    unit: int
    story: int
    purpose: str
    round: int
    seconds: float | None
    claimed: float | None
    offered: datetime | None
    in_sight: dict[str, float] | None
    a_is_left: bool | None
    expected: dict[str, list[int] | str]
    original: int | None
    repeat_of: int | None


def tick_signals(
    annotator: Annotator, slots: Sequence[SubmittedSlot], *, with_others: bool
) -> dict[str, Signal]:
    """Return the signals of ticks; compare with others only if asked."""
    slots = [slot for slot in slots if slot.purpose != Purpose.TRAINING]
    boxes = _boxes(annotator, slots)
    ticked = _ticked(annotator)
    numbers = _numbers(boxes)
    rest = _rest(annotator, slots, numbers, boxes) if with_others else {}
    shots = [
        TickedShot(
            ticked[slot.pk, number],
            ticked[slot.repeat_of, number] if slot.repeat_of else None,
            rest.get((slot.unit, number)) if slot.purpose == Purpose.REAL else None,
        )
        for slot in slots
        for number in numbers[slot.story]
    ]
    return measure_boxes(shots)


def _boxes(
    annotator: Annotator, slots: Sequence[SubmittedSlot]
) -> dict[int, list[str]]:
    """Return the keys of the boxes that apply to each story, if any do."""
    all_boxes = [one for one in annotator.study.asked if kind_of(one).of_shots]
    stories = Story.objects.filter(pk__in={slot.story for slot in slots}).only("tags")
    by_story = {
        story.pk: [box.key for box in all_boxes if box.is_asked_of(story)]
        for story in stories
    }
    return {story: keys for story, keys in by_story.items() if keys}


def _ticked(annotator: Annotator) -> Mapping[ShotKey, frozenset[str]]:
    """Return the keys of the boxes that are ticked."""
    rows = Rating.objects.filter(
        annotator=annotator, is_current=True, value=1, shot__gt=0
    )
    ticked: dict[ShotKey, set[str]] = defaultdict(set)
    for slot, shot, key in rows.values_list("slot", "shot", "question__key"):
        ticked[slot, shot].add(key)
    frozen = {place: frozenset(keys) for place, keys in ticked.items()}
    return defaultdict(frozenset, frozen)


def _numbers(stories: Iterable[int]) -> Mapping[int, list[int]]:
    rows = StoryShot.objects.filter(story__in=stories)
    numbers: dict[int, list[int]] = defaultdict(list)
    for story, number in rows.values_list("story", "number"):
        numbers[story].append(number)
    return numbers


def _rest(
    annotator: Annotator,
    slots: Sequence[SubmittedSlot],
    numbers: Mapping[int, list[int]],
    boxes: Mapping[int, list[str]],
) -> dict[ShotKey, dict[str, float]]:
    """Return the share of other annotators who ticked each box, where there are any."""
    others = Slot.objects.filter(
        unit__in={slot.unit for slot in slots},
        purpose=Purpose.REAL,
        state=Slot.State.SUBMITTED,
    ).exclude(annotator=annotator)
    counts = dict(others.values_list("unit").annotate(n=Count("pk")).order_by())
    ticks = (
        Rating.objects.filter(
            slot__in=others,
            is_current=True,
            value=1,
            shot__gt=0,
            annotator=F("slot__annotator"),
        )
        .values_list("slot__unit", "shot", "question__key")
        .annotate(n=Count("pk"))
        .order_by()
    )
    shares = {(unit, shot, key): n / counts[unit] for unit, shot, key, n in ticks}
    return {
        (slot.unit, number): {
            box: shares.get((slot.unit, number, box), 0.0) for box in boxes[slot.story]
        }
        for slot in slots
        if slot.unit in counts
        for number in numbers[slot.story]
    }
