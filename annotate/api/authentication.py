"""An invitation link as credentials: `Authorization: Invitation <token>`."""

from django.contrib.auth.models import AnonymousUser
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from annotate.models import Annotator, Invitation

KEYWORD = "Invitation"


class InvitationAuthentication(BaseAuthentication):
    """Sets `request.auth` to the annotator whom the link belongs to."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Annotator] | None:
        parts = get_authorization_header(request).decode("latin-1").split()
        if len(parts) != 2 or parts[0].lower() != KEYWORD.lower():
            return None
        invitation = (
            Invitation.objects.filter(token=parts[1], revoked_at__isnull=True)
            .select_related("annotator__study")
            .first()
        )
        if invitation is None:
            raise AuthenticationFailed("This invitation is not valid.")
        return AnonymousUser(), invitation.annotator

    def authenticate_header(self, request: Request) -> str:
        return KEYWORD


class IsAnnotator(BasePermission):
    """Lets only annotators in."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.auth, Annotator)


class InvitationScheme(OpenApiAuthenticationExtension):
    """Describes the invitation in the OpenAPI schema."""

    target_class = "annotate.api.authentication.InvitationAuthentication"
    name = "invitation"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "`Invitation <token>`, the token of the invitation link",
        }
