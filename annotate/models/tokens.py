"""API tokens of accounts, and answers kept for repeated requests."""

import secrets
from datetime import timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotate.models.studies import Study
from evalcore.models.columns import known, once

USUAL_DAYS = 365


def digest(secret: str) -> str:
    """Return what is stored of a secret."""
    return sha256(secret.encode()).hexdigest()


class ApiToken(models.Model):
    """A program's right to act for an account; only the secret's hash is stored."""

    class Scope(models.TextChoices):
        READ = "read", _("read")
        WRITE = "write", _("read, and add scores, outputs and reports")
        MANAGE = "manage", _("everything that you can do")

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=80)
    secret_hash = models.CharField(max_length=64, unique=True)
    scope = models.CharField(max_length=10, choices=Scope.choices)
    study = models.ForeignKey(
        Study,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        help_text="Empty: every study of the account.",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: never.")
    last_used_on = models.DateField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            known("api_token_scope_known", scope=["read", "write", "manage"])
        ]

    @classmethod
    def issue(
        cls, days: int | None = USUAL_DAYS, **fields: Any
    ) -> "tuple[ApiToken, str]":
        """Store a token that ends after so many days; return it with its secret."""
        secret = f"plumbline_{secrets.token_urlsafe(32)}"
        expires = None if days is None else timezone.now() + timedelta(days=days)
        made = cls.objects.create(
            secret_hash=digest(secret), expires_at=expires, **fields
        )
        return made, secret

    @property
    def is_valid(self) -> bool:
        return self.revoked_at is None and not self.has_expired

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    def allows(self, scope: str, study: Study | None = None) -> bool:
        """Say whether a program may do what needs a scope, in a study or beyond all."""
        order = self.Scope.values
        if order.index(scope) > order.index(self.scope):
            return False
        return self.study_id is None or (
            study is not None and study.pk == self.study_id
        )

    def revoke(self) -> None:
        """Revoke the token; the time of an earlier revocation stays."""
        if self.revoked_at is None:
            self.revoked_at = timezone.now()
            self.save(update_fields=["revoked_at"])

    def note_use(self) -> None:
        """Store the day, once a day."""
        today = timezone.now().date()
        if self.last_used_on != today:
            ApiToken.objects.filter(pk=self.pk).update(last_used_on=today)


class KeptAnswer(models.Model):
    """The answer to a request with an `Idempotency-Key`; empty while it is in work."""

    caller = models.CharField(
        max_length=60, help_text="The account or annotator, by number."
    )
    key = models.CharField(max_length=200)
    request_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(blank=True)
    headers = models.JSONField(default=dict)

    class Meta:
        constraints = [once("kept_answer_once_per_key", "caller", "key")]
