"""The text kind: free-text answers."""

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
from annotate.models.studies import MOST_SHOWN
from annotate.schema import Problem, Switch, refuse, refuse_boolean, says

# In characters: the upper limit of a question, and its default.
LARGEST, USUAL = 10_000, 2_000
Length = Annotated[
    int,
    BeforeValidator(refuse_boolean),
    Field(ge=1, le=LARGEST),
    says(f"write a whole number from 1 to {LARGEST}"),
]


class TextAnswer(Answer):
    """A free-text answer; empty after erasure."""

    value = models.TextField()

    class Meta:
        constraints = answer_constraints("text_answer")


class TextQuestion(QuestionDefinition):
    """A free-text question, optional unless `required`."""

    kind: Literal["text"]
    required: Switch = Field(
        False,
        exclude_if=lambda value: not value,
        title=gettext_noop("An answer is required"),
    )
    longest: Length = Field(
        USUAL,
        exclude_if=lambda value: value == USUAL,
        title=gettext_noop("Maximum length"),
        description=gettext_noop("In characters."),
    )

    @model_validator(mode="after")
    def _is_not_measured(self) -> Self:
        message = "no metric measures a text; leave it out"
        refuse([Problem(["metric"], message)] if self.metric else [])
        return self

    def rows(self) -> list[Fields]:
        (row,) = super().rows()
        options = {name: row.pop(name) for name in ("required", "longest")}
        return [row | {"anchors": options}]


class TextKind(Kind):
    """A text of one or more lines, which no statistic uses."""

    name = "text"
    place = 5
    is_counted = False
    is_nominal = True
    is_free_text = True
    is_open_ended = True
    is_optional = True
    has_known_answers = False
    controls = ()
    signals = ()
    title = gettext_lazy("free text")
    phrase = gettext_lazy("answers in words")
    heading = gettext_lazy("Answer in your own words")
    asks = ngettext_lazy(
        "Free text, %(n)s question:", "Free text, %(n)s questions:", "n"
    )
    template = "rate/_text.html"
    scripts = ("text",)
    keys_template = "rate/_keys_text.html"
    wanted = "a text"
    most = MOST_SHOWN
    model = TextAnswer
    table = "texts"
    seconds = 20
    definition = TextQuestion
    columns = ("story", "methods", "question", "annotator", "text", "left_method")
    fields_read = ("slot__a_is_left",)

    def fields(self, slot: Slot, question: Question, value: Value) -> Fields:
        """Return the text with normalised line breaks."""
        text = "\n".join(str(value).splitlines()).strip()
        longest = question.anchors["longest"]
        if not text:
            raise BadAnswerError(_("Write an answer, or leave the question open."))
        if (length := len(text)) > longest:
            text = _("Write at most %(longest)s characters; your answer has %(n)s.")
            raise BadAnswerError(text % {"longest": longest, "n": length})
        return {"value": text}

    def posted(self, question: Question, form: Mapping[str, str]) -> str | None:
        """Return the posted text; an empty one clears the answer."""
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
        """Describe texts that are longer than their question allows."""
        for question in study.questions.filter(kind=self.name):
            longest = question.anchors["longest"]
            texts = TextAnswer.objects.annotate(length=functions.Length("value"))
            for text in texts.filter(question=question, length__gt=longest):
                yield f"text {text.pk}: it is longer than {longest} characters"

    def rows(self, answer: Row, methods: Sequence[str]) -> list[Fields]:
        """Return the methods in the unit's order, and the one shown left."""
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
