"""Which annotators a browser works as: a signed cookie for each study.

One person with two invitations would judge the same story twice. The browser remembers
whose invitation was used on it, and asks before another one is.
"""

from django.conf import settings
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse

from annotate.models import Annotator

LASTS = 180 * 24 * 3600
# So many people share a device; the first ones are forgotten.
MOST_PEOPLE = 20


def _name(study_id: int) -> str:
    return f"annotator-{study_id}"


def _remembered(request: HttpRequest, study_id: int) -> list[int]:
    """Return the annotators (by id) of this browser, the one at work last."""
    try:
        text = request.get_signed_cookie(_name(study_id), default="", max_age=LASTS)
    except BadSignature:
        return []
    return [int(part) for part in text.split(".") if part.isdecimal()]


def other(request: HttpRequest, annotator: Annotator) -> Annotator | None:
    """Return who takes part in the same study on this device, if it is somebody else.

    Nobody is returned once the annotator at hand has been confirmed here.
    """
    known = _remembered(request, annotator.study_id)
    if annotator.pk in known:
        return None
    return _last(known, annotator.study_id)


def knows(request: HttpRequest, annotator: Annotator) -> bool:
    """Say whether this browser has taken part as the annotator before."""
    return annotator.pk in _remembered(request, annotator.study_id)


def at_work(request: HttpRequest, study_id: int) -> Annotator | None:
    """Return who takes part in a study on this device."""
    return _last(_remembered(request, study_id), study_id)


def _last(known: list[int], study_id: int) -> Annotator | None:
    found = Annotator.objects.select_related("invitation").filter(
        study=study_id, pk__in=known, invitation__revoked_at__isnull=True
    )
    return max(found, key=lambda person: known.index(person.pk), default=None)


def remember(
    request: HttpRequest, response: HttpResponse, annotator: Annotator
) -> HttpResponse:
    """Let the browser remember that it works as this annotator, too."""
    known = _remembered(request, annotator.study_id)
    if known[-1:] == [annotator.pk]:
        return response
    kept = [pk for pk in known if pk != annotator.pk][1 - MOST_PEOPLE :]
    response.set_signed_cookie(
        _name(annotator.study_id),
        ".".join(str(pk) for pk in [*kept, annotator.pk]),
        max_age=LASTS,
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )
    return response
