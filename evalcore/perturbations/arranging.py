"""Shots of degraded copies: parts of originals, rearranged or blurred.

A copy of a video is as long as its original, and each shot begins and ends where it
did, so that texts stand beside it as before; what was given to the methods at the start
stays.
"""

import random
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from django.conf import settings

from evalcore import media
from evalcore.metrics.video_sampling import segments
from evalcore.models import MediaFile, Output
from evalcore.perturbations import degrading
from evalcore.perturbations.degrading import ImpossibleDegradationError, blur_radius
from evalcore.video import storing
from evalcore.video.encoding import Part, put_together
from evalcore.video.storing import video_rendition_path


@dataclass(frozen=True)
class Segment:
    """The frames of a video's rendition that show one shot."""

    video: MediaFile
    frames: range


Segments = dict[int, Segment]


def segments_of(output: Output) -> Segments:
    """Return the segment of each shot that has one; no two of them overlap.

    Where a story does not say when its shots begin and end, they share what follows the
    given part evenly.
    """
    video = output.video
    shots = list(output.story.shots.order_by("number")) if video else []
    if video is None or not shots:
        return {}
    ranges = segments(
        [(shot.start_seconds, shot.end_seconds) for shot in shots],
        storing.frame_count(video),
        given=output.story.conditioning_seconds or 0.0,
        rate=float(storing.frame_rate(video)),
    )
    found, behind = {}, 0
    for shot, frames in sorted(
        zip(shots, ranges, strict=True), key=lambda one: one[1].start
    ):
        own = range(max(frames.start, behind), frames.stop)
        if own:
            found[shot.number] = Segment(video, own)
            behind = own.stop
    return dict(sorted(found.items()))


def film(
    output: Output, before: Segments, after: Segments, *, is_blurred: bool
) -> MediaFile:
    """Write a video whose shots show other segments; return its row, not saved."""
    video = output.video
    assert video is not None
    if is_blurred and all(map(_is_blank, before.values())):
        raise ImpossibleDegradationError("it would look exactly like the original")
    parts = _timeline(output, before, after, is_blurred=is_blurred)
    folder = settings.MEDIA_ROOT / "video"
    with media.temporary_file(folder, "mp4") as draft:
        size, rate = storing.rendition_size(video), storing.frame_rate(video)
        put_together(parts, draft, size, rate)
        return storing.prepare_video(draft)


def _timeline(
    output: Output, before: Segments, after: Mapping[int, Segment], *, is_blurred: bool
) -> Iterator[Part]:
    """Yield the parts of a twin: its shots, and what stands between them."""
    video = output.video
    assert video is not None
    own, end = video_rendition_path(video), storing.frame_count(video)
    blur = blur_radius(storing.rendition_size(video)) if is_blurred else 0.0
    at = 0
    for number, segment in sorted(before.items(), key=lambda one: one[1].frames.start):
        frames, shown = segment.frames, after[number]
        if at < frames.start:
            is_given = at == 0 and output.story.conditioning_seconds
            gap = range(at, frames.start)
            yield Part(own, gap, len(gap), 0.0 if is_given else blur)
        source = video_rendition_path(shown.video)
        yield Part(source, shown.frames, len(frames), blur)
        at = frames.stop
    if at < end:
        yield Part(own, range(at, end), end - at, blur)


def _is_blank(segment: Segment) -> bool:
    middle = segment.frames[len(segment.frames) // 2]
    picture = storing.picture_at(video_rendition_path(segment.video), middle)
    pixels = np.asarray(picture)
    return bool((pixels == pixels[0, 0]).all())


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
            foreign = next(
                (o for o in others if not set(o.values()) <= set(shown.values())), {}
            )
            return degrading.foreign_shot(shown, foreign.values(), own_seed)
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


def _foreign_outputs(output: Output, seed: str) -> Iterator[Output]:
    """Yield the benchmark's outputs of other stories, the same method's first."""
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
