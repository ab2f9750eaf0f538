"""The boxes of a checklist: how they are stored, shot by shot, and how they are shown.

Each label has two boxes for every shot: whether the text mentions it, and whether the
picture or video shows it. A box is a question of its own, and its answer a rating of 0
or 1 with the number of the shot.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotate.models import Annotator, Look, Question, Rating, Slot
from annotate.rating import (
    BadAnswerError,
    asked_questions,
    locked_annotator,
    locked_slot,
    rating_fields,
    refuse_unknown_shot,
    refuse_unless_held,
    renew,
    shots_left,
)
from annotate.viewing import shot_texts

# A form without a script posts a box as `3:pan|text`, a shot as done by `looked:3`.
LOOKED = "looked"

# Storing


def record_shot(
    *,
    slot: Slot,
    annotator: Annotator,
    shot: int,
    ticked: Collection[str],
    looked: bool,
    client_key: str = "",
) -> int:
    """Store the boxes of one shot of a checklist; return how many have changed.

    `ticked` are the keys of the boxes that are ticked. Only with the annotator's word
    that the shot was `looked` at are its boxes answers, each of them 1 or 0. Before
    that only boxes that are or were ticked are stored, so that the ticks come back.
    The word can be taken back until the slot is submitted. Otherwise as
    `record_answer`.
    """
    with transaction.atomic():
        person = locked_annotator(annotator)
        given = Rating.objects.filter(slot=slot, annotator=annotator, shot=shot)
        if client_key and given.filter(client_key=client_key).exists():
            return 0
        held = locked_slot(slot.pk, person.study)
        refuse_unless_held(held, person)
        refuse_unknown_shot(held, shot)
        rows = _changed_boxes(held, given, set(ticked), looked)
        for row in rows:
            row.annotator, row.shot, row.client_key = annotator, shot, client_key
        again = [row.question_id for row in rows if row.revision > 1]
        if again:
            given.filter(is_current=True, question__in=again).update(is_current=False)
        Rating.objects.bulk_create(rows)
        _keep_word(held, person, shot, looked)
        renew(held)
    return len(rows)


def _keep_word(held: Slot, person: Annotator, shot: int, looked: bool) -> None:
    word = {"slot": held, "annotator": person, "shot": shot}
    if looked:
        Look.objects.bulk_create([Look(**word)], ignore_conflicts=True)
    elif held.state != Slot.State.SUBMITTED:
        Look.objects.filter(**word).delete()


def _changed_boxes(
    held: Slot, given: QuerySet[Rating], ticked: set[str], looked: bool
) -> list[Rating]:
    """Return the next revisions of those boxes of a shot that are not so already."""
    questions = asked_questions(held)
    unknown = sorted(ticked - {question.key for question in questions})
    if unknown:
        raise BadAnswerError(f"There is no box {unknown[0][:80]!r} in this checklist.")
    current = {row.question_id: row for row in given.filter(is_current=True)}
    rows = []
    for question in questions:
        before = current.get(question.pk)
        value = int(question.key in ticked)
        if before.value == value if before else not (looked or value):
            continue
        revision = before.revision + 1 if before else 1
        rows.append(
            Rating(
                slot=held,
                question=question,
                revision=revision,
                **rating_fields(question, value),
            )
        )
    return rows


def record_checklist_form(
    *, slot: Slot, annotator: Annotator, posted: Mapping[str, str]
) -> int:
    """Store what a form without a script holds; return how many boxes have changed.

    Ticks of shots without the annotator's word are kept as drafts.
    """
    ticked: dict[str, set[str]] = defaultdict(set)
    for name in posted:
        number, colon, key = name.partition(":")
        if colon and number.isdecimal():
            ticked[number].add(key)
    return sum(
        record_shot(
            slot=slot,
            annotator=annotator,
            shot=number,
            ticked=ticked[str(number)],
            looked=f"{LOOKED}:{number}" in posted,
        )
        for number in slot.unit.story.shots.values_list("number", flat=True)
    )


# Showing


def on_page(slot: Slot) -> dict[str, object]:
    """Return what a page shows of a checklist; nothing of other protocols."""
    if not slot.study.is_checklist:
        return {}
    return {"sheets": shown_checklist(slot), "boxes": box_names(slot)}


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
    questions = asked_questions(slot)
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


def ticked_boxes(slot: Slot, annotator: Annotator) -> dict[int, set[str]]:
    """Return the keys of the boxes that are ticked now, by shot."""
    rows = Rating.objects.filter(
        slot=slot, annotator=annotator, is_current=True, value=1
    )
    ticked: dict[int, set[str]] = defaultdict(set)
    for shot, key in rows.values_list("shot", "question__key"):
        ticked[shot].add(key)
    return dict(ticked)


@dataclass(frozen=True)
class ToldShot:
    """What somebody said of one shot, as the manager reads it.

    The labels that only the text has, both have, and only the picture or video has;
    Without the annotator's word that it was `looked` at, that is a draft; `changes` is
    how many boxes were changed.
    """

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
    rows = slot.ratings.select_related("question", "annotator").order_by(
        "annotator__name", "shot", "question__ordinal", "revision"
    )
    looked = set(slot.looks.values_list("annotator", "shot"))
    return [
        _told(annotator, number, list(group), (annotator.pk, number) in looked)
        for (annotator, number), group in groupby(rows, lambda r: (r.annotator, r.shot))
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


def box_names(slot: Slot) -> list[tuple[str, str]]:
    """Return what the two boxes are called: as heading, and after a label's title."""
    seen = _("Picture"), _("in the picture")
    if slot.unit.output_a.video_id is not None:
        seen = _("Video"), _("in the video")
    return [(_("Text"), _("in the text")), seen]
