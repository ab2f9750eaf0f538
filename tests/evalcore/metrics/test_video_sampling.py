import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given as having
from hypothesis import strategies as st

from evalcore.metrics.video_sampling import film, segments
from tests.clips import number_of, write_clip

# Rotated clockwise, counterclockwise and by 180 degrees, with the new place of the
# first corner.
TURNS = [
    ((0, 1 << 16, 0, -1 << 16, 0, 0, 64 << 16, 0, 1 << 30), (0, -1)),
    ((0, -1 << 16, 0, 1 << 16, 0, 0, 0, 96 << 16, 1 << 30), (-1, 0)),
    ((-1 << 16, 0, 0, 0, -1 << 16, 0, 96 << 16, 64 << 16, 1 << 30), (-1, -1)),
]


def shown(path, seconds, rate=8.0):
    """Return the numbers of the frames in a source."""
    return [
        number_of(p) for p in film(path, "k", seconds=seconds, rate=rate).pictures()
    ]


def test_frame_is_the_picture_on_screen_at_its_time(tmp_path):
    # 12 frames per second, sampled every 1/8 s: at i/8 s frame floor(1.5 i) is on
    # screen.
    path = write_clip(tmp_path / "a.mp4", frames=24, rate=12)
    assert shown(path, 2.0) == [3 * i // 2 for i in range(16)]


def test_frames_are_rgb(tmp_path):
    red = np.zeros((64, 96, 3), np.uint8)
    red[..., 0] = 255
    path = write_clip(tmp_path / "a.mp4", frames=2, rate=8, pictures=lambda _n: red)
    picture = next(iter(film(path, "k", seconds=0.25).pictures()))
    assert picture.shape == (64, 96, 3)
    assert picture.dtype == np.uint8
    assert picture[..., 0].mean() > 230
    assert picture[..., 1:].mean() < 20


@pytest.mark.parametrize(("matrix", "corner"), TURNS)
def test_frames_are_upright(tmp_path, matrix, corner):
    filmed = np.zeros((64, 96, 3), np.uint8)
    filmed[:16, :16] = 255
    path = write_clip(tmp_path / "a.mp4", frames=2, rate=8, pictures=lambda _n: filmed)
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 44
    data[at : at + 36] = struct.pack(">9i", *matrix)
    path.write_bytes(data)
    picture = next(iter(film(path, "k", seconds=0.25).pictures()))
    assert picture.shape[:2] == ((96, 64) if 0 in corner else (64, 96))
    assert picture[corner].mean() > 200
    assert picture[0, 0].mean() < 50


# Segments ----------------------------------------------------------------------------


@having(
    st.lists(st.floats(0.0, 5.0), min_size=1, max_size=6),
    st.floats(0.0, 2.0),
    st.integers(1, 100),
    st.sampled_from([8.0, 12.0, 24.0]),
)
def test_consecutive_shots_share_all_frames(lengths, given, frames, rate):
    ends = np.cumsum([given, *lengths])
    cut = segments(list(pairwise(ends)), frames, given=given, rate=rate)
    belonging = [
        i for part in (range(min(round(given * rate), frames)), *cut) for i in part
    ]
    assert belonging == list(range(len(belonging)))
    assert len(belonging) <= frames
