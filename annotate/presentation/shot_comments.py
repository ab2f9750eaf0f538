"""What annotators write about single shots, where the study asks for it.

A comment names the shot and the side on which its output stands, and is stored by the
output.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from annotate.answers.story_comments import LONGEST_COMMENT, keep, of_holder
from annotate.models import Annotator, ShotComment, Slot, Study
from annotate.presentation.slot_view import sides
from annotate.slots.errors import BadAnswerError
from annotate.slots.locking import locked_annotator, locked_slot, refuse_unless_held
from evalcore.models import Output

# A form without a script posts it as `shot-comment:3:left`.
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
Place = tuple[str, int]  # a side, and the number of a shot


class ShotFields(NamedTuple):
    """What is written about a shot so far, by the sides of its outputs."""

    number: int
    texts: dict[str, str]


def record(
    *,
    slot: Slot,
    annotator: Annotator,
    texts: Mapping[Place, str],
    client_key: str = "",
) -> None:
    """Store what an annotator writes about shots; an empty text takes it back.

    What is longer than `LONGEST_COMMENT` is cut. What its tab has overtaken changes
    nothing.

    Raises
    ------
    BadAnswerError
        The study takes none, or there is no such side or shot. Nothing is stored.
    """
    if not slot.study.may_comment_on_shots:
        raise BadAnswerError("This study takes no comments on single shots.")
    with transaction.atomic():
        person = locked_annotator(annotator)
        held = locked_slot(slot.pk, person.study)
        refuse_unless_held(held, person)
        outputs = sides(held)
        _refuse_unknown(held, outputs, texts)
        for (side, shot), text in texts.items():
            place = {"slot": held, "output": outputs[side], "shot": shot}
            kept = text.strip()[:LONGEST_COMMENT]
            keep(person.shot_comments, place, kept, client_key)


def _refuse_unknown(
    held: Slot, outputs: Mapping[str, Output], places: Iterable[Place]
) -> None:
    """Raise for a place that the slot does not show, and say which ones it does."""
    numbers = list(held.unit.story.shots.values_list("number", flat=True))
    for side, shot in places:
        if side not in outputs:
            text = _("This story has no side %(side)s; expected one of %(sides)s.")
            known = ", ".join(outputs)
            raise BadAnswerError(text % {"side": repr(side[:20]), "sides": known})
        if shot not in numbers:
            text = _("This story has no shot %(shot)s; expected one of %(shots)s.")
            known = ", ".join(map(str, numbers))
            raise BadAnswerError(text % {"shot": shot, "shots": known})


def posted(form: Mapping[str, str]) -> dict[Place, str]:
    """Return what a form without a script holds; a shot that is no number is 0."""
    found: dict[Place, str] = {}
    for name, text in form.items():
        field, _colon, place = name.partition(":")
        shot, _colon, side = place.partition(":")
        if field == FIELD:
            is_number = shot.isdecimal() and len(shot) < 10
            found[side, int(shot) if is_number else 0] = text
    return found


def on_page(slot: Slot) -> dict[str, object]:
    """Return what the page shows of them; nothing where the study takes none."""
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
    told = [str(shot.number) for shot in fields if any(shot.texts.values())]
    return {"comment_shots": fields, "commented": ", ".join(told)}


def about(output: Output, slots: Iterable[Slot]) -> dict[int, list[ShotComment]]:
    """Return what those who hold the slots wrote about an output, by slot."""
    written = ShotComment.objects.filter(output=output, slot__in=slots)
    found: dict[int, list[ShotComment]] = defaultdict(list)
    for row in of_holder(written):
        found[row.slot_id].append(row)
    return found


def rows(study: Study) -> Iterator[tuple[str | int, ...]]:
    """Yield a row for each comment of a study, with what `HEADER` names.

    `side` is where the annotator saw the output; that of a twin has its `degradation`.
    """
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
