"""Content-addressed videos: the stream is kept exactly, all metadata is removed.

A stored original lies beside the pictures, at `MEDIA_ROOT/original/ab/abcd....mp4`: the
same stream in a new container, without tags, title, dates, chapters or sound. People
see renditions that are the same for all methods (H.264, one encoder with one setting,
constant frame rate, no sound, no metadata). These are made at import or on first use:
`MEDIA_ROOT/video/ab/abcd...-320x192.mp4`, with stills as WebP beside them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import av
from django.conf import settings
from PIL import Image

from evalcore import media, media_store
from evalcore.models import MediaFile
from evalcore.video.decoding import (
    Container,
    UnreadableVideoError,
    measure_video,
    opened,
    recognise,
)
from evalcore.video.encoding import Shape, encode

Box = tuple[int, int]

LONGEST_SIDE = 1920  # for a rendition that is not scaled into a box


def prepare_video(path: Path) -> MediaFile:
    """Write the files of a video and its rendition; return its unsaved row."""
    container = recognise(path)
    look = measure_video(path, container)
    with _copied(path, container) as copy:
        row = MediaFile(
            sha256=media.file_digest(copy),
            source_sha256=media.file_digest(path),
            content_type=container.content_type,
            extension=container.extension,
            bytes=copy.stat().st_size,
            width=look.width,
            height=look.height,
            duration_seconds=look.seconds,
            frame_rate=look.frame_rate,
        )
        place = media.place_of_original(row.sha256, row.extension)
        media_store.place(copy, place)
    video_rendition_path(row)
    return row


def check_video(path: Path) -> None:
    """Decode every frame of a video; write nothing."""
    measure_video(path, recognise(path))


def is_same_video(stored: MediaFile, path: Path) -> bool:
    """Return whether the file holds exactly the stored stream."""
    container = recognise(path)
    if stored.source_sha256 == media.file_digest(path):
        return True
    with _copied(path, container) as copy:
        return stored.sha256 == media.file_digest(copy)


def frame_count(stored: MediaFile) -> int:
    """Return how many frames the rendition has."""
    assert stored.duration_seconds is not None
    assert stored.frame_rate is not None
    return round(stored.duration_seconds * stored.frame_rate)


def frame_rate(stored: MediaFile) -> Fraction:
    """Return the frame rate of the rendition."""
    assert stored.frame_rate is not None
    return Fraction(stored.frame_rate).limit_denominator(1001)


@contextmanager
def _copied(path: Path, container: Container) -> Iterator[Path]:
    """Yield a temporary copy of the stream: no tags, dates, chapters or sound."""
    with (
        media_store.temporary_file(
            settings.MEDIA_ROOT / "original", container.extension
        ) as copy,
        opened(path, container) as (file, stream),
    ):
        with av.open(
            str(copy), "w", format=container.extension, options={"fflags": "+bitexact"}
        ) as output:
            target = output.add_stream_from_template(stream, opaque=True)
            for packet in file.demux(stream):
                if packet.dts is not None:
                    packet.stream = target
                    output.mux(packet)
        yield copy


def rendition_size(stored: MediaFile, box: Box | None = None) -> Box:
    """Return the size of a video's rendition."""
    shape = _shape(stored, box)
    return shape.width, shape.height


def _shape(stored: MediaFile, box: Box | None) -> Shape:
    if box is None:
        own = min(LONGEST_SIDE, stored.width), min(LONGEST_SIDE, stored.height)
        inner = _fitted(stored, own)
        return Shape(*inner, *inner)
    return Shape(box[0] + box[0] % 2, box[1] + box[1] % 2, *_fitted(stored, box))


def _fitted(stored: MediaFile, box: Box) -> Box:
    scale = min(box[0] / stored.width, box[1] / stored.height)
    return _even(stored.width * scale), _even(stored.height * scale)


def _even(side: float) -> int:
    """Return the even number below, at least 2, allowing for rounding errors."""
    return max(2, int(side + 1e-6) // 2 * 2)


def video_rendition_path(stored: MediaFile, box: Box | None = None) -> Path:
    """Return the H.264 rendition, made on first use."""
    shape = _shape(stored, box)
    path = _shown(stored, f"{shape.width}x{shape.height}.mp4")
    if not media_store.is_here(path):
        with media_store.temporary_file(path.parent, "mp4") as draft:
            encode(media.original_path(stored), draft, shape, frame_rate(stored))
            media_store.place(draft, path)
    return path


def _shown(stored: MediaFile, name: str) -> Path:
    folder = settings.MEDIA_ROOT / "video" / stored.sha256[:2]
    return folder / f"{stored.sha256}-{name}"


def video_still_path(
    stored: MediaFile,
    rendition: media.Rendition,
    box: Box | None = None,
    number: int | None = None,
) -> Path:
    """Return a frame of the rendition as a WebP picture, made on first use."""
    width, height = rendition_size(stored, box)
    which = "middle" if number is None else number
    path = _shown(stored, f"{width}x{height}-{which}-{rendition}.webp")
    if not media_store.is_here(path):
        middle = frame_count(stored) // 2
        wanted = middle if number is None else number
        picture = picture_at(video_rendition_path(stored, box), wanted)
        side = media.LONGEST_SIDE[rendition]
        picture.thumbnail((side, side), Image.Resampling.LANCZOS)
        with media_store.temporary_file(path.parent, "webp") as draft:
            media.save_rendition(picture, draft)
            media_store.place(draft, path)
    return path


def picture_at(path: Path, number: int) -> Image.Image:
    """Return one frame of a rendition."""
    with av.open(str(path)) as file:
        stream = file.streams.video[0]
        rate, base = stream.average_rate, stream.time_base
        assert rate is not None
        assert base is not None
        file.seek(int(number / rate / base), stream=stream)
        for frame in file.decode(stream):
            assert frame.time is not None
            if round(frame.time * rate) >= number:
                picture: Image.Image = frame.to_image()  # type: ignore[no-untyped-call]
                return picture
    raise UnreadableVideoError(f"a rendition of more than {number} frames")
