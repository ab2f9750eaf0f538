"""Pictures and videos on their way to a browser: from here, or by nginx.

Who may see a file was decided before. No ETag, date or file name goes along: equal
files could be recognised by them, and with them a method.
"""

from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from annotate.pages.seat.byte_ranges import send_part

PICTURE_SECONDS = 24 * 3600
# Nobody was told a date or an ETag to ask by; nginx would answer to guesses of them.
BY_VALIDATOR = frozenset(
    {"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"}
)


def send_file(request: HttpRequest, path: Path, content_type: str) -> HttpResponseBase:
    """Send a file below MEDIA_ROOT with headers that are the same for all methods.

    With MEDIA_ACCEL nginx does so: it is told the file in a header, which it keeps to
    itself, and sees to parts of it. Without, a video goes in parts as it is asked for.
    """
    response: HttpResponseBase
    if settings.MEDIA_ACCEL and not BY_VALIDATOR.intersection(request.headers):
        response = HttpResponse(content_type=content_type)
        place = path.relative_to(settings.MEDIA_ROOT).as_posix()
        response["X-Accel-Redirect"] = settings.MEDIA_ACCEL + quote(place)
    elif content_type.startswith("video/"):
        response = send_part(request, path, content_type)
    else:
        response = HttpResponse(path.read_bytes(), content_type=content_type)
    response["Cache-Control"] = f"private, max-age={PICTURE_SECONDS}"
    return response


def send_picture(request: HttpRequest, path: Path) -> HttpResponseBase:
    return send_file(request, path, "image/webp")
