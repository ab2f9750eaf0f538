"""Members of a study, and the accounts of the server."""

from typing import Any

from django.db import transaction
from django.http import Http404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request

from annotate.access import accounts, server_address
from annotate.access.accounts import AccountError, Role
from annotate.api import fields
from annotate.api.base import AccountView, StudyView
from annotate.api.operations import list_operation, operation, show_operation
from annotate.models import StudyMember, User
from annotate.studies import members
from annotate.studies.members import MemberError

ROLES = {"every": Role.EVERY_STUDY, "own": Role.OWN_STUDIES, "member": Role.MEMBER}


def password_link(request: Request, user: User) -> str:
    """Return the address of a new link to set the password of an account."""
    token = accounts.issue_link(user, by=request.user)
    base = server_address.links_begin_with(request)
    return base + reverse("password-link", args=[token])


class MemberSerializer(serializers.ModelSerializer):
    name = fields.CharField(source="user.username")
    is_active = fields.BooleanField(source="user.is_active")
    Meta = fields.meta(StudyMember, "id name role is_active")


class NewMemberSerializer(MemberSerializer):
    password_link = fields.CharField(
        source="new_link",
        required=False,
        help_text="of a new account; it is not shown again",
    )
    Meta = fields.meta(StudyMember, "password_link", MemberSerializer)


class RoleBody(fields.Body):
    role = fields.ChoiceField(members.Role.choices)


class MemberBody(RoleBody):
    name = fields.CharField(max_length=150)
    new = fields.BooleanField(default=False, help_text="create the account, too")


class MemberView(StudyView):
    tag = "members"
    readers = "manager"
    takes_key = False

    def rows(self) -> Any:
        return self.study.members.select_related("user").order_by("pk")


class MemberList(MemberView):
    get = list_operation(
        "list_members",
        MemberSerializer,
        "List the managers and researchers of the study.",
    )

    @operation("add_member", NewMemberSerializer, takes=MemberBody, status=201)
    @transaction.atomic
    def post(self, given: dict[str, Any]) -> StudyMember:
        """Add an account, or a new one, to the study."""
        name, link = given["name"], ""
        if given["new"]:
            user = accounts.create(name, Role.MEMBER, by=self.user)
            link = password_link(self.request, user)
        else:
            found = User.objects.filter(username=name, is_active=True).first()
            if found is None:
                raise MemberError(f"There is no account {name}.")
            user = found
        members.add(self.study, user, members.Role(given["role"]), by=self.user)
        row: StudyMember = self.rows().get(user=user)
        if link:
            row.new_link = link  # type: ignore[attr-defined]
        self.locate("member", self.study.slug, row.pk)
        return row


class Member(MemberView):
    takes_key = True

    @operation("change_member", MemberSerializer, takes=RoleBody)
    def patch(self, given: dict[str, Any]) -> StudyMember:
        """Give a member another role."""
        member: StudyMember = self.row()
        members.change_role(member, members.Role(given["role"]), by=self.user)
        return member

    @operation("remove_member")
    def delete(self) -> None:
        """Take the study away from a member."""
        members.remove(self.row(), by=self.user)


class AccountSerializer(serializers.ModelSerializer):
    name = fields.CharField(source="username")
    role = fields.SerializerMethodField()
    studies = fields.SerializerMethodField()
    Meta = fields.meta(User, "id name role is_active last_login studies")

    def get_role(self, user: User) -> str:
        return accounts.role_of(user).value

    def get_studies(self, user: User) -> list[str]:
        return sorted(member.study.slug for member in user.memberships.all())


class PasswordLinkSerializer(serializers.Serializer):
    password_link = fields.CharField(
        source="new_link", help_text="it is not shown again"
    )


class NewAccountSerializer(AccountSerializer, PasswordLinkSerializer):
    Meta = fields.meta(User, "password_link", AccountSerializer)


class AccountBody(fields.Body):
    name = fields.CharField(max_length=150)
    role = fields.ChoiceField([*ROLES], default="member")


class AccountChangeBody(fields.Body):
    role = fields.ChoiceField([*ROLES], required=False)
    is_active = fields.BooleanField(required=False)


class SuperuserView(AccountView):
    """A view that looks like none to everybody else."""

    takes_key = False

    def check_access(self, request: Request) -> None:
        if not request.user.is_superuser:
            raise Http404
        super().check_access(request)

    def rows(self) -> Any:
        return User.objects.order_by("pk").prefetch_related("memberships__study")

    def other(self) -> User:
        """Return an account, but not the user's own."""
        user: User = self.row()
        if user == self.user:
            raise AccountError("You cannot change your own account here.")
        return user

    def give_link(self, user: User) -> User:
        """Return an account with a new link to set its password."""
        user.new_link = password_link(self.request, user)  # type: ignore[attr-defined]
        self.locate("account", user.pk)
        return user


class AccountList(SuperuserView):
    get = list_operation(
        "list_accounts",
        AccountSerializer,
        "List the accounts; managers of everything may.",
    )

    @operation("create_account", NewAccountSerializer, takes=AccountBody, status=201)
    @transaction.atomic
    def post(self, given: dict[str, Any]) -> User:
        """Create an account, and a link for its owner to set a password."""
        role = ROLES[given["role"]]
        return self.give_link(accounts.create(given["name"], role, by=self.user))


class Account(SuperuserView):
    get = show_operation("get_account", AccountSerializer, "Return one account.")

    @operation("change_account", AccountSerializer, takes=AccountChangeBody)
    @transaction.atomic
    def patch(self, given: dict[str, Any]) -> User:
        """Change the role of an account, or deactivate or activate it."""
        user = self.other()
        if "role" in given:
            accounts.change_role(user, ROLES[given["role"]], by=self.user)
        if "is_active" in given:
            change = accounts.activate if given["is_active"] else accounts.deactivate
            change(user, by=self.user)
        return user


class AccountLink(SuperuserView):
    @operation("make_password_link", PasswordLinkSerializer, status=201)
    def post(self) -> User:
        """Make a link to set the password of an account; earlier ones end."""
        return self.give_link(self.other())


class AccountLogOut(SuperuserView):
    @operation("log_account_out")
    def post(self) -> None:
        """Log an account out everywhere, and revoke its API tokens."""
        accounts.end_sessions(self.other())
