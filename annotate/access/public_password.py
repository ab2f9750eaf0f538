"""The demo's password, which everybody knows: it opens nothing but the demo."""

from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from annotate.models import User

PASSWORD = "plumbline-demo"
ACCOUNTS = ("manager", "researcher")


class RefusePublicPassword:
    """Let nobody log in by the public password, unless this is the demo."""

    def authenticate(
        self, request: HttpRequest | None, password: str | None = None, **_given: Any
    ) -> None:
        """Stop the login before other backends compare the password."""
        if password == PASSWORD and not settings.DEMO:
            raise PermissionDenied


def disable_accounts() -> list[str]:
    """Take the public password from the demo's accounts; return their names."""
    disabled = []
    for user in User.objects.filter(username__in=ACCOUNTS).order_by("username"):
        if check_password(PASSWORD, user.password):
            user.set_unusable_password()
            user.save(update_fields=["password"])
            disabled.append(user.username)
    return disabled
