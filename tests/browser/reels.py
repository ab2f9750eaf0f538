"""Benchmarks with a small video per method and story."""

import colorsys
from pathlib import Path

import numpy as np

from evalcore.models import Benchmark, Method, Output, Shot, Story
from tests.clips import stored_clip, write_clip


def make_same_reel(
    clip: Path, seconds: float, methods: list[str], slug: str = "reel"
) -> Benchmark:
    """Create two stories of two shots, with this video for every method."""
    benchmark = Benchmark.objects.create(slug=slug, title=slug.title())
    stored = stored_clip(clip)
    rows = [Method.objects.get_or_create(name=name)[0] for name in methods]
    for key in ("01", "02"):
        story = Story.objects.create(benchmark=benchmark, key=key)
        for number in (1, 2):
            Shot.objects.create(
                story=story,
                number=number,
                text={"en": {"caption": f"Walk {number}"}},
                start_seconds=(number - 1) * seconds / 2,
                end_seconds=number * seconds / 2,
            )
        for method in rows:
            Output.objects.create(story=story, method=method, video=stored)
    return benchmark


def make_drawn_reels(
    folder: Path,
    methods: list[str],
    *,
    stories: int = 4,
    shots: int = 3,
    seconds: float = 1.0,
    size: tuple[int, int] = (192, 128),
) -> Benchmark:
    """Create stories with the given shots, drawn differently by each method.

    A shot is a square moving over stripes. The story sets the colour, the shot the
    height of the square, the method the width of the stripes.
    """
    benchmark = Benchmark.objects.create(slug="drawn", title="Drawn")
    rows = [Method.objects.get_or_create(name=name)[0] for name in methods]
    for place in range(stories):
        story = Story.objects.create(benchmark=benchmark, key=f"{place + 1:02}")
        for number in range(1, shots + 1):
            Shot.objects.create(
                story=story,
                number=number,
                text={"en": {"caption": f"It goes {number}"}},
                start_seconds=(number - 1) * seconds,
                end_seconds=number * seconds,
            )
        for fineness, method in enumerate(rows, start=1):
            clip = write_clip(
                folder / f"{story.key} {method.name}.mp4",
                frames=round(12 * seconds * shots),
                size=size,
                pictures=lambda n, hue=place / stories, fineness=fineness: _drawn(
                    n, size, hue, fineness, round(12 * seconds), shots
                ),
            )
            Output.objects.create(story=story, method=method, video=stored_clip(clip))
    return benchmark


def _drawn(
    number: int,
    size: tuple[int, int],
    hue: float,
    fineness: int,
    frames: int,
    shots: int,
) -> np.ndarray:
    """Draw one frame; `frames` is the number per shot."""
    width, height = size
    colour = np.array(colorsys.hsv_to_rgb(hue, 0.6, 1)) * 255
    stripes = (np.arange(width) // (16 // fineness)) % 2 * 0.3 + 0.6
    picture = np.tile(stripes[None, :, None] * colour, (height, 1, 1))
    side = height // (shots + 1)
    left = (number % frames) * (width - side) // frames
    top = (shots - 1 - number // frames % shots) * side
    picture[top : top + side, left : left + side] = 20
    return picture.astype(np.uint8)
