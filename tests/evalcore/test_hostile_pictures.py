"""Attacks by pictures: what unfolds, what is something else besides, what is none."""

import io
import os
import struct
import time
import zlib

import pytest
from PIL import Image

from evalcore import media
from evalcore.models import MediaFile
from tests.factories import picture_bytes, store_picture

pytestmark = pytest.mark.django_db

SCRIPT = b"/*<script>alert(1)</script><?php system('id') ?>*/"


def chunk(kind: bytes, data: bytes) -> bytes:
    head = struct.pack(">I", len(data)) + kind
    return head + data + struct.pack(">I", zlib.crc32(kind + data))


def with_chunk(kind: bytes, data: bytes) -> bytes:
    """A PNG with another part behind its first one."""
    png = picture_bytes("a")
    return png[:33] + chunk(kind, data) + png[33:]


def packed(megabytes: int) -> bytes:
    return zlib.compress(bytes(megabytes * 10**6), 9)


def png_of(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", packed(1)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def webp_of(width: int, height: int) -> bytes:
    """A WebP that says how large it is, and shows next to nothing."""
    size = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    head = b"VP8X" + struct.pack("<I", 10) + b"\x02\0\0\0" + size
    body = b"WEBP" + head + b"ANIM" + struct.pack("<I", 6) + bytes(6)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def gif_of(width: int, height: int, frames: int = 1) -> bytes:
    screen = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)
    frame = b"," + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02\x44\x01\0"
    return screen + frame * frames + b";"


def bmp_of(width: int, height: int) -> bytes:
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 1, 4, 0, 0, 1, 0)
    return b"BM" + struct.pack("<IHHI", 70, 0, 0, 58) + head + bytes(4) + b"\xff\0\0\1"


def tiff_of(width: int, height: int) -> bytes:
    tags = {256: width, 257: height, 258: 8, 259: 1, 262: 1, 273: 8, 277: 1, 279: 1}
    rows = b"".join(struct.pack("<HHII", tag, 4, 1, n) for tag, n in tags.items())
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + rows + bytes(4)


BOMBS = {
    "PNG": png_of(60_000, 60_000),
    "PNG, one row": png_of(2**31 - 1, 1),
    "GIF": gif_of(65_535, 65_535),
    "WebP": webp_of(16_383, 16_383),
    "WebP, longer than that": webp_of(2**24, 255),
    "BMP": bmp_of(60_000, 60_000),
    "TIFF": tiff_of(60_000, 60_000),
    "BMP, upside down": bmp_of(60_000, -60_000),
    "PNG with packed text": with_chunk(b"zTXt", b"a\0\0" + packed(50)),
    "PNG with other packed text": with_chunk(b"iTXt", b"a\0\1\0\0\0" + packed(50)),
}


@pytest.mark.parametrize("data", BOMBS.values(), ids=BOMBS.keys())
def test_decompression_bomb_is_refused(data, settings):
    """Attack: a small file that fills the memory when it is opened."""
    assert len(data) < 10**6
    begun = time.perf_counter()
    for use in (media.check_picture, media.prepare_picture):
        with pytest.raises(media.UnreadablePictureError):
            use(data)
    assert time.perf_counter() - begun < 5
    assert not [path for path in settings.MEDIA_ROOT.rglob("*") if path.is_file()]


def test_packed_profile_does_not_unfold():
    data = with_chunk(b"iCCP", b"a\0\0" + packed(50))
    try:
        media.check_picture(data)
    except media.UnreadablePictureError:
        return
    stored = store_picture(data)
    assert media.original_path(stored).stat().st_size < 10_000


def test_picture_of_many_frames_is_refused_at_once():
    data = gif_of(1, 1, frames=50_000)
    begun = time.perf_counter()
    with pytest.raises(media.UnreadablePictureError, match="50,000 frames"):
        media.check_picture(data)
    assert time.perf_counter() - begun < 5


def polyglots() -> dict[str, bytes]:
    """Pictures that are scripts or pages besides, wherever formats let anything in."""
    gif = bytearray(picture_bytes("a", fmt="GIF"))
    script = b"GIF89a" + SCRIPT
    exif = Image.Exif()
    exif[0x010E] = SCRIPT.decode()
    jpeg = io.BytesIO()
    Image.new("RGB", (8, 8)).save(jpeg, "JPEG", exif=exif, comment=SCRIPT)
    return {
        "GIF with a comment": bytes(gif[:-1]) + b"!\xfe\x32" + SCRIPT[:50] + b"\0;",
        "GIF with a tail": bytes(gif) + script,
        "PNG with text": with_chunk(b"tEXt", b"Comment\0" + SCRIPT),
        "PNG with a tail": picture_bytes("a") + SCRIPT + b"PK\3\4",
        "JPEG with EXIF": jpeg.getvalue(),
        "BMP with a gap": picture_bytes("a", fmt="BMP") + SCRIPT,
        "WebP with a tail": picture_bytes("a", fmt="WEBP") + SCRIPT,
    }


@pytest.mark.parametrize("data", polyglots().values(), ids=polyglots().keys())
def test_of_a_picture_that_is_a_script_besides_the_picture_is_kept(data):
    assert SCRIPT[:40] in data
    stored = store_picture(data)
    kept = [
        media.original_path(stored),
        media.rendition_path(stored, "display"),
        media.rendition_path(stored, "thumb"),
    ]
    for path in kept:
        content = path.read_bytes()
        assert b"script" not in content
        assert b"php" not in content
        assert b"PK\3\4" not in content
    assert MediaFile.objects.get().content_type == "image/png"


SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">
<image href="file:///etc/passwd"/><script>alert(1)</script></svg>"""
NO_PICTURES = {
    "SVG": SVG,
    "SVG behind a mark": b"\xef\xbb\xbf" + SVG,
    "PostScript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n(id) system\n",
    "PDF": b"%PDF-1.4\n1 0 obj\n",
    "page": b"<html><script>alert(1)</script></html>",
    "XBM": b"#define a_width 8\n#define a_height 8\nstatic char a_bits[] = {0};\n",
    "TIFF": b"II*\0\x08\0\0\0\0\0",
    "icon": b"\0\0\1\0\1\0\x10\x10\0\0\1\0\x20\0",
}


@pytest.mark.parametrize("data", NO_PICTURES.values(), ids=NO_PICTURES.keys())
def test_other_formats_are_refused_whatever_they_are_called(data):
    with pytest.raises(media.UnreadablePictureError, match="a readable picture"):
        media.prepare_picture(data)


def test_pipe_is_no_picture(tmp_path):
    """Attack: an import that waits for ever."""
    os.mkfifo(tmp_path / "shot_01.png")
    with pytest.raises(media.UnreadablePictureError, match="no pipe or device"):
        media.prepare_file(tmp_path / "shot_01.png")
