"""Members of a benchmark: added and removed."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils.translation import gettext as _

from evalcore.database.postgresql import one_at_a_time
from evalcore.models import Benchmark, BenchmarkMember

Role = BenchmarkMember.Role


class UnknownAccountError(ValueError):
    """No account has this name."""


class LastOwnerError(ValueError):
    """The benchmark would be without an owner."""


def account(name: str) -> AbstractBaseUser:
    """Return the account of that name."""
    user = get_user_model().objects.filter(username=name).first()
    if user is None:
        raise UnknownAccountError(
            _("There is no account “%(name)s”.") % {"name": name[:150]}
        )
    return user


def add(
    benchmark: Benchmark, user: AbstractBaseUser, role: str = Role.MEMBER
) -> BenchmarkMember:
    """Make somebody a member, or a member an owner; an owner stays one."""
    row, _is_new = benchmark.members.get_or_create(user=user, defaults={"role": role})
    if role == Role.OWNER and row.role != role:
        row.role = role
        row.save(update_fields=["role"])
    return row


def remove(
    benchmark: Benchmark, user: AbstractBaseUser, *, leave_an_owner: bool = False
) -> bool:
    """Remove a member; return whether the user was one.

    Their studies over the benchmark stay theirs, and see of it what they show.
    """
    with transaction.atomic():
        one_at_a_time(f"members of {benchmark.pk}")
        if leave_an_owner:
            _check_others_own(benchmark, user)
        deleted, _by_table = benchmark.members.filter(user=user.pk).delete()
    return bool(deleted)


def _check_others_own(benchmark: Benchmark, user: AbstractBaseUser) -> None:
    owners = benchmark.members.filter(role=Role.OWNER)
    own = owners.filter(user=user.pk)
    if own.exists() and not owners.exclude(user=user.pk).exists():
        raise LastOwnerError(
            _(
                "%(name)s is the only owner, and a benchmark needs at least one. Make "
                "somebody else an owner first."
            )
            % {"name": user.get_username()}
        )
