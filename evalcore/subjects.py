"""What metrics look at, read from the database: outputs, true outputs, whole runs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.db.models import Q, QuerySet

from evalcore import media
from evalcore.metrics import base
from evalcore.metrics.film import film, frame_count, segments
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


@dataclass(frozen=True)
class StoryFacts:
    """What the renderings of one story share."""

    shots: Sequence[Shot]
    present: Mapping[int, tuple[str, ...]]  # characters' keys by shot's primary key
    characters: Mapping[str, base.Character]


def outputs(benchmark: Benchmark) -> QuerySet[Output]:
    """Return the outputs of a benchmark that have anything to look at."""
    return (
        Output.objects.filter(story__benchmark=benchmark)
        .filter(Q(frames__isnull=False) | Q(video__isnull=False))
        .distinct()
        .select_related("story", "method", "video")
        .order_by("pk")
    )


def renderings(outputs: Sequence[Output]) -> dict[int, base.Rendering]:
    """Return what metrics look at, by the outputs' primary keys, in few queries.

    No picture is decoded. The outputs come with their story, method and video.
    """
    facts = _stories({output.story_id for output in outputs})
    frames = defaultdict(list)
    for frame in (
        Frame.objects.filter(output__in=[output.pk for output in outputs])
        .select_related("media")
        .order_by("number")
    ):
        frames[frame.output_id].append(frame)
    return {
        output.pk: _rendering(output, facts[output.story_id], frames[output.pk])
        for output in outputs
    }


def rendering(output: Output) -> base.Rendering:
    """Return what metrics look at, of one output, a degraded twin too."""
    return renderings([output])[output.pk]


def _rendering(
    output: Output, facts: StoryFacts, frames: Iterable[Frame]
) -> base.Rendering:
    if output.video is not None:
        pictures = _film(output, output.video, facts.shots)
    else:
        pictures = {
            frame.number: (base.Image(picture_source(frame.media)),)
            for frame in frames
            if frame.media is not None
        }
    language = "zh" if output.language in ("zh", "ch") else "en"
    return base.Rendering(
        story=output.story.key,
        method=output.method.name,
        shots=tuple(
            base.Shot(
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


def picture_source(stored: MediaFile) -> base.Source:
    """Return a stored picture as metrics look at it."""

    def pictures() -> Iterator[base.Picture]:
        path = media.original_path(stored)
        yield np.asarray(media.open_picture(path.read_bytes()))

    return base.Source(stored.sha256, pictures, (stored.width, stored.height))


def _film(
    output: Output, video: MediaFile, shots: Sequence[Shot]
) -> dict[int, tuple[base.Image, ...]]:
    """Return the frames of each shot's part of a video, without what was given."""
    seconds = video.duration_seconds or 0
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
        for shot, indices in zip(shots, parts.shots, strict=True)
    }


def _stories(keys: Iterable[int]) -> dict[int, StoryFacts]:
    keys = list(keys)
    shots = defaultdict(list)
    for shot in Shot.objects.filter(story__in=keys).order_by("number"):
        shots[shot.story_id].append(shot)
    references = defaultdict(list)
    for image in (
        CharacterImage.objects.filter(character__story__in=keys)
        .select_related("media")
        .order_by("ordinal")
    ):
        references[image.character_id].append(base.Image(picture_source(image.media)))
    characters: dict[int, dict[str, base.Character]] = defaultdict(dict)
    for row in Character.objects.filter(story__in=keys).order_by("pk"):
        characters[row.story_id][row.key] = base.Character(
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
