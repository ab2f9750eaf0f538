"""People and their answers: studies, questions, units, slots, ratings, choices.

All models of the app stand in this one file, where Django and its readers look.
"""

import secrets

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import get_language, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from evalcore.models import Benchmark, Output, Story


def new_code() -> str:
    """Return an unguessable code for a slot's address."""
    return secrets.token_urlsafe(9)


def new_token() -> str:
    """Return an unguessable token for an invitation link."""
    return secrets.token_urlsafe(18)


def new_completion_code() -> str:
    """Return a code that an annotator can read aloud and type."""
    alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    return "".join(secrets.choice(alphabet) for _ in range(8))


def localised(texts: dict[str, str]) -> str:
    """Return the text in the reader's language, else in English, else any."""
    language = (get_language() or "en").split("-")[0]
    return texts.get(language) or texts.get("en") or next(iter(texts.values()), "")


class User(AbstractUser):
    """An account that logs in: a study manager or a researcher.

    Annotators have no account: their invitation link is their identity
    (see `Annotator`).
    """


class Study(models.Model):
    """One collection of human judgements."""

    class Protocol(models.TextChoices):
        LIKERT = "likert"
        PAIRWISE = "pairwise"

    class State(models.TextChoices):
        DRAFT = "draft", pgettext_lazy("study", "draft")
        OPEN = "open", pgettext_lazy("study", "open")
        PAUSED = "paused", pgettext_lazy("study", "paused")
        CLOSED = "closed", pgettext_lazy("study", "closed")

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.PROTECT, related_name="studies"
    )
    protocol = models.CharField(max_length=10, choices=Protocol.choices)
    template = models.CharField(max_length=80, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    redundancy = models.PositiveSmallIntegerField(help_text="Slots per unit.")
    rounds = models.PositiveSmallIntegerField(default=1)
    session_size = models.PositiveSmallIntegerField(default=7)
    lease_minutes = models.PositiveSmallIntegerField(default=30)
    seed = models.BigIntegerField(default=0)
    consent = models.JSONField(default=dict, blank=True, help_text='{"en": ...}')
    consent_version = models.CharField(max_length=20, default="1")
    instructions = models.JSONField(default=dict, blank=True, help_text='{"en": ...}')
    balance_report = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at", "slug"]
        constraints = [
            models.CheckConstraint(
                condition=Q(protocol__in=["likert", "pairwise"]),
                name="study_protocol_known",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["draft", "open", "paused", "closed"]),
                name="study_state_known",
            ),
            models.CheckConstraint(
                condition=Q(redundancy__gte=1, session_size__gte=1, rounds__gte=1),
                name="study_sizes_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_pairwise(self) -> bool:
        return self.protocol == self.Protocol.PAIRWISE

    @property
    def method_names(self) -> list[str]:
        """Return the names of the methods that are judged."""
        first = self.units.values_list("output_a__method__name", flat=True)
        second = self.units.filter(output_b__isnull=False).values_list(
            "output_b__method__name", flat=True
        )
        return sorted(set(first) | set(second))

    @property
    def consent_text(self) -> str:
        return localised(self.consent)

    @property
    def instructions_text(self) -> str:
        return localised(self.instructions)


class StudyMember(models.Model):
    """What a user may do in a study: managers run it, researchers read it."""

    class Role(models.TextChoices):
        MANAGER = "manager"
        RESEARCHER = "researcher"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=10, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "user"], name="member_once_per_study"
            ),
            models.CheckConstraint(
                condition=Q(role__in=["manager", "researcher"]),
                name="member_role_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} of {self.study}"


class Question(models.Model):
    """A dimension (Likert) or a criterion (pairwise), with wording and anchors."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="questions")
    key = models.CharField(max_length=80, help_text="`dimension` or `criterion`.")
    ordinal = models.PositiveSmallIntegerField()
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

    class Meta:
        ordering = ["study", "ordinal"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "key"], name="question_key_unique_in_study"
            ),
            models.UniqueConstraint(
                fields=["study", "ordinal"], name="question_ordinal_unique_in_study"
            ),
            models.CheckConstraint(
                condition=Q(scale_min__isnull=True, scale_max__isnull=True)
                | Q(scale_min__lt=F("scale_max")),
                name="question_scale_ordered",
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def title(self) -> str:
        return localised(self.titles)

    @property
    def text(self) -> str:
        return localised(self.texts)

    @property
    def help_text(self) -> str:
        return localised(self.help_texts)

    @property
    def steps(self) -> list[tuple[int, str]]:
        """Return each value of the scale with its anchor, lowest first."""
        if self.scale_min is None or self.scale_max is None:
            return []
        return [
            (value, localised(self.anchors.get(str(value), {})))
            for value in range(self.scale_min, self.scale_max + 1)
        ]


class Unit(models.Model):
    """What is shown at once: one output, or one unordered pair of outputs.

    A pair is stored with its methods in alphabetical order (`output_a` first), so
    that the two orders cannot both exist.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="units")
    story = models.ForeignKey(Story, on_delete=models.PROTECT, related_name="units")
    output_a = models.ForeignKey(Output, on_delete=models.PROTECT, related_name="+")
    output_b = models.ForeignKey(
        Output, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )

    class Meta:
        ordering = ["study", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "output_a"],
                condition=Q(output_b__isnull=True),
                name="unit_once_per_output",
            ),
            models.UniqueConstraint(
                fields=["study", "output_a", "output_b"],
                condition=Q(output_b__isnull=False),
                name="unit_once_per_pair",
            ),
            models.CheckConstraint(
                condition=Q(output_b__isnull=True) | ~Q(output_b=F("output_a")),
                name="unit_outputs_differ",
            ),
        ]


class Annotator(models.Model):
    """A person in one study; `name` is the pseudonym in the three tables.

    See docs/decisions/0001-annotators-have-no-account.md.
    """

    class State(models.TextChoices):
        PLANNED = "planned", _("planned")  # has slots, nobody invited yet
        INVITED = "invited", _("invited")
        ACTIVE = "active", _("active")  # has given consent
        FINISHED = "finished", _("finished")
        REVOKED = "revoked", _("revoked")

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="annotators"
    )
    name = models.CharField(max_length=100)
    state = models.CharField(
        max_length=10, choices=State.choices, default=State.PLANNED
    )
    is_simulated = models.BooleanField(
        default=False, help_text="Answers come from a program, not from a person."
    )
    language = models.CharField(max_length=10, blank=True)
    consented_at = models.DateTimeField(null=True, blank=True)
    consent_version = models.CharField(max_length=20, blank=True)
    instructed_at = models.DateTimeField(null=True, blank=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    completion_code = models.CharField(max_length=12, default=new_completion_code)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["study", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name"], name="annotator_name_unique_in_study"
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=["planned", "invited", "active", "finished", "revoked"]
                ),
                name="annotator_state_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Invitation(models.Model):
    """A link that lets one annotator in; the link is the annotator's identity."""

    annotator = models.OneToOneField(
        Annotator, on_delete=models.CASCADE, related_name="invitation"
    )
    token = models.CharField(max_length=40, unique=True, default=new_token)
    note = models.CharField(
        max_length=200, blank=True, help_text="Seen by managers only."
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True)


class Slot(models.Model):
    """One required judgement of a unit.

    A slot is planned for an annotator (or free for anyone, when `annotator` is
    empty), leased while the annotator works on it, and submitted once.
    `ordinal` counts the redundancy; a surplus slot, which always is somebody's, has
    none.
    """

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("slot", "open")
        LEASED = "leased", pgettext_lazy("slot", "leased")
        SUBMITTED = "submitted", pgettext_lazy("slot", "submitted")
        EXCLUDED = "excluded", pgettext_lazy("slot", "excluded")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="slots")
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="slots")
    code = models.CharField(max_length=20, unique=True, default=new_code)
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
    claimed = models.BooleanField(
        default=False, help_text="Taken over by its annotator, not planned for them."
    )
    lease_until = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    seconds = models.FloatField(null=True, blank=True, help_text="Time on the page.")

    class Meta:
        ordering = ["unit", "round", "ordinal"]
        indexes = [
            models.Index(fields=["study", "state"], name="slot_by_state"),
            models.Index(fields=["annotator", "position"], name="slot_by_position"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["unit", "round", "ordinal"],
                condition=Q(ordinal__isnull=False),
                name="slot_ordinal_unique",
            ),
            models.UniqueConstraint(
                fields=["unit", "round", "annotator"],
                condition=Q(annotator__isnull=False),
                name="slot_once_per_annotator_and_unit",
            ),
            models.UniqueConstraint(
                fields=["annotator", "position"],
                condition=Q(position__isnull=False),
                name="slot_position_unique_for_annotator",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["open", "leased", "submitted", "excluded"]),
                name="slot_state_known",
            ),
            models.CheckConstraint(
                condition=Q(state="open")
                | Q(annotator__isnull=False, started_at__isnull=False),
                name="slot_started_by_someone",
            ),
            models.CheckConstraint(
                condition=~Q(state="leased") | Q(lease_until__isnull=False),
                name="slot_lease_has_deadline",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["open", "leased"], submitted_at__isnull=True)
                | Q(state__in=["submitted", "excluded"], submitted_at__isnull=False),
                name="slot_submitted_has_time",
            ),
            models.CheckConstraint(
                condition=Q(ordinal__isnull=False) | Q(annotator__isnull=False),
                name="slot_surplus_is_held",
            ),
        ]


class Answer(models.Model):
    """What ratings and choices share: who, when, and which revision.

    A change is a new row with the next revision; `is_current` marks the newest.
    Answers belong to the annotator who gave them: another annotator who takes
    over the slot starts afresh.
    """

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

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(
                fields=["slot", "question", "annotator", "revision"],
                name="%(class)s_revision_unique",
            ),
            models.UniqueConstraint(
                fields=["slot", "question", "annotator"],
                condition=Q(is_current=True),
                name="%(class)s_one_current",
            ),
            models.UniqueConstraint(
                fields=["slot", "question", "annotator", "client_key"],
                condition=~Q(client_key=""),
                name="%(class)s_key_press_once",
            ),
        ]


class Rating(Answer):
    """An integer on the question's scale; the bounds are copied into the row."""

    value = models.SmallIntegerField()
    scale_min = models.SmallIntegerField()
    scale_max = models.SmallIntegerField()

    class Meta(Answer.Meta):
        constraints = [
            *Answer.Meta.constraints,
            models.CheckConstraint(
                condition=Q(value__gte=F("scale_min"), value__lte=F("scale_max")),
                name="rating_in_scale",
            ),
        ]


class Choice(Answer):
    """Which of the pair is better: a or b in the unit's order, or a tie.

    `a_is_left` is copied from the slot: what the annotator saw when answering.
    """

    class Value(models.TextChoices):
        A = "a"
        B = "b"
        TIE = "tie"
        BOTH_BAD = "both_bad"

    value = models.CharField(max_length=8, choices=Value.choices)
    a_is_left = models.BooleanField(null=True)

    class Meta(Answer.Meta):
        constraints = [
            *Answer.Meta.constraints,
            models.CheckConstraint(
                condition=Q(value__in=["a", "b", "tie", "both_bad"]),
                name="choice_value_known",
            ),
        ]


class Exclusion(models.Model):
    """A submitted slot left out of the analysis, with reason and author."""

    slot = models.ForeignKey(Slot, on_delete=models.CASCADE, related_name="exclusions")
    reason = models.CharField(max_length=300)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    undone_at = models.DateTimeField(null=True, blank=True)
    replacement = models.ForeignKey(
        Slot, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["slot"],
                condition=Q(undone_at__isnull=True),
                name="exclusion_one_in_force",
            ),
            models.CheckConstraint(
                condition=~Q(reason=""), name="exclusion_has_reason"
            ),
        ]


class Event(models.Model):
    """One line of the study's log; rows are added, never changed."""

    class Kind(models.TextChoices):
        STUDY_PLANNED = "study planned", _("study planned")
        STUDY_LAUNCHED = "study launched", _("study launched")
        STUDY_PAUSED = "study paused", _("study paused")
        STUDY_CLOSED = "study closed", _("study closed")
        ANSWERS_IMPORTED = "answers imported", _("answers imported")
        ANNOTATOR_INVITED = "annotator invited", _("annotator invited")
        ANNOTATOR_ADDED = "annotator added", _("annotator added")
        ANNOTATOR_REVOKED = "annotator revoked", _("annotator revoked")
        ANNOTATOR_FINISHED = "annotator finished", _("annotator finished")
        LINK_REPLACED = "link replaced", _("link replaced")
        CONSENT_GIVEN = "consent given", _("consent given")
        SLOT_TAKEN = "slot taken", _("slot taken")
        SLOT_SUBMITTED = "slot submitted", _("slot submitted")
        SLOT_EXCLUDED = "slot excluded", _("slot excluded")
        EXCLUSION_UNDONE = "exclusion undone", _("exclusion undone")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(default=timezone.now, editable=False)
    kind = models.CharField(max_length=40, choices=Kind.choices)
    annotator = models.ForeignKey(
        Annotator, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
    slot = models.ForeignKey(
        Slot, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["study", "id"]
        indexes = [models.Index(fields=["study", "kind"], name="event_by_kind")]
