"""What a media file tells besides its pixels: size, metadata, who wrote it."""

import hashlib
import io
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import av
from PIL import Image, UnidentifiedImageError

# Parts of a file that carry nothing but the picture.
WEBP_PARTS = {b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF"}
PNG_PARTS = {b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"acTL", b"fcTL", b"fdAT"}
JPEG_PARTS = {0xDA, 0xDB, 0xC0, 0xC1, 0xC2, 0xC4, 0xDD, 0xE0}
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
X264 = re.compile(rb"x26[45] - core[^\0]{0,900}")
LONGEST = 60


@dataclass(frozen=True)
class Facts:
    """What a file tells."""

    kind: str
    size: tuple[int, int] | None = None
    metadata: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    frame_rate: float | None = None
    seconds: float | None = None


def examine(data: bytes) -> Facts:
    """Return what a picture or a video tells."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _picture("webp", data, list(_webp(data)))
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return _picture("png", data, list(_png(data)))
    if data[:2] == b"\xff\xd8":
        return _picture("jpeg", data, list(_jpeg(data)))
    if data[4:8] == b"ftyp" or data[:4] == b"\x1a\x45\xdf\xa3":
        return _video(data)
    return Facts("unknown")


def _picture(kind: str, data: bytes, parts: list[tuple[str, bytes]]) -> Facts:
    profiles = [part for part in parts if part[0] in ("ICCP", "iCCP", "APP2")]
    metadata = [
        _told(name, value) for name, value in parts if (name, value) not in profiles
    ]
    marks = tuple(
        f"colour profile {hashlib.sha256(value).hexdigest()[:8]}"
        for _name, value in profiles
    )
    try:
        with Image.open(io.BytesIO(data)) as picture:
            size: tuple[int, int] | None = picture.size
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        size = None
    return Facts(kind, size, tuple(metadata), marks)


def _told(name: str, value: bytes) -> str:
    """Return a tag with what can be read of its value."""
    runs = re.findall(r"[ -~]{4,}", value.decode("latin-1"))
    text = " ".join(runs)[:LONGEST]
    return f"{name} {text!r}" if text else name


def _webp(data: bytes) -> Iterator[tuple[str, bytes]]:
    end = 8 + int.from_bytes(data[4:8], "little")
    at = 12
    while at + 8 <= min(end, len(data)):
        name, length = struct.unpack("<4sI", data[at : at + 8])
        if name not in WEBP_PARTS:
            yield name.decode("latin-1").strip(), data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2
    if len(data) > end:
        yield "bytes after the end", data[end:]


def _png(data: bytes) -> Iterator[tuple[str, bytes]]:
    at = 8
    while at + 12 <= len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        if name not in PNG_PARTS:
            yield name.decode("latin-1"), data[at + 8 : at + 8 + length]
        at += 12 + length
        if name == b"IEND":
            break
    if len(data) > at:
        yield "bytes after the end", data[at:]


def _jpeg(data: bytes) -> Iterator[tuple[str, bytes]]:
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == 0xDA:  # the picture itself
            break
        if marker not in JPEG_PARTS:
            name = "comment" if marker == 0xFE else f"APP{marker - 0xE0}"
            yield name, data[at + 4 : at + 2 + length]
        at += 2 + length
    end = data.rfind(b"\xff\xd9")
    if 0 <= end < len(data) - 2:
        yield "bytes after the end", data[end + 2 :]


def _video(data: bytes) -> Facts:
    """Read a video's tags without decoding it."""
    kind = "mp4" if data[4:8] == b"ftyp" else "webm"
    try:
        with av.open(io.BytesIO(data), "r", metadata_errors="replace") as container:
            stream = container.streams.video[0]
            tags = {**container.metadata, **stream.metadata}
            size = (stream.codec_context.width, stream.codec_context.height)
            rate = float(stream.average_rate) if stream.average_rate else None
            seconds = container.duration / av.time_base if container.duration else None
            tracks = [one.type for one in container.streams]
            codec = stream.codec_context.name
    except (av.FFmpegError, IndexError):
        return Facts(kind)
    usual = {name: text for name, text in tags.items() if name.lower() in USUAL_TAGS}
    metadata = [
        f"{name} {text[:LONGEST]!r}" for name, text in tags.items() if name not in usual
    ]
    marks = [f"{name} {text}" for name, text in usual.items() if name != "DURATION"]
    marks += [f"tracks {' '.join(tracks)}", f"codec {codec}"]
    marks += [match[0].decode("latin-1") for match in X264.finditer(data)][:1]
    return Facts(kind, size, tuple(metadata), tuple(sorted(marks)), rate, seconds)
