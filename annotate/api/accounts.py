"""Members of a study, and the accounts of the server."""

from typing import Any

from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access import accounts, server_address
from annotate.access.accounts import AccountError, Role
from annotate.api.base import (
    AccountView,
    Body,
    Listed,
    StudyView,
    created,
    read,
)
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
    name = serializers.CharField(source="user.username")
    is_active = serializers.BooleanField(source="user.is_active")

    class Meta:
        model = StudyMember
        fields: tuple[str, ...] = ("id", "name", "role", "is_active")


class NewMemberSerializer(MemberSerializer):
    password_link = serializers.CharField(
        help_text="of a new account; it is not shown again", required=False
    )

    class Meta(MemberSerializer.Meta):
        fields: tuple[str, ...] = (*MemberSerializer.Meta.fields, "password_link")


class MemberBody(Body):
    name = serializers.CharField(max_length=150)
    role = serializers.ChoiceField(members.Role.choices)
    new = serializers.BooleanField(default=False, help_text="create the account, too")


class RoleBody(Body):
    role = serializers.ChoiceField(members.Role.choices)


class MemberList(Listed, StudyView):
    readers = "manager"
    takes_key = False

    @extend_schema(
        operation_id="list_members",
        tags=["members"],
        responses=MemberSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the managers and researchers of the study."""
        rows = self.study.members.select_related("user").order_by("pk")
        return self.page(rows, MemberSerializer)

    @extend_schema(
        operation_id="add_member",
        tags=["members"],
        request=MemberBody,
        responses={201: NewMemberSerializer},
    )
    @transaction.atomic
    def post(self, request: Request, slug: str) -> Response:
        """Add an account, or a new one, to the study."""
        given, link = read(MemberBody, request), ""
        if given["new"]:
            user = accounts.create(given["name"], Role.MEMBER, by=request.user)
            link = password_link(request, user)
        else:
            found = User.objects.filter(username=given["name"], is_active=True).first()
            if found is None:
                raise MemberError(f"There is no account {given['name']}.")
            user = found
        members.add(self.study, user, members.Role(given["role"]), by=request.user)
        row = self.study.members.select_related("user").get(user=user)
        shown = {
            **MemberSerializer(row).data,
            **({"password_link": link} if link else {}),
        }
        return created(shown, "api-member", slug, row.pk)


class Member(StudyView):
    def member(self, pk: int) -> StudyMember:
        return get_object_or_404(self.study.members.select_related("user"), pk=pk)

    @extend_schema(
        operation_id="change_member",
        tags=["members"],
        request=RoleBody,
        responses=MemberSerializer,
    )
    def patch(self, request: Request, slug: str, pk: int) -> Response:
        """Give a member another role."""
        member, role = self.member(pk), read(RoleBody, request)["role"]
        members.change_role(member, members.Role(role), by=request.user)
        return Response(MemberSerializer(member).data)

    @extend_schema(
        operation_id="remove_member", tags=["members"], responses={204: None}
    )
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Take the study away from a member."""
        members.remove(self.member(pk), by=request.user)
        return Response(status=204)


class AccountSerializer(serializers.ModelSerializer):
    name = serializers.CharField(source="username")
    role = serializers.SerializerMethodField()
    studies = serializers.SerializerMethodField()

    class Meta:
        model = User
        fields: tuple[str, ...] = (
            "id",
            "name",
            "role",
            "is_active",
            "last_login",
            "studies",
        )

    def get_role(self, user: User) -> str:
        return accounts.role_of(user).value

    def get_studies(self, user: User) -> list[str]:
        return sorted(member.study.slug for member in user.memberships.all())


class NewAccountSerializer(AccountSerializer):
    password_link = serializers.CharField(help_text="it is not shown again")

    class Meta(AccountSerializer.Meta):
        fields: tuple[str, ...] = (*AccountSerializer.Meta.fields, "password_link")


class AccountBody(Body):
    name = serializers.CharField(max_length=150)
    role = serializers.ChoiceField([*ROLES], default="member")


class AccountChangeBody(Body):
    role = serializers.ChoiceField([*ROLES], required=False)
    is_active = serializers.BooleanField(required=False)


class SuperuserView(AccountView):
    """A view that looks like none to everybody else."""

    takes_key = False

    def check_access(self, request: Request) -> None:
        if not request.user.is_superuser:
            raise Http404
        super().check_access(request)

    def other(self, pk: int) -> User:
        """Return an account, but not the user's own."""
        user = get_object_or_404(User, pk=pk)
        if user == self.request.user:
            raise AccountError("You cannot change your own account here.")
        return user


class AccountList(Listed, SuperuserView):
    @extend_schema(
        operation_id="list_accounts",
        tags=["accounts"],
        responses=AccountSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """List the accounts; managers of everything may."""
        rows = User.objects.order_by("pk").prefetch_related("memberships__study")
        return self.page(rows, AccountSerializer)

    @extend_schema(
        operation_id="create_account",
        tags=["accounts"],
        request=AccountBody,
        responses={201: NewAccountSerializer},
    )
    @transaction.atomic
    def post(self, request: Request) -> Response:
        """Create an account, and a link for its owner to set a password."""
        given = read(AccountBody, request)
        user = accounts.create(given["name"], ROLES[given["role"]], by=request.user)
        shown = {**_shown(user), "password_link": password_link(request, user)}
        return created(shown, "api-account", user.pk)


def _shown(user: User) -> Any:
    return AccountSerializer(user).data


class Account(SuperuserView):
    @extend_schema(
        operation_id="get_account", tags=["accounts"], responses=AccountSerializer
    )
    def get(self, request: Request, pk: int) -> Response:
        """Return one account."""
        return Response(_shown(get_object_or_404(User, pk=pk)))

    @extend_schema(
        operation_id="change_account",
        tags=["accounts"],
        request=AccountChangeBody,
        responses=AccountSerializer,
    )
    @transaction.atomic
    def patch(self, request: Request, pk: int) -> Response:
        """Change the role of an account, or deactivate or activate it."""
        user, given = self.other(pk), read(AccountChangeBody, request)
        if "role" in given:
            accounts.change_role(user, ROLES[given["role"]], by=request.user)
        if "is_active" in given:
            change = accounts.activate if given["is_active"] else accounts.deactivate
            change(user, by=request.user)
        return Response(_shown(user))


class PasswordLinkSerializer(serializers.Serializer):
    password_link = serializers.CharField()


class AccountLink(SuperuserView):
    @extend_schema(
        operation_id="make_password_link",
        tags=["accounts"],
        request=None,
        responses={201: PasswordLinkSerializer},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Make a link to set the password of an account; earlier ones end."""
        link = password_link(request, self.other(pk))
        return created({"password_link": link}, "api-account", pk)


class AccountLogOut(SuperuserView):
    @extend_schema(
        operation_id="log_account_out",
        tags=["accounts"],
        request=None,
        responses={204: None},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Log an account out everywhere, and revoke its API tokens."""
        accounts.end_sessions(self.other(pk))
        return Response(status=204)
