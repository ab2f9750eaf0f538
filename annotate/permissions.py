"""What a user may see. Every page and API call on a study starts here."""

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from annotate.models import Study, StudyMember, User


def visible_studies(user: User | AnonymousUser) -> QuerySet[Study]:
    """Return the studies that this user may read."""
    if not user.is_authenticated:
        return Study.objects.none()
    if user.is_superuser:
        return Study.objects.all()
    return Study.objects.filter(members__user=user)


def can_manage(user: User | AnonymousUser, study: Study) -> bool:
    """Say whether this user may change the study."""
    if not user.is_authenticated:
        return False
    return (
        user.is_superuser
        or study.members.filter(user=user, role=StudyMember.Role.MANAGER).exists()
    )


def can_create(user: User | AnonymousUser) -> bool:
    """Say whether this user may set studies up: whoever manages all, or one already."""
    if not user.is_authenticated:
        return False
    managed = user.memberships.filter(role=StudyMember.Role.MANAGER)
    return user.is_superuser or managed.exists()


def get_study_for(
    user: User | AnonymousUser, slug: str, role: str | None = None
) -> Study:
    """Return the study, as far as this user may see it.

    A study that the user is not a member of looks like one that does not exist.
    With `role="manager"` a researcher is refused.
    """
    study = visible_studies(user).filter(slug=slug).select_related("benchmark").first()
    if study is None:
        raise Http404(f"No study {slug!r}.")
    if role == "manager" and not can_manage(user, study):
        raise PermissionDenied(_("Only a manager of this study may do that."))
    return study
