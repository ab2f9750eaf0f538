"""Accounts of people who log in by their institution, and the rights of their groups.

A person is known by issuer and subject alone: names and e-mail addresses can be chosen.
An account that this login created has the rights of the person's groups, read at each
login. An account that its owner linked keeps the rights that it has here.
"""

import logging
import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import transaction

from annotate import event_log
from annotate.access import accounts
from annotate.access.accounts import Role
from annotate.access.permissions import can_create, visible_studies
from annotate.models import Event, Identity, Study, StudyMember, User
from evalcore.database.postgresql import one_at_a_time

logger = logging.getLogger(__name__)

# Groups that give a role in one study, as a name or as a path.
STUDY_GROUP = re.compile(r"/?plumbline/(?P<study>[-\w]+)/(?P<role>manager|researcher)")
LONGEST_NAME = 140
Claims = Mapping[str, Any]


class RefusedError(Exception):
    """The person may not log in; the message is the reason's key in the page."""


def account_of(claims: Claims, present: User | AnonymousUser) -> User:
    """Return the account of a person, created or linked if need be, with its rights."""
    user = _account(claims, present)
    if not user.is_active:
        raise RefusedError("deactivated")
    if not (can_create(user) or visible_studies(user).exists()):
        raise RefusedError("no_group")
    return user


@transaction.atomic
def _account(claims: Claims, present: User | AnonymousUser) -> User:
    one_at_a_time("accounts")
    known = {"issuer": claims["iss"], "subject": claims["sub"]}
    identity = Identity.objects.select_related("user").filter(**known).first()
    groups = _groups(claims)
    if isinstance(present, User):
        if identity is None:
            identity = Identity.objects.create(user=present, **known)
            logger.info("account %s was linked by its owner", present.pk)
        if identity.user != present:
            raise RefusedError("taken")
    elif identity is None:
        if role_of(groups) == Role.MEMBER and not _studies(groups):
            raise RefusedError("no_group")
        user = User(username=_free_name(claims))
        user.set_unusable_password()
        user.save()
        identity = Identity.objects.create(user=user, follows_groups=True, **known)
        logger.info("account %s was created at its first login", user.pk)
    if identity.follows_groups:
        _give_rights(identity, groups)
    return identity.user


def _groups(claims: Claims) -> set[str]:
    found = claims.get(settings.OIDC_GROUPS_CLAIM) or []
    listed = [found] if isinstance(found, str) else found
    return {one for one in listed if isinstance(one, str)}


def role_of(groups: set[str]) -> Role:
    """Return the role that groups give beyond single studies."""
    names = ({name.removeprefix("/") for name in groups} | groups) - {""}
    if settings.OIDC_ADMIN_GROUP in names:
        return Role.EVERY_STUDY
    return Role.OWN_STUDIES if settings.OIDC_STAFF_GROUP in names else Role.MEMBER


def _studies(groups: set[str]) -> dict[Study, str]:
    """Return the role that groups give in each study; that of a manager goes first."""
    found = sorted(filter(None, map(STUDY_GROUP.fullmatch, groups)), key=lambda m: m[2])
    roles: dict[str, str] = {}
    for match in found:
        roles.setdefault(match["study"], match["role"])
    studies = Study.objects.filter(slug__in=roles)
    return {study: roles[study.slug] for study in studies}


def _give_rights(identity: Identity, groups: set[str]) -> None:
    """Give the rights of the groups, and take away what earlier groups gave."""
    user, role = identity.user, role_of(groups)
    if accounts.role_of(user) != role:
        accounts.give(user, role)
        user.save(update_fields=["is_superuser", "is_staff"])
        logger.info("account %s is now %s, by its groups", user.pk, role.value)
    wanted = {str(study.pk): role for study, role in _studies(groups).items()}
    present = {str(row.study_id): row for row in user.memberships.all()}
    for key, row in present.items():
        # What somebody changed here since is theirs.
        if identity.granted.get(key) == row.role and wanted.get(key) != row.role:
            row.delete()
            _note(Event.Kind.MEMBER_REMOVED, row)
    for key, given in wanted.items():
        row, is_new = StudyMember.objects.get_or_create(
            user=user, study_id=int(key), defaults={"role": given}
        )
        if is_new:
            _note(Event.Kind.MEMBER_ADDED, row)
        elif not identity.granted.get(key):
            wanted[key] = ""  # given by hand: groups do not take it away
    identity.granted = wanted
    identity.save(update_fields=["granted"])


def _note(kind: Event.Kind, row: StudyMember) -> None:
    user = row.user
    event_log.note(kind, row.study_id, user=user, account=user.pk, role=row.role)


def _free_name(claims: Claims) -> str:
    """Return a user name that no account has: a name proves nothing."""
    told = str(claims.get("preferred_username") or claims.get("name") or "")
    name = re.sub(r"[^\w.@+-]+", "-", told)[:LONGEST_NAME].strip("-") or "user"
    taken = set(
        User.objects.filter(username__istartswith=name).values_list(
            "username", flat=True
        )
    )
    number, free = 1, name
    while free.lower() in {one.lower() for one in taken}:
        number += 1
        free = f"{name}-{number}"
    return free
