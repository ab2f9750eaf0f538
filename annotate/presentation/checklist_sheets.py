"""Checklists as annotators and managers see them."""

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
    """Return the template context of a checklist; empty without labels."""
    if not any(kind_of(question).of_shots for question in slot.questions):
        return {"sheets": [], "boxes": []}
    return {"sheets": shown_checklist(slot), "boxes": box_names(slot.unit.output_a)}


@dataclass(frozen=True)
class ShownLabel:
    """A label of one shot, with the question key and state of each box."""

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
    """Return a sheet per shot, as the slot's annotator has filled it in."""
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
    """Return the boxes of each label by category, in order."""
    labels: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        labels[question.key.partition("|")[0]].append(question)
    categories: dict[str, list[tuple[Question, ...]]] = defaultdict(list)
    for boxes in labels.values():
        categories[boxes[0].category].append(tuple(boxes))
    return dict(categories)


def ticked_boxes(slot: Slot, annotator: Annotator | None) -> dict[int, set[str]]:
    """Return the keys of the ticked boxes by shot."""
    rows = Rating.objects.filter(
        slot=slot, annotator=annotator, is_current=True, value=1, shot__gt=0
    )
    ticked: dict[int, set[str]] = defaultdict(set)
    for shot, key in rows.values_list("shot", "question__key"):
        ticked[shot].add(key)
    return dict(ticked)


@dataclass(frozen=True)
class ToldShot:
    """One annotator's answers about a shot, for managers."""

    annotator: Annotator
    number: int
    text: list[str]
    both: list[str]
    seen: list[str]
    looked: bool
    changes: int
    at: datetime


def told_shots(slot: Slot) -> list[ToldShot]:
    """Return the answers about each shot by all annotators who held the slot."""
    rows = (
        Rating.objects.filter(slot=slot)
        .exclude(shot=0)
        .select_related("question", "annotator")
        .order_by("annotator__name", "shot", "question__ordinal", "revision")
    )
    done = set(Look.objects.filter(slot=slot).values_list("annotator", "shot"))
    groups = groupby(rows, lambda row: (row.annotator, row.shot))
    return [
        _told(annotator, number, list(group), (annotator.pk, number) in done)
        for (annotator, number), group in groups
    ]


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
    """Return the names of the two boxes: as heading, and after a label's title."""
    seen = _("Picture"), _("in the picture")
    if output.video_id is not None:
        seen = _("Video"), _("in the video")
    return [(_("Text"), _("in the text")), seen]
