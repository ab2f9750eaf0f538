"""Marks of methods in the files sent to annotators."""

import io
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import av
from PIL import Image, UnidentifiedImageError

from annotate.blinding.findings import BlindingFinding

# Headers that no answer may have.
FORBIDDEN = {"etag", "last-modified", "content-disposition"}
# Parts of a WebP file that carry nothing but the picture.
WEBP_PARTS = {b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF"}
# Tags that every video has, whatever its origin.
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
X264 = re.compile(rb"x26[45] - core[^\0]{0,900}")


@dataclass(frozen=True)
class Facts:
    """Facts about a file; no size means neither WebP picture nor mp4 video."""

    size: tuple[int, int] | None = None
    metadata: tuple[str, ...] = ()
    encoder: str = ""
    frame_rate: float | None = None
    seconds: float | None = None


def examine(data: bytes) -> Facts:
    """Return the facts about a picture or a video."""
    try:
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            with Image.open(io.BytesIO(data)) as picture:
                return Facts(picture.size, tuple(_metadata(data)))
        return _video(data) if data[4:8] == b"ftyp" else Facts()
    except (UnidentifiedImageError, av.FFmpegError, OSError, ValueError, IndexError):
        return Facts()


def _metadata(data: bytes) -> Iterator[str]:
    """Yield the metadata of a WebP file, and data after its end."""
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
    """Return a tag with the readable part of its value."""
    runs = re.findall(r"[ -~]{4,}", value.decode("latin-1"))
    text = " ".join(runs)[:LONGEST]
    return f"{name} {text!r}" if text else name


def _video(data: bytes) -> Facts:
    """Read a video's tags and encoder marks without decoding it."""
    with av.open(io.BytesIO(data), "r", metadata_errors="replace") as container:
        stream = container.streams.video[0]
        tags = {**container.metadata, **stream.metadata}
        marks = [f"{k} {v}" for k, v in tags.items() if k.lower() in USUAL_TAGS]
        marks += [f"track {one.type}" for one in container.streams]
        marks += [match[0].decode("latin-1") for match in X264.finditer(data)][:1]
        return Facts(
            (stream.codec_context.width, stream.codec_context.height),
            tuple(
                f"{name} {text[:LONGEST]!r}"
                for name, text in tags.items()
                if name.lower() not in USUAL_TAGS
            ),
            ", ".join([stream.codec_context.name, *sorted(marks)]),
            float(stream.average_rate) if stream.average_rate else None,
            container.duration / av.time_base if container.duration else None,
        )


# The length follows from the content, and the others change with every response.
OWN_HEADERS = {"content-length", "set-cookie", "expires", "date"}


@dataclass(frozen=True)
class SentFile:
    """An answer that shows a method: a picture, a video, or the page of a slot."""

    address: str
    group: str
    method: str
    headers: Mapping[str, str]
    facts: Facts = Facts()
    story: str = ""
    # What its address holds beside the link, the slot, the side and the shot.
    parts: tuple[str, ...] = ()


def compare_headers(sent: Iterable[SentFile]) -> Iterator[BlindingFinding]:
    """Yield headers that differ between methods."""
    shown = [(one, {k.lower(): v for k, v in one.headers.items()}) for one in sent]
    names = {name for _one, headers in shown for name in headers}
    right = "the same headers with the same values for all methods"
    for name in sorted(names - OWN_HEADERS - FORBIDDEN):
        values = [(one, headers.get(name, "none")) for one, headers in shown]
        yield from _odd(values, f"have header {name}:", right)


def telling_parts(sent: Sequence[SentFile]) -> Iterator[BlindingFinding]:
    """Yield parts of addresses that occur for one method only."""
    owners: dict[str, set[str]] = defaultdict(set)
    for one in sent:
        for part in one.parts:
            owners[part].add(one.method)
    if len({one.method for one in sent}) < 2:
        return
    for one in sent:
        for part in one.parts:
            if owners[part] == {one.method}:
                what = f"“{part}” occurs only in addresses of this method"
                right = "addresses that name only the position of a picture"
                yield BlindingFinding(what, f"at {one.address}", one.method, right)


def compare_encoders(sent: Iterable[SentFile]) -> Iterator[BlindingFinding]:
    """Yield encoder marks that differ between methods."""
    values = [(one, one.facts.encoder) for one in sent if one.facts.encoder]
    return _odd(values, "differ in their encoder:", "one encoder for all methods")


def compare_sizes(
    sent: Iterable[SentFile], box: tuple[int, int] | None
) -> Iterator[BlindingFinding]:
    """Yield sizes in pixels that differ between methods."""
    right = "the same size for all"
    if box:
        right += ", {} x {} for display".format(*box)
    sized = [(one, one.facts.size) for one in sent if one.facts.size]
    values = [(one, "{} x {} pixels".format(*size)) for one, size in sized]
    return _odd(values, "are", right)


def compare_videos(sent: Iterable[SentFile]) -> Iterator[BlindingFinding]:
    """Yield frame rates and durations that differ between methods."""
    right = "videos of the same length and frame rate where the methods allow it"
    rates = [(one, one.facts.frame_rate) for one in sent if one.facts.frame_rate]
    told = [(one, f"{rate:.2f} frames per second") for one, rate in rates]
    yield from _odd(told, "have", right)
    lengths = [(one, one.facts.seconds) for one in sent if one.facts.seconds]
    told = [
        (replace(one, group=f"{one.group} of story {one.story}"), f"{seconds:.1f} s")
        for one, seconds in lengths
    ]
    yield from _odd(told, "last", right)


def _odd(
    values: Iterable[tuple[SentFile, str]], what: str, right: str
) -> Iterator[BlindingFinding]:
    """Yield values that differ from the most frequent one of similar responses."""
    groups: dict[str, list[tuple[SentFile, str]]] = defaultdict(list)
    for one, value in values:
        groups[one.group].append((one, value))
    for group, listed in groups.items():
        usual = Counter(value for _one, value in listed).most_common(1)[0][0]
        for one, value in listed:
            if value != usual:
                told = f"{group} {what} {value}, elsewhere {usual}"
                yield BlindingFinding(told, f"at {one.address}", one.method, right)
