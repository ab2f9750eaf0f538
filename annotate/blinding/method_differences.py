"""What files tell of their method: metadata, sizes, colours."""

import hashlib
import io
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import av
from PIL import Image, UnidentifiedImageError

from annotate.blinding.findings import BlindingFinding

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


# The length of a file follows from the picture in it, which is shown anyway; the others
# change with every answer.
OWN = {"content-length", "set-cookie", "expires", "date"}
FORBIDDEN = {"etag", "last-modified", "content-disposition"}
DIFFERENT_SECONDS = 0.05


@dataclass(frozen=True)
class SentMedia:
    """An answer with a picture or a video of a method."""

    address: str
    group: str
    method: str
    headers: Mapping[str, str]
    facts: Facts
    story: str = ""


def forbidden_headers(
    address: str, headers: Mapping[str, str]
) -> Iterator[BlindingFinding]:
    """Yield headers by which equal contents or files could be recognised."""
    for name, value in headers.items():
        if name.lower() in FORBIDDEN:
            yield BlindingFinding(
                f"header {name} ({value[:60]})",
                f"at {address}",
                "",
                "no ETag, Last-Modified or Content-Disposition in any answer",
            )


def compare_headers(sent: Iterable[SentMedia]) -> Iterator[BlindingFinding]:
    """Yield headers that some methods have, or have with another value."""
    right = "the same headers with the same values for all methods"
    for group, answers in _grouped(sent):
        shown = [(a, {n.lower(): v for n, v in a.headers.items()}) for a in answers]
        names = {name for _a, headers in shown for name in headers}
        for name in sorted(names - OWN - FORBIDDEN):
            found = [(a, headers.get(name, "none")) for a, headers in shown]
            yield from _odd(found, f"header {name} of {group}:", right)


def compare_marks(sent: Iterable[SentMedia]) -> Iterator[BlindingFinding]:
    """Yield colour profiles and encoder settings that not all methods have."""
    right = "the same format, profile and encoder for all methods"
    for group, answers in _grouped(sent):
        marks = [(a, ", ".join((a.facts.kind, *a.facts.marks))) for a in answers]
        yield from _odd(marks, f"{group} differ in their files:", right)


def compare_sizes(
    sent: Iterable[SentMedia], box: tuple[int, int] | None
) -> Iterator[BlindingFinding]:
    """Yield sizes in pixels by which a method could be recognised."""
    right = "all in one size"
    if box:
        right += ", {} x {} for the display".format(*box)
    for group, answers in _grouped(sent):
        sized = [(a, "{} x {}".format(*a.facts.size)) for a in answers if a.facts.size]
        yield from _odd(sized, f"{group} are", right, " pixels")


def compare_videos(sent: Iterable[SentMedia]) -> Iterator[BlindingFinding]:
    """Yield frame rates and durations that differ; watching tells them anyway."""
    by_rate: dict[str, set[float]] = defaultdict(set)
    by_story: dict[str, dict[str, float]] = defaultdict(dict)
    for one in sent:
        if one.facts.frame_rate:
            by_rate[one.method].add(round(one.facts.frame_rate, 2))
        if one.facts.seconds:
            by_story[one.story][one.method] = one.facts.seconds
    for what, told in (
        ("frame rate", {m: sorted(rates) for m, rates in by_rate.items()}),
        ("duration", _unequal(by_story)),
    ):
        if len({str(value) for value in told.values()}) > 1:
            listed = ", ".join(f"{m} {told[m]}" for m in sorted(told))
            yield BlindingFinding(
                f"{what} differs between methods: {listed}",
                "in videos",
                "",
                "videos of the same length and frame rate, if methods allow it",
            )


def _unequal(by_story: dict[str, dict[str, float]]) -> dict[str, str]:
    """Return the durations of the first story in which methods differ in them."""
    for seconds in by_story.values():
        if max(seconds.values()) - min(seconds.values()) > DIFFERENT_SECONDS:
            return {method: f"{length:.2f} s" for method, length in seconds.items()}
    return {}


def compare_gaps(gaps: Mapping[str, tuple[int, int]]) -> Iterator[BlindingFinding]:
    """Yield how often shots are missing where that is not equally often everywhere."""
    if len({lacking / every for lacking, every in gaps.values()}) > 1:
        listed = ", ".join(
            f"{method} {lacking} of {every}"
            for method, (lacking, every) in sorted(gaps.items())
        )
        yield BlindingFinding(
            f"outputs that lack shots: {listed}",
            "in shots that are missing",
            "",
            "every shot of every method, or a study without those stories",
        )


def repeated_addresses(
    assignments: Iterable[tuple[str, Mapping[str, str]]],
) -> Iterator[BlindingFinding]:
    """Yield addresses of pictures that two assignments share."""
    seen: dict[str, str] = {}
    for name, addresses in assignments:
        for address, method in addresses.items():
            first = seen.setdefault(address, name)
            if first != name:
                yield BlindingFinding(
                    "the same address of a picture in two assignments",
                    f"at {address}, of {first} and {name}",
                    method,
                    "addresses below the annotator's own link and the slot's code",
                )


def telling_parts(
    addresses: Iterable[tuple[str, str, tuple[str, ...]]], most: int
) -> Iterator[BlindingFinding]:
    """Yield parts of addresses that occur with one method only."""
    listed = list(addresses)
    owners: dict[str, set[str]] = defaultdict(set)
    for _address, method, parts in listed:
        for part in parts:
            owners[part].add(method)
    methods = {method for _address, method, _parts in listed}
    for address, method, parts in listed:
        for part in parts:
            counts = part.isdigit() and int(part) <= most
            if len(methods) > 1 and owners[part] == {method} and not counts:
                yield BlindingFinding(
                    f"“{part}” stands only in addresses of this method",
                    f"at {address}",
                    method,
                    "addresses that say only where a picture stands",
                )


def _grouped(sent: Iterable[SentMedia]) -> Iterator[tuple[str, list[SentMedia]]]:
    groups: dict[str, list[SentMedia]] = defaultdict(list)
    for one in sent:
        groups[one.group].append(one)
    yield from groups.items()


def _odd(
    values: list[tuple[SentMedia, str]], what: str, right: str, unit: str = ""
) -> Iterator[BlindingFinding]:
    """Yield what differs from the value that most answers have, with both values."""
    if not values:
        return
    usual = Counter(value for _one, value in values).most_common(1)[0][0]
    for one, value in values:
        if value != usual:
            found = f"{what} {value}{unit}, elsewhere {usual}"
            yield BlindingFinding(found, f"at {one.address}", one.method, right)
