"""What each shot of a degraded twin shows: the parts of originals in another order.

Nothing is written, and no picture read: what is looked at are rows of the database.
"""

import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from evalcore.models import MediaFile, Output
from evalcore.perturbations import degrading
from evalcore.perturbations.degrading import ImpossibleDegradationError
from evalcore.perturbations.video_twins import Segments, segments_of

Degradation = Output.Degradation
# What each shot shows, by its number; shots without a picture are left out.
Pictures = dict[int, MediaFile]
P = TypeVar("P", bound=Hashable)


def arranged_pictures(output: Output, degradation: Degradation, seed: int) -> Pictures:
    """Return which stored picture each shot shows; those to blur are still sharp."""
    pictures = pictures_of(output)
    if not pictures:
        raise ImpossibleDegradationError("it has no pictures")
    return _arranged(output, degradation, seed, pictures, pictures_of)


def arranged_segments(output: Output, degradation: Degradation, seed: int) -> Segments:
    """Return which part of which video each shot shows."""
    segments = segments_of(output)
    if not segments:
        raise ImpossibleDegradationError("its video shows no shot of the story")
    return _arranged(output, degradation, seed, segments, segments_of)


def _arranged(
    output: Output,
    degradation: Degradation,
    seed: int,
    shown: Mapping[int, P],
    shown_by: Callable[[Output], Mapping[int, P]],
) -> dict[int, P]:
    """Return what each shot shows instead; `shown_by` says what others show."""
    if output.twin_of_id is not None:
        raise ImpossibleDegradationError("it is a degraded twin itself")
    # Not from keys of rows, which are others on another machine.
    own_seed = f"{seed} {degradation} {output.story.key} {output.method.name}"
    match degradation:
        case Degradation.SHUFFLED:
            return degrading.shuffled(shown, own_seed)
        case Degradation.REPEATED_SHOT:
            return degrading.repeated_shot(shown, own_seed)
        case Degradation.SWAPPED_CHARACTERS:
            on_stage = _on_stage(output)
            return degrading.swapped_characters(shown, on_stage, own_seed)
        case Degradation.FOREIGN_SHOT:
            others = map(shown_by, _foreign_outputs(output, own_seed))
            foreign = _foreign(shown, others)
            return degrading.foreign_shot(shown, foreign, own_seed)
    return dict(shown)


def pictures_of(output: Output) -> Pictures:
    """Return the picture of each shot that has one."""
    frames = output.frames.filter(media__isnull=False).select_related("media")
    return {
        frame.number: frame.media
        for frame in frames.order_by("number")
        if frame.media is not None
    }


def _on_stage(output: Output) -> dict[int, frozenset[str]]:
    shots = output.story.shots.prefetch_related("characters")
    return {
        shot.number: frozenset(character.key for character in shot.characters.all())
        for shot in shots
    }


def _foreign(own: Mapping[int, P], others: Iterable[Mapping[int, P]]) -> list[P]:
    """Return what the first of the others shows that shows anything else."""
    for other in others:
        if not set(other.values()) <= set(own.values()):
            return list(other.values())
    return []


def _foreign_outputs(output: Output, seed: str) -> Iterator[Output]:
    """Yield the benchmark's outputs of other stories, the same method's first.

    Videos for a video, pictures for pictures.
    """
    shows = "frames__media" if output.video_id is None else "video"
    elsewhere = Output.objects.filter(
        story__benchmark=output.story.benchmark_id, **{f"{shows}__isnull": False}
    ).exclude(story=output.story_id)
    rng = random.Random(seed)
    for outputs in (
        elsewhere.filter(method=output.method_id),
        elsewhere.exclude(method=output.method_id),
    ):
        listed = list(outputs.order_by("story__key", "method__name").distinct())
        yield from rng.sample(listed, len(listed))
