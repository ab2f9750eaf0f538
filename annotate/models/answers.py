"""Ratings, choices and rankings."""

from typing import TYPE_CHECKING, Any, ClassVar, Self

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Length, Replace
from django.db.models.lookups import Exact
from django.utils import timezone

from annotate.models.people import Annotator
from annotate.models.slots import Slot
from annotate.models.studies import LETTERS, Question
from evalcore.models.columns import holds, known, once


def answer_constraints(name: str, *also: str) -> list[models.BaseConstraint]:
    """Return the constraints of answers to a question (and of the `also` fields)."""
    key = ["slot", "question", "annotator", *also]
    return [
        once(f"{name}_revision_unique", *key, "revision"),
        once(f"{name}_one_current", *key, where=Q(is_current=True)),
        once(f"{name}_key_press_once", *key, "client_key", where=~Q(client_key="")),
    ]


class Answer(models.Model):
    """Base of all answers: annotator, time, revision."""

    slot = models.ForeignKey(Slot, on_delete=models.PROTECT, related_name="%(class)ss")
    question = models.ForeignKey(
        Question, on_delete=models.PROTECT, related_name="%(class)ss"
    )
    annotator = models.ForeignKey(
        Annotator, on_delete=models.PROTECT, related_name="%(class)ss"
    )
    revision = models.PositiveSmallIntegerField(default=1)
    is_current = models.BooleanField(default=True)
    client_key = models.CharField(
        max_length=40, blank=True, help_text="Names one key press in the browser."
    )
    created_at = models.DateTimeField(default=timezone.now)

    if TYPE_CHECKING:  # what every kind of answer has
        objects: ClassVar[models.Manager[Self]]
        value: Any

    class Meta:
        abstract = True


class Rating(Answer):
    """An integer on the question's scale; the bounds are copied into the row."""

    value = models.SmallIntegerField()
    scale_min = models.SmallIntegerField()
    scale_max = models.SmallIntegerField()
    shot = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            *answer_constraints("rating", "shot"),
            holds(
                "rating_in_scale",
                Q(value__gte=F("scale_min"), value__lte=F("scale_max")),
            ),
        ]


class Look(models.Model):
    """An annotator's confirmation that a shot of a checklist is done."""

    slot = models.ForeignKey(Slot, on_delete=models.PROTECT, related_name="looks")
    annotator = models.ForeignKey(
        Annotator, on_delete=models.PROTECT, related_name="looks"
    )
    shot = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [once("look_once_per_shot", "slot", "annotator", "shot")]


class Choice(Answer):
    """A choice between two outputs: a or b in the unit's order, or a tie."""

    class Value(models.TextChoices):
        A = "a"
        B = "b"
        TIE = "tie"
        BOTH_BAD = "both_bad"

    value = models.CharField(max_length=8, choices=Value.choices)
    a_is_left = models.BooleanField(null=True)

    class Meta:
        constraints = [
            *answer_constraints("choice"),
            known("choice_value_known", value=["a", "b", "tie", "both_bad"]),
        ]


# Stands between the letters of outputs that share a rank.
TIED = "="


def _is_lettered(field: str, marks: str = LETTERS) -> "Exact[str]":
    """Return that nothing is left of a text without the letters of outputs."""
    left: F | Replace = F(field)
    for letter in marks:
        left = Replace(left, models.Value(letter), models.Value(""))
    return Exact(left, models.Value(""))


class Ranking(Answer):
    """The unit's outputs from the best to the worst, by their letters: `ba=c`.

    `shown` has the letters in screen order; it is empty in imported rankings.
    """

    value = models.CharField(max_length=2 * len(LETTERS) - 1)
    shown = models.CharField(max_length=len(LETTERS), blank=True)

    class Meta:
        constraints = [
            *answer_constraints("ranking"),
            holds(
                "ranking_letters_known",
                Q(_is_lettered("value", TIED + LETTERS), _is_lettered("shown")),
            ),
            holds(
                "ranking_is_whole",
                Q(shown="")
                | Q(
                    Exact(
                        Length(
                            Replace(F("value"), models.Value(TIED), models.Value(""))
                        ),
                        Length("shown"),
                    )
                ),
            ),
        ]
