"""Accounts of those who manage and read studies."""

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """An account that logs in: a study manager or a researcher.

    Annotators have no account: their invitation link is their identity
    (see `Annotator`).
    """
