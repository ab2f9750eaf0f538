"""Accounts: created, given a role and a password by link, and deactivated."""

import logging
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.models import PasswordLink, User
from annotate.models.tokens import digest
from evalcore.database.postgresql import one_at_a_time
from evalcore.serving import first_start

logger = logging.getLogger(__name__)
LINK_DAYS = 7


class AccountError(ValueError):
    """The account cannot be created or changed so; the message says why."""


class Role(models.TextChoices):
    """The rights of an account beyond the studies that it is a member of."""

    EVERY_STUDY = "every", gettext_lazy("manager of every study")
    OWN_STUDIES = "own", gettext_lazy("manager of own studies")
    MEMBER = "member", gettext_lazy("member of single studies")


def role_of(user: User) -> Role:
    """Return the role of an account."""
    if user.is_superuser:
        return Role.EVERY_STUDY
    return Role.OWN_STUDIES if user.is_staff else Role.MEMBER


def give(user: User, role: Role) -> None:
    """Set the flags of a role; the caller stores them."""
    user.is_superuser = role == Role.EVERY_STUDY
    user.is_staff = role != Role.MEMBER


@transaction.atomic
def create_first(user: User) -> None:
    """Store the first account, which manages every study."""
    one_at_a_time("accounts")
    if first_start.has_account():
        raise AccountError(_("This server already has an account. Please log in."))
    give(user, Role.EVERY_STUDY)
    user.save()


@transaction.atomic
def create(name: str, role: Role, *, by: User) -> User:
    """Create an account that has no password yet."""
    user = User(username=name.strip())
    give(user, role)
    try:
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        raise AccountError(" ".join(error.messages)) from error
    user.set_unusable_password()
    user.save()
    _log(f"was created as {role.value}", user, by)
    return user


def issue_link(user: User, *, by: User) -> str:
    """Return the secret of a new link to set a password; earlier ones end.

    The present password works until the link is used.
    """
    if not user.is_active:
        raise AccountError(_("This account is deactivated. Activate it first."))
    if not settings.PASSWORD_LOGIN:
        raise AccountError(
            _("This server has no passwords (PASSWORD_LOGIN=0). People log in by %s.")
            % settings.OIDC_NAME
        )
    token = secrets.token_urlsafe(32)
    PasswordLink.objects.update_or_create(
        user=user,
        defaults={
            "token_hash": digest(token),
            "expires_at": timezone.now() + timedelta(days=LINK_DAYS),
            "used_at": None,
            "created_by": by,
        },
    )
    _log("got a password link", user, by)
    return token


def find_link(token: str) -> PasswordLink | None:
    """Return the link with this secret, also one that does not work any more."""
    if not settings.PASSWORD_LOGIN:
        return None
    links = PasswordLink.objects.select_related("user")
    return links.filter(token_hash=digest(token)).first()


@transaction.atomic
def use_link(link: PasswordLink, password: str) -> bool:
    """Set the password, which ends sessions and API tokens; the link works once.

    Return whether the link was still valid.
    """
    unused = PasswordLink.objects.filter(
        token_hash=link.token_hash,
        used_at__isnull=True,
        expires_at__gt=timezone.now(),
        user__is_active=True,
    )
    if not unused.update(used_at=timezone.now()):
        return False
    link.user.set_password(password)
    link.user.save(update_fields=["password"])
    return True


@transaction.atomic
def change_role(user: User, role: Role, *, by: User) -> None:
    """Give an account another role."""
    if role != Role.EVERY_STUDY:
        _check_others_manage(user)
    give(user, role)
    user.save(update_fields=["is_superuser", "is_staff"])
    _log(f"is now {role.value}", user, by)


@transaction.atomic
def deactivate(user: User, *, by: User) -> None:
    """End an account's access; its studies and what it did stay."""
    _check_others_manage(user)
    user.is_active = False
    user.save(update_fields=["is_active"])
    PasswordLink.objects.filter(user=user).delete()
    end_sessions(user)
    _log("was deactivated", user, by)


def activate(user: User, *, by: User) -> None:
    """Let a deactivated account log in again."""
    user.is_active = True
    user.save(update_fields=["is_active"])
    _log("was activated", user, by)


def _check_others_manage(user: User) -> None:
    one_at_a_time("accounts")
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if user.is_superuser and not others.exists():
        raise AccountError(
            _(
                "%(name)s is the only manager of every study. Give somebody else this "
                "role first."
            )
            % {"name": user.username}
        )


def end_sessions(user: User) -> None:
    """Log an account out everywhere, and revoke its API tokens."""
    for session in Session.objects.all():
        if session.get_decoded().get("_auth_user_id") == str(user.pk):
            session.delete()
    user.revoke_tokens()


def _log(what: str, user: User, by: User) -> None:
    """Log by number: names of erased people must not stay in a log."""
    logger.info("account %s %s, by account %s", user.pk, what, by.pk)
