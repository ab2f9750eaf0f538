"""The link with which the person who starts a server creates its first account.

The server prints it. Being on the same machine is no proof: behind a proxy everybody
seems to be, and other people may have an account on that machine.
"""

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import signing

SALT = "plumbline.first-start"
HOURS = 24


def has_account() -> bool:
    """Say whether somebody manages every study, so that the first start is over."""
    if not settings.PASSWORD_LOGIN:  # accounts come from the institution
        return True
    return get_user_model().objects.filter(is_superuser=True).exists()


def new_token() -> str:
    """Return a signed token for the link."""
    return signing.dumps("first account", salt=SALT)


def is_valid(token: str) -> bool:
    """Say whether this server has made the token within the last day."""
    try:
        signing.loads(token, salt=SALT, max_age=HOURS * 3600)
    except signing.BadSignature:
        return False
    return True


def instructions(base: str) -> str:
    """Return what a server without an account prints at its start."""
    return (
        f"There is no account yet. Open this link within {HOURS} hours to create the "
        f"first one:\n    {base}/first-start/{new_token()}/"
    )
