"""Stored pictures: the same pixels, no metadata, one rendition for all methods."""

import io

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from evalcore import media
from evalcore.models import MediaFile
from tests.factories import picture_bytes

pytestmark = pytest.mark.django_db

SECRET = "rendered by Alder-XL"


def noisy() -> Image.Image:
    dice = np.random.default_rng(0)
    return Image.fromarray(dice.integers(0, 256, (40, 60, 3), dtype=np.uint8))


def encoded(picture: Image.Image, fmt: str, **options) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, fmt, **options)
    return buffer.getvalue()


def with_secrets(fmt: str) -> bytes:
    exif = Image.Exif()
    exif[0x010E] = SECRET  # ImageDescription
    if fmt == "PNG":
        info = PngInfo()
        info.add_text("Software", SECRET)
        return encoded(noisy(), "PNG", pnginfo=info, exif=exif)
    return encoded(
        noisy(), fmt, exif=exif, comment=SECRET.encode(), icc_profile=SECRET.encode()
    )


def test_it_works():
    stored = media.store_picture(picture_bytes("a"))
    assert (stored.width, stored.height) == (96, 64)
    assert media.original_path(stored).is_file()


@pytest.mark.parametrize("fmt", ["PNG", "JPEG", "WEBP"])
def test_no_metadata_survives(fmt):
    data = with_secrets(fmt)
    assert SECRET.encode() in data
    stored = media.store_picture(data)
    files = [media.original_path(stored)]
    files += [media.rendition_path(stored, size) for size in ("display", "thumb")]
    for path in files:
        assert SECRET.encode() not in path.read_bytes()
        assert SECRET not in path.name
        with Image.open(path) as picture:
            assert not picture.getexif()
            assert not {"icc_profile", "comment", "xmp", "Software"} & set(picture.info)


@pytest.mark.parametrize("fmt", ["PNG", "JPEG", "BMP"])
def test_pixels_are_kept_exactly(fmt):
    data = encoded(noisy(), fmt)
    with Image.open(io.BytesIO(data)) as source:
        expected = np.asarray(source.convert("RGB"))
    stored = media.store_picture(data)
    with Image.open(media.original_path(stored)) as kept:
        assert (np.asarray(kept) == expected).all()


def test_the_same_bytes_are_stored_once():
    first = media.store_picture(picture_bytes("a"))
    assert media.store_picture(picture_bytes("a")) == first
    assert MediaFile.objects.count() == 1


def test_orientation_is_applied():
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    stored = media.store_picture(encoded(noisy(), "JPEG", exif=exif))
    assert (stored.width, stored.height) == (40, 60)


@pytest.mark.parametrize("mode", ["L", "P", "CMYK", "I;16", "1", "LA", "RGBA"])
def test_every_mode_becomes_rgb(mode):
    picture = Image.new(mode, (8, 8))
    fmt = "JPEG" if mode == "CMYK" else "PNG"
    assert media.open_picture(encoded(picture, fmt)).mode == "RGB"


def test_transparent_parts_are_white():
    clear = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    assert media.open_picture(encoded(clear, "PNG")).getpixel((0, 0)) == (255, 255, 255)


def test_an_animation_shows_its_first_frame():
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert media.open_picture(data).getpixel((0, 0)) == (255, 0, 0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a readable picture"),
        (b"<svg/>", "a readable picture"),
        (picture_bytes("a")[:60], "a readable picture"),
        (encoded(noisy(), "TIFF"), "a readable picture"),
        (encoded(noisy(), "EPS"), "a readable picture"),
        (encoded(Image.new("1", (9000, 9000)), "PNG"), "at most"),
        (encoded(Image.new("1", (20000, 20000)), "PNG"), "ordinary size|at most"),
    ],
    ids=["empty", "svg", "cut short", "tiff", "eps", "too large", "bomb"],
)
def test_what_is_no_picture_is_refused_in_words(data, message):
    with pytest.raises(media.UnreadablePictureError, match=message):
        media.store_picture(data)
    assert not MediaFile.objects.exists()


def test_thumbs_are_small():
    stored = media.store_picture(picture_bytes("a", size=(900, 300)))
    with Image.open(media.rendition_path(stored, "thumb")) as thumb:
        assert thumb.size == (320, 107)
        assert thumb.format == "WEBP"


def shown(path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


@pytest.mark.parametrize("size", [(96, 64), (64, 96), (96, 96), (24, 16), (7, 200)])
def test_every_picture_fills_the_same_box(size):
    """Whatever its size and shape: enlarged, reduced, and letterboxed."""
    stored = media.store_picture(picture_bytes("a", size))
    path = media.rendition_path(stored, "display", (96, 96))
    pixels = shown(path)
    assert pixels.shape == (96, 96, 3)
    assert (abs(pixels[48, 48] - media.NEUTRAL) > 20).any()
    if size[0] != size[1]:
        assert (abs(pixels[0, 0] - media.NEUTRAL) < 12).all() == (size != (96, 96))
    assert shown(media.rendition_path(stored, "thumb", (96, 96))).shape == (96, 96, 3)


def test_thumbs_are_in_proportion_to_the_box():
    stored = media.store_picture(picture_bytes("a", (100, 40)))
    thumb = shown(media.rendition_path(stored, "thumb", (1280, 640)))
    assert thumb.shape == (160, 320, 3)


def test_a_picture_of_the_boxs_size_is_drawn_once():
    stored = media.store_picture(picture_bytes("a", (96, 64)))
    plain = media.rendition_path(stored, "display")
    assert media.rendition_path(stored, "display", (96, 64)) == plain
    assert media.rendition_path(stored, "display", (96, 96)) != plain
    assert shown(plain).shape == (64, 96, 3)
