"""Accounts of those who manage and read studies."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from rest_framework.authtoken.models import Token


class User(AbstractUser):
    """An account that logs in: a study manager or a researcher."""

    _is_disabled = False

    def set_unusable_password(self) -> None:
        """Let nobody log in by a password."""
        super().set_unusable_password()
        self._is_disabled = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store the account; a new password revokes its API token."""
        # What was given, not a stronger hash of the same, as a login stores it.
        given = self._password  # type: ignore[attr-defined]  # not in Django's stubs
        has_new_password = given is not None or self._is_disabled
        super().save(*args, **kwargs)
        self._is_disabled = False
        if has_new_password:
            self.revoke_token()

    def revoke_token(self) -> bool:
        """Let programs in no more by the API token; say whether there was one."""
        deleted, _rows = Token.objects.filter(user=self).delete()
        return bool(deleted)


def account_if_known() -> "models.ForeignKey[User | None, User | None]":
    """Return the field of who did something; it outlives the account."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
