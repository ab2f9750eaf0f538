"""What OneIG says of a prompt (`rendering.extra["oneig"]`), and its pictures.

All is optional: `category`; `questions` by number and `dependencies` (numbers of those
each presupposes, 0 for none), as objects or as JSON of one; `style`; `text` that the
picture is to contain; the true `answer`; `language` (`en` or `zh`, else as the text
is).

A story is one prompt, a shot may have several pictures. OneIG's programs have several
side by side in one file; the end of a profile says which grid, `grid-2x2`, columns
before rows.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from evalcore.metrics.base import Ask, Feature, Image, Picture, Rendering

Language = Literal["en", "zh"]
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def told(rendering: Rendering) -> Mapping[str, Any]:
    """Return what OneIG says of an output's prompt; nothing where it says nothing."""
    found = rendering.extra.get("oneig") or {}
    if not isinstance(found, Mapping):
        kind = type(found).__name__
        raise ValueError(f'{rendering.story}: "oneig" is an object, not a {kind}')
    return found


def pictures_of(rendering: Rendering) -> dict[str, Image]:
    """Return every picture of an output, by its shot and, of several, place in it.

    Of a shot that is part of a video it is the first frame.
    """
    pictures = {}
    for shot in rendering.rendered:
        frames = shot.frames[:1] if rendering.is_video else shot.frames
        for place, frame in enumerate(frames, start=1):
            label = f"{shot.number}.{place}" if len(frames) > 1 else str(shot.number)
            pictures[label] = frame
    return pictures


def language_of(told: Mapping[str, Any], text: str) -> Language:
    """Return the language of a prompt.

    >>> language_of({}, "Open"), language_of({}, "开放")
    ('en', 'zh')
    """
    language = told.get("language") or ("zh" if HAN.search(text) else "en")
    if language == "en":
        return "en"
    if language == "zh":
        return "zh"
    raise ValueError(f"the language is en or zh, not {language!r}")


# Grids --------------------------------------------------------------------------------


MARK = "grid-"
GridSize = tuple[int, int]  # columns, rows
AskedCells = Generator[Ask, list[Any], dict[str, Image]]


def split_profile(profile: str) -> tuple[str, GridSize | None]:
    """Return a profile without its grid, and the grid.

    >>> split_profile("oneig-judge-grid-2x1"), split_profile("rapidocr")
    (('oneig-judge', (2, 1)), ('rapidocr', None))
    """
    before, mark, size = profile.partition(MARK)
    if not mark:
        return profile, None
    columns, rows = size.split("x")
    return before.removesuffix("-"), (int(columns), int(rows))


def cells(image: Image, grid: GridSize) -> list[Image]:
    """Return the pictures of a grid, row by row.

    All are of one size; what is left at the right and at the bottom belongs to none, as
    in the reference program.
    """
    columns, rows = grid
    left, top, right, bottom = image.box or (0, 0, *image.size)
    width, height = (right - left) // columns, (bottom - top) // rows
    if not width or not height:
        size = f"{right - left} x {bottom - top}"
        raise ValueError(f"a picture of {size} pixels has no {columns} x {rows} cells")
    return [
        Image(image.source, image.index, (x, y, x + width, y + height))
        for y in range(top, top + rows * height, height)
        for x in range(left, left + columns * width, width)
    ]


class _Brightest:
    """An encoder without weights: the largest value of any pixel."""

    id = "largest value 1"
    batch = 256

    def prepare(self, item: Picture) -> Feature:
        return np.array(item.max())

    def encode(self, prepared: Sequence[Feature]) -> Sequence[Feature]:
        return prepared


BRIGHTEST = _Brightest()


def seen_pictures(rendering: Rendering, grid: GridSize | None) -> AskedCells:
    """Return the pictures of an output by name; those of a grid by shot and place.

    A cell that is black throughout is left out, as in the reference program: it stands
    where no picture could be generated.
    """
    pictures = pictures_of(rendering)
    if grid is None:
        return pictures
    parts = {
        f"{label}.{place}": cell
        for label, image in pictures.items()
        for place, cell in enumerate(cells(image, grid), start=1)
    }
    brightest = yield Ask(BRIGHTEST, list(parts.values()))
    return {
        label: part
        for (label, part), value in zip(parts.items(), brightest, strict=True)
        if value > 0
    }
