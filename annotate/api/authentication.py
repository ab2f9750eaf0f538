"""Authentication of programs by invitation or token, and parsing of JSON."""

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, ParseError, Throttled
from rest_framework.parsers import JSONParser
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from annotate.access import rate_limits
from annotate.models import Annotator, ApiToken, Invitation, User, mark_of
from annotate.models.tokens import digest
from evalcore.serving import log

if TYPE_CHECKING:  # views ask for their default authentication when they are loaded
    from rest_framework.views import APIView

KEYWORD = "Invitation"


class ShallowJSONParser(JSONParser):
    """Parser that refuses JSON nested too deeply."""

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().parse(*args, **kwargs)
        except RecursionError as error:
            raise ParseError("JSON parse error - nested too deep") from error


class TableJSONParser(ShallowJSONParser):
    """Parser that reads NaN as a missing value, as in JSON lines files."""

    strict = False


class InvitationAuthentication(BaseAuthentication):
    """Authentication by personal link; sets `request.auth` to the annotator.

    A revoked link still tells its annotator what has become of it.
    """

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Annotator] | None:
        parts = get_authorization_header(request).decode("latin-1").split()
        if len(parts) != 2 or parts[0].lower() != KEYWORD.lower():
            return None
        tokens = (parts[1], mark_of(parts[1]))
        invitations = Invitation.objects.filter(token__in=tokens)
        invitation = invitations.select_related("annotator__study").first()
        if invitation is None:
            _count(request)
            raise AuthenticationFailed("This invitation is not valid.")
        annotator = invitation.annotator
        log.note(study=annotator.study.slug, annotator=annotator.pk)
        return AnonymousUser(), annotator

    def authenticate_header(self, request: Request) -> str:
        return KEYWORD


class TokenAuthentication(BaseAuthentication):
    """Authentication by API token; sets `request.auth` to the token."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        parts = get_authorization_header(request).decode("latin-1").split()
        if len(parts) != 2 or parts[0].lower() not in ("bearer", "token"):
            return None
        tokens = ApiToken.objects.select_related("user", "study")
        token = tokens.filter(secret_hash=digest(parts[1])).first()
        if token is None:
            _count(request)
            raise AuthenticationFailed(
                "No token has this secret. Make one under “Your account”.",
                "token-unknown",
            )
        if token.revoked_at:
            text = (
                f"The token “{token.name}” was revoked on {token.revoked_at:%Y-%m-%d}."
            )
            raise AuthenticationFailed(text, "token-revoked")
        if token.has_expired:
            text = f"The token “{token.name}” expired on {token.expires_at:%Y-%m-%d}."
            raise AuthenticationFailed(text, "token-expired")
        if not token.user.is_active:
            text = f"The account {token.user.username} is deactivated."
            raise AuthenticationFailed(text, "account-inactive")
        token.note_use()
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def _count(request: Request) -> None:
    """Count a wrong link or token; raise if there are too many."""
    if seconds := rate_limits.note_wrong(request):
        raise Throttled(wait=seconds)


class IsAnnotator(BasePermission):
    """Permission for annotators only."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return isinstance(request.auth, Annotator)


class InvitationScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # its base has no types
    """Description of invitations in the OpenAPI schema."""

    target_class = "annotate.api.authentication.InvitationAuthentication"
    name = "invitation"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Invitation <token>`, with the token from the annotator's "
            "personal link",
        }


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Security scheme of tokens in the schema."""

    target_class = "annotate.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An API token of an account. Its scope is `read`, `write` "
            "or `manage`, each with what the one before it allows.",
        }
