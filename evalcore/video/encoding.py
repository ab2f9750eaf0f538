"""Encoding of renditions: one codec and one setting for all videos.

PURE of Django. Container, codec and encoder must not reveal the method.

Also joins parts of renditions frame by frame; all have one size and one rate.

PURE of Django. Whatever is put together has one size and one rate.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path

import av
from av.bitstream import BitStreamFilterContext
from av.filter import Graph
from av.video.frame import PictureType, VideoFrame

from evalcore.video.decoding import MP4, opened, recognise

ENCODER = {"preset": "fast", "crf": "18", "profile": "high"}
# Filters that turn frames upright, by the camera's rotation.
TURNS = {90: ("cclock",), -90: ("clock",), 180: ("clock",) * 2, -180: ("clock",) * 2}
# Tolerance for early frames, as a share of a tick.
EARLY = 0.25
# x264 writes its version and settings into the stream, as a unit of type 6.
WITHOUT_SETTINGS = "filter_units=remove_types=6"
# Names of libavfilter's filters in sequence, with their options.
Filters = list[tuple[str, str]]


@dataclass(frozen=True)
class Shape:
    """Size of a rendition, and of the video within it; the rest is black."""

    width: int
    height: int
    inner_width: int
    inner_height: int


def encode(source: Path, target: Path, shape: Shape, rate: Fraction) -> None:
    """Encode a stored video with the common settings."""
    with opened(source, recognise(source)) as (file, stream):
        letterboxed = _letterboxed(file.decode(stream), shape)
        frames = _at_constant_rate(letterboxed, rate)
        write(frames, target, (shape.width, shape.height), rate)


def write(
    frames: Iterable[VideoFrame],
    target: Path,
    size: tuple[int, int],
    rate: Fraction,
    *,
    crf: str = ENCODER["crf"],
) -> None:
    """Write frames of one size at a constant rate; a lower `crf` loses less.

    Only a few frames are in memory at once.
    """
    # A key frame twice a second keeps single steps quick. Without B-frames the first
    # frame has time 0 in every player.
    every = max(1, int(rate / 2))
    options = ENCODER | {
        "crf": crf,
        "x264-params": f"keyint={every}:min-keyint={every}:scenecut=0:bframes=0:"
        "colorprim=bt709:transfer=bt709:colormatrix=bt709:range=tv",
    }
    with av.open(
        str(target),
        "w",
        format="mp4",
        options={"movflags": "faststart", "fflags": "+bitexact"},
    ) as output:
        track = output.add_stream("libx264", rate=rate, options=options)
        track.width, track.height = size
        track.pix_fmt = "yuv420p"
        # One thread: imports already run in parallel, and small frames encode quickly.
        track.codec_context.thread_count = 1
        output.start_encoding()
        clean = BitStreamFilterContext(WITHOUT_SETTINGS, track, track)
        for number, frame in enumerate(frames):
            frame.pts, frame.time_base = number, 1 / rate
            # Otherwise the encoder would copy the original's key frames.
            frame.pict_type = PictureType.NONE
            for packet in track.encode(frame):
                output.mux(clean.filter(packet))
        for packet in track.encode():
            output.mux(clean.filter(packet))
        output.mux(clean.filter(None))


def _letterboxed(frames: Iterable[VideoFrame], shape: Shape) -> Iterator[VideoFrame]:
    """Yield the frames upright, scaled into the size, with black bars."""

    def filters(first: VideoFrame) -> Filters:
        return [
            *[("transpose", turn) for turn in TURNS.get(first.rotation, ())],
            (
                "scale",
                f"{shape.inner_width}:{shape.inner_height}:flags=lanczos:"
                "out_range=tv:out_color_matrix=bt709",
            ),
            ("pad", f"{shape.width}:{shape.height}:(ow-iw)/2:(oh-ih)/2:black"),
            ("setsar", "1"),
            ("format", "yuv420p"),
        ]

    return filtered(frames, filters)


def filtered(
    frames: Iterable[VideoFrame], filters: Callable[[VideoFrame], Filters]
) -> Iterator[VideoFrame]:
    """Yield each frame after the filters, which depend on the first frame."""
    graph = None
    for frame in frames:
        graph = graph or _graph(frame, filters(frame))
        graph.vpush(frame)
        yield graph.vpull()


def _graph(frame: VideoFrame, filters: Filters) -> Graph:
    """Return the chain of filters for frames like this one."""
    graph = Graph()
    graph.threads = 1
    entry = graph.add_buffer(
        width=frame.width,
        height=frame.height,
        format=frame.format,
        time_base=frame.time_base,
    )
    row = [graph.add(name, options) for name, options in filters]
    graph.link_nodes(entry, *row, graph.add("buffersink")).configure()
    return graph


def _at_constant_rate(
    frames: Iterable[VideoFrame], rate: Fraction
) -> Iterator[VideoFrame]:
    """Yield the frame on screen at each tick: it stays until the next one is due.

    At the frames' own rate each one is yielded once, even if its time stamp is rounded.
    """
    current: VideoFrame | None = None
    start, tick = 0.0, 0
    for frame in frames:
        if current is None:
            start = frame.time
        while current is not None and tick < (frame.time - start) * rate - EARLY:
            yield current
            tick += 1
        current = frame
    if current is not None:
        yield current


# Joined parts are encoded again later, so almost nothing may be lost here.
CRF = "10"


@dataclass(frozen=True)
class Part:
    """Frames of a rendition, and how many frames of the new video they fill.

    They keep their pace: extra frames at the end are left out, too few are slowed down.
    `blur` is the standard deviation in pixels; 0 means no blur.
    """

    source: Path
    frames: range
    ticks: int
    blur: float = 0.0


def concatenate(
    parts: Iterable[Part], target: Path, size: tuple[int, int], rate: Fraction
) -> None:
    """Write the parts in order, scaled and cropped to one size."""
    frames = chain.from_iterable(_frames(part, size, rate) for part in parts)
    write(frames, target, size, rate, crf=CRF)


def _frames(part: Part, size: tuple[int, int], rate: Fraction) -> Iterator[VideoFrame]:
    """Yield a part's frame at each tick; repeat the last one if the part is short."""
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
    """Blur and crop the frames where the part needs it."""

    def filters(first: VideoFrame) -> Filters:
        row: Filters = []
        if (first.width, first.height) != size:
            wanted = "{}:{}".format(*size)
            cover = f"{wanted}:flags=lanczos:force_original_aspect_ratio=increase"
            row += [("scale", cover), ("crop", wanted), ("setsar", "1")]
        if part.blur:
            # Six steps approximate a Gaussian; one is too weak.
            row.append(("gblur", f"sigma={part.blur}:steps=6"))
        return [*row, ("format", "yuv420p")]

    return filtered(frames, filters)
