"""The Likert kind: a rating on an integer scale."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, Self

from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy
from pydantic import model_validator

from annotate.kinds.base import BadAnswerError, Fields, Kind, Option, Row, Value
from annotate.kinds.question import DegradableQuestion, QuestionDefinition, Scale, Whole
from annotate.models import Question, Rating, Slot, Study
from annotate.schema import Problem, Texts, refusal, refuse

WHOLE_NUMBER = re.compile(r"-?[0-9]{1,6}")


class LikertQuestion(DegradableQuestion):
    """A question with a scale whose values can have anchors."""

    kind: Literal["likert"]
    scale: Scale
    anchors: dict[Whole, Texts] = {}

    @model_validator(mode="after")
    def _anchors_on_the_scale(self) -> Self:
        low, high = self.scale
        refuse(
            Problem(["anchors", value], "is no value of the scale")
            for value in self.anchors
            if not low <= value <= high
        )
        return self

    def rows(self) -> list[Fields]:
        (row,) = super().rows()
        low, high = row.pop("scale")
        return [row | {"scale_min": low, "scale_max": high}]

    def alone(self) -> list[int]:
        """Return all values but the highest."""
        low, high = self.scale
        return [low, high - 1]

    def known_answer(self, value: Any, methods: Sequence[str]) -> tuple[int, int]:
        """Return the lowest and the highest right value."""
        limits = value if isinstance(value, list | tuple) else [value, value]
        low, high = self.scale
        fits = len(limits) == 2 and all(
            isinstance(v, int) and not isinstance(v, bool) for v in limits
        )
        if not fits or not low <= limits[0] <= limits[1] <= high:
            raise refusal(f"write a value or a range within {low} to {high}")
        return int(limits[0]), int(limits[1])


class LikertKind(Kind):
    """An integer on the question's scale."""

    name = "likert"
    place = 1
    is_numeric = True
    title = gettext_lazy("ratings")
    phrase = gettext_lazy("ratings on a scale")
    heading = gettext_lazy("Rate the story")
    asks = ngettext_lazy(
        "One story at a time from %(low)s to %(high)s, %(n)s question:",
        "One story at a time from %(low)s to %(high)s, %(n)s questions:",
        "n",
    )
    keys_template = "rate/_keys_likert.html"
    wanted = "a number on the scale"
    options_class = "options-scale"
    model = Rating
    definition: ClassVar[type[QuestionDefinition]] = LikertQuestion
    columns = ("story", "method", "dimension", "annotator", "rating")

    def brief(self, questions: Sequence[QuestionDefinition]) -> str:
        first = questions[0]
        assert isinstance(first, LikertQuestion)
        low, high = first.scale
        return str(self.asks % {"n": len(questions), "low": low, "high": high})

    def fields(self, slot: Slot, question: Question, value: Value) -> Fields:
        """Return the value and its scale; the value can be text, as in forms."""
        low, high = question.scale_min, question.scale_max
        if not WHOLE_NUMBER.fullmatch(str(value)):
            raise BadAnswerError(f"{str(value)[:40]!r} is no whole number.")
        number = int(value)
        if low is None or high is None or not low <= number <= high:
            raise BadAnswerError(f"{number} is outside the scale from {low} to {high}.")
        return {"value": number, "scale_min": low, "scale_max": high}

    def options(self, slot: Slot, question: Question) -> tuple[Option, ...]:
        """Return the values of the scale with their anchors; keys are single digits."""
        return tuple(
            (str(v), anchor, str(v) if 0 <= v <= 9 else "")
            for v, anchor in question.steps
        )

    def text_for_manager(self, slot: Slot, question: Question, value: Value) -> str:
        return dict(question.steps).get(int(value), "")

    def invalid_answers(self, study: Study) -> Iterator[str]:
        """Name ratings outside the scale of their question."""
        ratings = Rating.objects.filter(slot__study=study, question__kind=self.name)
        outside = ratings.exclude(
            scale_min=F("question__scale_min"),
            scale_max=F("question__scale_max"),
            value__gte=F("question__scale_min"),
            value__lte=F("question__scale_max"),
        )
        for rating in outside:
            yield f"rating {rating.pk}: {rating.value} is outside its question's scale"

    def rows(self, answer: Row, methods: Sequence[str]) -> list[Fields]:
        return [
            {
                "method": methods[0],
                "dimension": answer["question__key"],
                "rating": answer["value"],
            }
        ]

    def text_for_annotator(
        self, slot: Slot, question: Question, values: Sequence[Value]
    ) -> str:
        """Return an answer, or the range of right answers, in the words of the page."""
        anchors = dict(question.steps)
        low, high = (
            f"{value} ({anchors[value]})" if anchors.get(value) else str(value)
            for value in (int(values[0]), int(values[-1]))
        )
        return (
            low
            if low == high
            else _("%(low)s to %(high)s") % {"low": low, "high": high}
        )


KIND = LikertKind()
