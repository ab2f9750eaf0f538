"""Serve media to annotators, directly or through nginx."""

import re
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotate.kinds.base import NotYetError
from annotate.models import Annotator, Slot
from annotate.pages.annotator.answering import for_annotator
from annotate.pages.annotator.slot import look_at
from annotate.presentation import same_size, slot_view
from annotate.presentation.examples import is_shown
from annotate.responses.leasing import lacking
from evalcore import media
from evalcore.models import Frame, MediaFile, Output
from evalcore.video.storing import video_rendition_path, video_still_path

ONE_RANGE = re.compile(r"bytes=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", re.ASCII)
BLOCK = 1 << 16
# A part that is asked for to the end is cut here, and the player asks for the next one:
# else a paused video would keep a thread of the server waiting for as long.
LARGEST_PART = 1 << 21
PICTURE_SECONDS = 24 * 3600
# No date or ETag was sent, so conditional headers are guesses that nginx would answer.
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
    """A range that is malformed or outside the file."""


def send_part(request: HttpRequest, path: Path, content_type: str) -> HttpResponseBase:
    """Send a file or one range of it, streamed from disk."""
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
    """Return start and end of the requested range; None: the whole file."""
    header = request.headers.get("Range", "")
    whole = not header.startswith("bytes=") or "," in header
    # No validator is sent, so none can match.
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


@require_safe
def worker(request: HttpRequest) -> HttpResponse:
    """Send the service worker: its address keeps it to annotators' pages."""
    path = finders.find("plumbline/annotator/worker.js")
    assert isinstance(path, str)
    return HttpResponse(Path(path).read_bytes(), content_type="text/javascript")


Sends = Callable[..., HttpResponseBase]


def send_frame(
    request: HttpRequest, slot: Slot, side: str, number: str, rendition: media.Rendition
) -> HttpResponseBase:
    """Send the picture of one shot in the study's size, or raise `Http404`."""
    output = slot_view.sides(slot).get(side)
    return _send_shot(request, output, number, rendition, same_size.box_of(slot.study))


def _send_shot(
    request: HttpRequest,
    output: Output | None,
    number: str,
    rendition: media.Rendition,
    box: media.Box | None,
) -> HttpResponseBase:
    frame = Frame.objects.filter(output=output, number=number).first()
    if output is None or frame is None or frame.media is None:
        raise Http404
    return _send(request, frame.media, rendition, box)


def send_character(
    request: HttpRequest,
    slot: Slot,
    index: str,
    number: str,
    rendition: media.Rendition,
) -> HttpResponseBase:
    """Send a reference picture of a character in a slot's story."""
    characters = slot.unit.story.characters.prefetch_related("images").order_by("key")
    if int(index) >= len(characters):
        raise Http404
    images = list(characters[int(index)].images.all())
    if not 1 <= int(number) <= len(images):
        raise Http404
    return _send(request, images[int(number) - 1].media, rendition)


def _send(
    request: HttpRequest,
    stored: MediaFile,
    rendition: media.Rendition,
    box: media.Box | None = None,
) -> HttpResponseBase:
    return send_picture(request, media.rendition_path(stored, rendition, box))


def send_side(request: HttpRequest, slot: Slot, side: str) -> HttpResponseBase:
    """Send the video of a slot's side in the study's size."""
    output = slot_view.sides(slot).get(side)
    return send_video(request, output, same_size.box_of(slot.study))


def _of_own_slot(send: Sends) -> Sends:
    @require_safe
    @for_annotator
    @wraps(send)
    def view(
        request: HttpRequest, annotator: Annotator, code: str, **which: Any
    ) -> HttpResponseBase:
        return send(request, look_at(request, annotator, code), **which)

    return view


@require_safe
@for_annotator
def example(
    request: HttpRequest, annotator: Annotator, question: str, which: str, number: str
) -> HttpResponseBase:
    """Send a small picture of a question's example."""
    if annotator.consented_at is None:
        raise NotYetError(lacking(annotator))
    study = annotator.study
    rows = study.questions.select_related("example__twin_of")
    question_row = get_object_or_404(rows, ordinal=question, example__isnull=False)
    if not is_shown(question_row, int(number)):
        raise Http404
    twin = question_row.example
    assert twin is not None
    output, box = twin if which == "bad" else twin.twin_of, same_size.box_of(study)
    if twin.video_id is None:
        return _send_shot(request, output, number, "thumb", box)
    return _send_still(request, output, twin.parts, number, box)


def _send_still(
    request: HttpRequest,
    output: Output | None,
    parts: list[tuple[int, int, int, bool]],
    number: str,
    box: media.Box | None,
) -> HttpResponseBase:
    """Send the middle frame of a shot's part of a video."""
    frames = {shot: (start + stop) // 2 for shot, start, stop, _differs in parts}
    if output is None or output.video is None or int(number) not in frames:
        raise Http404
    path = video_still_path(output.video, "thumb", box, frames[int(number)])
    return send_picture(request, path)


picture = _of_own_slot(send_frame)
character = _of_own_slot(send_character)
video = _of_own_slot(send_side)


def send_video(
    request: HttpRequest, output: Output | None, box: media.Box | None = None
) -> HttpResponseBase:
    """Send the rendition of an output's video, or the requested part."""
    if output is None or output.video is None:
        raise Http404
    path = video_rendition_path(output.video, box)
    return send_file(request, path, "video/mp4")
