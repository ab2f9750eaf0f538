"""Frames of videos for metrics: sampled at one rate, and divided into shots.

StoryBench samples 8 frames per second. Times count from a video's first frame; a frame
stays on screen until the next one is due, and the last one to the end.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, repeat
from pathlib import Path

import numpy as np
from av.video.frame import VideoFrame

from evalcore.metrics.base import Picture, Source
from evalcore.video.decoding import UnreadableVideoError, opened, recognise

RATE = 8.0
# Error of time stamps in milliseconds.
ROUNDED_BY = 0.001


def film(path: Path, key: str, *, seconds: float, rate: float = RATE) -> Source:
    """Return the sampled frames of a stored video; nothing is decoded yet.

    `key`: the hash of the file. Frame i is the picture on screen at i / rate seconds,
    upright and with square pixels; if the file is shorter than `seconds`, the last one
    is repeated. Reading raises UnreadableVideoError or OSError; both name the file.
    """
    count = frame_count(seconds, rate)
    return Source(f"{key}@{rate:g}fps", partial(_sampled, path, count, rate))


def frame_count(seconds: float, rate: float = RATE) -> int:
    """Return the number of frames for a length and rate, at least one."""
    for value, what in ((seconds, "length in seconds"), (rate, "rate")):
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"a positive {what}, not {value}")
    return max(1, math.ceil((seconds - ROUNDED_BY) * rate))


def _sampled(path: Path, count: int, rate: float) -> Iterator[Picture]:
    try:
        with opened(path, recognise(path)) as (file, stream):
            aspect = float(stream.sample_aspect_ratio or 1)
            frames = file.decode(stream)
            yield from islice(_on_screen(frames, rate, aspect), count)
    except UnreadableVideoError as error:
        raise UnreadableVideoError(f"{path}: expected {error}") from error


def _on_screen(
    frames: Iterable[VideoFrame], rate: float, aspect: float
) -> Iterator[Picture]:
    """Yield the picture on screen at each tick, and then the last frame for ever."""
    current: VideoFrame | None = None
    start, tick = 0.0, 0
    for frame in frames:
        time = frame.time
        if time is None:
            raise UnreadableVideoError("frames that each have a time")
        if current is None:
            start = time
        else:
            ticks = max(0, math.ceil((time - start - ROUNDED_BY) * rate) - tick)
            yield from repeat(_picture(current, aspect), ticks) if ticks else ()
            tick += ticks
        current = frame
    if current is None:
        raise UnreadableVideoError("a video with pictures")
    yield from repeat(_picture(current, aspect))


def _picture(frame: VideoFrame, aspect: float) -> Picture:
    """Return height x width x 3, RGB, upright and with square pixels."""
    width = round(frame.width * aspect)
    lying = frame.reformat(width, frame.height, "rgb24").to_ndarray()
    return np.ascontiguousarray(np.rot90(lying, round(frame.rotation / 90)))


# Shots -------------------------------------------------------------------------------

Times = tuple[float | None, float | None]


def segments(
    times: Sequence[Times], frames: int, *, given: float = 0.0, rate: float = RATE
) -> tuple[range, ...]:
    """Return which frames of a sampled video belong to which shot.

    From round(rate * start) up to but without round(rate * end), without the
    conditioning part (the first `given` seconds) and without frames past the end; a
    range may be empty. If any time is unknown, all shots share the rest after the
    conditioning part evenly.

    Source: Bugliarello et al. (2023), StoryBench, section 3.4; rounding as in its
    program.
    """
    first = min(round(given * rate), frames)
    shots = []
    for number, (start, end) in enumerate(_known(times, frames / rate, given), start=1):
        if not start <= end:
            raise ValueError(
                f"shot {number} ends at {end:g} s, before its start at {start:g} s"
            )
        begin = min(max(round(start * rate), first), frames)
        shots.append(range(begin, max(begin, min(round(end * rate), frames))))
    return tuple(shots)


def _known(
    times: Sequence[Times], seconds: float, given: float
) -> list[tuple[float, float]]:
    """Return the times, or equal parts of the rest after the conditioning part."""
    known = [(s, e) for s, e in times if s is not None and e is not None]
    if len(known) == len(times):
        return known
    each = max(seconds - given, 0.0) / len(times)
    return [(given + i * each, given + (i + 1) * each) for i in range(len(times))]
