"""Pictures and videos on their way to a browser: from here, or by nginx."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)

ONE_RANGE = re.compile(r"bytes=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", re.ASCII)
BLOCK = 1 << 16
# A part that is asked for to the end is cut here, and the player asks for the next one:
# else a paused video would keep a thread of the server waiting for as long.
LARGEST_PART = 1 << 21
PICTURE_SECONDS = 24 * 3600
# Nobody was told a date or an ETag to ask by; nginx would answer to guesses of them.
BY_VALIDATOR = frozenset(
    {"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"}
)


def send_file(request: HttpRequest, path: Path, content_type: str) -> HttpResponseBase:
    """Send a file below MEDIA_ROOT with headers that are the same for all methods."""
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


class BadRangeError(ValueError):
    """A range that is none, or lies outside of the file."""


def send_part(request: HttpRequest, path: Path, content_type: str) -> HttpResponseBase:
    """Send a file, or one range of it, read from the disk as it is sent."""
    size = path.stat().st_size
    try:
        part = _asked(request, size)
    except BadRangeError:
        response: HttpResponseBase = HttpResponse(status=416)
        response["Content-Range"] = f"bytes */{size}"
        return response
    start, stop = part or (0, size)
    blocks = _blocks(path, start, stop) if request.method == "GET" else iter(())
    response = StreamingHttpResponse(
        blocks, status=206 if part else 200, content_type=content_type
    )
    response["Content-Length"] = str(stop - start)
    if part:
        response["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    response["Accept-Ranges"] = "bytes"
    return response


def _asked(request: HttpRequest, size: int) -> tuple[int, int] | None:
    """Return from where to where the file is wanted; None: all of it."""
    header = request.headers.get("Range", "")
    whole = not header.startswith("bytes=") or "," in header
    # A validator can never match, for none is sent.
    if whole or "If-Range" in request.headers:
        return None
    match = ONE_RANGE.fullmatch(header)
    if match is None or match[1] == match[2] == "":
        raise BadRangeError
    if match[1]:
        start = int(match[1])
        last = min(int(match[2] or size - 1), size - 1)
    else:
        start, last = max(size - int(match[2]), 0), size - 1
    if start > last:
        raise BadRangeError
    return start, min(last + 1, start + LARGEST_PART)


def _blocks(path: Path, start: int, stop: int) -> Iterator[bytes]:
    with path.open("rb") as stream:
        stream.seek(start)
        while start < stop and (block := stream.read(min(BLOCK, stop - start))):
            yield block
            start += len(block)
