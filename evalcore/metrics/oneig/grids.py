"""Grids: OneIG's programs have several pictures of a prompt side by side in one file.

Which grid a file has is not written in it. Their option `image_grid` says so ("2,2" by
default, four pictures), and here the end of a metric's profile: `grid-2x2`, columns
before rows. Without it a file is one picture.
"""

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from evalcore.metrics.base import Ask, Feature, Image, Picture, Rendering
from evalcore.metrics.oneig.prompt import pictures_of

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

    >>> from evalcore.metrics.base import Source
    >>> whole = Image(Source("a", lambda: iter(()), (9, 4)))
    >>> [cell.box for cell in cells(whole, (2, 1))]
    [(0, 0, 4, 4), (4, 0, 8, 4)]
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

    `grid`: how its files are to be cut; None leaves them whole.
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
