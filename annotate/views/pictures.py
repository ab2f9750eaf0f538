"""The pictures that an annotator is shown, under addresses that say only where."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotate import viewing
from annotate.models import Annotator, Slot
from annotate.views.judging import get_slot
from annotate.views.rate import for_annotator
from evalcore import media
from evalcore.models import Frame, MediaFile, Output

PICTURE_SECONDS = 24 * 3600


@require_safe
@for_annotator
def picture(
    request: HttpRequest,
    annotator: Annotator,
    code: str,
    side: str,
    number: str,
    rendition: media.Rendition,
) -> HttpResponse:
    """Send one shot's picture; the address says only where it stands."""
    return send_frame(
        viewing.sides(get_slot(annotator, code)).get(side), number, rendition
    )


def send_frame(
    output: Output | None, number: str, rendition: media.Rendition
) -> HttpResponse:
    """Send the picture of one shot of an output, if there is one."""
    frame = Frame.objects.filter(output=output, number=number).first()
    if output is None or frame is None or frame.media is None:
        raise Http404
    return _send(frame.media, rendition)


@require_safe
@for_annotator
def character(
    request: HttpRequest,
    annotator: Annotator,
    code: str,
    index: str,
    number: str,
    rendition: media.Rendition,
) -> HttpResponse:
    """Send one reference picture of a character."""
    return send_character(get_slot(annotator, code), index, number, rendition)


def send_character(
    slot: Slot, index: str, number: str, rendition: media.Rendition
) -> HttpResponse:
    """Send a reference picture of one of the characters of a slot's story."""
    characters = viewing.story_characters(slot)
    if int(index) >= len(characters):
        raise Http404
    images = list(characters[int(index)].images.all())
    if not 1 <= int(number) <= len(images):
        raise Http404
    return _send(images[int(number) - 1].media, rendition)


def _send(stored: MediaFile, rendition: media.Rendition) -> HttpResponse:
    """Send a picture with headers that are the same for all methods.

    No ETag, date or file name: equal pictures could be recognised by them.
    """
    data = media.rendition_path(stored, rendition).read_bytes()
    response = HttpResponse(data, content_type="image/webp")
    response["Cache-Control"] = f"private, max-age={PICTURE_SECONDS}"
    return response
