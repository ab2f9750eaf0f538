"""Tokens of accounts: made by name and password, listed, revoked."""

from typing import Any

from django.contrib.auth import authenticate
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import generics, serializers
from rest_framework.exceptions import Throttled
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access import rate_limits
from annotate.access.permissions import get_study_for
from annotate.api.authentication import ShallowJSONParser
from annotate.api.base import AccountView, ApiView
from annotate.api.refusals import Refused
from annotate.models import ApiToken
from annotate.models.tokens import USUAL_DAYS

MOST_DAYS = 3650


class TokenSerializer(serializers.ModelSerializer):
    study = serializers.SlugRelatedField(
        slug_field="slug", read_only=True, help_text="null: every study"
    )

    class Meta:
        model = ApiToken
        fields: tuple[str, ...] = (
            "id",
            "name",
            "scope",
            "study",
            "created_at",
            "expires_at",
            "last_used_on",
            "revoked_at",
        )


class LoginSerializer(serializers.Serializer):
    username = serializers.CharField(max_length=150)
    password = serializers.CharField(trim_whitespace=False, max_length=4096)
    name = serializers.CharField(max_length=80, default="made by a program")
    scope = serializers.ChoiceField(
        ApiToken.Scope.choices, default=ApiToken.Scope.MANAGE
    )
    study = serializers.SlugField(
        required=False, help_text="slug of the only study; all if not given"
    )
    days = serializers.IntegerField(
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
    token = serializers.CharField(help_text="the secret; it is not shown again")

    class Meta(TokenSerializer.Meta):
        fields: tuple[str, ...] = ("token", *TokenSerializer.Meta.fields)


class TokenMaker(ApiView):
    authentication_classes = ()
    permission_classes = ()
    parser_classes = (ShallowJSONParser, FormParser)
    takes_key = False

    @extend_schema(
        operation_id="make_token",
        tags=["tokens"],
        request=LoginSerializer,
        responses={201: NewTokenSerializer},
        examples=[
            OpenApiExample(
                "a notebook that reads one study",
                {
                    "username": "rob",
                    "password": "a long password",
                    "name": "notebook",
                    "scope": "read",
                    "study": "pilot",
                    "days": 90,
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Make a token by name and password; the answer shows its secret once."""
        given = LoginSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        fields: dict[str, Any] = dict(given.validated_data)
        name, password = fields.pop("username"), fields.pop("password")
        sent = request._request
        user = authenticate(request=sent, username=name, password=password)
        if user is None:
            if getattr(sent, "axes_locked_out", False):
                wait = rate_limits.seconds_for_login(sent, {"username": name})
                raise Throttled(wait=wait)
            raise Refused({"password": "Name or password is wrong."})
        if slug := fields.pop("study", ""):
            fields["study"] = get_study_for(user, slug)
        rate_limits.note_token_given(sent, user)
        token, secret = ApiToken.issue(user=user, **fields)
        body = {"token": secret, **TokenSerializer(token).data}
        address = reverse("api-token-revoke", args=[token.pk])
        return Response(body, status=201, headers={"Location": address})


class TokenList(AccountView, generics.ListAPIView):
    serializer_class = TokenSerializer

    def get_queryset(self) -> QuerySet[ApiToken]:
        return ApiToken.objects.filter(user=self.request.user).select_related("study")

    @extend_schema(operation_id="list_tokens", tags=["tokens"])
    def get(self, request: Request) -> Response:
        """List your tokens, without their secrets."""
        return self.list(request)


class TokenRevoke(AccountView):
    @extend_schema(operation_id="revoke_token", tags=["tokens"], responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Revoke one of your tokens."""
        get_object_or_404(ApiToken, user=request.user, pk=pk).revoke()
        return Response(status=204)
