"""Attacks by videos: other files and addresses, absurd sizes."""

import os
import struct
from pathlib import Path

import av
import pytest

from evalcore.video import storing
from evalcore.video.storing import UnreadableVideoError
from tests.clips import write_clip

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("aspect", "what"), [((2**31 - 1, 1), "at most"), ((1, 2**31 - 1), "at least")]
)
def test_absurd_pixel_shape_is_refused(tmp_path, aspect, what):
    """Attack: a width that no database stores, or that breaks a division."""
    path = write_clip(tmp_path / "a.mp4", options={"aspect": "2:1"})
    data = bytearray(path.read_bytes())
    place = data.index(b"pasp") + 4
    data[place : place + 8] = struct.pack(">II", *aspect)
    path.write_bytes(data)
    with pytest.raises(UnreadableVideoError, match=f"{what} .* pixels"):
        storing.prepare_video(path)


def elsewhere(path: Path) -> bytes:
    """Return an mp4 entry that places its frames in another file."""
    name = os.fsencode(path) + b"\0" * (len(os.fsencode(path)) % 2)
    volume = b"\1v".ljust(28, b"\0") + bytes(12)
    file = b"\1f".ljust(64, b"\0") + bytes(16) + struct.pack(">HH", 1, 1) + bytes(16)
    named = struct.pack(">HH", 2, len(name)) + name + b"\xff\xff\0\0"
    entry = b"alis" + bytes(4) + bytes(10) + volume + file + named
    return struct.pack(">I", len(entry) + 4) + entry


def test_frames_in_another_file_are_not_read(tmp_path):
    """Attack: a video whose frames are the content of a server's file."""
    secret = write_clip(tmp_path / "secret.mp4", frames=6)
    data = bytearray(secret.read_bytes())
    place = data.index(b"dref") + 12
    (old,) = struct.unpack_from(">I", data, place)
    entry = elsewhere(secret)
    for box in (b"dref", b"dinf", b"minf", b"mdia", b"trak", b"moov"):
        at = data.index(box) - 4
        (size,) = struct.unpack_from(">I", data, at)
        struct.pack_into(">I", data, at, size + len(entry) - old)
    data[place : place + old] = entry
    path = tmp_path / "a.mp4"
    path.write_bytes(data)
    follow = {"enable_drefs": "1", "use_absolute_path": "1"}
    with av.open(str(path), options=follow) as file:  # The error names the cause.
        assert len(list(file.decode(video=0))) == 6
    with pytest.raises(UnreadableVideoError):
        storing.prepare_video(path)


PLAYLISTS = (
    "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{}\n#EXT-X-ENDLIST\n",
    "ffconcat version 1.0\nfile '{}'\n",
    "<MPD><Period><BaseURL>{}</BaseURL></Period></MPD>",
    "[playlist]\nFile1={}\n",
    "rtsptext\r\n{}\r\n",
)


@pytest.mark.parametrize("start", ["", "\0\0\0\x18ftypmp42"])
@pytest.mark.parametrize("playlist", PLAYLISTS)
def test_playlist_is_refused(tmp_path, start, playlist):
    """Attack: a playlist that makes the server read its own files, or contact
    others."""
    secret = write_clip(tmp_path / "secret.mp4")
    for target in (secret.as_uri(), str(secret), "http://127.0.0.1:9/x.ts"):
        for suffix in (".mp4", ".m3u8", ".mov"):
            path = tmp_path / f"a{suffix}"
            path.write_text(start + playlist.format(target), encoding="latin-1")
            with pytest.raises(UnreadableVideoError):
                storing.check_video(path)


def test_pipe_is_refused_as_video(tmp_path):
    """Attack: an import that waits for ever."""
    os.mkfifo(tmp_path / "a.mp4")
    with pytest.raises(UnreadableVideoError, match="not a pipe or device"):
        storing.check_video(tmp_path / "a.mp4")
