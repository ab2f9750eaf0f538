import struct
from fractions import Fraction
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given as having
from hypothesis import strategies as st

from evalcore.metrics.base import Clip, Image
from evalcore.metrics.video_sampling import film, segments
from evalcore.video.decoding import UnreadableVideoError
from tests.clips import number_of, write_clip

# Turned clockwise, counterclockwise and upside down; where its first corner then is.
TURNS = [
    ((0, 1 << 16, 0, -1 << 16, 0, 0, 64 << 16, 0, 1 << 30), (0, -1)),
    ((0, -1 << 16, 0, 1 << 16, 0, 0, 0, 96 << 16, 1 << 30), (-1, 0)),
    ((-1 << 16, 0, 0, 0, -1 << 16, 0, 96 << 16, 64 << 16, 1 << 30), (-1, -1)),
]


def shown(path, seconds, rate=8.0):
    """The numbers of the frames that a source gives."""
    return [
        number_of(p) for p in film(path, "k", seconds=seconds, rate=rate).pictures()
    ]


def test_a_frame_is_what_is_on_screen_at_its_time(tmp_path):
    # 12 frames a second, looked at every 1/8 s: at i/8 s frame floor(1.5 i) is shown.
    path = write_clip(tmp_path / "a.mp4", frames=24, rate=12)
    assert shown(path, 2.0) == [3 * i // 2 for i in range(16)]


@pytest.mark.parametrize("name", ["a.mp4", "a.webm"])
@pytest.mark.parametrize("rate", [8, 24, 30, Fraction(24000, 1001)])
def test_at_its_own_rate_each_frame_comes_once(tmp_path, name, rate):
    # .webm rounds times to milliseconds: a frame may seem to come a little late.
    path = write_clip(tmp_path / name, frames=40, rate=rate)
    assert shown(path, float(40 / Fraction(rate)), float(rate)) == list(range(40))


def test_uneven_frames_stay_as_long_as_they_are_shown(tmp_path):
    times = [0.0, 0.1, 0.2, 0.3, 0.8, 0.9]
    path = write_clip(tmp_path / "a.mp4", frames=6, times=times)
    # At 0, .125, .25, .375, .5, .625, .75, .875 and 1 s.
    assert shown(path, 1.1) == [0, 1, 2, 3, 3, 3, 3, 4, 5]


def test_times_count_from_the_first_frame(tmp_path):
    times = [0.4 + i / 8 for i in range(6)]
    path = write_clip(tmp_path / "a.mp4", frames=6, times=times)
    assert shown(path, 0.75) == list(range(6))


def test_the_last_frame_stays_where_the_file_is_shorter_than_said(tmp_path):
    path = write_clip(tmp_path / "a.mp4", frames=4, rate=8)
    assert shown(path, 1.0) == [0, 1, 2, 3, 3, 3, 3, 3]


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
def test_frames_stand_upright(tmp_path, matrix, corner):
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


def test_frames_have_square_pixels(tmp_path):
    path = write_clip(tmp_path / "a.mp4", frames=2, rate=8, options={"aspect": "2:1"})
    picture = next(iter(film(path, "k", seconds=0.25).pictures()))
    assert picture.shape == (64, 192, 3)


def test_what_is_not_asked_for_is_not_decoded(tmp_path):
    # The second half of the file is broken: only who reads on meets it.
    path = write_clip(tmp_path / "a.mp4", frames=48, rate=8, options={"g": "8"})
    data = bytearray(path.read_bytes())
    start = data.index(b"mdat") + 4
    middle = start + (data.index(b"moov") - start) // 2
    data[middle : middle + 200] = b"\xff" * 200
    path.write_bytes(data)
    source = film(path, "k", seconds=6)
    assert len(list(islice(source.pictures(), 8))) == 8
    with pytest.raises(
        UnreadableVideoError, match=r"a\.mp4: expected a complete video"
    ):
        list(source.pictures())


def test_images_and_clips_are_cut_from_it(tmp_path):
    source = film(write_clip(tmp_path / "a.mp4", rate=8), "k", seconds=3)
    assert number_of(Image(source, 5).read()) == 5
    pictures = list(source.pictures())
    clip = Clip(source, 4, 7).cut([pictures[i] for i in range(4, 7)])
    assert [number_of(frame) for frame in clip] == [4, 5, 6]


# Segments ----------------------------------------------------------------------------


def test_the_given_part_belongs_to_no_shot():
    # A shot that begins within the given half second loses those frames.
    cut = segments([(0.0, 1.0), (1.0, 2.0)], 16, given=0.5)
    assert cut == (range(4, 8), range(8, 16))


def test_a_short_video_lacks_its_last_shots():
    cut = segments([(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)], 12)
    assert cut == (range(8), range(8, 12), range(12, 12))


def test_times_are_rounded_to_frames():
    # 8 x .3 = 2.4 -> 2 and 8 x .7 = 5.6 -> 6, the same for end and next start.
    cut = segments([(0.0, 0.3), (0.3, 0.7), (0.7, 1.0)], 8)
    assert cut == (range(2), range(2, 6), range(6, 8))


def test_shots_without_times_share_what_follows():
    cut = segments([(None, None)] * 3, 16, given=0.5)
    assert cut == (range(4, 8), range(8, 12), range(12, 16))
    assert segments([(0.5, 1.0), (1.0, None)], 16, given=0.5) == (
        range(4, 10),
        range(10, 16),
    )


def test_a_shot_that_ends_before_it_starts():
    with pytest.raises(
        ValueError, match=r"shot 2 ends at 1 s, before its start at 2 s"
    ):
        segments([(0.0, 1.0), (2.0, 1.0)], 16)


def test_times_that_are_no_numbers():
    with pytest.raises(ValueError, match="shot 1 ends at nan s"):
        segments([(0.0, float("nan"))], 16)


@having(
    st.lists(st.floats(0.0, 5.0), min_size=1, max_size=6),
    st.floats(0.0, 2.0),
    st.integers(1, 100),
    st.sampled_from([8.0, 12.0, 24.0]),
)
def test_shots_one_after_the_other_share_the_frames(lengths, given, frames, rate):
    ends = np.cumsum([given, *lengths])
    cut = segments(list(pairwise(ends)), frames, given=given, rate=rate)
    belonging = [
        i for part in (range(min(round(given * rate), frames)), *cut) for i in part
    ]
    assert belonging == list(range(len(belonging)))
    assert len(belonging) <= frames
