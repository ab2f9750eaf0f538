"""Shots of degraded copies: parts of originals, rearranged or blurred.

A copy of a video is as long as its original, and its shots begin and end at the same
times, so that the story's texts still fit. The conditioning part stays unchanged.
"""

import random
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from django.conf import settings

from evalcore import media_store
from evalcore.metrics.video_sampling import segments
from evalcore.models import MediaFile, Output
from evalcore.perturbations import degrading
from evalcore.perturbations.degrading import ImpossibleDegradationError, blur_radius
from evalcore.video import storing
from evalcore.video.encoding import Part, concatenate
from evalcore.video.storing import video_rendition_path


@dataclass(frozen=True)
class Segment:
    """The frames of a video's rendition that show one shot."""

    video: MediaFile
    frames: range


Segments = dict[int, Segment]


def segments_of(output: Output) -> Segments:
    """Return each shot's segment, if it has one; segments do not overlap.

    If the story has no shot times, the shots share what follows the conditioning part
    evenly.
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
    segments_by_shot, end = {}, 0
    for shot, frames in sorted(
        zip(shots, ranges, strict=True), key=lambda one: one[1].start
    ):
        free = range(max(frames.start, end), frames.stop)
        if free:
            segments_by_shot[shot.number] = Segment(video, free)
            end = free.stop
    return dict(sorted(segments_by_shot.items()))


def film(
    output: Output, before: Segments, after: Segments, *, is_blurred: bool
) -> MediaFile:
    """Write a video whose shots show other segments; return its unsaved row."""
    video = output.video
    assert video is not None
    if is_blurred and all(map(_is_blank, before.values())):
        raise ImpossibleDegradationError("it would look exactly like the original")
    parts = _timeline(output, before, after, is_blurred=is_blurred)
    folder = settings.MEDIA_ROOT / "video"
    with media_store.temporary_file(folder, "mp4") as draft:
        size, rate = storing.rendition_size(video), storing.frame_rate(video)
        concatenate(parts, draft, size, rate)
        return storing.prepare_video(draft)


def _timeline(
    output: Output, before: Segments, after: Mapping[int, Segment], *, is_blurred: bool
) -> Iterator[Part]:
    """Yield the parts of a degraded copy: its shots and the frames between them."""
    video = output.video
    assert video is not None
    original, end = video_rendition_path(video), storing.frame_count(video)
    blur = blur_radius(storing.rendition_size(video)) if is_blurred else 0.0
    at = 0
    for number, segment in sorted(before.items(), key=lambda one: one[1].frames.start):
        frames, source_segment = segment.frames, after[number]
        if at < frames.start:
            is_given = at == 0 and output.story.conditioning_seconds
            gap = range(at, frames.start)
            yield Part(original, gap, len(gap), 0.0 if is_given else blur)
        source = video_rendition_path(source_segment.video)
        yield Part(source, source_segment.frames, len(frames), blur)
        at = frames.stop
    if at < end:
        yield Part(original, range(at, end), end - at, blur)


def _is_blank(segment: Segment) -> bool:
    middle = segment.frames[len(segment.frames) // 2]
    picture = storing.picture_at(video_rendition_path(segment.video), middle)
    pixels = np.asarray(picture)
    return bool((pixels == pixels[0, 0]).all())


Degradation = Output.Degradation
# The picture of each shot, by number; shots without a picture are left out.
Pictures = dict[int, MediaFile]
P = TypeVar("P", bound=Hashable)


def arranged_pictures(output: Output, degradation: Degradation, seed: int) -> Pictures:
    """Return the stored picture for each shot; blurring comes later."""
    pictures = pictures_of(output)
    if not pictures:
        raise ImpossibleDegradationError("it has no pictures")
    return _arranged(output, degradation, seed, pictures, pictures_of)


def arranged_segments(output: Output, degradation: Degradation, seed: int) -> Segments:
    """Return the video segment for each shot."""
    segments = segments_of(output)
    if not segments:
        raise ImpossibleDegradationError("its video covers no shot of the story")
    return _arranged(output, degradation, seed, segments, segments_of)


def _arranged(
    output: Output,
    degradation: Degradation,
    seed: int,
    contents: Mapping[int, P],
    contents_of: Callable[[Output], Mapping[int, P]],
) -> dict[int, P]:
    """Return the new contents of each shot; `shown_by` reads those of other outputs."""
    if output.twin_of_id is not None:
        raise ImpossibleDegradationError("it is a degraded copy itself")
    # Primary keys would differ on another machine.
    own_seed = f"{seed} {degradation} {output.story.key} {output.method.name}"
    match degradation:
        case Degradation.SHUFFLED:
            return degrading.shuffled(contents, own_seed)
        case Degradation.REPEATED_SHOT:
            return degrading.repeated_shot(contents, own_seed)
        case Degradation.SWAPPED_CHARACTERS:
            on_stage = _on_stage(output)
            return degrading.swapped_characters(contents, on_stage, own_seed)
        case Degradation.FOREIGN_SHOT:
            others = map(contents_of, _foreign_outputs(output, own_seed))
            foreign = next(
                (o for o in others if not set(o.values()) <= set(contents.values())), {}
            )
            return degrading.foreign_shot(contents, foreign.values(), own_seed)
    return dict(contents)


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
    """Yield outputs of other stories, those of the same method first."""
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
