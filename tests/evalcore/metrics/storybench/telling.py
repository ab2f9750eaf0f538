"""Stories in plain colours or in real videos, and an encoder for them."""

from pathlib import Path

import numpy as np

from evalcore.metrics.base import Image, RenderedShot, Rendering
from evalcore.metrics.formulas import PixelFormula
from evalcore.metrics.video_sampling import RATE, film, frame_count, segments
from tests.clips import numbered, write_clip
from tests.evalcore.metrics.asking import image_of

# Encodes the mean colour of a picture: three numbers that are easy to calculate by
# hand.
COLOURS = PixelFormula("mean colour", lambda rgb: rgb.mean(axis=(0, 1)))


def plain(colour) -> Image:
    """Return a picture of one colour; one number stands for grey."""
    return image_of(np.full((8, 8, 3), colour, np.uint8))


def coloured(
    *shots, story="01", method="Alder", captions=None, is_video=False, **extra
) -> Rendering:
    """Return a story whose shots are lists of colours; empty ones are missing."""
    texts = captions or [f"shot {i}" for i in range(1, len(shots) + 1)]
    return Rendering(
        story,
        method,
        tuple(
            RenderedShot(
                number, tuple(map(plain, colours)), {"caption": text} if text else {}
            )
            for number, (colours, text) in enumerate(
                zip(shots, texts, strict=True), start=1
            )
        ),
        is_video=is_video,
        extra=extra,
    )


def filmed(
    folder: Path,
    times,
    *,
    story="01",
    method="Alder",
    given=0.0,
    frames=24,
    pictures=numbered,
    captions=None,
    **extra,
) -> Rendering:
    """Return a story as a real video of 8 frames per second, divided into shots."""
    path = write_clip(
        folder / f"{method}-{story}.mp4", frames=frames, rate=8, pictures=pictures
    )
    seconds = frames / RATE
    source = film(path, f"{method} {story}", seconds=seconds)
    cut = segments(times, frame_count(seconds), given=given)
    texts = captions or [f"shot {i}" for i in range(1, len(times) + 1)]
    shots = tuple(
        RenderedShot(number, tuple(Image(source, i) for i in part), {"caption": text})
        for number, (part, text) in enumerate(zip(cut, texts, strict=True), start=1)
    )
    return Rendering(story, method, shots, is_video=True, extra=extra)
