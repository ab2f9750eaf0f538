"""Encoding what people are shown: one codec and one setting for all videos.

PURE of Django. Neither container, codec nor encoder tells one method from another.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
from av.bitstream import BitStreamFilterContext
from av.filter import Graph
from av.video.frame import PictureType, VideoFrame

from evalcore.video.decoding import opened, recognise

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
    """The size of a rendition, and of the video within it; the rest is black.

    All four are even, as the codec needs them.
    """

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
