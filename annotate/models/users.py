"""Accounts of those who manage and read studies."""

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """An account that logs in: a study manager or a researcher.

    Annotators have no account: their invitation link is their identity
    (see `Annotator`).
    """


def account_if_known() -> "models.ForeignKey[User | None, User | None]":
    """Return the field of who did something; it outlives the account."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
