"""Putting a video together from parts of renditions, frame by frame.

PURE of Django. Whatever is put together has one size and one rate.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path

from av.video.frame import VideoFrame

from evalcore.video.decoding import MP4, opened
from evalcore.video.encoding import Filters, filtered, write

# What is cut is encoded once more before it is shown: next to nothing may be lost here.
CRF = "10"


@dataclass(frozen=True)
class Part:
    """Frames of a rendition, and how many frames of the new video they fill.

    They are seen at their own pace: where there are too many the last ones are left
    out, where there are too few they go slower. `blur` is the standard deviation of
    their blur in pixels; 0 leaves them as they are.
    """

    source: Path
    frames: range
    ticks: int
    blur: float = 0.0


def put_together(
    parts: Iterable[Part], target: Path, size: tuple[int, int], rate: Fraction
) -> None:
    """Write the parts in order; those of another size fill it and are cut."""
    frames = chain.from_iterable(_frames(part, size, rate) for part in parts)
    write(frames, target, size, rate, crf=CRF)


def _frames(part: Part, size: tuple[int, int], rate: Fraction) -> Iterator[VideoFrame]:
    """Yield what a part shows at each tick; a last frame stays where one is lacking."""
    with opened(part.source, MP4) as (file, stream):
        own, base = stream.average_rate, stream.time_base
        assert own is not None
        assert base is not None
        pace = min(own / rate, Fraction(len(part.frames), part.ticks))
        file.seek(int(part.frames.start / own / base), stream=stream)
        tick, last = 0, None
        for frame in _altered(file.decode(stream), part, size):
            assert frame.time is not None
            number, last = round(frame.time * own), frame
            while part.frames.start + int(tick * pace) <= number:
                yield frame
                tick += 1
                if tick == part.ticks:
                    return
        while last is not None and tick < part.ticks:
            yield last
            tick += 1


def _altered(
    frames: Iterable[VideoFrame], part: Part, size: tuple[int, int]
) -> Iterable[VideoFrame]:
    """Blur the frames, and cut them to the size, as far as they need it."""

    def filters(first: VideoFrame) -> Filters:
        row: Filters = []
        if (first.width, first.height) != size:
            wanted = "{}:{}".format(*size)
            cover = f"{wanted}:flags=lanczos:force_original_aspect_ratio=increase"
            row += [("scale", cover), ("crop", wanted), ("setsar", "1")]
        if part.blur:
            # In six steps it comes near to a Gaussian; in one it is too weak.
            row.append(("gblur", f"sigma={part.blur}:steps=6"))
        return [*row, ("format", "yuv420p")]

    return filtered(frames, filters)
