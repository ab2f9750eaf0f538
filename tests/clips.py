"""Small real videos whose frames carry their number, and what can be read from them."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import av
import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from evalcore.models import MediaFile

BITS = 8
CODECS = {".mp4": "libx264", ".webm": "libvpx"}


def numbered(number: int, size: tuple[int, int] = (96, 64)) -> np.ndarray:
    """A frame that shows its number as white and black columns, highest bit first."""
    width, height = size
    frame = np.zeros((height, width, 3), np.uint8)
    for bit in range(BITS):
        if number >> (BITS - 1 - bit) & 1:
            frame[:, bit * width // BITS : (bit + 1) * width // BITS] = 255
    return frame


def stored_clip(path: Path) -> "MediaFile":
    """The row of a video, stored as an import does it."""
    from evalcore import media
    from evalcore.models import MediaFile
    from evalcore.video import storing

    row = storing.prepare_video(path)
    media.store_prepared([row])
    return MediaFile.objects.get(pk=row.pk)


def number_of(frame: np.ndarray) -> int:
    """The number that a frame shows, however it was scaled."""
    grey = np.asarray(frame, float).mean(axis=2)
    row = grey[grey.shape[0] // 2]
    columns = np.array_split(row, BITS)
    return int("".join("1" if part.mean() > 127 else "0" for part in columns), 2)


def write_clip(
    path: Path,
    *,
    frames: int = 24,
    rate: int | Fraction = 12,
    size: tuple[int, int] = (96, 64),
    codec: str = "",
    times: list[float] | None = None,
    tags: dict[str, str] | None = None,
    sound: bool = False,
    pictures=None,
    options: dict[str, str] | None = None,
) -> Path:
    """Write a video as a method would; `times` in seconds make an uneven one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as file:
        file.metadata.update(tags or {})
        stream = file.add_stream(
            codec or CODECS[path.suffix], rate=rate, options=options
        )
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.metadata.update(tags or {})
        if times is not None:
            stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        voice = file.add_stream("aac", rate=16000, layout="mono") if sound else None
        if voice is not None:
            voice.metadata.update(tags or {})
        for number in range(frames):
            pixels = pictures(number) if pictures else numbered(number, size)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), "rgb24")
            if times is None:
                frame.pts, frame.time_base = number, 1 / Fraction(rate)
            else:
                frame.pts = round(times[number] * 1000)
                frame.time_base = Fraction(1, 1000)
            file.mux(stream.encode(frame))
        file.mux(stream.encode())
        if voice is not None:
            _be_silent(file, voice, 16 * frames // int(rate))
    return path


def _be_silent(file, voice, parts: int) -> None:
    silence = np.zeros((1, 1024), np.float32)
    for number in range(parts):
        part = av.AudioFrame.from_ndarray(silence, "fltp", "mono")
        part.sample_rate, part.pts = 16000, number * 1024
        part.time_base = Fraction(1, 16000)
        file.mux(voice.encode(part))
    file.mux(voice.encode())


def rewrap(clip: Path, path: Path, tags: dict[str, str]) -> Path:
    """Write the same stream of pictures again, with other tags and a silent sound.

    It is copied, not encoded: x264 does not write the same bytes each time.
    """
    with av.open(str(clip)) as before, av.open(str(path), "w") as file:
        file.metadata.update(tags)
        stream = file.add_stream_from_template(before.streams.video[0])
        stream.metadata.update(tags)
        voice = file.add_stream("aac", rate=16000, layout="mono")
        voice.metadata.update(tags)
        for packet in before.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                file.mux(packet)
        _be_silent(file, voice, 16)
    return path


def read_clip(path: Path) -> list[tuple[float, np.ndarray]]:
    """Every frame with its time."""
    with av.open(str(path)) as file:
        return [
            (frame.time, frame.to_ndarray(format="rgb24"))
            for frame in file.decode(video=0)
        ]


def numbers(path: Path) -> list[int]:
    """The numbers that the frames show, in order."""
    return [number_of(frame) for _time, frame in read_clip(path)]


def key_frames(path: Path) -> list[int]:
    """Frames that a player can jump to."""
    with av.open(str(path)) as file:
        packets = [packet for packet in file.demux(video=0) if packet.size]
    return [i for i, packet in enumerate(packets) if packet.is_keyframe]


def open_still(path: Path) -> np.ndarray:
    """The pixels of a picture."""
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))
