"""The boxes of a checklist: how they are stored, shot by shot, and how they are shown.

Each label has two boxes for every shot: whether the text mentions it, and whether the
picture or video shows it. A box is a question of its own, and its answer a rating of 0
or 1 with the number of the shot.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from django.db import transaction

from annotate.answers.key_presses import confirm, sent_before
from annotate.answers.writing import add_revisions, refuse_unknown_shot
from annotate.kinds.likert.kind import rating_fields
from annotate.kinds.registry import asks_of_shots, kind_of
from annotate.models import Annotator, Look, Rating, Slot
from annotate.slots.errors import BadAnswerError
from annotate.slots.locking import (
    locked_annotator,
    locked_slot,
    refuse_unless_held,
    renew,
)

# A form without a script posts a box as `3:pan|text`, a shot as done by `looked:3`.
LOOKED = "looked"


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
        before = list(Rating.objects.filter(slot=slot, annotator=annotator, shot=shot))
        if sent_before(client_key, before):
            return 0
        held = locked_slot(slot.pk, person.study)
        refuse_unless_held(held, person)
        refuse_unknown_shot(held, shot)
        rows = _changed_boxes(held, before, set(ticked), looked)
        for row in rows:
            row.annotator, row.shot, row.client_key = annotator, shot, client_key
        if rows:
            add_revisions(held, rows, before)
        else:
            confirm(client_key, [row for row in before if row.is_current])
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
    held: Slot, before: Sequence[Rating], ticked: set[str], looked: bool
) -> list[Rating]:
    """Return those boxes of a shot that are not so already."""
    questions = [q for q in held.questions if kind_of(q).of_shots]
    if not questions and not asks_of_shots(held.study):
        raise BadAnswerError("Only the boxes of a checklist are about a shot.")
    unknown = sorted(ticked - {question.key for question in questions})
    if unknown:
        raise BadAnswerError(f"There is no box {unknown[0][:80]!r} in this checklist.")
    current = {row.question_id: row.value for row in before if row.is_current}
    rows = []
    for question in questions:
        value = int(question.key in ticked)
        is_told = question.pk in current or looked or value
        if is_told and current.get(question.pk) != value:
            fields = rating_fields(question, value)
            rows.append(Rating(slot=held, question=question, **fields))
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
