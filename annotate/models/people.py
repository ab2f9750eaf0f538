"""Users, members of studies, annotators and their invitations."""

import secrets
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotate.models.studies import Study
from evalcore.models.columns import holds, known, once


class User(AbstractUser):
    """An account that logs in: a study manager or a researcher.

    Superusers manage every study. `is_staff` says that an account may set up studies of
    its own.
    """

    _is_disabled = False

    def set_unusable_password(self) -> None:
        """Set an unusable password."""
        super().set_unusable_password()
        self._is_disabled = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store the account; a new password revokes its API tokens."""
        # What was given, not a stronger hash of the same, as a login stores it.
        given = self._password  # type: ignore[attr-defined]  # not in Django's stubs
        has_new_password = given is not None or self._is_disabled
        super().save(*args, **kwargs)
        self._is_disabled = False
        if has_new_password:
            self.revoke_tokens()

    def revoke_tokens(self) -> None:
        """Revoke every API token."""
        self.api_tokens.filter(revoked_at=None).update(revoked_at=timezone.now())


class StudyMember(models.Model):
    """A user's role in a study: managers run it, researchers read it."""

    class Role(models.TextChoices):
        MANAGER = "manager", _("manager")
        RESEARCHER = "researcher", _("researcher")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=10, choices=Role.choices)

    class Meta:
        constraints = [
            once("member_once_per_study", "study", "user"),
            known("member_role_known", role=["manager", "researcher"]),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} of {self.study}"


def account_if_known() -> "models.ForeignKey[User | None, User | None]":
    """Return a foreign key to an account that may be deleted later."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )


def new_token() -> str:
    return secrets.token_urlsafe(18)


def mark_of(token: str) -> str:
    """Return the replacement for the link of an erased person."""
    return "~" + sha256(token.encode()).hexdigest()[:39]


CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def new_completion_code() -> str:
    """Return a code that an annotator can read aloud and type."""
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(8))


class Annotator(models.Model):
    """A person in one study; `name` is the pseudonym in the tables."""

    class State(models.TextChoices):
        PLANNED = "planned", _("planned")  # has slots, nobody invited yet
        INVITED = "invited", _("invited")
        ACTIVE = "active", _("active")  # has given consent
        FINISHED = "finished", _("finished")
        PAUSED = "paused", _("paused")  # by a rule or a manager; work stays theirs
        FAILED = "failed", _("did not pass the training")
        REVOKED = "revoked", _("removed")

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
    place = models.ForeignKey(
        "JoinLink",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="people",
        help_text="The public link that has a place for this person.",
    )
    consented_at = models.DateTimeField(null=True, blank=True)
    left_at = models.DateTimeField(
        null=True, blank=True, help_text="When the place went to other people."
    )
    declined_at = models.DateTimeField(
        null=True, blank=True, help_text="When the consent was refused."
    )
    consent_version = models.CharField(max_length=20, blank=True)
    instructed_at = models.DateTimeField(null=True, blank=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    completed_at = models.DateTimeField(
        null=True, blank=True, help_text="When the completion code was earned."
    )
    completion_code = models.CharField(
        max_length=12, default=new_completion_code, blank=True
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    withdrawn_at = models.DateTimeField(
        null=True, blank=True, help_text="When the consent was withdrawn."
    )
    answers_withdrawn = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Their answers are to be in no analysis.",
    )
    erased_at = models.DateTimeField(
        null=True, blank=True, help_text="When the person's data were erased."
    )

    class Meta:
        ordering = ["study_id", "name"]
        constraints = [
            once("annotator_name_unique_in_study", "study", "name"),
            known(
                "annotator_state_known",
                state=[
                    "planned",
                    "invited",
                    "active",
                    "finished",
                    "paused",
                    "failed",
                    "revoked",
                ],
            ),
            once(
                "annotator_external_id_unique_in_study",
                "study",
                "external_id",
                where=~Q(external_id=""),
            ),
            holds(
                "annotator_erased_is_nobody",
                Q(erased_at__isnull=True) | Q(external_id="", completion_code=""),
            ),
            holds(
                "annotator_withdrew_answers_and_consent",
                Q(answers_withdrawn=False) | Q(withdrawn_at__isnull=False),
            ),
            holds(
                "annotator_without_place_after_leaving",
                Q(place__isnull=True)
                | Q(left_at__isnull=True, declined_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def most_slots(self) -> int | None:
        """Return the cap of this annotator, else the study's."""
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
    created_by = account_if_known()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True)


class JoinLink(models.Model):
    """A public link; each visitor becomes an annotator with a personal link."""

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
    unknown_parameters = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Names in the link that look like an id, but are not read.",
    )
    created_by = account_if_known()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["study_id", "id"]
        constraints = [holds("join_link_not_overdrawn", Q(joined__lte=F("most")))]

    @property
    def is_full(self) -> bool:
        return self.joined >= self.most

    @property
    def is_open(self) -> bool:
        """Say whether the link has places left while the study is open."""
        return self.closed_at is None and not self.is_full


class Visit(models.Model):
    """A browser in which somebody came through a public link, or asks to come back."""

    annotator = models.ForeignKey(
        Annotator, on_delete=models.CASCADE, related_name="visits"
    )
    browser = models.CharField(
        max_length=64, help_text="Digest of the secret in the browser's cookie."
    )
    session = models.CharField(
        max_length=100, blank=True, help_text="The attempt, as the platform names it."
    )
    platform_study = models.CharField(max_length=100, blank=True)
    submit_to = models.CharField(
        max_length=100,
        blank=True,
        db_default="",
        help_text="The server that takes the code.",
    )
    code = models.CharField(
        max_length=12,
        default=new_completion_code,
        help_text="What somebody who asks to come back tells a manager.",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    admitted_at = models.DateTimeField(
        null=True, blank=True, help_text="Empty: waits for a manager."
    )
    admitted_by = account_if_known()

    class Meta:
        ordering = ["annotator_id", "id"]
        constraints = [
            once("visit_once_per_browser", "annotator", "browser", "session")
        ]
