"""Cookies that remember a browser, and its annotators in each study."""

import hmac
import re
import secrets
from hashlib import sha256

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from annotate.models import Annotator

LASTS = 180 * 24 * 3600
# The oldest of more people on one device are forgotten.
MOST_PEOPLE = 20
REMEMBERED = re.compile(r"([0-9]{1,18})-([0-9a-f]{32})")


# The first visit of a public link gives the browser a secret.
FIRST_VISIT = "first-visit"
SECRET = re.compile(r"[\w-]{43}")


def first_visit(request: HttpRequest) -> str:
    """Return the secret of this browser, a new one on its first visit."""
    known = request.COOKIES.get(FIRST_VISIT, "")
    return known if SECRET.fullmatch(known) else secrets.token_urlsafe(32)


def browser(secret: str, study_id: int) -> str:
    """Return a digest of a browser's secret, another one in each study."""
    return sha256(f"{study_id} {secret}".encode()).hexdigest()


def keep_first_visit(response: HttpResponse, secret: str) -> HttpResponse:
    """Store the browser's secret, which proves later who came in it."""
    response.set_cookie(
        FIRST_VISIT,
        secret,
        max_age=LASTS,
        path="/join/",
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )
    return response


def _name(study_id: int) -> str:
    return f"annotator-{study_id}"


def _proof(annotator: Annotator) -> str:
    token = annotator.invitation.token.encode()
    return hmac.digest(token, b"used on this device", "sha256").hex()[:32]


def _remembered(request: HttpRequest, study_id: int) -> dict[int, str]:
    """Return the proofs in the cookie by annotator, the current one last."""
    cookie = request.COOKIES.get(_name(study_id), "")
    return {int(pk): proof for pk, proof in REMEMBERED.findall(cookie)[-MOST_PEOPLE:]}


def _is_proved(annotator: Annotator, proofs: dict[int, str]) -> bool:
    proof = proofs.get(annotator.pk, "")
    return hmac.compare_digest(proof, _proof(annotator))


def other(request: HttpRequest, annotator: Annotator) -> Annotator | None:
    """Return another annotator of the same study on this device."""
    if knows(request, annotator):
        return None
    return at_work(request, annotator.study_id)


def knows(request: HttpRequest, annotator: Annotator) -> bool:
    return _is_proved(annotator, _remembered(request, annotator.study_id))


def at_work(request: HttpRequest, study_id: int) -> Annotator | None:
    proofs = _remembered(request, study_id)
    order = list(proofs)
    people = Annotator.objects.select_related("invitation").filter(
        study=study_id,
        pk__in=order,
        invitation__isnull=False,
        invitation__revoked_at__isnull=True,
    )
    proved = [person for person in people if _is_proved(person, proofs)]
    return max(proved, key=lambda person: order.index(person.pk), default=None)


def remember(
    request: HttpRequest, response: HttpResponse, annotator: Annotator
) -> HttpResponse:
    """Add an annotator to the browser's cookie."""
    known_proofs = _remembered(request, annotator.study_id)
    own_proof = annotator.pk, _proof(annotator)
    if [*known_proofs.items()][-1:] == [own_proof]:
        return response
    known_proofs.pop(annotator.pk, None)
    proofs = [*known_proofs.items(), own_proof][-MOST_PEOPLE:]
    response.set_cookie(
        _name(annotator.study_id),
        ".".join(f"{pk}-{proof}" for pk, proof in proofs),
        max_age=LASTS,
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )
    return response
