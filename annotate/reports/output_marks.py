"""Marks of all people on the pictures of one output."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from django.db.models import F

from annotate.kinds.marks.kind import MarksAnswer, labels_of
from annotate.kinds.marks.pins import read
from annotate.models import Slot, Study
from annotate.reports.study_scores import judged_units
from evalcore.models import Frame, Output

# The width in which places are drawn, whatever the size of the picture.
WIDTH = 1000


@dataclass(frozen=True)
class ShownFault:
    """A kind of fault with its number and how often it was marked."""

    number: int
    title: str
    marks: int


@dataclass(frozen=True)
class ShownPin:
    """A mark at a place of a picture that is `WIDTH` wide."""

    fault: ShownFault
    x: float
    y: float
    annotator: str


@dataclass(frozen=True)
class MarkedPicture:
    """A picture with its height at `WIDTH`, its marks, and the people who made them."""

    frame: Frame
    height: float
    pins: tuple[ShownPin, ...]
    people: int

    @property
    def width(self) -> int:
        return WIDTH


@dataclass(frozen=True)
class OutputMarks:
    """The marks of an output; `marked` of the `people` marked anything."""

    title: str
    faults: tuple[ShownFault, ...]
    pictures: tuple[MarkedPicture, ...]
    marked: int
    people: int


def output_marks(study: Study, output: Output) -> OutputMarks | None:
    """Return the counted marks of an output; None if the study asks for none."""
    question = next((one for one in study.asked if one.kind == "marks"), None)
    if question is None:
        return None
    answers = MarksAnswer.objects.filter(
        question=question,
        is_current=True,
        annotator=F("slot__annotator"),
        slot__unit__in=judged_units(study).filter(output_a=output),
        slot__state=Slot.State.SUBMITTED,
        slot__ordinal__isnull=False,
    ).select_related("annotator")
    given = [(one.annotator.name, pin) for one in answers for pin in read(one.value)]
    counts = Counter(pin.label for _name, pin in given)
    faults = {
        key: ShownFault(number, title, counts[key])
        for number, (key, title) in enumerate(labels_of(question).items(), start=1)
    }
    by_shot = defaultdict(list)
    for name, pin in given:
        by_shot[pin.shot].append((faults[pin.label], pin.x, pin.y, name))
    pictures = []
    for frame in output.frames.select_related("media").order_by("number"):
        if frame.media is None:
            continue
        height = round(WIDTH * frame.media.height / frame.media.width, 1)
        pins = tuple(
            ShownPin(fault, round(WIDTH * x, 1), round(height * y, 1), name)
            for fault, x, y, name in by_shot[frame.number]
        )
        people = len({pin.annotator for pin in pins})
        pictures.append(MarkedPicture(frame, height, pins, people))
    return OutputMarks(
        question.title,
        tuple(faults.values()),
        tuple(pictures),
        len({name for name, _pin in given}),
        len({one.annotator_id for one in answers}),
    )
