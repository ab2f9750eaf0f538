"""Search, export and erasure of accounts."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from axes.models import AccessAttempt, AccessLog
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import Q
from django.forms.models import model_to_dict

from annotate.access.accounts import end_sessions
from annotate.models import Annotator, Event, Identity, PasswordLink, StudyMember, User
from evalcore.models import BenchmarkMember


class AccountError(ValueError):
    """The account cannot be erased; the message says why."""


def find(text: str) -> Iterator[str]:
    """Yield the places of a name, e-mail or id, or a part of it."""
    people = Annotator.objects.filter(
        Q(external_id__icontains=text)
        | Q(invitation__note__icontains=text)
        | Q(study__template="", name__icontains=text)  # it came with a file
    )
    for person in people.select_related("study").order_by("study__slug", "name"):
        yield f"{person.study.slug} {person.name}"
    named = ("username", "email", "first_name", "last_name")
    either = Q()
    for name in named:
        either |= Q(**{f"{name}__icontains": text})
    for user in User.objects.filter(either).order_by("username"):
        yield f"account {user.username}"


def record(user: User) -> dict[str, Any]:
    """Return all data of an account except its credentials."""
    own = model_to_dict(user, exclude=["password", "groups", "user_permissions"])
    seen = AccessLog.objects.filter(username=user.username).order_by("pk")
    missed = AccessAttempt.objects.filter(username=user.username).order_by("pk")
    visits = ("attempt_time", "ip_address", "user_agent", "path_info")
    done = Event.objects.filter(user=user).order_by("pk")
    return {
        "account": own | {"date_joined": user.date_joined},
        "studies": list(user.memberships.values("study__slug", "role")),
        "benchmarks": list(
            BenchmarkMember.objects.filter(user=user).values("benchmark__slug", "role")
        ),
        "logins_by_institution": list(user.identities.values("issuer", "subject")),
        "api_tokens": list(
            user.api_tokens.values("name", "scope", "created_at", "last_used_on")
        ),
        "logins": list(seen.values(*visits, "logout_time")),
        "wrong_passwords": list(missed.values(*visits, "failures_since_start")),
        "events": list(done.values("at", "kind", "study__slug")),
    }


@transaction.atomic
def erase(user: User) -> str:
    """Erase the personal data of an account; return its remaining name."""
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if user.is_superuser and not others.exists():
        raise AccountError(
            f"{user.username} is the only administrator. Create another one first."
        )
    before, after = user.username, f"former-{user.pk}"
    StudyMember.objects.filter(user=user).delete()
    BenchmarkMember.objects.filter(user=user).delete()
    PasswordLink.objects.filter(user=user).delete()
    Identity.objects.filter(user=user).delete()
    end_sessions(user)
    user.api_tokens.all().delete()
    for table in (AccessLog, AccessAttempt):
        table.objects.filter(username=before).delete()
    user.groups.clear()
    user.user_permissions.clear()
    nobody = {
        "username": after,
        "password": make_password(None),  # no password fits
        **dict.fromkeys(("first_name", "last_name", "email"), ""),
        **dict.fromkeys(("is_active", "is_staff", "is_superuser"), False),
        "last_login": None,
    }
    User.objects.filter(pk=user.pk).update(**nobody)
    return after


def as_text(value: object) -> str:
    """Return a time as text for JSON."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    raise TypeError(f"cannot write {value!r} as JSON")
