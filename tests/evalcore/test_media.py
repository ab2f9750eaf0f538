"""Stored pictures: the same pixels, no metadata, one rendition for all methods."""

import io
import os
import struct
import subprocess
import sys
import warnings
import zlib

import numpy as np
import pytest
from django.conf import settings
from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo

from evalcore import media
from evalcore.models import MediaFile
from tests.factories import picture_bytes, store_picture
from tests.profiles import cmyk_profile, grey_profile, rgb_profile

pytestmark = pytest.mark.django_db

SECRET = "rendered by Alder-XL"


def noisy() -> Image.Image:
    dice = np.random.default_rng(0)
    return Image.fromarray(dice.integers(0, 256, (40, 60, 3), dtype=np.uint8))


def encoded(picture: Image.Image, fmt: str, **options) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, fmt, **options)
    return buffer.getvalue()


def as_stored(data: bytes) -> Image.Image:
    prepared = media.prepare_picture(data)
    return Image.open(media.place_of_original(prepared.sha256, media.EXTENSION))


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


@pytest.mark.parametrize("fmt", ["PNG", "JPEG", "WEBP"])
def test_no_metadata_survives(fmt):
    data = with_secrets(fmt)
    assert SECRET.encode() in data
    stored = store_picture(data)
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
    stored = store_picture(data)
    with Image.open(media.original_path(stored)) as kept:
        assert (np.asarray(kept) == expected).all()


def test_same_bytes_are_stored_once():
    first = store_picture(picture_bytes("a"))
    assert store_picture(picture_bytes("a")) == first
    assert MediaFile.objects.count() == 1


def test_orientation_is_applied():
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    stored = store_picture(encoded(noisy(), "JPEG", exif=exif))
    assert (stored.width, stored.height) == (40, 60)


@pytest.mark.parametrize("mode", ["L", "P", "CMYK", "I;16", "1", "LA", "RGBA"])
def test_every_mode_becomes_rgb(mode):
    picture = Image.new(mode, (8, 8))
    fmt = "JPEG" if mode == "CMYK" else "PNG"
    assert as_stored(encoded(picture, fmt)).mode == "RGB"


def test_transparent_parts_are_white():
    clear = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    assert as_stored(encoded(clear, "PNG")).getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize("fmt", ["GIF", "PNG", "WEBP", "AVIF"])
def test_animated_picture_is_refused_with_its_number_of_frames(fmt):
    frames = [Image.new("RGB", (16, 16), (level, 0, 0)) for level in range(0, 240, 30)]
    data = encoded(frames[0], fmt, save_all=True, append_images=frames[1:])
    for use in (media.check_picture, media.prepare_picture):
        with pytest.raises(media.UnreadablePictureError, match="this one has 8 frames"):
            use(data)


def test_tiff_of_several_pages_is_refused():
    page = Image.new("RGB", (4, 4))
    data = encoded(page, "TIFF", save_all=True, append_images=[page])
    with pytest.raises(media.UnreadablePictureError, match="a picture of one page"):
        media.prepare_picture(data)


@pytest.mark.parametrize("mode", ["I", "F"])
def test_picture_of_32_bits_is_refused(mode):
    """Nothing says which of its values is white."""
    data = encoded(Image.new(mode, (4, 4), 1), "TIFF")
    with pytest.raises(media.UnreadablePictureError, match="8 or 16 bits a channel"):
        media.prepare_picture(data)


def test_avif_is_read():
    kept = as_stored(encoded(Image.new("RGB", (16, 16), (200, 120, 40)), "AVIF"))
    assert is_about(kept.getpixel((8, 8)), (200, 120, 40))


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw"])
def test_tiff_is_turned_upright_once(compression):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    data = encoded(noisy(), "TIFF", exif=exif, compression=compression)
    expected = np.rot90(np.asarray(noisy()), -1)
    assert (np.asarray(as_stored(data)) == expected).all()


# Colours ------------------------------------------------------------------------------


def is_about(pixel, expected, most: int = 3) -> bool:
    return all(abs(a - b) <= most for a, b in zip(pixel, expected, strict=True))


# Linear 0.2140 is 0.5 in sRGB, and L* = 50 is #777777 (IEC 61966-2-1, CIE 15).
COLOURS = {
    "RGB": ("RGB", (55, 55, 55), rgb_profile(1), (128, 128, 128)),
    "one bit": ("1", 1, rgb_profile(1), (255, 255, 255)),
    "grey in RGB": ("L", 55, rgb_profile(1), (128, 128, 128)),
    "transparent": ("RGBA", (55, 55, 55, 128), rgb_profile(1), (191, 191, 191)),
    "grey": ("L", 55, grey_profile(1), (128, 128, 128)),
    "grey, transparent": ("LA", (55, 128), grey_profile(1), (191, 191, 191)),
    "grey, 16 bits": ("I;16", 14146, grey_profile(1), (128, 128, 128)),
    "CMYK": ("CMYK", (0, 255, 255, 0), cmyk_profile(), (119, 119, 119)),
}


@pytest.mark.parametrize(
    ("mode", "value", "profile", "expected"), COLOURS.values(), ids=COLOURS.keys()
)
def test_colour_profile_is_converted_for_people_and_metrics(
    mode, value, profile, expected
):
    picture = Image.new(mode, (40, 30), value)
    fmt = "TIFF" if mode == "CMYK" else "PNG"
    stored = store_picture(encoded(picture, fmt, icc_profile=profile))
    for path in (media.original_path(stored), media.rendition_path(stored, "thumb")):
        with Image.open(path) as kept:
            assert is_about(kept.getpixel((20, 15)), expected)
            assert "icc_profile" not in kept.info


def test_picture_with_profile_and_orientation_has_both_applied():
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    picture = Image.new("RGB", (60, 40), (55, 55, 55))
    data = encoded(picture, "JPEG", exif=exif, icc_profile=rgb_profile(1), quality=95)
    kept = as_stored(data)
    assert kept.size == (40, 60)
    assert is_about(kept.getpixel((20, 30)), (128, 128, 128))


def test_pixels_with_a_profile_of_srgb_are_kept_exactly():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = encoded(noisy(), "PNG", icc_profile=profile)
    assert (np.asarray(as_stored(data)) == np.asarray(noisy())).all()
    assert media.check_picture(data) == []


@pytest.mark.parametrize(
    ("mode", "profile"),
    [("RGB", b"no profile"), ("RGB", grey_profile(1)), ("RGB", cmyk_profile())],
    ids=["broken", "grey", "CMYK"],
)
def test_profile_that_cannot_be_used_is_named(mode, profile):
    picture = Image.new(mode, (8, 8), (200, 120, 40))
    data = encoded(picture, "PNG", icc_profile=profile)
    (note,) = media.check_picture(data)
    assert "taken as sRGB" in note
    assert as_stored(data).getpixel((0, 0)) == (200, 120, 40)


def test_stored_picture_without_its_profile_is_named():
    """Earlier versions dropped profiles; what people judge does not change."""
    data = encoded(
        Image.new("RGB", (8, 8), (55, 55, 55)), "PNG", icc_profile=rgb_profile(1)
    )
    stored = store_picture(encoded(Image.new("RGB", (8, 8), (55, 55, 55)), "PNG"))
    stored.source_sha256 = media.digest(data)
    assert media.is_same_picture(stored, data)
    (remark,) = media.remarks_on_stored(stored, data)
    assert "profile that was dropped" in remark
    assert media.remarks_on_stored(store_picture(data), data) == []


def test_stored_frame_of_an_animated_picture_is_named():
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    stored = store_picture(encoded(frames[0], "PNG"))
    stored.source_sha256 = media.digest(data)
    assert media.is_same_picture(stored, data)
    (remark,) = media.remarks_on_stored(stored, data)
    assert "the first frame" in remark


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a readable picture"),
        (b"<svg/>", "a readable picture"),
        (picture_bytes("a")[:60], "a readable picture"),
        (encoded(noisy(), "EPS"), "a readable picture"),
        (encoded(Image.new("1", (9000, 9000)), "PNG"), "at most"),
        (encoded(Image.new("1", (20000, 20000)), "PNG"), "ordinary size|at most"),
    ],
    ids=["empty", "svg", "cut short", "eps", "too large", "bomb"],
)
def test_unreadable_picture_is_refused_with_a_reason(data, message):
    with pytest.raises(media.UnreadablePictureError, match=message):
        store_picture(data)
    assert not MediaFile.objects.exists()


def test_thumbs_are_small():
    stored = store_picture(picture_bytes("a", size=(900, 300)))
    with Image.open(media.rendition_path(stored, "thumb")) as thumb:
        assert thumb.size == (320, 107)
        assert thumb.format == "WEBP"


def shown(path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


@pytest.mark.parametrize("size", [(96, 64), (64, 96), (96, 96), (24, 16), (7, 200)])
def test_every_picture_fills_the_same_box(size):
    """Whatever its size and shape: enlarged, reduced, and letterboxed."""
    stored = store_picture(picture_bytes("a", size))
    path = media.rendition_path(stored, "display", (96, 96))
    pixels = shown(path)
    assert pixels.shape == (96, 96, 3)
    assert (abs(pixels[48, 48] - media.NEUTRAL) > 20).any()
    if size[0] != size[1]:
        assert (abs(pixels[0, 0] - media.NEUTRAL) < 12).all() == (size != (96, 96))
    assert shown(media.rendition_path(stored, "thumb", (96, 96))).shape == (96, 96, 3)


def test_picture_of_the_boxs_size_is_drawn_once():
    stored = store_picture(picture_bytes("a", (96, 64)))
    plain = media.rendition_path(stored, "display")
    assert media.rendition_path(stored, "display", (96, 64)) == plain
    assert media.rendition_path(stored, "display", (96, 96)) != plain
    assert shown(plain).shape == (64, 96, 3)


# Memory -------------------------------------------------------------------------------

# What a process that has stored a small picture needs besides for a large one.
NEEDED = """
import pathlib, re, sys
import django
django.setup()
from evalcore import media

def peak():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) * 1024

small, large = (pathlib.Path(name).read_bytes() for name in sys.argv[1:])
media.prepare_picture(small)
before = peak()
media.check_picture(large)
checked = peak()
media.prepare_picture(large)
print(checked - before, peak() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fmt", "to_check", "to_store"), [("JPEG", 1, 6), ("PNG", 6, 6)]
)
def test_large_picture_is_in_memory_once(tmp_path, fmt, to_check, to_store):
    """Four bytes a pixel hold it in RGB; a JPEG is checked at an eighth of its size."""
    side = 4000
    for name, size in (("small", 8), ("large", side)):
        picture = Image.linear_gradient("L").resize((size, size)).convert("RGB")
        (tmp_path / name).write_bytes(encoded(picture, fmt))
    done = subprocess.run(
        [sys.executable, "-c", NEEDED, tmp_path / "small", tmp_path / "large"],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "evalcore.settings",
            "DATA_DIR": str(tmp_path / "data"),
        },
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    checked, stored = (int(number) / side**2 for number in done.stdout.split())
    assert checked < to_check
    assert stored < to_store


def test_larger_pictures_than_the_setting_says_are_refused(settings):
    data = encoded(Image.new("L", (1500, 1000)), "PNG")
    settings.MEDIA_MAX_MEGAPIXELS = 2
    stored = store_picture(data)
    settings.MEDIA_MAX_MEGAPIXELS = 1
    for refuse in (media.check_picture, media.prepare_picture):
        with pytest.raises(media.UnreadablePictureError) as caught:
            refuse(data)
        assert str(caught.value) == (
            "at most 1 megapixels (MEDIA_MAX_MEGAPIXELS), not 1500 x 1000"
        )
    # What people judge already is shown on, and is the same picture still.
    assert shown(media.rendition_path(stored, "thumb")).shape == (213, 320, 3)
    assert media.is_same_picture(stored, data)


def test_no_other_limit_is_lower_than_the_setting(settings):
    """Pillow refuses pictures of 179 megapixels and warns of half of that."""
    settings.MEDIA_MAX_MEGAPIXELS = 400
    data = bytearray(encoded(Image.new("1", (1, 1)), "PNG"))
    data[16:24] = struct.pack(">2I", 19000, 19000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Image.open(io.BytesIO(data)).size == (19000, 19000)


@pytest.mark.parametrize("fmt", media.FORMATS)
def test_picture_that_is_cut_short_anywhere_is_refused_by_a_look(fmt):
    """A look decodes less, but finds what storing would find."""
    data = encoded(noisy(), fmt)
    for end in range(0, len(data), max(1, len(data) // 60)):
        try:
            media.prepare_picture(data[:end])
        except media.UnreadablePictureError:
            with pytest.raises(media.UnreadablePictureError):
                media.check_picture(data[:end])
