"""Required judgements, and annotators' comments on them."""

import secrets

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from annotate.models.people import Annotator
from annotate.models.studies import LETTERS, PURPOSES, Purpose, Question, Study
from annotate.models.units import Unit
from evalcore.models import Output
from evalcore.models.columns import holds, known, once


def new_code() -> str:
    # A spreadsheet takes what begins with - for a formula; exports mark such texts.
    return secrets.token_urlsafe(9).replace("-", "_")


def new_draw() -> int:
    """Return a slot's place in the random order of free slots."""
    return secrets.randbelow(2**31)


class Slot(models.Model):
    """One required judgement of a unit."""

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("slot", "not yet rated")
        LEASED = "leased", pgettext_lazy("slot", "being rated now")
        SUBMITTED = "submitted", pgettext_lazy("slot", "submitted")
        EXCLUDED = "excluded", pgettext_lazy("slot", "left out")
        WITHDRAWN = "withdrawn", pgettext_lazy("slot", "withdrawn")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="slots")
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="slots")
    code = models.CharField(max_length=20, unique=True, default=new_code)
    purpose = models.CharField(
        max_length=10, choices=Purpose.choices, default=Purpose.REAL
    )
    repeat_of = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="repeats"
    )
    round = models.PositiveSmallIntegerField(default=1)
    ordinal = models.PositiveSmallIntegerField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    annotator = models.ForeignKey(
        Annotator, on_delete=models.PROTECT, null=True, blank=True, related_name="slots"
    )
    session = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="The annotator's 1st, 2nd, ... sitting."
    )
    position = models.PositiveIntegerField(
        null=True, blank=True, help_text="Order among the annotator's slots, from 1."
    )
    a_is_left = models.BooleanField(
        null=True,
        default=True,
        help_text="Whether the pair's first method stands left; empty when imported "
        "answers do not tell.",
    )
    turn = models.PositiveSmallIntegerField(
        default=0, help_text="By how many places three or more outputs are moved on."
    )
    claimed = models.BooleanField(
        default=False, help_text="Taken over by its annotator, not planned for them."
    )
    language = models.CharField(
        max_length=10, blank=True, help_text="For annotators of this language only."
    )
    level = models.PositiveSmallIntegerField(default=1)
    draw = models.PositiveIntegerField(default=new_draw)
    probability = models.FloatField(
        null=True, blank=True, help_text="With which an adaptive study chose it."
    )
    alternatives = models.PositiveIntegerField(
        null=True, blank=True, help_text="Among how many free slots it was chosen."
    )
    lease = models.PositiveIntegerField(default=0, help_text="How often it was taken.")
    lease_until = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    offered_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when its annotator could see it."
    )
    seconds = models.FloatField(
        null=True, blank=True, help_text="Time on the page, as far as it can be."
    )
    claimed_seconds = models.FloatField(
        null=True, blank=True, help_text="Time on the page, as the browser told it."
    )
    in_sight = models.JSONField(
        null=True,
        blank=True,
        help_text='Seconds for which each shot was in sight: {"1": 2.5, ...}; empty '
        "where no page told it.",
    )

    class Meta:
        ordering = ["unit_id", "round", "ordinal"]
        indexes = [
            models.Index(fields=["study", "state"], name="slot_by_state"),
            models.Index(fields=["annotator", "position"], name="slot_by_position"),
            models.Index(
                fields=["study", "level", "draw"],
                condition=Q(annotator__isnull=True, state="open"),
                name="slot_free",
            ),
            models.Index(
                fields=["study", "level"],
                condition=Q(ordinal__isnull=False, state__in=["open", "leased"]),
                name="slot_unfinished",
            ),
            models.Index(
                fields=["lease_until"],
                condition=Q(state="leased"),
                name="slot_by_deadline",
            ),
            models.Index(
                fields=["study", "submitted_at"],
                condition=Q(submitted_at__isnull=False),
                name="slot_by_submission",
            ),
        ]
        constraints = [
            once(
                "slot_ordinal_unique",
                "unit",
                "round",
                "ordinal",
                where=Q(ordinal__isnull=False),
            ),
            once(
                "slot_once_per_annotator_and_unit",
                "unit",
                "round",
                "annotator",
                where=Q(annotator__isnull=False, purpose__in=["real", "gold", "twin"]),
            ),
            once(
                "slot_position_unique_for_annotator",
                "annotator",
                "position",
                where=Q(position__isnull=False),
            ),
            known(
                "slot_state_known",
                state=["open", "leased", "submitted", "excluded", "withdrawn"],
            ),
            known("slot_purpose_known", purpose=PURPOSES),
            holds(
                "slot_check_has_no_ordinal", Q(purpose="real") | Q(ordinal__isnull=True)
            ),
            holds(
                "slot_repeat_names_its_original",
                Q(purpose="repeat") ^ Q(repeat_of__isnull=True),
            ),
            holds(
                "slot_started_by_someone",
                Q(state__in=["open", "withdrawn"])
                | Q(annotator__isnull=False, started_at__isnull=False),
            ),
            holds(
                "slot_lease_has_deadline",
                ~Q(state="leased") | Q(lease_until__isnull=False),
            ),
            holds(
                "slot_submitted_has_time",
                Q(state__in=["open", "leased", "withdrawn"], submitted_at__isnull=True)
                | Q(state__in=["submitted", "excluded"], submitted_at__isnull=False),
            ),
            holds(
                "slot_surplus_is_held",
                Q(ordinal__isnull=False)
                | Q(annotator__isnull=False)
                | Q(state="withdrawn"),
            ),
            holds(
                "slot_withdrawn_has_no_ordinal",
                ~Q(state="withdrawn") | Q(ordinal__isnull=True),
            ),
        ]

    @property
    def questions(self) -> list[Question]:
        """Return the questions in order; the story is read only if needed."""
        asked = self.study.asked
        if not any(question.stories for question in asked):
            return asked
        return [one for one in asked if one.is_asked_of(self.unit.story)]

    @property
    def order(self) -> list[int]:
        """Return the order of the unit's outputs from left to right."""
        places = list(range(len(self.unit.outputs)))
        if len(places) < 3:
            return places if self.a_is_left else places[::-1]
        places = [LETTERS.index(letter) for letter in self.unit.base_order]
        start = self.turn % len(places)
        return places[start:] + places[:start]


class Comment(models.Model):
    """A comment by an annotator, with its idempotency key."""

    text = models.TextField()
    written_at = models.DateTimeField(default=timezone.now)
    client_key = models.CharField(
        max_length=40,
        blank=True,
        db_default="",
        default="",
        help_text="The key press that it came of.",
    )

    class Meta:
        abstract = True


class StoryComment(Comment):
    """A comment on the story of a slot."""

    slot = models.ForeignKey(
        Slot, on_delete=models.CASCADE, related_name="story_comments"
    )
    annotator = models.ForeignKey(
        Annotator, on_delete=models.PROTECT, related_name="story_comments"
    )

    class Meta:
        ordering = ["slot", "annotator"]
        constraints = [
            once("story_comment_once_per_slot", "slot", "annotator"),
            holds("story_comment_says_something", ~Q(text="")),
        ]


class ShotComment(Comment):
    """A comment on one shot of an output."""

    slot = models.ForeignKey(
        Slot, on_delete=models.CASCADE, related_name="shot_comments"
    )
    annotator = models.ForeignKey(
        Annotator, on_delete=models.PROTECT, related_name="shot_comments"
    )
    output = models.ForeignKey(Output, on_delete=models.PROTECT, related_name="+")
    shot = models.PositiveIntegerField()

    class Meta:
        ordering = ["slot", "annotator", "shot", "output"]
        constraints = [
            once("shot_comment_once_per_shot", "slot", "annotator", "output", "shot"),
            holds("shot_comment_says_something", ~Q(text="")),
        ]


class Skip(models.Model):
    """An annotator's refusal of a unit, and the reason; it is not offered again."""

    class Reason(models.TextChoices):
        BROKEN = "broken", _("A picture is missing or broken")
        UNCLEAR = "unclear", _("I cannot tell")
        UPSETTING = "upsetting", _("I would rather not look at it")
        OTHER = "other", _("Another reason")

    slot = models.ForeignKey(Slot, on_delete=models.CASCADE, related_name="skips")
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="skips")
    annotator = models.ForeignKey(
        Annotator, on_delete=models.PROTECT, related_name="skips"
    )
    reason = models.CharField(max_length=10, choices=Reason.choices)
    comment = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            once("skip_once_per_slot", "slot", "annotator"),
            known(
                "skip_reason_known", reason=["broken", "unclear", "upsetting", "other"]
            ),
        ]


class Fault(models.Model):
    """A picture or video that an annotator reports as broken, while judging on."""

    slot = models.ForeignKey(Slot, on_delete=models.CASCADE, related_name="faults")
    annotator = models.ForeignKey(
        Annotator, on_delete=models.PROTECT, related_name="faults"
    )
    side = models.CharField(max_length=5, blank=True)
    shot = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            once("fault_reported_once", "slot", "annotator", "side", "shot"),
            known("fault_side_known", side=["", "only", "left", "right", *"12345"]),
        ]
