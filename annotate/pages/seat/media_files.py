"""What an annotator looks at, under addresses that say only where it stands."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotate.kinds.errors import NotYetError
from annotate.models import Annotator, Slot
from annotate.pages.seat.invitation import for_annotator
from annotate.pages.seat.slot import look_at
from annotate.pages.seat.stored_files import send_file, send_picture
from annotate.presentation import same_size, slot_view
from annotate.presentation.examples import is_shown
from annotate.responses.leasing import lacking
from evalcore import media
from evalcore.models import Frame, MediaFile, Output
from evalcore.video.storing import video_rendition_path, video_still_path

Sends = Callable[..., HttpResponseBase]


def send_frame(
    request: HttpRequest, slot: Slot, side: str, number: str, rendition: media.Rendition
) -> HttpResponseBase:
    """Send the picture of one shot in the study's size, if there is one."""
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
    """Send a reference picture of one of the characters of a slot's story."""
    characters = slot_view.story_characters(slot)
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
    """Send a small picture of a question's example, before the first story too."""
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
        return _send_shot(request, output, number, "thumb", box)
    return _send_still(request, output, twin.parts, number, box)


def _send_still(
    request: HttpRequest,
    output: Output | None,
    parts: list[tuple[int, int, int, bool]],
    number: str,
    box: media.Box | None,
) -> HttpResponseBase:
    """Send the middle frame of one shot's part of a video."""
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
    """Send the rendition of an output's video, or the part that is asked for."""
    if output is None or output.video is None:
        raise Http404
    path = video_rendition_path(output.video, box)
    return send_file(request, path, "video/mp4")
