"""Store the ticks of a checklist."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from annotate.kinds.base import BadAnswerError
from annotate.kinds.registry import asks_of_shots, kind_of
from annotate.models import Look, Rating, Slot
from annotate.responses.writing import (
    Held,
    Place,
    Row,
    add_revisions,
    confirm,
    number,
    refuse_unknown_shot,
    sent_before,
)

# Without scripts, a form posts a box as `3:pan|text` and a done shot as `looked:3`.
LOOKED = "looked"


@dataclass(frozen=True, kw_only=True)
class TicksRow(Row):
    """The boxes of one shot of a checklist; `ticked` are the keys of those ticked."""

    shot: int
    ticked: frozenset[str]
    looked: bool

    @property
    def place(self) -> Place:
        return "shot", self.shot

    def store(self, held: Held) -> None:
        """Store the changed boxes as answers."""
        own = Rating.objects.filter(slot=held.slot, annotator=held.person)
        before = list(own.filter(shot=self.shot))
        if sent_before(self.client_key, before):
            return
        slot = held.open()
        refuse_unknown_shot(slot, self.shot)
        boxes = self._changed(slot, before)
        for box in boxes:
            box.annotator = held.person
            number(box, [old for old in before if old.question_id == box.question_id])
        if boxes:
            add_revisions(boxes, before)
        else:
            confirm(self.client_key, [old for old in before if old.is_current])
        word = {"slot": slot, "annotator": held.person, "shot": self.shot}
        if self.looked:
            Look.objects.bulk_create([Look(**word)], ignore_conflicts=True)
        elif slot.state != Slot.State.SUBMITTED:
            Look.objects.filter(**word).delete()

    def _changed(self, slot: Slot, before: Sequence[Rating]) -> list[Rating]:
        """Return the boxes of the shot whose state changes."""
        questions = [q for q in slot.questions if kind_of(q).of_shots]
        if not questions and not asks_of_shots(slot.study):
            raise BadAnswerError("Only the boxes of a checklist are about a shot.")
        unknown = sorted(self.ticked - {question.key for question in questions})
        if unknown:
            text = f"There is no box {unknown[0][:80]!r} in this checklist."
            raise BadAnswerError(text)
        current = {row.question_id: row.value for row in before if row.is_current}
        boxes = []
        for question in questions:
            value = int(question.key in self.ticked)
            is_told = question.pk in current or self.looked or value
            if is_told and current.get(question.pk) != value:
                fields = kind_of(question).fields(slot, question, value)
                fields |= {"shot": self.shot, "client_key": self.client_key}
                boxes.append(Rating(slot=slot, question=question, **fields))
        return boxes


def form_rows(slot: Slot, posted: Mapping[str, str]) -> list[TicksRow]:
    """Return the rows of a form posted without scripts, one per shot."""
    ticked: dict[str, set[str]] = defaultdict(set)
    for name in posted:
        shot, colon, key = name.partition(":")
        if colon and shot.isdecimal():
            ticked[shot].add(key)
    return [
        TicksRow(
            shot=shot,
            ticked=frozenset(ticked[str(shot)]),
            looked=f"{LOOKED}:{shot}" in posted,
        )
        for shot in slot.unit.story.shots.values_list("number", flat=True)
    ]
