"""The login at an institution's provider: code flow with PKCE, state and nonce.

mozilla-django-oidc speaks the protocol. What it leaves to its users is here: the
provider's addresses come from its discovery document, and a token must be of that
issuer, for this client, and in its time.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any

import httpx2
import jwt
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import (
    OIDCAuthenticationCallbackView,
    OIDCAuthenticationRequestView,
)

from annotate.models import User
from annotate.sign_on.accounts import RefusedError, account_of

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 5
# The discovery document is read again after so long.
KEPT_SECONDS = 3600
# Tolerated difference between the clocks.
LEEWAY_SECONDS = 60
DISCOVERY = "/.well-known/openid-configuration"
NEEDED = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
ALGORITHM = "RS256"
STATUS = {"away": 503}
_documents: dict[str, tuple[float, dict[str, Any]]] = {}


def discovered() -> dict[str, Any]:
    """Return the provider's discovery document, or raise RefusedError."""
    issuer = settings.OIDC_ISSUER
    until, document = _documents.get(issuer, (0.0, {}))
    if time.monotonic() < until:
        return document
    try:
        answer = httpx2.get(f"{issuer}{DISCOVERY}", timeout=TIMEOUT_SECONDS)
        document = dict(answer.raise_for_status().json())
        lacks = [name for name in NEEDED if not document.get(name)]
        if lacks or document["issuer"].rstrip("/") != issuer:
            raise ValueError(f"not a discovery document of {issuer}")
    except (httpx2.HTTPError, ValueError, KeyError, AttributeError, TypeError) as error:
        logger.warning("OIDC_ISSUER %s cannot be used: %s", issuer, error)
        raise RefusedError("away") from error
    _documents[issuer] = time.monotonic() + KEPT_SECONDS, document
    return document


def get_settings(name: str, *default: object) -> object:
    """Return a setting of mozilla-django-oidc."""
    document = discovered()
    sent = document.get("token_endpoint_auth_methods_supported", [])
    known = {
        "OIDC_OP_AUTHORIZATION_ENDPOINT": document["authorization_endpoint"],
        "OIDC_OP_TOKEN_ENDPOINT": document["token_endpoint"],
        "OIDC_OP_USER_ENDPOINT": document.get("userinfo_endpoint", ""),
        "OIDC_OP_JWKS_ENDPOINT": document["jwks_uri"],
        "OIDC_RP_CLIENT_ID": settings.OIDC_CLIENT_ID,
        "OIDC_RP_CLIENT_SECRET": settings.OIDC_CLIENT_SECRET,
        "OIDC_RP_SIGN_ALGO": ALGORITHM,
        "OIDC_RP_SCOPES": settings.OIDC_SCOPES,
        "OIDC_TOKEN_USE_BASIC_AUTH": "client_secret_post" not in sent,
        "OIDC_USE_PKCE": True,
        "OIDC_TIMEOUT": TIMEOUT_SECONDS,
        "OIDC_AUTHENTICATION_CALLBACK_URL": "sign-on-return",
        "LOGIN_REDIRECT_URL": settings.LOGIN_REDIRECT_URL,
    }
    return known.get(name, default[0] if default else None)


class Backend(OIDCAuthenticationBackend):
    """Logs in people whom the provider vouches for."""

    get_settings = staticmethod(get_settings)

    def __init__(self) -> None:
        # Every request of a session makes one; only a login asks the provider.
        self.UserModel = User

    get_user = ModelBackend.get_user  # none that is deactivated

    def authenticate(
        self,
        request: HttpRequest | None,
        nonce: str = "",
        code_verifier: str = "",
        **_password: object,
    ) -> User | None:
        """Return the account of a person; None if a token is not what it should be."""
        if request is None or not nonce:
            return None
        super().__init__()
        try:
            user: User | None = super().authenticate(
                request, nonce=nonce, code_verifier=code_verifier
            )
        # `requests` raises errors that are OSError.
        except (SuspiciousOperation, jwt.PyJWTError, OSError, LookupError) as error:
            logger.warning("a login by OIDC was refused: %s", error)
            return None
        return user

    def _verify_jws(self, payload: str, key: jwt.PyJWK) -> dict[str, Any]:
        """Return the claims of a token that is signed, current, and meant for us."""
        claims = jwt.decode(
            payload,
            key,
            algorithms=[ALGORITHM],
            audience=settings.OIDC_CLIENT_ID,
            issuer=discovered()["issuer"],
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iat", "iss", "aud", "sub"]},
        )
        if claims.get("azp", settings.OIDC_CLIENT_ID) != settings.OIDC_CLIENT_ID:
            raise SuspiciousOperation("the token was issued to another client")
        return claims

    def get_or_create_user(
        self, access_token: str, id_token: str, payload: Mapping[str, Any]
    ) -> User:
        """Return the account of the person in the token."""
        claims = dict(payload)
        if self.OIDC_OP_USER_ENDPOINT:
            told = self.get_userinfo(access_token, id_token, payload)
            if told["sub"] != payload["sub"]:
                raise SuspiciousOperation("the user info is of somebody else")
            claims = told | claims
        return account_of(claims, self.request.user)


class SignOn(OIDCAuthenticationRequestView):
    """Sends a person to the provider."""

    get_settings = staticmethod(get_settings)


class SignOnReturn(OIDCAuthenticationCallbackView):
    """Takes a person back from the provider, and logs them in."""

    get_settings = staticmethod(get_settings)

    def get(self, request: HttpRequest) -> HttpResponse:
        """Log in, or say why not."""
        if "error" in request.GET:  # also sent by anybody: nobody is logged out by it
            return self.login_failure()
        try:
            answer: HttpResponse = super().get(request)
        except SuspiciousOperation:  # a state of another browser, or used before
            return self.login_failure()
        return answer

    def login_failure(self) -> HttpResponse:
        """Ask the person to try again."""
        return refusal(self.request, "failed")


def refusal(request: HttpRequest, reason: str) -> HttpResponse:
    """Return the page that says why somebody cannot log in."""
    context = {"reason": reason, "name": settings.OIDC_NAME}
    status = STATUS.get(reason, 403)
    return render(request, "sign_on_refused.html", context, status=status)


def respond(request: HttpRequest, stage: str) -> HttpResponse:
    """Return the answer to a stage of a login, or the page that says why it ended."""
    view: Any = SignOn if stage == "start" else SignOnReturn
    try:
        answer: HttpResponse = view.as_view()(request)
    except RefusedError as error:
        return refusal(request, str(error))
    return answer
