"""Members of a study: added, given another role, and removed."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.models import Event, Study, StudyMember, User
from evalcore.database.postgresql import one_at_a_time

Role = StudyMember.Role


class MemberError(ValueError):
    """The members cannot be changed so; the message says why."""


@transaction.atomic
def add(study: Study, user: User, role: Role, *, by: User) -> None:
    """Give an account a role in the study."""
    _row, is_new = study.members.get_or_create(user=user, defaults={"role": role})
    if not is_new:
        text = _("%(name)s is already a member. You can change the role in the list.")
        raise MemberError(text % {"name": user.username})
    _note(Event.Kind.MEMBER_ADDED, study, user, role, by)


@transaction.atomic
def change_role(member: StudyMember, role: Role, *, by: User) -> None:
    """Give a member another role; somebody remains a manager."""
    if role != Role.MANAGER:
        _check_others_manage(member)
    member.role = role
    member.save(update_fields=["role"])
    _note(Event.Kind.MEMBER_CHANGED, member.study, member.user, role, by)


@transaction.atomic
def remove(member: StudyMember, *, by: User) -> None:
    """Take the study away from a member; what they did in it stays."""
    _check_others_manage(member)
    member.delete()
    _note(Event.Kind.MEMBER_REMOVED, member.study, member.user, member.role, by)


def _check_others_manage(member: StudyMember) -> None:
    one_at_a_time(f"members of study {member.study_id}")
    managers = member.study.members.filter(role=Role.MANAGER)
    others = managers.filter(user__is_active=True).exclude(pk=member.pk)
    if managers.filter(pk=member.pk).exists() and not others.exists():
        raise MemberError(
            _(
                "%(name)s is the only manager of this study. Make somebody else a "
                "manager first."
            )
            % {"name": member.user.username}
        )


def _note(kind: Event.Kind, study: Study, user: User, role: str, by: User) -> None:
    """Write the log by the account's number: a name could not be erased from it."""
    event_log.note(kind, study.pk, user=by, account=user.pk, role=role)
