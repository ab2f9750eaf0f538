"""The choice kind: left, right, or a tie."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext_lazy
from pydantic import Field

from annotate.kinds.base import (
    AnswerError,
    BadAnswerError,
    Fields,
    Kind,
    Option,
    Row,
    Value,
)
from annotate.kinds.question import DegradableQuestion, QuestionDefinition
from annotate.models import Answer, Choice, Question, Slot, Study
from annotate.schema import Switch, refusal, write_one_of

SIDES = ("left", "right", "tie")
# The keys are the same whether or not a question allows a tie.
KEYS = {"left": "1", "tie": "2", "right": "3"}
CODES = {"a": 0.0, "tie": 1.0, "b": 2.0, "both_bad": 3.0}


def as_side(value: str, a_is_left: bool | None) -> str:
    """Turn a stored choice (a, b) back into the side that was chosen."""
    if value in ("a", "b"):
        return "left" if (value == "a") == a_is_left else "right"
    return value


def side_labels() -> dict[str, str]:
    """Return the labels of the options in the reader's language."""
    return {"left": _("Left"), "tie": _("No preference"), "right": _("Right")}


class ChoiceQuestion(DegradableQuestion):
    """A criterion; `allow_tie` adds the answer "no preference"."""

    kind: Literal["choice"]
    allow_tie: Switch = Field(
        True, exclude_if=bool, title=gettext_noop("“No preference” is an answer")
    )

    def known_answer(self, value: Any, methods: Sequence[str]) -> str:
        """Return the better method's name, or tie."""
        known = [*methods, "tie"]
        if str(value) not in known:
            raise refusal(write_one_of(known))
        return str(value)


class ChoiceKind(Kind):
    """Left, right, or no preference where the question allows it."""

    name = "choice"
    place = 2
    is_pairwise = True
    title = gettext_lazy("side by side")
    phrase = gettext_lazy("two methods side by side")
    heading = gettext_lazy("Compare two stories")
    asks = ngettext_lazy(
        "Two methods side by side, %(n)s question:",
        "Two methods side by side, %(n)s questions:",
        "n",
    )
    keys_template = "rate/_keys_choice.html"
    wanted = "left, right or tie"
    options_class = "options-pair"
    least = most = 2
    model: ClassVar[type[Answer]] = Choice
    table = "choices"
    is_nominal = True
    compares = "majority"
    definition: ClassVar[type[QuestionDefinition]] = ChoiceQuestion
    columns: ClassVar[tuple[str, ...]] = (
        "story",
        "method_a",
        "method_b",
        "criterion",
        "annotator",
        "choice",
        "left_method",
    )
    # How an adaptive study chose the pair; empty in other studies.
    more_columns: ClassVar[tuple[str, ...]] = ("probability", "alternatives")
    fields_read: ClassVar[tuple[str, ...]] = (
        "a_is_left",
        "slot__probability",
        "slot__alternatives",
    )

    def fields(self, slot: Slot, question: Question, value: Value) -> Fields:
        """Turn sides (left, right) into the unit's order (a, b)."""
        if value not in SIDES:
            raise BadAnswerError(f"{str(value)[:40]!r} is none of {', '.join(SIDES)}.")
        if value == "tie" and not question.allow_tie:
            raise BadAnswerError("This question asks for a decision: left or right.")
        if value in ("left", "right"):
            value = "a" if (value == "left") == slot.a_is_left else "b"
        return {"value": value, "a_is_left": slot.a_is_left}

    def stored_fields(self, slot: Slot, question: Question, value: Value) -> Fields:
        """Return the fields of a choice given as a, b, tie or both_bad."""
        if value not in Choice.Value.values:
            raise AnswerError(f"{value!r} is no choice.")
        return {"value": value, "a_is_left": slot.a_is_left}

    def options(self, slot: Slot, question: Question) -> tuple[Option, ...]:
        """Return the sides, with "no preference" between them if allowed."""
        sides = ("left", "tie", "right") if question.allow_tie else ("left", "right")
        labels = side_labels()
        return tuple((side, labels[side], KEYS[side]) for side in sides)

    def labels(self) -> list[str]:
        return list(side_labels().values())

    def as_displayed(self, slot: Slot, value: Value) -> str:
        return as_side(str(value), slot.a_is_left)

    def text_for_manager(self, slot: Slot, question: Question, value: Value) -> str:
        methods = dict(zip("ab", slot.unit.methods, strict=False))
        if value == Choice.Value.BOTH_BAD:  # only in imports
            return _("Both are bad")
        return methods.get(str(value)) or _("No preference")

    def text_for_annotator(
        self, slot: Slot, question: Question, values: Sequence[Value]
    ) -> str:
        """Return the side in words, as the annotator saw it."""
        return side_labels()[self.as_displayed(slot, values[0])]

    def invalid_answers(self, study: Study) -> Iterator[str]:
        """Describe choices whose stored sides differ from those of their slot."""
        choices = Choice.objects.filter(slot__study=study, question__kind=self.name)
        turned = choices.exclude(a_is_left=F("slot__a_is_left"))
        for choice in turned.exclude(slot__a_is_left=None, a_is_left=None):
            yield f"choice {choice.pk}: its sides are not those of its slot"

    def rows(self, answer: Row, methods: Sequence[str]) -> list[Fields]:
        """Return the methods in the unit's order, and the one shown left."""
        first, second = methods
        left = "" if answer["a_is_left"] is None else second
        return [
            {
                "method_a": first,
                "method_b": second,
                "criterion": answer["question__key"],
                "choice": answer["value"],
                "left_method": first if answer["a_is_left"] else left,
                "probability": answer["slot__probability"],
                "alternatives": answer["slot__alternatives"],
            }
        ]

    def numeric_value(self, judgement: Value) -> float:
        """Return 1 for a, 0 for b, 0.5 for a tie."""
        return {"a": 1.0, "b": 0.0}.get(str(judgement), 0.5)

    def worth(self, value: Value, place: int) -> float:
        """Return 1 for the chosen output, 0 for the other, 0.5 for a tie."""
        vote = self.numeric_value(value)
        return 1.0 - vote if place else vote

    def agreement_value(self, judgement: Value) -> float:
        return CODES[str(judgement)]


KIND = ChoiceKind()
