"""What an annotator looks at, under addresses that say only where it stands."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotate.models import Annotator, Slot
from annotate.pages.seat.byte_ranges import send_part
from annotate.pages.seat.invitation import NotYetError, for_annotator
from annotate.pages.seat.slot import look_at
from annotate.presentation import same_size, slot_view
from annotate.presentation.examples import is_shown
from annotate.slots.admission import lacking
from evalcore import media
from evalcore.models import Frame, MediaFile, Output
from evalcore.video.storing import video_rendition_path, video_still_path

PICTURE_SECONDS = 24 * 3600


Sends = Callable[..., HttpResponseBase]


def send_frame(
    request: HttpRequest, slot: Slot, side: str, number: str, rendition: media.Rendition
) -> HttpResponse:
    """Send the picture of one shot in the study's size, if there is one."""
    output = slot_view.sides(slot).get(side)
    return _send_shot(output, number, rendition, same_size.box_of(slot.study))


def _send_shot(
    output: Output | None,
    number: str,
    rendition: media.Rendition,
    box: media.Box | None,
) -> HttpResponse:
    frame = Frame.objects.filter(output=output, number=number).first()
    if output is None or frame is None or frame.media is None:
        raise Http404
    return _send(frame.media, rendition, box)


def send_character(
    request: HttpRequest,
    slot: Slot,
    index: str,
    number: str,
    rendition: media.Rendition,
) -> HttpResponse:
    """Send a reference picture of one of the characters of a slot's story."""
    characters = slot_view.story_characters(slot)
    if int(index) >= len(characters):
        raise Http404
    images = list(characters[int(index)].images.all())
    if not 1 <= int(number) <= len(images):
        raise Http404
    return _send(images[int(number) - 1].media, rendition)


def _send(
    stored: MediaFile, rendition: media.Rendition, box: media.Box | None = None
) -> HttpResponse:
    return _picture(media.rendition_path(stored, rendition, box).read_bytes())


def _picture(data: bytes) -> HttpResponse:
    """Return a picture with headers that are the same for all methods.

    No ETag, date or file name: equal pictures could be recognised by them.
    """
    response = HttpResponse(data, content_type="image/webp")
    response["Cache-Control"] = f"private, max-age={PICTURE_SECONDS}"
    return response


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
        return send(request, look_at(annotator, code), **which)

    return view


@require_safe
@for_annotator
def example(
    request: HttpRequest, annotator: Annotator, question: str, which: str, number: str
) -> HttpResponse:
    """Send a small picture of a question's example, before the first story too.

    No other shot of its story, which may be judged later.
    """
    if annotator.consented_at is None:
        raise NotYetError(lacking(annotator))
    study = annotator.study
    rows = study.questions.select_related("example__twin_of")
    asked = get_object_or_404(rows, ordinal=question, example__isnull=False)
    if not is_shown(asked, int(number)):
        raise Http404
    twin = asked.example
    assert twin is not None
    output, box = twin if which == "bad" else twin.twin_of, same_size.box_of(study)
    if twin.video_id is None:
        return _send_shot(output, number, "thumb", box)
    return _send_still(output, twin.parts, number, box)


def _send_still(
    output: Output | None,
    parts: list[tuple[int, int, int, bool]],
    number: str,
    box: media.Box | None,
) -> HttpResponse:
    """Send the middle frame of one shot's part of a video."""
    frames = {shot: (start + stop) // 2 for shot, start, stop, _differs in parts}
    if output is None or output.video is None or int(number) not in frames:
        raise Http404
    path = video_still_path(output.video, "thumb", box, frames[int(number)])
    return _picture(path.read_bytes())


picture = _of_own_slot(send_frame)
character = _of_own_slot(send_character)
video = _of_own_slot(send_side)


def send_video(
    request: HttpRequest, output: Output | None, box: media.Box | None = None
) -> HttpResponseBase:
    """Send the rendition of an output's video, or the part that is asked for."""
    if output is None or output.video is None:
        raise Http404
    path = video_rendition_path(output.video, box)
    return send_part(request, path, "video/mp4", PICTURE_SECONDS)
