"""Content-addressed pictures: pixels kept exactly, in sRGB, metadata removed.

A stored original lies at `MEDIA_ROOT/original/ab/abcd....png`. What people see are
renditions in one format for all methods (WebP), made on first use:
`MEDIA_ROOT/display/...` (at most 2048 px) and `MEDIA_ROOT/thumb/...` (320 px), or below
`MEDIA_ROOT/display/1024x768/...` where they are letterboxed to one size. Whether they
come from an object store is `evalcore.media_store`'s to know.

A picture in memory takes four bytes a pixel and is never copied needlessly; one that is
only looked at is decoded at an eighth of its size where its format can do that (JPEG).
"""

import hashlib
import io
import os
import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from stat import S_ISREG
from threading import Lock
from typing import Literal

from django.conf import settings
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from evalcore import media_store
from evalcore.colours import are_alike, in_srgb
from evalcore.media_store import temporary_file
from evalcore.models import MediaFile

Rendition = Literal["display", "thumb"]
# Width and height.
Box = tuple[int, int]

MAX_BYTES = 64_000_000
# Larger pictures are decoded one after the other, whatever the number of threads.
LARGE_PIXELS = 8_000_000
# Of stored originals.
EXTENSION = "png"
# Other decoders of Pillow are never reached, whatever a file claims to be.
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "AVIF", "TIFF")
KINDS = "PNG, JPEG, GIF, BMP, WebP, AVIF or TIFF"
# What decoders raise of files that are broken or made to break them.
BROKEN = (
    OSError,
    EOFError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    RuntimeError,
    struct.error,
)
LONGEST_SIDE: dict[str, int] = {"display": 2048, "thumb": 320}
# A rendition unused for so long is removed, and drawn again when somebody needs it.
UNUSED_SECONDS = 30 * 24 * 3600
RENDITION_FOLDERS = ("display", "thumb", "video")
# Grey of letterboxes, which favours neither bright nor dark pictures.
NEUTRAL = (128, 128, 128)

# MEDIA_MAX_MEGAPIXELS is the limit, and holds before anything is decoded; Pillow's own
# would refuse, or warn of, what that allows.
Image.MAX_IMAGE_PIXELS = None
_one_large = Lock()


class UnreadablePictureError(ValueError):
    """The file is not a picture that can be shown; the message says what would be."""


def prepare_picture(data: bytes) -> MediaFile:
    """Write the file of a picture without its metadata; return its unsaved row."""
    with _decoded(data) as picture:
        return keep_picture(picture, digest(data))


def prepare_file(path: Path) -> MediaFile:
    """Write the file of a picture that lies elsewhere, as `prepare_picture` does."""
    return prepare_picture(read(path))


def keep_picture(picture: Image.Image, source_sha256: str = "") -> MediaFile:
    """Write the file of a picture in memory; without a source it is an original."""
    with _clean(picture) as draft:
        sha256 = file_digest(draft)
        row = MediaFile(
            sha256=sha256,
            source_sha256=source_sha256 or sha256,
            content_type="image/png",
            extension=EXTENSION,
            bytes=draft.stat().st_size,
            width=picture.width,
            height=picture.height,
        )
        media_store.place(draft, place_of_original(sha256, EXTENSION))
    return row


def store_prepared(files: Iterable[MediaFile]) -> None:
    """Store the rows of prepared pictures and videos in few queries."""
    rows = {row.sha256: row for row in files}
    MediaFile.objects.bulk_create(rows.values(), batch_size=500, ignore_conflicts=True)


def digest(data: bytes) -> str:
    """Return the SHA-256 of content, which is its address."""
    return hashlib.sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_same_picture(stored: MediaFile, data: bytes) -> bool:
    """Say whether the data show exactly the stored pixels."""
    if stored.source_sha256 == digest(data):
        return True
    with _decoded(data) as picture, _clean(picture) as copy:
        return stored.sha256 == file_digest(copy)


def remarks_on_stored(stored: MediaFile, data: bytes) -> list[str]:
    """Return notes on stored data that today's import would store differently.

    Earlier versions kept the first frame and dropped colour profiles, and people may
    have judged that.
    """
    with _in_words(), Image.open(io.BytesIO(data), formats=FORMATS) as header:
        if _moves(header):
            return ["moves; people and metrics see the first frame, which is stored"]
        if not header.info.get("icc_profile"):
            return []
    with _decoded(data, is_ours=True) as picture, stored_picture(stored) as kept:
        if are_alike(picture, kept):
            return []
    return [
        "has a colour profile that was dropped when it was stored; people and metrics "
        "go on seeing those colours (a new name, --method, has it converted)"
    ]


def check_picture(data: bytes) -> list[str]:
    """Read a picture to its end, in as little memory as its format allows."""
    notes: list[str] = []
    with _decoded(data, is_reduced=True, notes=notes):
        return notes


def measure_picture(path: Path) -> Box:
    """Return the size of a picture as people see it, from its header alone."""
    with _in_words(), Image.open(path, formats=FORMATS) as header:
        turned = header.getexif().get(ExifTags.Base.Orientation, 1) > 4
        return header.size[::-1] if turned else header.size


def draw_thumb(source: Path, target: Path) -> None:
    """Draw a small WebP picture of a file that is not stored."""
    with _decoded(read(source)) as picture:
        picture.thumbnail((LONGEST_SIDE["thumb"],) * 2, Image.Resampling.LANCZOS)
        save_rendition(picture, target)


def save_rendition(picture: Image.Image, path: Path) -> None:
    """Write a picture in the one format that people see."""
    picture.save(path, "WEBP", quality=90, method=3)


@contextmanager
def stored_picture(media: MediaFile) -> Iterator[Image.Image]:
    """Yield the stored original, decoded; its size is not checked again."""
    data = original_path(media).read_bytes()
    with _decoded(data, is_ours=True) as picture:
        yield picture


@contextmanager
def _decoded(
    data: bytes,
    *,
    is_ours: bool = False,
    is_reduced: bool = False,
    notes: list[str] | None = None,
) -> Iterator[Image.Image]:
    """Yield a picture upright and in sRGB; a large one to one thread at a time.

    Reduced, it has every error of the whole but may be smaller. What is assumed is
    added to `notes`.
    """
    if not data:
        raise UnreadablePictureError("a readable picture; this file is empty")
    with _in_words():
        picture = Image.open(io.BytesIO(data), formats=FORMATS)
        if not is_ours:
            _check_still(picture)
    pixels = picture.width * picture.height
    most = settings.MEDIA_MAX_MEGAPIXELS
    if pixels > most * 10**6 and not is_ours:
        raise UnreadablePictureError(
            f"at most {most} megapixels (MEDIA_MAX_MEGAPIXELS), "
            f"not {picture.width} x {picture.height}"
        )
    with picture, _one_large if pixels > LARGE_PIXELS else nullcontext():
        with _in_words():
            if is_reduced:
                picture.draft(None, (1, 1))
            picture.load()
            shown = _rgb(in_srgb(_upright(picture), [] if notes is None else notes))
        yield shown


def _check_still(picture: Image.Image) -> None:
    """Refuse animations and documents: only their first frame would be shown."""
    if not _moves(picture):
        return
    if picture.format == "TIFF":  # counting takes long where there are many
        raise UnreadablePictureError(
            "a picture of one page; this one has several (save the one to judge as PNG)"
        )
    raise UnreadablePictureError(
        f"a still picture; this one has {getattr(picture, 'n_frames', 0):,} frames "
        "(save the one to judge as PNG; a story that moves is one video, mp4 or webm)"
    )


def _moves(picture: Image.Image) -> bool:
    # A camera's MPO is one photograph with previews and depth maps behind it.
    return getattr(picture, "is_animated", False) and picture.format != "MPO"


@contextmanager
def _in_words() -> Iterator[None]:
    """Return an error of a decoder as a sentence."""
    try:
        yield
    except UnidentifiedImageError as error:
        raise UnreadablePictureError(f"a readable picture ({KINDS})") from error
    except UnreadablePictureError:
        raise
    except BROKEN as error:
        raise UnreadablePictureError(f"a readable picture ({error})") from error


def _upright(picture: Image.Image) -> Image.Image:
    """Return the picture rotated by its metadata; broken metadata are ignored."""
    try:
        if picture.getexif().get(ExifTags.Base.Orientation, 1) == 1:
            return picture
        return ImageOps.exif_transpose(picture)
    except (struct.error, TypeError, SyntaxError, ValueError, ZeroDivisionError):
        return picture


def read(path: Path) -> bytes:
    """Return the content of a picture's file."""
    about = path.stat()
    if not S_ISREG(about.st_mode):
        raise UnreadablePictureError("a file, no pipe or device")
    size = about.st_size
    if size > MAX_BYTES:
        raise UnreadablePictureError(f"at most {MAX_BYTES:,} bytes, not {size:,}")
    return path.read_bytes()


def _rgb(picture: Image.Image) -> Image.Image:
    """Return eight bits a channel, transparent parts on white."""
    if picture.mode in ("I", "F"):
        raise UnreadablePictureError("a picture of 8 or 16 bits a channel, not of 32")
    if picture.mode.startswith("I;16"):
        picture = picture.convert("I").point(lambda level: level / 256).convert("L")
    if "A" in picture.getbands() or "transparency" in picture.info:
        layer = picture if picture.mode == "RGBA" else picture.convert("RGBA")
        paper = Image.new("RGB", layer.size, "white")
        paper.paste(layer, mask=layer)
        return paper
    return picture if picture.mode == "RGB" else picture.convert("RGB")


def original_path(media: MediaFile) -> Path:
    """Return where the stored original can be read; it may be absent."""
    path = place_of_original(media.sha256, media.extension)
    media_store.is_here(path)
    return path


def place_of_original(sha256: str, extension: str) -> Path:
    """Return where an original lies, or would lie."""
    return settings.MEDIA_ROOT / "original" / sha256[:2] / f"{sha256}.{extension}"


def rendition_path(
    media: MediaFile, rendition: Rendition, box: Box | None = None
) -> Path:
    """Return the WebP picture of that size, made on first use.

    With a box the display is exactly of its size, and the thumb in proportion: the
    picture is enlarged or reduced until it fills the box in one direction, and what
    remains of the other is neutral. Without one, or where it fits already, the picture
    keeps its own size up to the longest side.
    """
    side = LONGEST_SIDE[rendition]
    fitted = box and _reduced(box, side)
    folder = settings.MEDIA_ROOT / rendition
    if fitted and fitted != (media.width, media.height):
        folder /= "{}x{}".format(*fitted)
    path = folder / media.sha256[:2] / f"{media.sha256}.webp"
    if not media_store.is_here(path):
        with stored_picture(media) as picture:
            if fitted:
                shown = ImageOps.pad(picture, fitted, Image.Resampling.LANCZOS, NEUTRAL)
            else:
                shown = picture
                shown.thumbnail((side, side), Image.Resampling.LANCZOS)
        with temporary_file(path.parent, "webp") as draft:
            save_rendition(shown, draft)
            media_store.place(draft, path)
    return path


def remove_unused_renditions() -> int:
    """Remove the renditions that were not used for long; return how many."""
    removed, last_use = 0, time.time() - UNUSED_SECONDS
    for folder in RENDITION_FOLDERS:
        for parent, _folders, names in os.walk(settings.MEDIA_ROOT / folder):
            for path in (Path(parent, name) for name in names):
                with suppress(FileNotFoundError):  # another worker removed it
                    if path.stat().st_mtime < last_use:
                        path.unlink()
                        removed += 1
    return removed


def _reduced(box: Box, side: int) -> Box:
    """Return the box with no side longer than that."""
    scale = min(1, side / max(box))
    return max(1, round(box[0] * scale)), max(1, round(box[1] * scale))


@contextmanager
def _clean(picture: Image.Image) -> Iterator[Path]:
    """Yield a PNG file of the pixels alone."""
    picture.info = {}  # what it says besides would be written as well
    with temporary_file(settings.MEDIA_ROOT / "original", EXTENSION) as draft:
        picture.save(draft, "PNG", compress_level=6)
        yield draft
