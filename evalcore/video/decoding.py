"""Video decoding: accepted kinds of files, and checks of every frame.

PURE of Django. Errors say which files would be accepted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from stat import S_ISREG
from typing import cast

import av
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

MAX_BYTES = 500_000_000
MAX_SECONDS = 600
MAX_PIXELS = 4096 * 2304  # of one frame
MIN_SIDE = 16
MIN_RATE, MAX_RATE = 1, 60
# Tolerated error of a container's length, in seconds and in frames.
SLACK_SECONDS, SLACK_FRAMES = 0.25, 2
# Common frame rates; time stamps in milliseconds only approximate them.
USUAL_RATES = (
    *(Fraction(rate) for rate in range(MIN_RATE, MAX_RATE + 1)),
    *(Fraction(rate * 1000, 1001) for rate in (24, 30, 48, 60)),
)
ACCEPTED = "a video of the kind mp4 (H.264) or webm (VP8, VP9 or AV1)"
HOW = "ffmpeg -i FILE -c:v libx264 -pix_fmt yuv420p FILE.mp4 makes one"


class UnreadableVideoError(ValueError):
    """The file is no usable video; the message says which files are."""


@dataclass(frozen=True)
class Container:
    """A kind of file: its first bytes, its libavformat names and its codecs."""

    extension: str
    reader: str
    codecs: tuple[str, ...]

    @property
    def content_type(self) -> str:
        """Return the media type."""
        return f"video/{self.extension}"


# OpenCV writes MPEG-4's older codec.
MP4 = Container("mp4", "mov", ("h264", "mpeg4"))
WEBM = Container("webm", "matroska", ("vp8", "vp9", "av1"))


@dataclass(frozen=True)
class DecodedVideo:
    """Properties of a video, measured by decoding every frame."""

    width: int
    height: int
    frames: int
    frame_rate: float

    @property
    def seconds(self) -> float:
        return self.frames / self.frame_rate


def recognise(path: Path) -> Container:
    """Recognise a file by its first bytes, whatever its name."""
    about = path.stat()
    if not S_ISREG(about.st_mode):
        raise UnreadableVideoError("a regular file, not a pipe or device")
    size = about.st_size
    if size > MAX_BYTES:
        raise UnreadableVideoError(f"at most {MAX_BYTES:,} bytes, not {size:,}")
    with path.open("rb") as stream:
        start = stream.read(12)
    if start[4:8] == b"ftyp":
        return MP4
    if start.startswith(b"\x1a\x45\xdf\xa3"):
        return WEBM
    what = "is empty" if not size else "is neither"
    raise UnreadableVideoError(f"{ACCEPTED}; this file {what} ({HOW})")


@contextmanager
def opened(
    path: Path, container: Container
) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a file and its one video stream; turn errors inside into sentences."""
    try:
        with av.open(
            str(path.resolve()),
            format=container.reader,
            metadata_errors="replace",
        ) as file:
            stream = file.streams.best("video")
            if stream is None:
                raise UnreadableVideoError(f"{ACCEPTED}; this file has no pictures")
            codec = stream.codec_context
            name = codec.codec.canonical_name if codec is not None else "an unknown one"
            if name not in container.codecs:
                raise UnreadableVideoError(
                    f"{ACCEPTED}; this file's codec is {name} ({HOW})"
                )
            codec.thread_count = 1  # Imports already run in parallel.
            # A frame that cannot be decoded exactly is an error, not a guess.
            codec.options = {"err_detect": "explode"}
            yield file, cast(VideoStream, stream)
    except av.FFmpegError as error:
        raise UnreadableVideoError(
            f"a complete video; this file is damaged ({error.strerror})"
        ) from error


def measure_video(path: Path, container: Container) -> DecodedVideo:
    """Decode a whole video, and measure its size and frame rate."""
    times: list[float] = []
    with opened(path, container) as (file, stream):
        _check_size(stream.codec_context.width, stream.codec_context.height)
        first: VideoFrame | None = None
        reached = 0.0
        for packet in file.demux():
            if packet.pts is not None:
                ends = (packet.pts + (packet.duration or 0)) * packet.time_base
                reached = max(reached, float(ends))
            if packet.stream is not stream:
                continue
            for frame in cast("list[VideoFrame]", packet.decode()):
                first = first or frame
                _check_frame(frame, first, times)
        if first is None or len(times) < 2:
            raise UnreadableVideoError("a video of at least two frames")
        rate = _rate(times)
        lacking = float(file.duration or 0) / av.time_base - reached
        if lacking > max(Fraction(SLACK_SECONDS), SLACK_FRAMES / rate):
            raise UnreadableVideoError("a complete video; this file is cut short")
        # Size on screen: square pixels, upright.
        width = round(first.width * (stream.sample_aspect_ratio or 1))
        height = first.height
        if first.rotation % 180:
            width, height = height, width
        _check_size(width, height)  # A file may declare absurd pixel shapes.
    return DecodedVideo(width, height, len(times), float(rate))


def _check_size(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise UnreadableVideoError(
            f"at most {MAX_PIXELS:,} pixels a frame, not {width} x {height}"
        )
    if min(width, height) < MIN_SIDE:
        raise UnreadableVideoError(
            f"at least {MIN_SIDE} pixels on each side, not {width} x {height}"
        )


def _check_frame(frame: VideoFrame, first: VideoFrame, times: list[float]) -> None:
    """Record the time of a frame, and check that it follows the previous ones."""
    if (frame.width, frame.height) != (first.width, first.height):
        raise UnreadableVideoError("frames of one size throughout")
    if frame.pts is None or (times and frame.time <= times[-1]):
        raise UnreadableVideoError("frames with increasing times")
    times.append(frame.time)
    if frame.time - times[0] > MAX_SECONDS:
        raise UnreadableVideoError(f"at most {MAX_SECONDS} seconds")
    if len(times) > MAX_SECONDS * MAX_RATE:
        raise UnreadableVideoError(f"at most {MAX_RATE} frames a second")


def _rate(times: list[float]) -> Fraction:
    """Return the average frame rate, rounded to a common one."""
    span = times[-1] - times[0]
    measured = (len(times) - 1) / span
    # Two time stamps, each rounded to a millisecond, but less than half a frame.
    tolerance = max(0.002 / span, 1e-5) * measured
    nearest = min(USUAL_RATES, key=lambda usual: abs(float(usual) - measured))
    rate = Fraction(measured).limit_denominator(1001)
    if abs(float(nearest) - measured) <= tolerance:
        rate = nearest
    if not MIN_RATE <= rate <= MAX_RATE:
        raise UnreadableVideoError(
            f"from {MIN_RATE} to {MAX_RATE} frames a second, not {float(rate):.3g}"
        )
    return rate
