"""Remember in the browser which slots an annotator was named beforehand."""

from collections.abc import Sequence

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from annotate.models import Annotator
from annotate.pages.requests import SeatRequest

COOKIE = "offered"
# The pages that a browser keeps, and those that it was named before.
MOST_CODES = 40


def remember(
    request: SeatRequest,
    response: HttpResponse,
    annotator: Annotator,
    codes: Sequence[str],
) -> HttpResponse:
    """Let the browser remember the codes of slots that it is named now."""
    before = [code for code in _offered(request, annotator) if code not in codes]
    response.set_cookie(
        COOKIE,
        _signer(annotator).sign(".".join([*before, *codes][-MOST_CODES:])),
        path=reverse("rate-entry", args=[request.token]),
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )
    return response


def was_offered(request: HttpRequest, annotator: Annotator, code: str) -> bool:
    """Say whether this annotator's browser was named a slot."""
    return code in _offered(request, annotator)


def _offered(request: HttpRequest, annotator: Annotator) -> list[str]:
    try:
        signed = _signer(annotator).unsign(request.COOKIES.get(COOKIE, ""))
    except BadSignature:
        return []
    return signed.split(".")


def _signer(annotator: Annotator) -> Signer:
    return Signer(salt=f"offered {annotator.pk}")
