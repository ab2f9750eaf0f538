"""What is shown at once, and what for."""

from django.db import models
from django.db.models import F, Q

from annotate.models.purposes import Purpose
from annotate.models.studies import Question, Study
from evalcore.models import Output, Story


class Unit(models.Model):
    """What is shown at once: one output, or one unordered pair of outputs.

    A pair is stored with its methods in alphabetical order (`output_a` first), so
    that the two orders cannot both exist. Only a real unit has slots that count
    (`redundancy` of them in each round); the others check the annotators: training and
    gold units have `expected` answers, and a twin shows a degraded copy of `original`.
    `submitted` counts the submitted slots within the redundancy; `verify` counts again.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="units")
    story = models.ForeignKey(Story, on_delete=models.PROTECT, related_name="units")
    output_a = models.ForeignKey(Output, on_delete=models.PROTECT, related_name="+")
    output_b = models.ForeignKey(
        Output, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
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
    set_aside_at = models.DateTimeField(
        null=True, blank=True, help_text="Skipped too often: handed out no more."
    )

    class Meta:
        ordering = ["study_id", "id"]
        indexes = [models.Index(fields=["study", "story"], name="unit_of_story")]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "output_a", "purpose"],
                condition=Q(output_b__isnull=True),
                name="unit_once_per_output",
            ),
            models.UniqueConstraint(
                fields=["study", "output_a", "output_b", "purpose"],
                condition=Q(output_b__isnull=False),
                name="unit_once_per_pair",
            ),
            models.CheckConstraint(
                condition=Q(purpose__in=["real", "training", "gold", "twin"]),
                name="unit_purpose_known",
            ),
            models.CheckConstraint(
                condition=Q(output_b__isnull=True) | ~Q(output_b=F("output_a")),
                name="unit_outputs_differ",
            ),
        ]

    @property
    def questions(self) -> list[Question]:
        """Return the questions that are asked about this unit, in order."""
        questions = self.study.questions.all()
        return [question for question in questions if question.is_asked_of(self.story)]
