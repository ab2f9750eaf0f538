"""What the files that annotators are sent tell of their method."""

import io
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import av
from PIL import Image, UnidentifiedImageError

from annotate.blinding.findings import BlindingFinding

# Parts of a WebP file that carry nothing but the picture.
WEBP_PARTS = {b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF"}
# What every writer of a video says, telling nothing of where it came from.
USUAL_TAGS = {
    "major_brand",
    "minor_version",
    "compatible_brands",
    "handler_name",
    "language",
    "vendor_id",
    "duration",
}
LONGEST = 60


@dataclass(frozen=True)
class Facts:
    """What a file tells; without a size it is no WebP picture and no mp4 video."""

    size: tuple[int, int] | None = None
    metadata: tuple[str, ...] = ()


def examine(data: bytes) -> Facts:
    """Return what a picture or a video tells."""
    try:
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            with Image.open(io.BytesIO(data)) as picture:
                return Facts(picture.size, tuple(_metadata(data)))
        return _video(data) if data[4:8] == b"ftyp" else Facts()
    except (UnidentifiedImageError, av.FFmpegError, OSError, ValueError, IndexError):
        return Facts()


def _metadata(data: bytes) -> Iterator[str]:
    """Yield the parts of a WebP file beside the picture, and what stands after it."""
    end = 8 + int.from_bytes(data[4:8], "little")
    at = 12
    while at + 8 <= min(end, len(data)):
        name, length = struct.unpack("<4sI", data[at : at + 8])
        if name not in WEBP_PARTS:
            yield _told(name.decode("latin-1").strip(), data[at + 8 :][:length])
        at += 8 + length + length % 2
    if len(data) > end:
        yield _told("bytes after the end", data[end:])


def _told(name: str, value: bytes) -> str:
    """Return a tag with what can be read of its value."""
    runs = re.findall(r"[ -~]{4,}", value.decode("latin-1"))
    text = " ".join(runs)[:LONGEST]
    return f"{name} {text!r}" if text else name


def _video(data: bytes) -> Facts:
    """Read a video's tags without decoding it."""
    with av.open(io.BytesIO(data), "r", metadata_errors="replace") as container:
        stream = container.streams.video[0]
        tags = {**container.metadata, **stream.metadata}
        return Facts(
            (stream.codec_context.width, stream.codec_context.height),
            tuple(
                f"{name} {text[:LONGEST]!r}"
                for name, text in tags.items()
                if name.lower() not in USUAL_TAGS
            ),
        )


@dataclass(frozen=True)
class SentFile:
    """A picture or a video of a method, as it was sent."""

    address: str
    group: str
    method: str
    size: tuple[int, int]


def compare_sizes(
    sent: Iterable[SentFile], box: tuple[int, int] | None
) -> Iterator[BlindingFinding]:
    """Yield sizes in pixels by which a method could be recognised."""
    right = "all in one size"
    if box:
        right += ", {} x {} for the display".format(*box)
    groups: dict[str, list[SentFile]] = defaultdict(list)
    for one in sent:
        groups[one.group].append(one)
    for group, files in groups.items():
        usual = Counter(one.size for one in files).most_common(1)[0][0]
        for one in files:
            if one.size != usual:
                what = "{} are {} x {} pixels, elsewhere {} x {}"
                told = what.format(group, *one.size, *usual)
                yield BlindingFinding(told, f"at {one.address}", one.method, right)
