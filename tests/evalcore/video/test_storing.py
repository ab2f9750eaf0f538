"""Stored videos: the same stream, no metadata, one rendition for all methods."""

import struct
from fractions import Fraction

import av
import numpy as np
import pytest

from evalcore import media
from evalcore.models import MediaFile
from evalcore.video import decoding, storing
from evalcore.video.storing import UnreadableVideoError
from tests.clips import (
    key_frames,
    numbers,
    read_clip,
    stored_clip,
    write_clip,
)

pytestmark = pytest.mark.django_db

SECRET = "rendered by Alder-XL"
TAGS = {"title": SECRET, "comment": SECRET}
# Without B-frames, so that overwriting damages every picture.
SAME = {"x264-params": "bframes=0"}


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("a.mp4", "libx264"),
        ("a.mp4", "mpeg4"),
        ("a.webm", "libvpx"),
        ("a.webm", "libvpx-vp9"),
        ("a.webm", "libsvtav1"),
    ],
)
def test_all_kinds_get_the_same_rendition(tmp_path, name, codec):
    stored = stored_clip(write_clip(tmp_path / name, codec=codec, frames=25))
    assert (stored.extension, stored.frame_rate) == (name[2:], 12)
    path = storing.video_rendition_path(stored)
    assert numbers(path) == list(range(25))
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert (stream.average_rate, stream.start_time) == (12, 0)
        assert stream.duration * stream.time_base == Fraction(25, 12)
        assert len(file.streams) == 1
    # A key frame every half second, unlike the original.
    assert key_frames(path) == [0, 6, 12, 18, 24]


def test_no_metadata_survives(tmp_path):
    for name in ("a.mp4", "a.webm"):
        source = write_clip(tmp_path / name, tags=TAGS, sound=name == "a.mp4")
        assert SECRET.encode() in source.read_bytes()
        stored = stored_clip(source)
        original = media.original_path(stored)
        rendition = storing.video_rendition_path(stored)
        for path in (original, rendition):
            assert SECRET.encode() not in path.read_bytes()
            with av.open(str(path)) as file:
                assert [stream.type for stream in file.streams] == ["video"]
                assert not {"title", "comment", "creation_time"} & set(file.metadata)
        # Renditions do not reveal their encoder or its settings.
        for word in (b"x264", b"Lavf", b"Lavc", b"crf="):
            assert word not in rendition.read_bytes()


def test_original_stream_is_kept(tmp_path):
    source = write_clip(tmp_path / "a.mp4", tags=TAGS, sound=True)
    stored = media.original_path(stored_clip(source))
    packets = []
    for path in (source, stored):
        with av.open(str(path)) as file:
            packets.append([bytes(p) for p in file.demux(video=0) if p.size])
    assert packets[0] == packets[1]


def test_box_adds_black_borders(tmp_path):
    white = np.full((64, 64, 3), 255, np.uint8)
    source = write_clip(tmp_path / "a.mp4", size=(64, 64), pictures=lambda _n: white)
    stored = stored_clip(source)
    path = storing.video_rendition_path(stored, (159, 80))
    assert path != storing.video_rendition_path(stored)
    _time, frame = read_clip(path)[0]
    assert frame.shape == (80, 160, 3)
    grey = frame.mean(axis=2)
    assert grey[:, :38].max() < 20
    assert grey[:, -38:].max() < 20
    assert grey[:, 42:-42].min() > 235
    assert storing.rendition_size(stored, (159, 80)) == (160, 80)
    # The box of a video's own size needs no further work.
    assert storing.video_rendition_path(
        stored, (64, 64)
    ) == storing.video_rendition_path(stored)


def test_colours_are_preserved(tmp_path):
    red = np.zeros((64, 96, 3), np.uint8)
    red[:] = (200, 40, 60)
    source = write_clip(tmp_path / "a.mp4", pictures=lambda _n: red)
    path = storing.video_rendition_path(stored_clip(source))
    _time, frame = read_clip(path)[5]
    assert np.abs(frame.astype(int) - red).max() <= 6
    with av.open(str(path)) as file:
        assert next(file.decode(video=0)).colorspace == 1  # BT.709, said so


def turned(path, matrix):
    """Return the file with another orientation in its track header."""
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 44
    data[at : at + 36] = struct.pack(">9i", *matrix)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("matrix", "corner"),
    [
        ((0, 1 << 16, 0, -1 << 16, 0, 0, 64 << 16, 0, 1 << 30), (0, -1)),  # clockwise
        ((0, -1 << 16, 0, 1 << 16, 0, 0, 0, 96 << 16, 1 << 30), (-1, 0)),
        ((-1 << 16, 0, 0, 0, -1 << 16, 0, 96 << 16, 64 << 16, 1 << 30), (-1, -1)),
    ],
)
def test_video_from_rotated_camera_is_upright(tmp_path, matrix, corner):
    picture = np.zeros((64, 96, 3), np.uint8)
    picture[:16, :16] = 255  # top left, as filmed
    source = write_clip(tmp_path / "a.mp4", pictures=lambda _n: picture)
    stored = stored_clip(turned(source, matrix))
    _time, frame = read_clip(storing.video_rendition_path(stored))[0]
    assert frame.shape[:2] == (stored.height, stored.width)
    assert (stored.width < stored.height) == (0 in corner)
    assert frame[corner].mean() > 200
    assert frame[0, 0].mean() < 50


def cut(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    return path


def scribbled(path):
    """Return a damaged file that players would still show."""
    data = bytearray(path.read_bytes())
    mdat = data.index(b"mdat")
    middle = mdat + (len(data) - mdat) // 2
    for i in range(middle, middle + 40):
        data[i] ^= 0xFF
    path.write_bytes(data)
    return path


def noise(number):
    dice = np.random.default_rng(number)
    return dice.integers(0, 256, (64, 96, 3), dtype=np.uint8)


def one_picture(folder):
    return write_clip(folder / "a.mp4", frames=1)


def text(folder):
    path = folder / "a.mp4"
    path.write_text("not a video")
    return path


def empty(folder):
    path = folder / "a.mp4"
    path.write_bytes(b"")
    return path


def only_sound(folder):
    path = folder / "a.mp4"
    with av.open(str(path), "w") as file:
        voice = file.add_stream("aac", rate=16000, layout="mono")
        part = av.AudioFrame.from_ndarray(
            np.zeros((1, 1024), np.float32), "fltp", "mono"
        )
        part.sample_rate = 16000
        file.mux(voice.encode(part))
        file.mux(voice.encode())
    return path


BROKEN = {
    "no video": (text, "mp4 (H.264) or webm (VP8, VP9 or AV1); this file is neither"),
    "empty": (empty, "this file is empty"),
    "one frame": (one_picture, "at least two frames"),
    "only sound": (only_sound, "has no pictures"),
    "other codec": (
        lambda folder: write_clip(folder / "a.mp4", codec="hevc", size=(128, 128)),
        "codec is hevc",
    ),
    "cut short": (
        lambda folder: cut(write_clip(folder / "a.webm", frames=60)),
        "cut short",
    ),
    "cut short, index behind": (
        lambda folder: cut(write_clip(folder / "a.mp4", pictures=noise)),
        "damaged",
    ),
    "damaged": (
        lambda folder: scribbled(
            write_clip(folder / "a.mp4", pictures=noise, options=SAME)
        ),
        "damaged",
    ),
    "small": (lambda folder: write_clip(folder / "a.mp4", size=(8, 64)), "16 pixels"),
    "fast": (lambda folder: write_clip(folder / "a.mp4", rate=120), "60 frames"),
    "slow": (
        lambda folder: write_clip(folder / "a.mp4", frames=3, times=[0, 3, 6]),
        "from 1 to 60 frames a second, not 0.333",
    ),
}


@pytest.mark.parametrize(("make", "what"), BROKEN.values(), ids=BROKEN.keys())
def test_unusable_video_is_refused(tmp_path, settings, make, what):
    path = make(tmp_path)
    for use in (storing.check_video, storing.prepare_video):
        with pytest.raises(UnreadableVideoError) as refused:
            use(path)
        assert what in str(refused.value)
    assert not MediaFile.objects.exists()
    assert not [p for p in settings.MEDIA_ROOT.rglob("*") if p.is_file()]


@pytest.mark.parametrize(
    ("limit", "value", "what"),
    [
        ("MAX_BYTES", 100, "at most 100 bytes"),
        ("MAX_SECONDS", 1, "at most 1 seconds"),
        ("MAX_PIXELS", 1000, "at most 1,000 pixels a frame, not 96 x 64"),
    ],
)
def test_absurd_files_are_refused(tmp_path, monkeypatch, limit, value, what):
    path = write_clip(tmp_path / "a.mp4", frames=30)
    storing.check_video(path)
    monkeypatch.setattr(decoding, limit, value)
    with pytest.raises(UnreadableVideoError, match=what):
        storing.check_video(path)
