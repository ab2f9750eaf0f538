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

from annotate.checking import findings
from evalcore.models import Benchmark, Output, Story


def new_code() -> str:
    """Return an unguessable code for a slot's address."""
    return secrets.token_urlsafe(9)


def new_token() -> str:
    """Return an unguessable token for an invitation link."""
    return secrets.token_urlsafe(18)


def new_draw() -> int:
    """Return a slot's place in the random order in which free slots are handed out."""
    return secrets.randbelow(2**31)


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


class Purpose(models.TextChoices):
    """What a unit is judged for: the study itself, or to see how somebody judges."""

    REAL = "real", pgettext_lazy("purpose", "real")
    TRAINING = "training", pgettext_lazy("purpose", "training")
    GOLD = "gold", pgettext_lazy("purpose", "gold")
    TWIN = "twin", pgettext_lazy("purpose", "twin")
    REPEAT = "repeat", pgettext_lazy("purpose", "repeat")


PURPOSES = ["real", "training", "gold", "twin", "repeat"]
# What is laid among the real slots, so that annotators cannot tell the difference.
CHECKS = (Purpose.GOLD, Purpose.TWIN, Purpose.REPEAT)


class Study(models.Model):
    """One collection of human judgements."""

    class Protocol(models.TextChoices):
        LIKERT = "likert"
        PAIRWISE = "pairwise"
        CHECKLIST = "checklist"

    class Assignment(models.TextChoices):
        PLANNED = "planned", _("planned for known annotators")
        OPEN = "open", _("open to whoever arrives")

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
        help_text='{"same_size": true, "must_watch": true, "comments": false}',
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
                condition=Q(protocol__in=["likert", "pairwise", "checklist"]),
                name="study_protocol_known",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["draft", "open", "paused", "closed"]),
                name="study_state_known",
            ),
            models.CheckConstraint(
                condition=Q(assignment__in=["planned", "open"]),
                name="study_assignment_known",
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
    def is_checklist(self) -> bool:
        return self.protocol == self.Protocol.CHECKLIST

    @property
    def is_open(self) -> bool:
        """Say whether annotators arrive one by one and take free slots."""
        return self.assignment == self.Assignment.OPEN

    @property
    def same_size(self) -> bool:
        """Say whether pictures and videos of all methods are shown in one size."""
        return bool(self.presentation.get("same_size", True))

    @property
    def must_watch(self) -> bool:
        """Say whether videos are seen to the end before answers count."""
        return bool(self.presentation.get("must_watch", True))

    @property
    def may_comment(self) -> bool:
        """Say whether annotators may write a comment on a story."""
        return bool(self.presentation.get("comments", False))

    @property
    def method_names(self) -> list[str]:
        """Return the names of the methods that are judged."""
        judged = self.units.filter(purpose=Purpose.REAL)
        first = judged.values_list("output_a__method__name", flat=True)
        second = judged.filter(output_b__isnull=False).values_list(
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


# What the two boxes of a checklist's label are about.
BOXES = {"text": _("in the text"), "video": _("in the picture or video")}


class Question(models.Model):
    """A dimension (Likert) or a criterion (pairwise), with wording and anchors.

    In a checklist it is one box of a label, asked of every shot: its key is
    `label|text` or `label|video`, and its scale 0 to 1.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="questions")
    key = models.CharField(max_length=80, help_text="`dimension` or `criterion`.")
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
    stories = models.JSONField(
        default=dict,
        blank=True,
        help_text='Asked of stories with these tags only: {"angle": ["TR"]}.',
    )

    class Meta:
        ordering = ["study_id", "ordinal"]
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
    def full_title(self) -> str:
        """Return the title; of a checklist's box, with which of the two it is."""
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
        """Say whether this is asked of a story, by the story's tags."""
        return all(
            tag not in story.tags or str(story.tags[tag]) in values
            for tag, values in self.stories.items()
        )

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


class Annotator(models.Model):
    """A person in one study; `name` is the pseudonym in the three tables.

    See docs/decisions/0001-annotators-have-no-account.md.
    """

    class State(models.TextChoices):
        PLANNED = "planned", _("planned")  # has slots, nobody invited yet
        INVITED = "invited", _("invited")
        ACTIVE = "active", _("active")  # has given consent
        FINISHED = "finished", _("finished")
        PAUSED = "paused", _("paused")  # by a rule or a manager; work stays theirs
        FAILED = "failed", _("not admitted")  # did not pass the training round
        REVOKED = "revoked", _("revoked")

    STOPPED = (State.PAUSED, State.FAILED, State.REVOKED)

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
    external_id = models.CharField(
        max_length=100, blank=True, help_text="Who this is elsewhere, if known."
    )
    cap = models.PositiveIntegerField(
        null=True, blank=True, help_text="Most slots to fill; empty: the study's."
    )
    training_attempts = models.PositiveSmallIntegerField(default=0)
    trained_at = models.DateTimeField(null=True, blank=True)
    consented_at = models.DateTimeField(null=True, blank=True)
    consent_version = models.CharField(max_length=20, blank=True)
    instructed_at = models.DateTimeField(null=True, blank=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    completion_code = models.CharField(max_length=12, default=new_completion_code)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["study_id", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name"], name="annotator_name_unique_in_study"
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "planned",
                        "invited",
                        "active",
                        "finished",
                        "paused",
                        "failed",
                        "revoked",
                    ]
                ),
                name="annotator_state_known",
            ),
            models.UniqueConstraint(
                fields=["study", "external_id"],
                condition=~Q(external_id=""),
                name="annotator_external_id_unique_in_study",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def most_slots(self) -> int | None:
        """Return the cap that holds for this annotator: their own, or the study's."""
        return self.cap or self.study.cap


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


class JoinLink(models.Model):
    """An open link: whoever opens it becomes an annotator with a link of their own."""

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="join_links"
    )
    token = models.CharField(max_length=40, unique=True, default=new_token)
    language = models.CharField(max_length=10, blank=True)
    most = models.PositiveIntegerField(help_text="Most people who may join.")
    joined = models.PositiveIntegerField(default=0)
    cap = models.PositiveIntegerField(
        null=True, blank=True, help_text="Most slots of each; empty: the study's."
    )
    any_device = models.BooleanField(
        default=False,
        help_text="Whoever joined goes on by the platform's id on any device.",
    )
    note = models.CharField(max_length=200, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["study_id", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(joined__lte=F("most")), name="join_link_not_overdrawn"
            )
        ]

    @property
    def is_full(self) -> bool:
        return self.joined >= self.most

    @property
    def is_open(self) -> bool:
        """Say whether somebody can still join by it while the study is open."""
        return self.closed_at is None and not self.is_full


class Slot(models.Model):
    """One required judgement of a unit.

    A slot is planned for an annotator (or free for anyone, when `annotator` is
    empty), leased while the annotator works on it, and submitted once. `ordinal`
    counts the redundancy. Without ordinal are surplus slots (real, and always
    somebody's), withdrawn ones, and those that check an annotator (`purpose`).

    Free slots are handed out by `level` (the how-manieth answer of its unit a slot is)
    and in the random order of `draw`.
    """

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("slot", "open")
        LEASED = "leased", pgettext_lazy("slot", "leased")
        SUBMITTED = "submitted", pgettext_lazy("slot", "submitted")
        EXCLUDED = "excluded", pgettext_lazy("slot", "excluded")
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
    comment = models.TextField(
        blank=True, help_text="What the annotator wrote, where the study asks for it."
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
            models.UniqueConstraint(
                fields=["unit", "round", "ordinal"],
                condition=Q(ordinal__isnull=False),
                name="slot_ordinal_unique",
            ),
            models.UniqueConstraint(
                fields=["unit", "round", "annotator"],
                condition=Q(
                    annotator__isnull=False, purpose__in=["real", "gold", "twin"]
                ),
                name="slot_once_per_annotator_and_unit",
            ),
            models.UniqueConstraint(
                fields=["annotator", "position"],
                condition=Q(position__isnull=False),
                name="slot_position_unique_for_annotator",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=["open", "leased", "submitted", "excluded", "withdrawn"]
                ),
                name="slot_state_known",
            ),
            models.CheckConstraint(
                condition=Q(purpose__in=PURPOSES), name="slot_purpose_known"
            ),
            models.CheckConstraint(
                condition=Q(purpose="real") | Q(ordinal__isnull=True),
                name="slot_check_has_no_ordinal",
            ),
            models.CheckConstraint(
                condition=Q(purpose="repeat") ^ Q(repeat_of__isnull=True),
                name="slot_repeat_names_its_original",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["open", "withdrawn"])
                | Q(annotator__isnull=False, started_at__isnull=False),
                name="slot_started_by_someone",
            ),
            models.CheckConstraint(
                condition=~Q(state="leased") | Q(lease_until__isnull=False),
                name="slot_lease_has_deadline",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=["open", "leased", "withdrawn"], submitted_at__isnull=True
                )
                | Q(state__in=["submitted", "excluded"], submitted_at__isnull=False),
                name="slot_submitted_has_time",
            ),
            models.CheckConstraint(
                condition=Q(ordinal__isnull=False)
                | Q(annotator__isnull=False)
                | Q(state="withdrawn"),
                name="slot_surplus_is_held",
            ),
            models.CheckConstraint(
                condition=~Q(state="withdrawn") | Q(ordinal__isnull=True),
                name="slot_withdrawn_has_no_ordinal",
            ),
        ]


class Skip(models.Model):
    """An annotator who would not judge a unit, and why; they never get it again."""

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
            models.UniqueConstraint(
                fields=["slot", "annotator"], name="skip_once_per_slot"
            ),
            models.CheckConstraint(
                condition=Q(reason__in=["broken", "unclear", "upsetting", "other"]),
                name="skip_reason_known",
            ),
        ]


class Fault(models.Model):
    """A picture or video that an annotator reports as broken, while judging on.

    `side` is where it stood (only, left, right), or empty for a character's picture;
    `shot` its shot's number, 0 for a video.
    """

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
            models.UniqueConstraint(
                fields=["slot", "annotator", "side", "shot"], name="fault_reported_once"
            ),
            models.CheckConstraint(
                condition=Q(side__in=["", "only", "left", "right"]),
                name="fault_side_known",
            ),
        ]


def answer_constraints(name: str, *also: str) -> list[models.UniqueConstraint]:
    """Return what holds for the answers to a question (and to what `also` says)."""
    key = ["slot", "question", "annotator", *also]
    return [
        models.UniqueConstraint(
            fields=[*key, "revision"], name=f"{name}_revision_unique"
        ),
        models.UniqueConstraint(
            fields=key, condition=Q(is_current=True), name=f"{name}_one_current"
        ),
        models.UniqueConstraint(
            fields=[*key, "client_key"],
            condition=~Q(client_key=""),
            name=f"{name}_key_press_once",
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


class Rating(Answer):
    """An integer on the question's scale; the bounds are copied into the row.

    `shot` is the number of the shot that a checklist's box is about, else 0.
    """

    value = models.SmallIntegerField()
    scale_min = models.SmallIntegerField()
    scale_max = models.SmallIntegerField()
    shot = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            *answer_constraints("rating", "shot"),
            models.CheckConstraint(
                condition=Q(value__gte=F("scale_min"), value__lte=F("scale_max")),
                name="rating_in_scale",
            ),
        ]


class Look(models.Model):
    """The annotator's word on a shot of a checklist: looked at, and ticked what fits.

    Without it the shot's boxes are no answers.
    """

    slot = models.ForeignKey(Slot, on_delete=models.PROTECT, related_name="looks")
    annotator = models.ForeignKey(
        Annotator, on_delete=models.PROTECT, related_name="looks"
    )
    shot = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["slot", "annotator", "shot"], name="look_once_per_shot"
            )
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

    class Meta:
        constraints = [
            *answer_constraints("choice"),
            models.CheckConstraint(
                condition=Q(value__in=["a", "b", "tie", "both_bad"]),
                name="choice_value_known",
            ),
        ]


class AnalysisView(models.Model):
    """A named way to look at a study's answers; exclusions hide answers from views.

    Every study has the view `main`, which leaves every exclusion out, and `everything`,
    from which nothing is hidden.
    """

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="analysis_views"
    )
    key = models.SlugField(max_length=40)
    title = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["study_id", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "key"], name="analysis_view_key_unique_in_study"
            )
        ]

    def __str__(self) -> str:
        return self.key


class Exclusion(models.Model):
    """A submitted slot left out of analyses, with reason and author.

    The author is a user, or one of the study's quality rules. The answers are hidden
    from `views`.
    """

    slot = models.ForeignKey(Slot, on_delete=models.CASCADE, related_name="exclusions")
    views = models.ManyToManyField(AnalysisView, related_name="exclusions")
    rule = models.CharField(max_length=40, blank=True)
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


class Flag(models.Model):
    """What a quality rule found about an annotator, and what was done."""

    class Action(models.TextChoices):
        NOTE = "note", pgettext_lazy("flag", "note")
        WARN = "warn", pgettext_lazy("flag", "warning")
        PAUSE = "pause", pgettext_lazy("flag", "pause")
        EXCLUDE = "exclude", pgettext_lazy("flag", "exclusion")

    annotator = models.ForeignKey(
        Annotator, on_delete=models.CASCADE, related_name="flags"
    )
    rule = models.CharField(max_length=40)
    signal = models.CharField(max_length=20)
    action = models.CharField(max_length=10, choices=Action.choices)
    value = models.FloatField(null=True)
    n = models.PositiveIntegerField()
    finding = models.JSONField(
        default=dict, help_text="What was found; empty in flags of older versions."
    )
    text = models.CharField(max_length=300, help_text="The finding, in English.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    shown_at = models.DateTimeField(
        null=True, blank=True, help_text="When the annotator read the warning."
    )
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["annotator", "rule"],
                condition=Q(resolved_at__isnull=True),
                name="flag_one_in_force",
            ),
            models.CheckConstraint(
                condition=Q(action__in=["note", "warn", "pause", "exclude"]),
                name="flag_action_known",
            ),
        ]

    @property
    def sentence(self) -> str:
        """Return what was found, in the reader's language where that is known."""
        return findings.sentence(self.finding) if self.finding else self.text

    @property
    def brief(self) -> str:
        """Return the same without what is expected."""
        return findings.brief(self.finding) if self.finding else self.text


class Snapshot(models.Model):
    """What takes long to compute about a study, as of an event of its log."""

    study = models.OneToOneField(
        Study, on_delete=models.CASCADE, related_name="snapshot"
    )
    event = models.PositiveBigIntegerField(default=0)
    at = models.DateTimeField(default=timezone.now)
    seconds = models.FloatField(default=0)
    data = models.JSONField(default=dict)


class EventQuerySet(models.QuerySet):
    """Events are added and read; nothing else."""

    def update(self, **_changes: object) -> int:
        raise TypeError("Events are never changed.")


class Event(models.Model):
    """One line of the study's log; rows are added, never changed.

    What happened to slots can be replayed (`history.replaying`). An event on many slots
    at once lists them in `details`.
    """

    class Kind(models.TextChoices):
        STUDY_PLANNED = "study planned", _("study planned")
        STUDY_EXTENDED = "study extended", _("study extended")
        STUDY_EDITED = "study edited", _("study edited")
        STUDY_LAUNCHED = "study launched", _("study launched")
        STUDY_PAUSED = "study paused", _("study paused")
        STUDY_CLOSED = "study closed", _("study closed")
        ANSWERS_IMPORTED = "answers imported", _("answers imported")
        ANNOTATOR_INVITED = "annotator invited", _("annotator invited")
        ANNOTATOR_ADDED = "annotator added", _("annotator added")
        ANNOTATOR_JOINED = "annotator joined", _("annotator joined")
        ANNOTATOR_PAUSED = "annotator paused", _("annotator paused")
        ANNOTATOR_RESUMED = "annotator resumed", _("annotator resumed")
        ANNOTATOR_FAILED = "annotator not admitted", _("annotator not admitted")
        TRAINING_PASSED = "training passed", _("training passed")
        SECOND_LINK = "second link opened", _("second link opened")
        FLAG_RAISED = "flag raised", _("flag raised")
        FLAG_RESOLVED = "flag resolved", _("flag resolved")
        JOIN_LINK_MADE = "join link made", _("join link made")
        JOIN_LINK_CLOSED = "join link closed", _("join link closed")
        STOPPED_EARLY = "stop rule met", _("stop rule met")
        REPORT_ASKED = "report asked for", _("report asked for")
        ANNOTATOR_REVOKED = "annotator revoked", _("annotator revoked")
        ANNOTATOR_FINISHED = "annotator finished", _("annotator finished")
        LINK_REPLACED = "link replaced", _("link replaced")
        CONSENT_GIVEN = "consent given", _("consent given")
        SLOTS_LISTED = "slots listed", _("slots listed")
        SLOTS_ASSIGNED = "slots assigned", _("slots assigned")
        SLOT_TAKEN = "slot taken", _("slot taken")
        SLOT_EXPIRED = "lease expired", _("lease expired")
        SLOT_SKIPPED = "slot skipped", _("slot skipped")
        SLOT_FREED = "slot freed", _("slot freed")
        SLOT_OPENED = "slot opened", _("slot opened")
        SLOT_WITHDRAWN = "slot withdrawn", _("slot withdrawn")
        SLOT_SURPLUS = "slot surplus", _("slot made surplus")
        SLOT_LATE = "late answer kept", _("late answer kept")
        SLOT_SUBMITTED = "slot submitted", _("slot submitted")
        SLOT_EXCLUDED = "slot excluded", _("slot excluded")
        EXCLUSION_UNDONE = "exclusion undone", _("exclusion undone")

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="events", db_index=False
    )
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

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["study_id", "id"]
        indexes = [
            models.Index(fields=["study", "id"], name="event_in_order"),
            models.Index(fields=["study", "kind"], name="event_by_kind"),
        ]

    def save(self, *args: object, **kwargs: object) -> None:
        if not self._state.adding:
            raise TypeError("Events are never changed.")
        super().save(*args, **kwargs)
