"""Drawn stories, and units: outputs shown together, and their purpose."""

from collections.abc import Sequence
from hashlib import sha256
from itertools import combinations

from django.db import models
from django.db.models import F, Q

from annotate.models.studies import LETTERS, Purpose, Study
from evalcore.models import Output, Story
from evalcore.models.columns import holds, known, once

# Where a unit's outputs stand, in the order of their methods' names.
OUTPUTS = tuple(f"output_{letter}" for letter in LETTERS)


def as_fields(outputs: Sequence[Output]) -> dict[str, Output]:
    """Return outputs, in the order of their methods' names, as fields of a unit."""
    return dict(zip(OUTPUTS, outputs, strict=False))


def _once_each() -> list[models.BaseConstraint]:
    """Return constraints: a study shows the same outputs once per purpose."""
    return [
        once(
            f"unit_once_of_{number}",
            "study",
            *OUTPUTS[:number],
            "purpose",
            where=Q(**{f"{OUTPUTS[number - 1]}__isnull": False})
            & Q(**{f"{name}__isnull": True for name in OUTPUTS[number : number + 1]}),
        )
        for number in range(1, len(OUTPUTS) + 1)
    ]


def _all_differ() -> Q:
    """Return the constraint that no output occurs twice in a unit."""
    differ = Q()
    for first, second in combinations(OUTPUTS, 2):
        differ &= Q(**{f"{second}__isnull": True}) | ~Q(**{second: F(first)})
    return differ


def _further_output() -> "models.ForeignKey[Output | None]":
    """Return the column of an output that not every unit has."""
    return models.ForeignKey(
        Output, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )


class Unit(models.Model):
    """One output, or several outputs of one story, shown together."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="units")
    story = models.ForeignKey(Story, on_delete=models.PROTECT, related_name="units")
    output_a = models.ForeignKey(Output, on_delete=models.PROTECT, related_name="+")
    output_b = _further_output()
    output_c = _further_output()
    output_d = _further_output()
    output_e = _further_output()
    output_f = _further_output()
    output_g = _further_output()
    output_h = _further_output()
    output_i = _further_output()
    purpose = models.CharField(
        max_length=10, choices=Purpose.choices, default=Purpose.REAL
    )
    redundancy = models.PositiveSmallIntegerField(default=0)
    submitted = models.PositiveIntegerField(default=0)
    original = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, blank=True, related_name="twins"
    )
    expected = models.JSONField(
        default=dict,
        blank=True,
        help_text='Right answers: {"character": [3, 4]}, or {"quality": "a"}.',
    )
    feedback = models.JSONField(default=dict, blank=True, help_text='{"en": ...}')
    arrangement = models.CharField(
        max_length=len(LETTERS),
        blank=True,
        default="",
        db_default="",
        help_text="Order of three or more outputs before a slot turns it, by their "
        "letters; empty: drawn from their ids.",
    )
    set_aside_at = models.DateTimeField(
        null=True, blank=True, help_text="Skipped too often: handed out no more."
    )

    class Meta:
        ordering = ["study_id", "id"]
        indexes = [models.Index(fields=["study", "story"], name="unit_of_story")]
        constraints = [
            *_once_each(),
            known("unit_purpose_known", purpose=["real", "training", "gold", "twin"]),
            holds("unit_outputs_differ", _all_differ()),
        ]

    @property
    def outputs(self) -> list[Output]:
        """Return the outputs in the order of the methods' names."""
        stored = (getattr(self, name) for name in OUTPUTS)
        return [output for output in stored if output is not None]

    @property
    def base_order(self) -> str:
        """Return the letters of three or more outputs before a slot turns them."""
        if self.arrangement:
            return self.arrangement
        ids = (getattr(self, f"{name}_id") for name in OUTPUTS)
        shown = [pk for pk in ids if pk is not None]
        drawn = {
            letter: sha256(f"{shown} {place}".encode()).digest()
            for place, letter in enumerate(LETTERS[: len(shown)])
        }
        return "".join(sorted(drawn, key=drawn.__getitem__))

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the names of the methods that are shown, in their order."""
        return tuple(output.method.name for output in self.outputs)


class StoryDraw(models.Model):
    """A story that could be drawn for a study, and whether it was."""

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="story_draws"
    )
    story = models.ForeignKey(Story, on_delete=models.PROTECT, related_name="+")
    probability = models.FloatField(help_text="Of being drawn.")
    is_drawn = models.BooleanField()

    class Meta:
        constraints = [
            once("story_draw_once_per_study", "study", "story"),
            holds(
                "story_draw_probability_above_0",
                Q(probability__gt=0, probability__lte=1),
            ),
        ]
