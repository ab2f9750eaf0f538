"""Degraded twins of videos: the parts that show the shots are moved, or blurred.

A twin is as long as its original, and each shot begins and ends where it did, so that
texts stand beside it as before, and both can be played in step. What was given to the
methods at the start stays.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from django.conf import settings

from evalcore import media
from evalcore.metrics.video_sampling import segments
from evalcore.models import MediaFile, Output
from evalcore.perturbations.degrading import ImpossibleDegradationError, blur_radius
from evalcore.video import storing
from evalcore.video.cutting import Part, put_together
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
    """Say whether a segment's middle frame is of one colour."""
    middle = segment.frames[len(segment.frames) // 2]
    picture = storing.picture_at(video_rendition_path(segment.video), middle)
    pixels = np.asarray(picture)
    return bool((pixels == pixels[0, 0]).all())
