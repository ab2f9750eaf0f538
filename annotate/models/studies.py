"""Studies and their questions."""

from copy import copy
from datetime import datetime
from functools import lru_cache

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import get_language, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from evalcore.models import Benchmark, Output, Story
from evalcore.models.columns import holds, known, once


class Purpose(models.TextChoices):
    """The purpose of a unit: the study itself, or a check of annotators."""

    REAL = "real", pgettext_lazy("purpose", "real")
    TRAINING = "training", pgettext_lazy("purpose", "training")
    GOLD = "gold", pgettext_lazy("purpose", "known-answer check")
    TWIN = "twin", pgettext_lazy("purpose", "degraded copy")
    REPEAT = "repeat", pgettext_lazy("purpose", "repeat")


PURPOSES = ["real", "training", "gold", "twin", "repeat"]


# Checks placed among the real slots, indistinguishable for annotators.
CHECKS = (Purpose.GOLD, Purpose.TWIN, Purpose.REPEAT)


def localised(texts: dict[str, str]) -> str:
    """Return the text in the reader's language, else in English, else any."""
    language = (get_language() or "en").split("-")[0]
    return texts.get(language) or texts.get("en") or next(iter(texts.values()), "")


# Questions of so many studies are kept by each process.
KEPT = 64
# A letter for each output of a unit, in the order of methods' names.
LETTERS = "abcdefghi"
# So many can be shown at once; only imported rankings have more.
MOST_SHOWN = 5
# Where three or more of them stand, from left to right.
PLACES = tuple(str(place) for place in range(1, len(LETTERS) + 1))


class Study(models.Model):
    """One collection of human judgements."""

    class Assignment(models.TextChoices):
        PLANNED = "planned", _("planned for known annotators")
        OPEN = "open", _("open to anyone who joins")

    class State(models.TextChoices):
        DRAFT = "draft", pgettext_lazy("study", "draft")
        OPEN = "open", pgettext_lazy("study", "running")
        PAUSED = "paused", pgettext_lazy("study", "paused")
        CLOSED = "closed", pgettext_lazy("study", "closed")

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.PROTECT, related_name="studies"
    )
    outputs_at_once = models.PositiveSmallIntegerField(
        default=1, help_text="How many outputs of a story are shown at once."
    )
    template = models.CharField(max_length=80, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    assignment = models.CharField(
        max_length=10, choices=Assignment.choices, default=Assignment.PLANNED
    )
    redundancy = models.PositiveSmallIntegerField(help_text="Slots per unit.")
    rounds = models.PositiveSmallIntegerField(default=1)
    languages = models.JSONField(
        default=dict, blank=True, help_text='Slots per unit by language: {"en": 5}.'
    )
    session_size = models.PositiveSmallIntegerField(default=7)
    cap = models.PositiveIntegerField(
        null=True, blank=True, help_text="Most slots that one annotator may fill."
    )
    lease_minutes = models.PositiveSmallIntegerField(default=30)
    seed = models.BigIntegerField(default=0)
    training = models.JSONField(
        default=dict, blank=True, help_text='{"pass_mark": 0.7, "attempts": 2}'
    )
    checks = models.JSONField(
        default=dict, blank=True, help_text='{"per_session": 1, "kinds": [...]}'
    )
    rules = models.JSONField(default=list, blank=True, help_text="Quality rules.")
    adaptive = models.JSONField(
        default=dict, blank=True, help_text="How pairs are chosen; empty: at random."
    )
    presentation = models.JSONField(
        default=dict,
        blank=True,
        help_text='{"same_size": true, "must_watch": true, "must_see": 0.5}',
    )
    recruitment = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text='{"platform": "prolific", "outcomes": {"completed": {"code": ...}}}',
    )
    goals = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        blank=True,
        help_text='Precision asked for: {"mean": 0.2}.',
    )
    trained_on = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        blank=True,
        help_text='Metrics that shaped a method, by its name: {"UNO": ["clip_i"]}.',
    )
    definition = models.TextField(
        blank=True, help_text="The study file (YAML) that it was planned from."
    )
    previous_version = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="next_versions",
    )
    continues = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="follow_ups",
        help_text="The closed study on whose scale a late method is placed.",
    )
    consent = models.JSONField(default=dict, blank=True, help_text='{"en": ...}')
    consent_version = models.CharField(max_length=20, default="1")
    instructions = models.JSONField(default=dict, blank=True, help_text='{"en": ...}')
    text_version = models.PositiveIntegerField(
        default=1, db_default=1, help_text="Raised by each correction of a text."
    )
    balance_report = models.JSONField(default=dict, blank=True)
    deadline = models.DateTimeField(
        null=True, blank=True, help_text="End of the last day for answers."
    )
    archived_at = models.DateTimeField(
        null=True, blank=True, help_text="Hidden from the list, and read-only."
    )
    deletion_asked_at = models.DateTimeField(
        null=True, blank=True, help_text="A worker deletes the study."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    # Long fields that annotators' pages do not need.
    LONG = ("definition", "consent", "instructions", "balance_report")

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at", "slug"]
        constraints = [
            holds(
                "study_shows_one_to_nine",
                Q(outputs_at_once__gte=1, outputs_at_once__lte=len(LETTERS)),
            ),
            known("study_state_known", state=["draft", "open", "paused", "closed"]),
            known("study_assignment_known", assignment=["planned", "open"]),
            holds(
                "study_in_the_archive_is_at_rest",
                Q(archived_at__isnull=True) | Q(state__in=["draft", "closed"]),
            ),
            holds(
                "study_sizes_positive",
                Q(redundancy__gte=1, session_size__gte=1, rounds__gte=1),
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_side_by_side(self) -> bool:
        return self.outputs_at_once > 1

    @cached_property
    def asked(self) -> list["Question"]:
        """Return the questions in order; past the draft, kept until a text changes."""
        if self.state == self.State.DRAFT or self.is_imported:
            return _questions_of(self.pk)
        kept = _kept_questions(self.pk, self.created_at, self.text_version)
        return [copy(question) for question in kept]

    def output_paths(self, above: str = "", below: str = "") -> tuple[str, ...]:
        """Return the lookups of the outputs of a unit, or of what is `below` each."""
        names = (f"output_{letter}" for letter in LETTERS[: self.outputs_at_once])
        return tuple(f"{above}{name}{below}" for name in names)

    @property
    def is_imported(self) -> bool:
        """Return whether the answers were imported; such a study has no plan."""
        return not self.template

    @property
    def is_open(self) -> bool:
        """Say whether annotators arrive one by one and take free slots."""
        return self.assignment == self.Assignment.OPEN

    @property
    def same_size(self) -> bool:
        return bool(self.presentation.get("same_size", True))

    @property
    def must_watch(self) -> bool:
        return bool(self.presentation.get("must_watch", True))

    @property
    def shown_as(self) -> tuple[object, ...]:
        """Return what all pages of its stories share: display settings and texts."""
        return self.pk, self.created_at, self.presentation, self.text_version

    @property
    def must_see(self) -> float:
        """Return the seconds for which each picture must be in sight; 0: no limit."""
        return float(self.presentation.get("must_see", 0))

    @property
    def skip_share(self) -> float:
        """Return the share of a sitting that may be skipped without a comment."""
        return float(self.presentation.get("skip_share", 0.25))

    @property
    def shuffle_questions(self) -> bool:
        return bool(self.presentation.get("shuffle_questions", False))

    @property
    def may_comment(self) -> bool:
        return bool(self.presentation.get("comments", False))

    @property
    def may_comment_on_shots(self) -> bool:
        return bool(self.presentation.get("shot_comments", False))

    @property
    def method_names(self) -> list[str]:
        judged = self.units.filter(purpose=Purpose.REAL).order_by()
        names = judged.values_list(*self.output_paths(below="__method__name"))
        return sorted({name for unit in names.distinct() for name in unit if name})

    @property
    def consent_text(self) -> str:
        return localised(self.consent)

    @property
    def instructions_text(self) -> str:
        return localised(self.instructions)


# Subjects of the two boxes of a checklist's label.
BOXES = {"text": _("in the text"), "video": _("in the picture or video")}


class Question(models.Model):
    """A dimension (Likert) or a criterion (pairwise), with wording and anchors."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="questions")
    key = models.CharField(max_length=80, help_text="`dimension` or `criterion`.")
    kind = models.CharField(
        max_length=20, help_text="One of `annotate.kinds.registry.KINDS`."
    )
    ordinal = models.PositiveSmallIntegerField()
    categories = models.JSONField(
        default=dict, blank=True, help_text="What a checklist's labels are grouped by."
    )
    titles = models.JSONField(default=dict)
    texts = models.JSONField(default=dict)
    help_texts = models.JSONField(default=dict, blank=True)
    anchors = models.JSONField(
        default=dict, blank=True, help_text='{"0": {"en": ..., "zh": ...}, ...}'
    )
    scale_min = models.SmallIntegerField(null=True, blank=True)
    scale_max = models.SmallIntegerField(null=True, blank=True)
    allow_tie = models.BooleanField(default=True)
    metric = models.CharField(
        max_length=100, blank=True, help_text="The metric meant to measure this."
    )
    epsilon = models.FloatField(
        null=True,
        blank=True,
        help_text="How much worse than an annotator the metric may be, from 0 to 1.",
    )
    degradation = models.CharField(
        max_length=20, blank=True, help_text="Which one makes its answer worse."
    )
    example = models.ForeignKey(
        Output,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="A twin degraded so, shown beside its original.",
    )
    example_shots = models.JSONField(
        default=list,
        blank=True,
        help_text="Which shots of it are shown, whether they differ, and which shot "
        "their picture was made for: [[1, true, 2]].",
    )
    stories = models.JSONField(
        default=dict,
        blank=True,
        help_text='Asked of stories with these tags only: {"angle": ["TR"]}.',
    )

    class Meta:
        ordering = ["study_id", "ordinal"]
        constraints = [
            once("question_key_unique_in_study", "study", "key"),
            once("question_ordinal_unique_in_study", "study", "ordinal"),
            holds(
                "question_scale_ordered",
                Q(scale_min__isnull=True, scale_max__isnull=True)
                | Q(scale_min__lt=F("scale_max")),
            ),
            holds(
                "question_epsilon_from_0_to_1",
                Q(epsilon__isnull=True) | Q(epsilon__gte=0, epsilon__lte=1),
            ),
            known(
                "question_degradation_known",
                degradation=["", *Output.Degradation.values],
            ),
            holds(
                "question_example_of_a_degradation",
                Q(example__isnull=True) | ~Q(degradation=""),
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def title(self) -> str:
        return localised(self.titles)

    @property
    def full_title(self) -> str:
        """Return the title; for a checklist's box, with its subject."""
        box = BOXES.get(self.key.partition("|")[2])
        return f"{self.title}: {box}" if box else self.title

    @property
    def category(self) -> str:
        return localised(self.categories)

    @property
    def text(self) -> str:
        return localised(self.texts)

    @property
    def help_text(self) -> str:
        return localised(self.help_texts)

    def is_asked_of(self, story: Story) -> bool:
        """Say whether the question applies to a story, by the story's tags."""
        return story.suits(self.stories)

    @property
    def is_typed(self) -> bool:
        """Say whether a value of the scale is more than one digit."""
        return (self.scale_min or 0) < 0 or (self.scale_max or 0) > 9

    @property
    def steps(self) -> list[tuple[int, str]]:
        """Return each value of the scale with its anchor, lowest first."""
        if self.scale_min is None or self.scale_max is None:
            return []
        return [
            (value, localised(self.anchors.get(str(value), {})))
            for value in range(self.scale_min, self.scale_max + 1)
        ]


def _questions_of(study_id: int) -> list[Question]:
    rows = Question.objects.filter(study=study_id).select_related("example")
    return list(rows.order_by("ordinal"))


@lru_cache(maxsize=KEPT)
def _kept_questions(study_id: int, _made: datetime, _texts: int) -> list[Question]:
    """Return the questions of a study that is past its draft, read once a process.

    Texts are written before their version can be seen, so none is kept too long.
    """
    return _questions_of(study_id)
