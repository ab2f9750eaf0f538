"""Tokens of accounts."""

from rest_framework.authtoken.models import Token
from rest_framework.authtoken.views import ObtainAuthToken
from rest_framework.exceptions import Throttled, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotate.access import rate_limits
from annotate.api import serializers


class ObtainToken(ObtainAuthToken):
    """The API token of an account, for its name and password."""

    serializer_class = serializers.AuthTokenSerializer
    parser_classes = APIView.parser_classes

    def post(self, request: Request) -> Response:
        given = self.get_serializer(data=request.data)
        try:
            given.is_valid(raise_exception=True)
        except ValidationError:
            if getattr(request, "axes_locked_out", False):
                wait = rate_limits.seconds_for_login(request, request.axes_credentials)
                raise Throttled(wait=wait) from None
            raise
        user = given.validated_data["user"]
        rate_limits.note_token_given(request._request, user)
        token, _created = Token.objects.get_or_create(user=user)
        return Response({"token": token.key})
