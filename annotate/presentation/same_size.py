"""Size of a study's pictures and videos, and their renditions in that size."""

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet
from django.utils.translation import gettext as _

from annotate.models import Study, Unit
from annotate.models.units import OUTPUTS
from evalcore import media
from evalcore.media import Box, Rendition
from evalcore.models import CharacterImage, Frame, MediaFile, Output, Story
from evalcore.object_store import StoreError
from evalcore.video.decoding import UnreadableVideoError
from evalcore.video.storing import video_rendition_path

logger = logging.getLogger(__name__)

RENDITIONS: tuple[Rendition, ...] = ("thumb", "display")
# Shapes that differ less count as the same; rarer ones hardly identify a method.
TOLERANCE = 1.02
LEAST_SHARE = 0.05


def box_of(study: Study) -> Box | None:
    """Return the common size of a study's pictures; None: each keeps its size."""
    if not study.same_size:
        return None
    if "box" not in study.presentation:
        with _presentation_of(study):
            box = study.presentation.get("box") or box_around(outputs_of(study))
            if box is None:
                return None
            study.presentation["box"] = list(box)
    width, height = study.presentation["box"]
    return width, height


@contextmanager
def _presentation_of(study: Study) -> Iterator[None]:
    """Update and store the presentation settings of a study."""
    with transaction.atomic():
        stored = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        study.presentation = stored.presentation
        yield
        study.save(update_fields=["presentation"])


def box_around(outputs: QuerySet[Output]) -> Box | None:
    """Return the smallest size that every picture and video of the outputs fits."""
    ids = outputs.order_by().values("pk")
    pictures = Frame.objects.filter(output__in=ids).order_by().values("media")
    videos = outputs.order_by().values("video")
    sizes = [
        MediaFile.objects.filter(pk__in=used).aggregate(w=Max("width"), h=Max("height"))
        for used in (pictures, videos)
    ]
    width, height = (max(size[side] or 0 for size in sizes) for side in "wh")
    if not (width and height):
        return None
    scale = min(1, media.LONGEST_SIDE["display"] / max(width, height))
    return _even(width * scale), _even(height * scale)


def _even(number: float) -> int:
    whole = max(2, round(number))
    return whole + whole % 2


def outputs_of(study: Study) -> QuerySet[Output]:
    """Return all outputs of the study's units, including degraded copies."""
    units = study.units.order_by()
    condition = Q()
    for name in study.output_paths():
        condition |= Q(pk__in=units.filter(**{f"{name}__isnull": False}).values(name))
    return Output.everything.filter(condition)


def outputs_of_examples(study: Study) -> QuerySet[Output]:
    """Return the degraded copies shown in questions' examples, and their originals."""
    twins = study.questions.filter(example__isnull=False).order_by()
    return Output.everything.filter(
        Q(pk__in=twins.values("example")) | Q(pk__in=twins.values("example__twin_of"))
    )


def draw(study: Study, seconds: float) -> bool:
    """Draw renditions for a limited time; return whether all are complete."""
    deadline = time.monotonic() + seconds
    outputs = outputs_of(study) | outputs_of_examples(study)
    stories = study.units.order_by().values("story")
    box, number = box_of(study), outputs.count()
    for stored, rendition, size in _renditions(outputs, stories, box):
        if time.monotonic() > deadline:
            return False
        try:
            _draw(stored, rendition, size)
        except StoreError:
            return False
    with _presentation_of(study):
        # More and larger outputs may have arrived in the meantime.
        is_all = box_of(study) == box and outputs.all().count() == number
        if is_all:
            study.presentation["drawn"] = True
    return is_all


def remove_unused() -> int:
    """Remove renditions that have not been used for long; return their number."""
    removed = media.remove_unused_renditions()
    if removed:
        for study in Study.objects.filter(state=Study.State.OPEN):
            with _presentation_of(study):
                study.presentation.pop("drawn", None)
    return removed


def draw_unit(unit: Unit, box: Box | None) -> None:
    shown = [getattr(unit, f"{name}_id") for name in OUTPUTS]
    outputs = Output.everything.filter(pk__in=filter(None, shown))
    stories = Story.objects.filter(pk=unit.story_id)
    for rendition in _renditions(outputs, stories, box):
        _draw(*rendition)


def _draw(stored: MediaFile, rendition: Rendition, box: Box | None) -> None:
    try:
        if stored.content_type.startswith("video/"):
            video_rendition_path(stored, box)
        else:
            media.rendition_path(stored, rendition, box)
    except StoreError as error:
        logger.warning("pictures cannot be drawn now: %s", error)
        raise
    except (OSError, media.UnreadablePictureError, UnreadableVideoError) as error:
        logger.warning("picture %s cannot be drawn: %s", stored.pk, error)


def _renditions(
    outputs: QuerySet[Output], stories: QuerySet[Any, Any], box: Box | None
) -> Iterator[tuple[MediaFile, Rendition, Box | None]]:
    """Yield each picture in each size, including reference pictures."""
    ids = outputs.order_by().values("pk")
    pictures = Frame.objects.filter(output__in=ids).order_by().values("media")
    people = CharacterImage.objects.filter(character__story__in=stories).order_by()
    videos = outputs.order_by().values("video")
    for used, size in ((pictures, box), (videos, box), (people.values("media"), None)):
        for stored in MediaFile.objects.filter(pk__in=used).iterator():
            for rendition in RENDITIONS:
                yield stored, rendition, size


class ShapeNote(NamedTuple):
    """A note for managers on methods whose pictures have an unusual aspect ratio."""

    methods: str
    text: str


def aspect_ratio_notes(outputs: QuerySet[Output]) -> list[ShapeNote]:
    """Return notes on methods whose pictures differ in shape from most others."""
    return shape_notes(_stored_sizes(outputs.filter(twin_of=None)))


def shape_notes(pictures: Iterable[tuple[object, str, Box, int]]) -> list[ShapeNote]:
    """Return such notes from story, method, size and number of pictures."""
    stories: dict[object, dict[str, Counter[Box]]] = defaultdict(dict)
    for story, method, size, number in pictures:
        stories[story].setdefault(method, Counter())[size] += number
    compared: Counter[str] = Counter()
    odd: dict[str, Counter[tuple[Box, Box]]] = defaultdict(Counter)
    for methods in stories.values():
        usual = _usual_sizes(methods)
        for method, sizes in methods.items() if len(methods) > 1 else ():
            compared[method] += sizes.total()
            for size, number in sizes.items():
                if not any(_is_same_shape(size, one) for one in usual):
                    odd[method][size, usual[0]] += number
    alike: dict[tuple[Box, Box], list[str]] = defaultdict(list)
    for method in sorted(odd):
        if odd[method].total() >= LEAST_SHARE * compared[method]:
            most = max(odd[method], key=lambda sizes: (odd[method][sizes], sizes))
            alike[most].append(method)
    return [
        _shape_note(
            ", ".join(methods),
            sizes,
            sum(odd[method].total() for method in methods),
            sum(compared[method] for method in methods),
        )
        for sizes, methods in alike.items()
    ]


def _stored_sizes(outputs: QuerySet[Output]) -> Iterator[tuple[int, str, Box, int]]:
    """Yield story, method, size and number of all pictures and videos."""
    frames = Frame.objects.filter(output__in=outputs.order_by().values("pk"))
    for rows, above, file in ((frames, "output__", "media"), (outputs, "", "video")):
        present = rows.filter(**{f"{file}__isnull": False}).order_by()
        columns = (f"{above}story", f"{above}method__name")
        sides = (f"{file}__width", f"{file}__height")
        counted = present.values_list(*columns, *sides).annotate(n=Count("pk"))
        for story, method, width, height, number in counted:
            yield story, method, (width, height), number


def _usual_sizes(methods: Mapping[str, Counter[Box]]) -> list[Box]:
    """Return the size whose shape most methods share, then any that over half share."""
    having = {
        size: sum(any(_is_same_shape(size, s) for s in own) for own in methods.values())
        for sizes in methods.values()
        for size in sizes
    }
    most = max(having, key=lambda size: (having[size], size))
    return [most, *(size for size in having if having[size] > len(methods) / 2)]


def _is_same_shape(one: Box, other: Box) -> bool:
    across, down = one[0] * other[1], other[0] * one[1]
    return max(across, down) <= TOLERANCE * min(across, down) + 1e-9


def _shape_note(
    methods: str, sizes: tuple[Box, Box], odd: int, compared: int
) -> ShapeNote:
    text = _(
        "%(odd)d of %(number)d pictures or videos of %(methods)s differ in shape from "
        "most others of the same story. Most often they are %(size)s pixels, not "
        "%(usual)s, so annotators could recognise the method. Crop or pad them to the "
        "usual shape, or leave the method out."
    )
    size, usual = sizes
    values = {
        "odd": odd,
        "number": compared,
        "methods": methods,
        "size": "{} x {}".format(*size),
        "usual": "{} x {}".format(*usual),
    }
    return ShapeNote(methods, text % values)
