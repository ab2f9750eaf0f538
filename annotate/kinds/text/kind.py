"""Free text: answers in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, Self

from django.db import models
from django.db.models import functions
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext_lazy
from pydantic import BeforeValidator, Field, model_validator

from annotate.kinds.base import (
    BadAnswerError,
    Fields,
    Kind,
    Option,
    Row,
    Value,
    form_field,
)
from annotate.kinds.question import QuestionDefinition
from annotate.models import Question, Slot, Study
from annotate.models.answers import Answer, answer_constraints
from annotate.models.studies import LETTERS
from annotate.schema import Problem, Switch, refuse, refuse_boolean, says

# Characters: what a question may ask for at most, and does where it does not say.
LARGEST, USUAL = 10_000, 2_000
Length = Annotated[
    int,
    BeforeValidator(refuse_boolean),
    Field(ge=1, le=LARGEST),
    says(f"write a whole number from 1 to {LARGEST}"),
]


class TextAnswer(Answer):
    """A text written in answer to a question; empty once it is erased."""

    value = models.TextField()

    class Meta:
        constraints = answer_constraints("text_answer")


class TextQuestion(QuestionDefinition):
    """A question that is answered in words, or left open unless it is `required`."""

    kind: Literal["text"]
    required: Switch = Field(
        False,
        exclude_if=lambda value: not value,
        title=gettext_noop("An answer is required"),
    )
    longest: Length = Field(
        USUAL,
        exclude_if=lambda value: value == USUAL,
        title=gettext_noop("Longest answer"),
        description=gettext_noop("In characters."),
    )

    @model_validator(mode="after")
    def _is_not_measured(self) -> Self:
        told = "no metric measures a text; leave it out"
        refuse([Problem(["metric"], told)] if self.metric else [])
        return self

    def rows(self) -> list[Fields]:
        (row,) = super().rows()
        options = {name: row.pop(name) for name in ("required", "longest")}
        return [row | {"anchors": options}]


class TextKind(Kind):
    """A text of one or several lines, which no statistic uses."""

    name = "text"
    place = 5
    is_counted = False
    is_nominal = True
    is_free_text = True
    is_optional = True
    has_known_answers = False
    controls = ()
    signals = ()
    title = gettext_lazy("free text")
    phrase = gettext_lazy("answers in words")
    heading = gettext_lazy("Say it in your own words")
    asks = ngettext_lazy("In words, %(n)s question:", "In words, %(n)s questions:", "n")
    template = "rate/_text.html"
    scripts = ("text",)
    keys_template = "rate/_keys_text.html"
    wanted = "a text"
    most = len(LETTERS)
    model = TextAnswer
    table = "texts"
    seconds = 20
    definition = TextQuestion
    columns = ("story", "methods", "question", "annotator", "text", "left_method")
    fields_read = ("slot__a_is_left",)

    def fields(self, slot: Slot, question: Question, value: Value) -> Fields:
        """Return the text with the line breaks of every system as one."""
        text = "\n".join(str(value).splitlines()).strip()
        longest = question.anchors["longest"]
        if not text:
            raise BadAnswerError(_("Write a text, or leave it out."))
        if len(text) > longest:
            told = _("Write at most %(longest)s characters; these are %(n)s.")
            raise BadAnswerError(told % {"longest": longest, "n": len(text)})
        return {"value": text}

    def posted(self, question: Question, form: Mapping[str, str]) -> str | None:
        """Return the text; an empty one takes back what was written before."""
        text = form.get(form_field(question))
        return None if text is None else text.strip()

    def options(self, slot: Slot, question: Question) -> tuple[Option, ...]:
        return ()

    def example(self, slot: Slot, question: Question) -> str:
        return "…"

    def text_for_annotator(
        self, slot: Slot, question: Question, values: Sequence[Value]
    ) -> str:
        return str(values[0])

    def text_for_manager(self, slot: Slot, question: Question, value: Value) -> str:
        return str(value)

    def invalid_answers(self, study: Study) -> Iterator[str]:
        """Name texts that are longer than their question allows."""
        for question in study.questions.filter(kind=self.name):
            longest = question.anchors["longest"]
            texts = TextAnswer.objects.annotate(length=functions.Length("value"))
            for text in texts.filter(question=question, length__gt=longest):
                yield f"text {text.pk}: it is longer than {longest} characters"

    def rows(self, answer: Row, methods: Sequence[str]) -> list[Fields]:
        """Return the methods as they stand in the unit, and which stood left."""
        sides = {True: methods[0], False: methods[-1], None: ""}
        is_left = answer["slot__a_is_left"] if len(methods) == 2 else None
        return [
            {
                "methods": " / ".join(methods),
                "question": answer["question__key"],
                "text": answer["value"],
                "left_method": sides[is_left],
            }
        ]


KIND = TextKind()
