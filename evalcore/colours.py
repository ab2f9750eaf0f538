"""Conversion of pictures with a colour profile to sRGB. PURE of Django."""

import io
from functools import lru_cache
from itertools import product

from PIL import Image, ImageChops, ImageCms

# A difference of so many of 255 levels is invisible.
SAME_COLOUR = 2
# Modes in which a picture of a profile's colour space may come.
GREY = ("1", "L", "LA", "I;16", "I;16L", "I;16B", "I;16N")
MODES = {
    "RGB": ("RGB", "RGBA", "RGBX", "P", "PA", "YCbCr", "1", "L", "LA"),
    "GRAY": GREY,
    "CMYK": ("CMYK",),
}


def in_srgb(picture: Image.Image, notes: list[str]) -> Image.Image:
    """Return a picture in the colours that its profile means.

    One without a profile, or whose profile is sRGB, is returned as it is; so is one
    whose profile cannot be used, which is added to `notes`.
    """
    profile = picture.info.get("icc_profile")
    if not profile:
        return picture
    try:
        if _is_srgb(profile):
            return picture
        return _converted(picture, profile)
    except (ImageCms.PyCMSError, OSError, LookupError, TypeError, ValueError):
        notes.append(
            "its colour profile is broken, or not of this kind of picture; it is taken "
            "as sRGB"
        )
        return picture


def _converted(picture: Image.Image, profile: bytes) -> Image.Image:
    source = _opened(profile)
    space = source.profile.xcolor_space.strip()
    if picture.mode not in MODES[space]:
        raise ValueError(f"{picture.mode} in {space}")
    alpha = None
    if "A" in picture.getbands():
        alpha = picture.getchannel("A")
    elif "transparency" in picture.info:
        alpha = picture.convert("RGBA").getchannel("A")
    if space == "RGB" and picture.mode != "RGB":
        picture = picture.convert("RGB")
    target = ImageCms.createProfile("sRGB")
    if space == "RGB":  # in place: a large picture is in memory once
        ImageCms.profileToProfile(picture, source, target, inPlace=True)
        shown = picture
    else:
        converted = ImageCms.profileToProfile(picture, source, target, outputMode="RGB")
        assert converted is not None
        shown = converted
    if alpha is not None:
        shown.putalpha(alpha)
    return shown


def _opened(profile: bytes) -> ImageCms.ImageCmsProfile:
    return ImageCms.ImageCmsProfile(io.BytesIO(profile))


@lru_cache(maxsize=16)
def _is_srgb(profile: bytes) -> bool:
    """Say whether converting that profile to sRGB changes nothing visible."""
    source = _opened(profile)
    if source.profile.xcolor_space.strip() != "RGB":
        return False
    levels = range(0, 256, 15)
    samples = bytes(level for colour in product(levels, repeat=3) for level in colour)
    before = Image.frombytes("RGB", (len(samples) // 3, 1), samples)
    return are_alike(before, _converted(before.copy(), profile))


def are_alike(first: Image.Image, second: Image.Image) -> bool:
    """Say whether two pictures of one size look the same."""
    difference = ImageChops.difference(first, second)
    rest = difference.point(lambda level: max(0, level - SAME_COLOUR))
    return rest.getbbox() is None
