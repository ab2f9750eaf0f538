"""Tokens of accounts: made by name and password, listed, revoked."""

from typing import Any

from django.contrib.auth import authenticate
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.exceptions import Throttled
from rest_framework.parsers import FormParser

from annotate.access import rate_limits
from annotate.access.permissions import get_study_for
from annotate.api import fields
from annotate.api.authentication import ShallowJSONParser
from annotate.api.base import AccountView, ApiView
from annotate.api.operations import list_operation, operation
from annotate.api.refusals import Refused
from annotate.models import ApiToken
from annotate.models.tokens import USUAL_DAYS

MOST_DAYS = 3650


class TokenSerializer(serializers.ModelSerializer):
    study = serializers.SlugRelatedField(
        slug_field="slug",
        read_only=True,
        allow_null=True,
        help_text="null: every study",
    )
    Meta = fields.meta(
        ApiToken, "id name scope study created_at expires_at last_used_on revoked_at"
    )


class LoginSerializer(serializers.Serializer):
    username = fields.CharField(max_length=150)
    password = fields.CharField(trim_whitespace=False, max_length=4096)
    name = fields.CharField(max_length=80, default="made by a program")
    scope = fields.ChoiceField(ApiToken.Scope.choices, default=ApiToken.Scope.MANAGE)
    study = fields.SlugField(
        required=False, help_text="slug of the only study; all if not given"
    )
    days = fields.IntegerField(
        min_value=1,
        max_value=MOST_DAYS,
        allow_null=True,
        default=USUAL_DAYS,
        help_text="days until it ends; null: never",
    )

    def __repr__(self) -> str:
        """Return no password: reports of errors show local variables."""
        return f"<{type(self).__name__}>"


class NewTokenSerializer(TokenSerializer):
    token = fields.CharField(
        source="secret", help_text="the secret; it is not shown again"
    )
    Meta = fields.meta(ApiToken, "token", TokenSerializer)


EXAMPLE = {
    "username": "rob",
    "password": "a long password",
    "name": "notebook",
    "scope": "read",
    "study": "pilot",
    "days": 90,
}


class TokenMaker(ApiView):
    authentication_classes = ()
    permission_classes = ()
    parser_classes = (ShallowJSONParser, FormParser)
    takes_key = False

    @operation(
        "make_token",
        NewTokenSerializer,
        takes=LoginSerializer,
        status=201,
        examples=[
            OpenApiExample(
                "a notebook that reads one study", EXAMPLE, request_only=True
            )
        ],
    )
    def post(self, given: dict[str, Any]) -> ApiToken:
        """Make a token by name and password; the answer shows its secret once."""
        name, password = given.pop("username"), given.pop("password")
        sent = self.request._request
        user = authenticate(request=sent, username=name, password=password)
        if user is None:
            if getattr(sent, "axes_locked_out", False):
                wait = rate_limits.seconds_for_login(sent, {"username": name})
                raise Throttled(wait=wait)
            raise Refused({"password": "Name or password is wrong."})
        if slug := given.pop("study", ""):
            given["study"] = get_study_for(user, slug)
        rate_limits.note_token_given(sent, user)
        token, secret = ApiToken.issue(user=user, **given)
        self.locate("token-revoke", token.pk)
        token.secret = secret  # type: ignore[attr-defined]  # for this reply alone
        return token


class OfTokens(AccountView):
    def rows(self) -> Any:
        return self.user.api_tokens.select_related("study")


class TokenList(OfTokens):
    get = list_operation(
        "list_tokens", TokenSerializer, "List your tokens, without their secrets."
    )


class TokenRevoke(OfTokens):
    @operation("revoke_token")
    def delete(self) -> None:
        """Revoke one of your tokens."""
        self.row().revoke()
