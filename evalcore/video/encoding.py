"""Encoding what people are shown: one codec and one setting for all videos.

PURE of Django. Neither container, codec nor encoder tells one method from another.

Putting a video together from parts of renditions, frame by frame.

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
# How frames are set upright, by how the camera was held.
TURNS = {90: ("cclock",), -90: ("clock",), 180: ("clock",) * 2, -180: ("clock",) * 2}
# By which share of a tick a frame may be early.
EARLY = 0.25
# x264 writes its version and settings into the stream, as a unit of type 6.
WITHOUT_SETTINGS = "filter_units=remove_types=6"
# Names of libavfilter's filters in a row, with their options.
Filters = list[tuple[str, str]]


@dataclass(frozen=True)
class Shape:
    """The size of a rendition, and of the video within it; the rest is black."""

    width: int
    height: int
    inner_width: int
    inner_height: int


def encode(source: Path, target: Path, shape: Shape, rate: Fraction) -> None:
    """Encode a stored video with the settings that all videos have in common."""
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
    """Write frames of that size at a constant rate; the less `crf`, the less is lost.

    No more than a few of them are held at once.
    """
    # A key frame twice a second keeps single steps quick; without B-frames the first
    # frame stands at 0 in every player.
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
        # One thread: imports run side by side, and small frames are soon done.
        track.codec_context.thread_count = 1
        output.start_encoding()
        clean = BitStreamFilterContext(WITHOUT_SETTINGS, track, track)
        for number, frame in enumerate(frames):
            frame.pts, frame.time_base = number, 1 / rate
            # Else the original's key frames would become ours.
            frame.pict_type = PictureType.NONE
            for packet in track.encode(frame):
                output.mux(clean.filter(packet))
        for packet in track.encode():
            output.mux(clean.filter(packet))
        output.mux(clean.filter(None))


def _letterboxed(frames: Iterable[VideoFrame], shape: Shape) -> Iterator[VideoFrame]:
    """Yield the frames upright, fitted into the size, with black around them."""

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
    """Yield each frame through the filters, which are chosen by the first one."""
    graph = None
    for frame in frames:
        graph = graph or _graph(frame, filters(frame))
        graph.vpush(frame)
        yield graph.vpull()


def _graph(frame: VideoFrame, filters: Filters) -> Graph:
    """Return the filters in a row, for frames like this one."""
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
    """Yield what is to be seen at each tick: a frame stays until the next one is due.

    At the rate of the frames themselves each one is yielded once, though its time
    stamp be rounded.
    """
    shown: VideoFrame | None = None
    start, tick = 0.0, 0
    for frame in frames:
        if shown is None:
            start = frame.time
        while shown is not None and tick < (frame.time - start) * rate - EARLY:
            yield shown
            tick += 1
        shown = frame
    if shown is not None:
        yield shown


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
