"""Comments on single shots, in studies that allow them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext as _

from annotate.kinds.base import BadAnswerError
from annotate.models import ShotComment, Slot, Study
from annotate.presentation.slot_view import sides
from annotate.responses.writing import Held, Row, keep, of_holder
from evalcore.models import Output

# Without scripts, a form posts it as `shot-comment:3:left`.
FIELD = "shot-comment"
HEADER = (
    "slot",
    "story",
    "method",
    "degradation",
    "side",
    "shot",
    "annotator",
    "purpose",
    "at",
    "text",
)


class ShotFields(NamedTuple):
    """Current comments on a shot by the side of each output."""

    number: int
    texts: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class ShotCommentRow(Row):
    """A comment on one shot of an output; an empty text removes it."""

    side: str
    shot: int
    text: str

    @property
    def place(self) -> tuple[str | int, ...]:
        return "comment", self.side, self.shot

    def store(self, held: Held) -> None:
        """Store the comment, or raise if the story has no such side or shot."""
        if not held.slot.study.may_comment_on_shots:
            raise BadAnswerError("This study takes no comments on single shots.")
        slot = held.open()
        outputs = sides(slot)
        _refuse_unknown(slot, outputs, self.side, self.shot)
        of = {"slot": slot, "output": outputs[self.side], "shot": self.shot}
        keep(held.person.shot_comments, of, self.text, self.client_key)


def _refuse_unknown(
    slot: Slot, outputs: Mapping[str, Output], side: str, shot: int
) -> None:
    """Raise an error if the slot has no such side or shot; name those it has."""
    if side not in outputs:
        text = _("This story has no side %(side)s; expected one of %(sides)s.")
        expected = ", ".join(outputs)
        raise BadAnswerError(text % {"side": repr(side[:20]), "sides": expected})
    numbers = list(slot.unit.story.shots.values_list("number", flat=True))
    if shot not in numbers:
        text = _("This story has no shot %(shot)s; expected one of %(shots)s.")
        expected = ", ".join(map(str, numbers))
        raise BadAnswerError(text % {"shot": shot, "shots": expected})


def form_rows(form: Mapping[str, str]) -> list[ShotCommentRow]:
    """Return the comments in a posted form; an invalid shot number becomes 0."""
    rows = []
    for name, text in form.items():
        field, _colon, place = name.partition(":")
        shot, _colon, side = place.partition(":")
        if field == FIELD:
            is_number = shot.isdecimal() and len(shot) < 10
            number = int(shot) if is_number else 0
            rows.append(ShotCommentRow(side=side, shot=number, text=text))
    return rows


def on_page(slot: Slot) -> dict[str, object]:
    """Return the template context of comments on shots; empty if not allowed."""
    if not slot.study.may_comment_on_shots:
        return {}
    written = {
        (row.output_id, row.shot): row.text
        for row in of_holder(slot.shot_comments.all())
    }
    numbers = slot.unit.story.shots.values_list("number", flat=True)
    outputs = sides(slot)
    fields = [
        ShotFields(
            number,
            {side: written.get((one.pk, number), "") for side, one in outputs.items()},
        )
        for number in numbers
    ]
    commented = [str(shot.number) for shot in fields if any(shot.texts.values())]
    return {"comment_shots": fields, "commented": ", ".join(commented)}


def rows(study: Study) -> Iterator[tuple[str | int, ...]]:
    """Yield a row per comment of a study, with the columns of `HEADER`."""
    related = ("slot__unit__story", *study.output_paths("slot__unit__", "__method"))
    written = ShotComment.objects.filter(slot__study=study)
    written = of_holder(written).select_related("annotator", *related)
    for row in written.order_by("slot__unit", "slot__round", "slot", "shot", "pk"):
        row.slot.study = study
        standing = {one.pk: (side, one) for side, one in sides(row.slot).items()}
        side, output = standing[row.output_id]
        yield (
            row.slot.code,
            row.slot.unit.story.key,
            output.method.name,
            output.degradation,
            side,
            row.shot,
            row.annotator.name,
            row.slot.purpose,
            row.written_at.isoformat(),
            row.text,
        )
