"""The boxes of a checklist as an annotator, or a manager, reads them."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.utils.translation import gettext as _

from annotate.kinds.registry import kind_of
from annotate.models import Annotator, Look, Question, Rating, Slot
from annotate.presentation.slot_view import shot_texts
from annotate.responses.writing import shots_left
from evalcore.models import Output


def on_page(slot: Slot) -> dict[str, object]:
    """Return what a page shows of a checklist; nothing where no label is asked."""
    if not any(kind_of(question).of_shots for question in slot.questions):
        return {"sheets": [], "boxes": []}
    return {"sheets": shown_checklist(slot), "boxes": box_names(slot.unit.output_a)}


@dataclass(frozen=True)
class ShownLabel:
    """A label of one shot; a box is its question's key, and whether it is ticked."""

    title: str
    meaning: str
    boxes: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class ShownSheet:
    """The labels of one shot by category, and its texts."""

    number: int
    texts: dict[str, str]
    looked: bool
    categories: tuple[tuple[str, tuple[ShownLabel, ...]], ...]


def shown_checklist(slot: Slot) -> list[ShownSheet]:
    """Return a sheet for each shot, as the slot's annotator has filled it in so far."""
    questions = [q for q in slot.questions if kind_of(q).of_shots]
    ticked = ticked_boxes(slot, slot.annotator)
    left = set(shots_left(slot, slot.annotator))
    return [
        ShownSheet(
            shot.number,
            shot_texts(shot),
            shot.number not in left,
            _categories(questions, ticked.get(shot.number, set())),
        )
        for shot in slot.unit.story.shots.all()
    ]


def _categories(
    questions: Iterable[Question], ticked: Collection[str]
) -> tuple[tuple[str, tuple[ShownLabel, ...]], ...]:
    return tuple(
        (
            category,
            tuple(
                ShownLabel(
                    boxes[0].title,
                    boxes[0].text,
                    tuple((box.key, box.key in ticked) for box in boxes),
                )
                for boxes in labels
            ),
        )
        for category, labels in labels_by_category(questions).items()
    )


def labels_by_category(
    questions: Iterable[Question],
) -> dict[str, list[tuple[Question, ...]]]:
    """Return the boxes of each label, by the label's category, in their order."""
    labels: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        labels[question.key.partition("|")[0]].append(question)
    categories: dict[str, list[tuple[Question, ...]]] = defaultdict(list)
    for boxes in labels.values():
        categories[boxes[0].category].append(tuple(boxes))
    return dict(categories)


def ticked_boxes(slot: Slot, annotator: Annotator | None) -> dict[int, set[str]]:
    """Return the keys of the boxes that are ticked now, by shot."""
    rows = Rating.objects.filter(
        slot=slot, annotator=annotator, is_current=True, value=1, shot__gt=0
    )
    ticked: dict[int, set[str]] = defaultdict(set)
    for shot, key in rows.values_list("shot", "question__key"):
        ticked[shot].add(key)
    return dict(ticked)


@dataclass(frozen=True)
class ToldShot:
    """What somebody said of one shot, as the manager reads it."""

    annotator: Annotator
    number: int
    text: list[str]
    both: list[str]
    seen: list[str]
    looked: bool
    changes: int
    at: datetime


def told_shots(slot: Slot) -> list[ToldShot]:
    """Return what was said of each shot, by everybody who held the slot."""
    return told_by_slot([slot]).get(slot.pk, [])


def told_by_slot(slots: Collection[Slot]) -> dict[int, list[ToldShot]]:
    """Return the same of several slots, by their ids."""
    rows = (
        Rating.objects.filter(slot__in=slots)
        .exclude(shot=0)
        .select_related("question", "annotator")
        .order_by("slot", "annotator__name", "shot", "question__ordinal", "revision")
    )
    looks = Look.objects.filter(slot__in=slots)
    looked = set(looks.values_list("slot", "annotator", "shot"))
    found: dict[int, list[ToldShot]] = defaultdict(list)
    for (slot, annotator, number), group in groupby(
        rows, lambda row: (row.slot_id, row.annotator, row.shot)
    ):
        is_done = (slot, annotator.pk, number) in looked
        found[slot].append(_told(annotator, number, list(group), is_done))
    return found


def _told(
    annotator: Annotator, number: int, rows: list[Rating], looked: bool
) -> ToldShot:
    current = [row for row in rows if row.is_current]
    ticked: dict[str, set[str]] = defaultdict(set)
    titles = {}
    for row in current:
        label, _bar, box = row.question.key.partition("|")
        titles[label] = row.question.title
        if row.value:
            ticked[box].add(label)
    text, seen = ticked["text"], ticked["video"]
    return ToldShot(
        annotator,
        number,
        [title for label, title in titles.items() if label in text - seen],
        [title for label, title in titles.items() if label in text & seen],
        [title for label, title in titles.items() if label in seen - text],
        looked,
        len(rows) - len(current),
        max(row.created_at for row in rows),
    )


def box_names(output: Output) -> list[tuple[str, str]]:
    """Return what the two boxes are called: as heading, and after a label's title."""
    seen = _("Picture"), _("in the picture")
    if output.video_id is not None:
        seen = _("Video"), _("in the video")
    return [(_("Text"), _("in the text")), seen]
