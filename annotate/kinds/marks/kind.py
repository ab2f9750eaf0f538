"""The marks kind: places in pictures where something is wrong."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Self

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext_lazy
from pydantic import Field, model_validator

from annotate.kinds.base import BadAnswerError, Fields, Kind, Option, Row, Value
from annotate.kinds.marks.pins import (
    NOTHING,
    SHOWN,
    Size,
    on_letterbox,
    on_picture,
    read,
    written,
)
from annotate.kinds.question import QuestionDefinition
from annotate.models import Question, Slot, Study
from annotate.models.answers import Answer, answer_constraints
from annotate.models.studies import localised
from annotate.schema import Key, Problem, Switch, Texts, refuse, says
from evalcore.models import Frame
from evalcore.models.columns import holds

if TYPE_CHECKING:
    import pandas as pd

# The keys 1 to 9 choose a label.
MOST_LABELS = 9
Labels = Annotated[
    dict[Key, Texts],
    Field(min_length=1, max_length=MOST_LABELS),
    says(f"write 1 to {MOST_LABELS} kinds of fault, such as anatomy: Broken anatomy"),
]


class MarksAnswer(Answer):
    """The pins of a person, or `nothing`; `shots` are those that had a picture."""

    value = models.TextField()
    shots = models.JSONField()

    class Meta:
        constraints = [
            *answer_constraints("marks_answer"),
            holds("marks_answer_not_empty", ~Q(value="")),
        ]


class MarksQuestion(QuestionDefinition):
    """A question for the places of faults, each of one of the kinds in `labels`."""

    kind: Literal["marks"]
    labels: Labels = Field(
        title=gettext_noop("Kinds of fault"),
        description=gettext_noop(
            "YAML, one per line, such as: anatomy: Broken anatomy"
        ),
        examples=[
            "character: Wrong character\n"
            "anatomy: Broken anatomy\n"
            "text: Does not fit the text\n"
            "other: Something else\n"
        ],
    )
    required: Switch = Field(
        True,
        exclude_if=lambda value: value,
        title=gettext_noop("An answer is required"),
    )

    @model_validator(mode="after")
    def _is_not_measured(self) -> Self:
        message = "reports hold marks against every metric; leave it out"
        refuse([Problem(["metric"], message)] if self.metric else [])
        return self

    def rows(self) -> list[Fields]:
        (row,) = super().rows()
        options = {name: row.pop(name) for name in ("required", "labels")}
        return [row | {"anchors": options}]


class MarksKind(Kind):
    """Pins on pictures; a report counts them by shot, not by output."""

    name = "marks"
    place = 6
    is_counted = False
    is_nominal = True
    is_open_ended = True
    is_optional = True
    is_single = True
    needs_pictures = True
    has_known_answers = False
    controls = ()
    signals = ()
    title = gettext_lazy("marks in pictures")
    phrase = gettext_lazy("marks faults in pictures")
    heading = gettext_lazy("Mark what is wrong")
    asks = ngettext_lazy(
        "Marks in pictures, %(n)s question:", "Marks in pictures, %(n)s questions:", "n"
    )
    template = "rate/_pins.html"
    scripts = ("marks",)
    keys_template = "rate/_keys_marks.html"
    wanted = (
        f"`{NOTHING}`, or a line for each fault: shot, x, y (0 to 1), kind of fault"
    )
    model = MarksAnswer
    table = "marked_shots"
    parts_table = "marks"
    seconds = 30
    definition = MarksQuestion
    columns = ("story", "method", "shot", "dimension", "annotator", "rating")
    parts_columns = (
        "story",
        "method",
        "dimension",
        "annotator",
        "shot",
        "x",
        "y",
        "label",
    )
    fields_read = ("shots", "question__anchors")

    def fields(self, slot: Slot, question: Question, value: Value) -> Fields:
        """Return the pins with their places on the pictures as they were made."""
        sizes, labels = pictures(slot), question.anchors["labels"]
        pins = []
        for pin in read(str(value)):
            if pin.shot not in sizes:
                text = _("This story has no picture of shot %(shot)s.")
                raise BadAnswerError(text % {"shot": pin.shot})
            if pin.label not in labels:
                text = _(
                    "“%(label)s” is no kind of fault here; write one of %(known)s."
                )
                known = ", ".join(labels)
                raise BadAnswerError(text % {"label": pin.label[:40], "known": known})
            pins.append(on_picture(pin, sizes[pin.shot], _box(slot)))
        return {"value": written(pins), "shots": sorted(sizes)}

    def options(self, slot: Slot, question: Question) -> tuple[Option, ...]:
        """Return the kinds of fault, which digits choose."""
        return tuple(
            (key, label, str(number))
            for number, (key, label) in enumerate(labels_of(question).items(), start=1)
        )

    def example(self, slot: Slot, question: Question) -> str:
        return NOTHING

    def as_displayed(self, slot: Slot, value: Value) -> str:
        """Return the pins with their places on the pictures as they are shown."""
        sizes = pictures(slot)
        pins = [
            on_letterbox(pin, sizes[pin.shot], _box(slot))
            for pin in read(str(value))
            if pin.shot in sizes
        ]
        return written(pins, SHOWN)

    def text_for_annotator(
        self, slot: Slot, question: Question, values: Sequence[Value]
    ) -> str:
        return self.text_for_manager(slot, question, values[0])

    def text_for_manager(self, slot: Slot, question: Question, value: Value) -> str:
        """Return the faults by shot, or that nothing is wrong."""
        labels = labels_of(question)
        faults = [
            _("Shot %(number)s: %(text)s")
            % {"number": pin.shot, "text": labels.get(pin.label, pin.label)}
            for pin in read(str(value))
        ]
        return "; ".join(faults) or _("Nothing is wrong")

    def invalid_answers(self, study: Study) -> Iterator[str]:
        """Describe pins of unknown kinds, outside their picture, or without one."""
        answers = MarksAnswer.objects.filter(slot__study=study)
        for answer in answers.select_related("question").iterator():
            labels = answer.question.anchors["labels"]
            try:
                pins = read(answer.value)
            except BadAnswerError as error:
                yield f"marks {answer.pk}: {error}"
                continue
            for pin in pins:
                if pin.shot not in answer.shots or pin.label not in labels:
                    yield f"marks {answer.pk}: unknown shot or kind in {pin}"

    def rows(self, answer: Row, methods: Sequence[str]) -> list[Fields]:
        """Return for each shot whether it was marked, at all and with each label."""
        key, pins = answer["question__key"], read(answer["value"])
        marked = {(pin.shot, name) for pin in pins for name in ("", pin.label)}
        return [
            {
                "method": methods[0],
                "shot": shot,
                "dimension": f"{key}|{label}" if label else key,
                "rating": int((shot, label) in marked),
            }
            for shot in answer["shots"]
            for label in ("", *answer["question__anchors"]["labels"])
        ]

    def parts(self, answer: Row, methods: Sequence[str]) -> list[Fields]:
        """Return a row for each pin."""
        return [
            {
                "method": methods[0],
                "dimension": answer["question__key"],
                "shot": pin.shot,
                "x": pin.x,
                "y": pin.y,
                "label": pin.label,
            }
            for pin in read(answer["value"])
        ]

    def checked(self, frame: "pd.DataFrame", *, file: str) -> "pd.DataFrame":
        from analysis.reading.inputs import check_ratings

        return check_ratings(frame, file=file, scale=(0, 1))

    def dimension_titles(self, question: Question) -> dict[str, str]:
        """Return the titles of the whole question and of each kind of fault."""
        labels = labels_of(question).items()
        title = question.title
        return {
            question.key: title,
            **{f"{question.key}|{key}": f"{title}: {label}" for key, label in labels},
        }


def labels_of(question: Question) -> dict[str, str]:
    """Return the kinds of fault in the reader's language, by key."""
    labels = question.anchors["labels"]
    return {key: localised(texts) or key for key, texts in labels.items()}


def pictures(slot: Slot) -> dict[int, Size]:
    """Return the sizes of the story's pictures by shot."""
    frames = Frame.objects.filter(output=slot.unit.output_a, media__isnull=False)
    rows = frames.order_by("number").values_list(
        "number", "media__width", "media__height"
    )
    return {number: (width, height) for number, width, height in rows}


def _box(slot: Slot) -> Size | None:
    """Return the size in which the study shows every picture, if it has one."""
    box = slot.study.presentation.get("box") if slot.study.same_size else None
    return (box[0], box[1]) if box else None


KIND = MarksKind()
