"""Content-addressed pictures: pixels kept exactly, metadata removed.

A stored original lies at `MEDIA_ROOT/original/ab/abcd....png`. What people see are
renditions in one format for all methods (WebP), made on first use:
`MEDIA_ROOT/display/...` (at most 2048 px) and `MEDIA_ROOT/thumb/...` (320 px), or below
`MEDIA_ROOT/display/1024x768/...` where they are letterboxed to one size.
"""

import hashlib
import io
import os
import struct
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from django.conf import settings
from PIL import Image, ImageOps, UnidentifiedImageError

from evalcore.models import MediaFile

Rendition = Literal["display", "thumb"]
# Width and height.
Box = tuple[int, int]

MAX_PIXELS = 64_000_000
MAX_BYTES = 64_000_000
# Of stored originals.
EXTENSION = "png"
# Other decoders of Pillow are never reached, whatever a file claims to be.
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP")
LONGEST_SIDE: dict[str, int] = {"display": 2048, "thumb": 320}
# Of letterboxes; neither bright nor dark pictures look better on it.
NEUTRAL = (128, 128, 128)


class UnreadablePictureError(ValueError):
    """The file is no picture that can be shown; the message says what would be."""


@dataclass(frozen=True)
class Prepared:
    """A picture whose file is written and whose row may not be there yet."""

    sha256: str
    source_sha256: str
    bytes: int
    width: int
    height: int


def store_picture(data: bytes) -> MediaFile:
    """Store a picture without its metadata and return its row.

    Storing the same bytes again returns the row that exists.
    """
    known = MediaFile.objects.filter(source_sha256=digest(data)).first()
    if known is not None and original_path(known).is_file():
        return known
    prepared = prepare_picture(data)
    store_prepared([prepared])
    return MediaFile.objects.get(sha256=prepared.sha256)


def prepare_picture(data: bytes) -> Prepared:
    """Write the file of a picture without its metadata; touches no database.

    Raises
    ------
    UnreadablePictureError
        The data are no picture.
    """
    picture = open_picture(data)
    clean = _png(picture)
    sha256 = digest(clean)
    _write_once(_original(sha256, EXTENSION), clean)
    return Prepared(sha256, digest(data), len(clean), picture.width, picture.height)


def store_prepared(pictures: Iterable[Prepared]) -> None:
    """Store the rows of prepared pictures, in few queries; the key is `sha256`."""
    MediaFile.objects.bulk_create(
        [
            MediaFile(
                sha256=picture.sha256,
                source_sha256=picture.source_sha256,
                content_type="image/png",
                extension=EXTENSION,
                bytes=picture.bytes,
                width=picture.width,
                height=picture.height,
            )
            for picture in {p.sha256: p for p in pictures}.values()
        ],
        batch_size=500,
        ignore_conflicts=True,
    )


def digest(data: bytes) -> str:
    """Return the SHA-256 by which content is addressed."""
    return hashlib.sha256(data).hexdigest()


def is_same_picture(stored: MediaFile, data: bytes) -> bool:
    """Say whether the data show exactly the stored pixels.

    Raises
    ------
    UnreadablePictureError
        The data are no picture.
    """
    if stored.source_sha256 == digest(data):
        return True
    return stored.sha256 == digest(_png(open_picture(data)))


def open_picture(data: bytes) -> Image.Image:
    """Decode a picture completely, upright and in RGB.

    Raises
    ------
    UnreadablePictureError
        The data are no picture, are cut short, or hold too many pixels.
    """
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
            if picture.width * picture.height > MAX_PIXELS:
                raise UnreadablePictureError(
                    f"at most {MAX_PIXELS:,} pixels, "
                    f"not {picture.width} x {picture.height}"
                )
            picture.load()
            return _rgb(_upright(picture))
    except UnreadablePictureError:
        raise
    except UnidentifiedImageError as error:
        raise UnreadablePictureError("a readable picture") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise UnreadablePictureError(f"a readable picture ({error})") from error
    except Image.DecompressionBombError as error:
        raise UnreadablePictureError(f"a picture of ordinary size ({error})") from error


def _upright(picture: Image.Image) -> Image.Image:
    """Return the picture turned as its metadata say; broken ones say nothing."""
    try:
        return ImageOps.exif_transpose(picture)
    except (struct.error, TypeError, SyntaxError, ValueError, ZeroDivisionError):
        return picture


def read(path: Path) -> bytes:
    """Return the content of a picture's file.

    Raises
    ------
    UnreadablePictureError
        The file is larger than any picture that would be accepted.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise UnreadablePictureError(f"at most {MAX_BYTES:,} bytes, not {size:,}")
    return path.read_bytes()


def _rgb(picture: Image.Image) -> Image.Image:
    """Return eight bits a channel, transparent parts on white."""
    if picture.mode.startswith("I;16") or picture.mode in ("I", "F"):
        picture = picture.convert("I").point(lambda level: level / 256).convert("L")
    if "A" in picture.getbands() or "transparency" in picture.info:
        layer = picture.convert("RGBA")
        paper = Image.new("RGB", layer.size, "white")
        paper.paste(layer, mask=layer)
        return paper
    return picture.convert("RGB")


def original_path(media: MediaFile) -> Path:
    """Return where the stored original lies."""
    return _original(media.sha256, media.extension)


def _original(sha256: str, extension: str) -> Path:
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
    if not path.is_file():
        picture = open_picture(original_path(media).read_bytes())
        if fitted:
            picture = ImageOps.pad(picture, fitted, Image.Resampling.LANCZOS, NEUTRAL)
        else:
            picture.thumbnail((side, side), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        picture.save(buffer, "WEBP", quality=90, method=3)
        _write_once(path, buffer.getvalue())
    return path


def _reduced(box: Box, side: int) -> Box:
    """Return the box with no side longer than that."""
    scale = min(1, side / max(box))
    return max(1, round(box[0] * scale)), max(1, round(box[1] * scale))


def _png(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    Image.frombytes(picture.mode, picture.size, picture.tobytes()).save(
        buffer, "PNG", compress_level=6
    )
    return buffer.getvalue()


def _write_once(path: Path, data: bytes) -> None:
    """Write a file so that a reader never sees half of it."""
    if path.is_file():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)
