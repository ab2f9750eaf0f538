"""Access rules through which every page and API call looks up objects.

An object that a user may not see looks like one that does not exist. Accounts with the
demo's public password are here as well, since they may log in to the demo alone.
"""

from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q, QuerySet
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from annotate.models import Study, StudyMember, Unit, User
from annotate.models.units import OUTPUTS
from evalcore.models import Benchmark, BenchmarkMember, Output
from evalcore.serving import log

SomeUser = User | AnonymousUser
T = TypeVar("T", bound=Model)


def _of_member(rows: QuerySet[T], user: SomeUser, **membership: str) -> QuerySet[T]:
    """Filter by membership; superusers see everything."""
    if not user.is_authenticated:
        return rows.none()
    log.note(user=user.pk)
    if user.is_superuser:
        return rows
    return rows.filter(members__user=user, **membership)


def visible_studies(user: SomeUser) -> QuerySet[Study]:
    return _of_member(Study.objects.all(), user)


def managed_studies(user: SomeUser) -> QuerySet[Study]:
    role = StudyMember.Role.MANAGER
    return _of_member(Study.objects.all(), user, members__role=role)


def can_manage(user: SomeUser, study: Study) -> bool:
    return managed_studies(user).filter(pk=study.pk).exists()


def can_delete(user: SomeUser, study: Study) -> bool:
    """Say whether this user may delete a study: its manager who owns the benchmark."""
    return can_manage(user, study) and owns(user, study.benchmark)


def can_create(user: SomeUser) -> bool:
    """Say whether this user may set up studies on some benchmark."""
    return (
        user.is_superuser
        or user.is_staff
        or managed_studies(user).exists()
        or visible_benchmarks(user).exists()
    )


def get_study_for(user: SomeUser, slug: str, role: str | None = None) -> Study:
    """Return the study if this user may see it."""
    study = visible_studies(user).filter(slug=slug).select_related("benchmark").first()
    if study is None:
        raise Http404(f"No study {slug!r}.")
    log.note(study=study.slug)
    if role == "manager" and not can_manage(user, study):
        raise PermissionDenied(_("Only a manager of this study may do that."))
    return study


def visible_benchmarks(user: SomeUser) -> QuerySet[Benchmark]:
    """Return the benchmarks that this user may use, as a member or superuser."""
    return _of_member(Benchmark.objects.all(), user)


def owned_benchmarks(user: SomeUser) -> QuerySet[Benchmark]:
    """Return the benchmarks that this user may change."""
    role = BenchmarkMember.Role.OWNER
    return _of_member(Benchmark.objects.all(), user, members__role=role)


def get_benchmark_for(user: SomeUser, slug: str, role: str | None = None) -> Benchmark:
    """Return the benchmark if this user may use it."""
    benchmark = visible_benchmarks(user).filter(slug=slug).first()
    if benchmark is None:
        raise Http404(f"No benchmark {slug!r}.")
    if role == "owner" and not owns(user, benchmark):
        raise PermissionDenied(_("Only an owner of this benchmark may do that."))
    return benchmark


def owns(user: SomeUser, benchmark: Benchmark) -> bool:
    """Say whether this user may change the benchmark and its members."""
    return owned_benchmarks(user).filter(pk=benchmark.pk).exists()


def can_use_benchmark(user: SomeUser, study: Study) -> bool:
    """Say whether this user may use the study's benchmark itself."""
    return visible_benchmarks(user).filter(pk=study.benchmark_id).exists()


def check_benchmark_of(user: SomeUser, study: Study) -> None:
    """Refuse requests beyond a study to users who may see only the study."""
    if not can_use_benchmark(user, study):
        raise PermissionDenied(
            _("Only members of the study's benchmark may do that; its owner adds them.")
        )


def visible_outputs(user: SomeUser) -> QuerySet[Output]:
    """Return the outputs that this user may see, through benchmarks or studies."""
    units = Unit.objects.filter(study__in=visible_studies(user))
    visible = Q(story__benchmark__in=visible_benchmarks(user))
    for name in OUTPUTS:
        visible |= Q(pk__in=units.filter(**{f"{name}__isnull": False}).values(name))
    return Output.objects.filter(visible)


PASSWORD = "plumbline-demo"
ACCOUNTS = ("manager", "researcher")


class RefusePublicPassword:
    """Refuse logins with the demo's public password outside the demo."""

    def authenticate(
        self, request: HttpRequest | None, password: str | None = None, **_given: Any
    ) -> None:
        """Stop the login before other backends compare the password."""
        if password == PASSWORD and not settings.DEMO:
            raise PermissionDenied


def disable_accounts() -> list[str]:
    """Remove the public password from the demo's accounts; return their names."""
    disabled = []
    for user in User.objects.filter(username__in=ACCOUNTS).order_by("username"):
        if check_password(PASSWORD, user.password):
            user.set_unusable_password()
            user.save(update_fields=["password"])
            disabled.append(user.username)
    return disabled
