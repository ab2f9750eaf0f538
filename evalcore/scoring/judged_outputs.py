"""What metrics look at, read from the database: outputs, true outputs, whole runs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from django.db.models import Q, QuerySet

from evalcore import media
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

# Frames a second at which metrics look at videos, as StoryBench does.
RATE = 8
# What is read of a stored picture; whole rows would take several times as long.
PICTURE = ("media__sha256", "media__extension", "media__width", "media__height")


class OddOutputError(ValueError):
    """What is stored of an output makes no sense; the message says what does not."""


@dataclass(frozen=True)
class StoryFacts:
    """What the renderings of one story share."""

    shots: Sequence[Shot]
    present: Mapping[int, tuple[str, ...]]  # characters' keys by shot's primary key
    characters: Mapping[str, base.RenderedCharacter]


def outputs(benchmark: Benchmark) -> QuerySet[Output]:
    """Return the outputs of a benchmark that have anything to look at."""
    return (
        Output.objects.filter(story__benchmark=benchmark)
        .filter(Q(frames__isnull=False) | Q(video__isnull=False))
        .distinct()
        .select_related("story", "method", "video")
        .order_by("pk")
    )


def looked_at(outputs: Sequence[Output]) -> dict[int, base.Rendering | OddOutputError]:
    """Return what metrics look at, by the outputs' primary keys, in few queries.

    No picture is decoded. The outputs come with their story, method and video. Of one
    that makes no sense the error says why; the others are none the worse for it.
    """
    facts = _stories({output.story_id for output in outputs})
    frames: dict[int, dict[int, base.Source]] = defaultdict(dict)
    for key, number, *stored in (
        Frame.objects.filter(output__in=[output.pk for output in outputs])
        .filter(media__isnull=False)
        .values_list("output", "number", *PICTURE)
    ):
        frames[key][number] = picture_source(*stored)
    found: dict[int, base.Rendering | OddOutputError] = {}
    for output in outputs:
        try:
            found[output.pk] = _rendering(
                output, facts[output.story_id], frames[output.pk]
            )
        except (ArithmeticError, ValueError) as error:  # what odd numbers raise
            found[output.pk] = OddOutputError(str(error))
    return found


def renderings(outputs: Sequence[Output]) -> dict[int, base.Rendering]:
    """Return what metrics look at, as `looked_at`, where all of it must make sense."""
    every = looked_at(outputs)
    found = {}
    for output in outputs:
        looked = every[output.pk]
        if isinstance(looked, OddOutputError):
            name = f"{output.method.name} / {output.story.key}"
            raise OddOutputError(f"{name}: {looked}") from looked
        found[output.pk] = looked
    return found


def rendering(output: Output) -> base.Rendering:
    """Return what metrics look at, of one output, a degraded twin too."""
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
    """Return a stored picture, of which that is known, as metrics look at it."""
    read = partial(_read_picture, sha256, extension)
    return base.Source(sha256, read, (width, height))


def _read_picture(sha256: str, extension: str) -> Iterator[base.Picture]:
    row = MediaFile(sha256=sha256, extension=extension)
    name = media.original_path(row).name
    try:
        with media.stored_picture(row) as picture:
            pixels = np.asarray(picture)
    except media.UnreadablePictureError as error:
        raise OddOutputError(f"{name}: expected {error}") from error
    except OSError as error:
        what = f"{name}: expected a readable file ({error.strerror})"
        raise OddOutputError(what) from error
    yield pixels


def _film(
    output: Output, video: MediaFile, shots: Sequence[Shot]
) -> dict[int, tuple[base.Image, ...]]:
    """Return the frames of each shot's part of a video, without what was given."""
    seconds = video.duration_seconds
    if not seconds:
        raise OddOutputError("its video has no length in seconds: import it again")
    path = media.original_path(video)
    source = replace(
        film(path, video.sha256, seconds=seconds, rate=RATE),
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
            row.key, row.kind, tuple(references[row.pk])
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
