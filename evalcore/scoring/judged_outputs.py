"""Renderings for metrics, read from the database: outputs, true outputs, whole runs."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from django.db.models import Q, QuerySet

from evalcore import media, media_store
from evalcore.metrics import base
from evalcore.metrics.video_sampling import film, frame_count, segments
from evalcore.models import (
    Benchmark,
    Character,
    CharacterImage,
    Frame,
    MediaFile,
    Output,
    Shot,
)

# Frames per second of sampled videos, as in StoryBench.
RATE = 8
# Only these columns are read of a stored picture; whole rows take several times as
# long.
PICTURE = ("media__sha256", "media__extension", "media__width", "media__height")


class InconsistentOutputError(ValueError):
    """The stored data of an output are inconsistent; the message says how."""


@dataclass(frozen=True)
class StoryFacts:
    """Data shared by the renderings of one story."""

    shots: Sequence[Shot]
    present: Mapping[int, tuple[str, ...]]  # characters' keys by shot's primary key
    characters: Mapping[str, base.RenderedCharacter]


def outputs(benchmark: Benchmark) -> QuerySet[Output]:
    """Return a benchmark's outputs that have pictures or a video."""
    return (
        Output.objects.filter(story__benchmark=benchmark)
        .filter(Q(frames__isnull=False) | Q(video__isnull=False))
        .distinct()
        .select_related("story", "method", "video")
        .order_by("pk")
    )


def output_name(output: Output) -> str:
    """Return the name of an output in lists of failures."""
    return f"{output.method.name} / {output.story.key}"


def load_renderings(
    outputs: Sequence[Output],
) -> dict[int, base.Rendering | InconsistentOutputError]:
    """Return renderings by the outputs' primary keys, in few queries.

    No picture is decoded. Outputs must come with story, method and video. An
    inconsistent output gives an error in its place; the others are not affected.
    """
    facts = _stories({output.story_id for output in outputs})
    frames: dict[int, dict[int, base.Source]] = defaultdict(dict)
    for key, number, *stored in (
        Frame.objects.filter(output__in=[output.pk for output in outputs])
        .filter(media__isnull=False)
        .values_list("output", "number", *PICTURE)
    ):
        frames[key][number] = picture_source(*stored)
    renderings_by_output: dict[int, base.Rendering | InconsistentOutputError] = {}
    for output in outputs:
        try:
            renderings_by_output[output.pk] = _rendering(
                output, facts[output.story_id], frames[output.pk]
            )
        # Errors that inconsistent numbers raise.
        except (ArithmeticError, ValueError) as error:
            renderings_by_output[output.pk] = InconsistentOutputError(str(error))
    return renderings_by_output


def renderings(outputs: Sequence[Output]) -> dict[int, base.Rendering]:
    """Return renderings as `load_renderings`; raise if any output is inconsistent."""
    every = load_renderings(outputs)
    valid = {}
    for output in outputs:
        loaded = every[output.pk]
        if isinstance(loaded, InconsistentOutputError):
            raise InconsistentOutputError(
                f"{output_name(output)}: {loaded}"
            ) from loaded
        valid[output.pk] = loaded
    return valid


def rendering(output: Output) -> base.Rendering:
    """Return the rendering of one output; a degraded copy works too."""
    return renderings([output])[output.pk]


def _rendering(
    output: Output, facts: StoryFacts, frames: Mapping[int, base.Source]
) -> base.Rendering:
    if output.video is not None:
        pictures = _film(output, output.video, facts.shots)
    else:
        pictures = {number: (base.Image(one),) for number, one in frames.items()}
    language = "zh" if output.language in ("zh", "ch") else "en"
    return base.Rendering(
        story=output.story.key,
        method=output.method.name,
        shots=tuple(
            base.RenderedShot(
                shot.number,
                pictures.get(shot.number, ()),
                shot.text.get(language) or next(iter(shot.text.values()), {}),
                facts.present[shot.pk],
            )
            for shot in facts.shots
        ),
        characters=facts.characters,
        is_video=output.video is not None,
        extra=output.story.extra,
    )


def picture_source(sha256: str, extension: str, width: int, height: int) -> base.Source:
    """Return a stored picture as a source for metrics."""
    read = partial(_read_picture, sha256, extension)
    png = partial(_read_file, sha256, extension) if extension == "png" else None
    return base.Source(sha256, read, (width, height), png)


def _read_file(sha256: str, extension: str) -> bytes:
    try:
        path = media.original_path(MediaFile(sha256=sha256, extension=extension))
        return path.read_bytes()
    except OSError as error:
        what = f"{sha256}.{extension}: expected a readable file ({error.strerror})"
        raise InconsistentOutputError(what) from error


def _read_picture(sha256: str, extension: str) -> Iterator[base.Picture]:
    row = MediaFile(sha256=sha256, extension=extension)
    name = f"{sha256}.{extension}"
    try:
        with media.stored_picture(row) as picture:
            pixels = np.asarray(picture)
    except media.UnreadablePictureError as error:
        raise InconsistentOutputError(f"{name}: expected {error}") from error
    except OSError as error:
        what = f"{name}: expected a readable file ({error.strerror})"
        raise InconsistentOutputError(what) from error
    yield pixels


def _film(
    output: Output, video: MediaFile, shots: Sequence[Shot]
) -> dict[int, tuple[base.Image, ...]]:
    """Return the frames of each shot, without the conditioning part."""
    seconds = video.duration_seconds
    if not seconds:
        raise InconsistentOutputError(
            "its video has no length in seconds: import it again"
        )
    path = media.place_of_original(video.sha256, video.extension)
    frames = film(path, video.sha256, seconds=seconds, rate=RATE)
    source = replace(
        frames,
        pictures=partial(_fetched, path, frames.pictures),
        size=(video.width, video.height),
    )
    parts = segments(
        [(shot.start_seconds, shot.end_seconds) for shot in shots],
        frame_count(seconds, RATE),
        given=output.story.conditioning_seconds or 0,
        rate=RATE,
    )
    return {
        shot.number: tuple(base.Image(source, index) for index in indices)
        for shot, indices in zip(shots, parts, strict=True)
    }


def _fetched(
    path: Path, pictures: Callable[[], Iterator[base.Picture]]
) -> Iterator[base.Picture]:
    """Fetch a video's file from its store when its frames are read."""
    media_store.is_here(path)
    return pictures()


def _stories(keys: Iterable[int]) -> dict[int, StoryFacts]:
    keys = list(keys)
    shots = defaultdict(list)
    for shot in Shot.objects.filter(story__in=keys).order_by("number"):
        shots[shot.story_id].append(shot)
    references = defaultdict(list)
    for character, *stored in (
        CharacterImage.objects.filter(character__story__in=keys)
        .order_by("ordinal")
        .values_list("character", *PICTURE)
    ):
        references[character].append(base.Image(picture_source(*stored)))
    characters: dict[int, dict[str, base.RenderedCharacter]] = defaultdict(dict)
    for row in Character.objects.filter(story__in=keys).order_by("pk"):
        characters[row.story_id][row.key] = base.RenderedCharacter(
            row.key, row.kind, tuple(references[row.pk]), row.names.get("en", "")
        )
    present = defaultdict(list)
    for shot_id, key in (
        Shot.characters.through.objects.filter(shot__story__in=keys)
        .order_by("pk")
        .values_list("shot", "character__key")
    ):
        present[shot_id].append(key)
    return {
        key: StoryFacts(
            shots[key],
            {shot.pk: tuple(present[shot.pk]) for shot in shots[key]},
            characters[key],
        )
        for key in keys
    }
