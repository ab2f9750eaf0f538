"""Which of the figures found in a picture is which character: identities and matches.

ViStoryBench, section 3.3 and appendix I, and its program at 514cc31.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from evalcore.metrics.base import Box, Floats

# What is known of who a figure is: a vector of length 1 from each encoder that saw it.
Identity = Mapping[str, npt.NDArray[np.float32]]
IMPOSSIBLE = -1e6


def similarity(a: Identity, b: Identity) -> float:
    """Return how alike two figures are.

    `a`, `b`: vectors of length 1 by encoder. Result: the mean of the cosines over the
    encoders that saw both; 0 if none did.

    Source: ViStoryBench's program, `ensemble_method=average`.

    >>> x, y = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    >>> similarity({"one": x, "two": x}, {"one": x, "two": y})
    0.5
    >>> similarity({"one": x}, {"two": x})
    0.0
    """
    cosines = [float(a[name] @ b[name]) for name in a if name in b]
    return sum(cosines) / len(cosines) if cosines else 0.0


def similarities(rows: Sequence[Identity], columns: Sequence[Identity]) -> Floats:
    """Return the similarity of each of the rows with each of the columns."""
    matrix = [[similarity(a, b) for b in columns] for a in rows]
    return np.array(matrix, dtype=float).reshape(len(rows), len(columns))


def match(
    characters: Sequence[Sequence[Identity]],
    candidates: Sequence[Sequence[Identity]],
) -> dict[int, int]:
    """Return which candidate each expected character is.

    The sum over all matches of the best similarity with any of the character's
    references is the largest possible. There is no threshold: whoever is left is
    matched, however unlike.

    `characters`: for each expected character the identities of its references.
    `candidates`: for each expected character the identity of each figure found. Both
    are what the encoders of the character's own kind see. Result: index of a candidate
    by index of a character. A figure that none of a character's encoders saw is never
    that character; one that was seen, but by no encoder that saw a reference, has
    similarity 0 and may be. A character without references is nobody.

    Source: ViStoryBench, appendix I.1, stage 3; Hungarian algorithm.
    """
    count = len(candidates[0]) if candidates else 0
    best = np.full((len(characters), count), IMPOSSIBLE)
    for row, (references, own) in enumerate(zip(characters, candidates, strict=True)):
        for column, candidate in enumerate(own):
            if references and candidate:
                best[row, column] = max(similarity(r, candidate) for r in references)
    rows, columns = linear_sum_assignment(-best)
    return {
        int(row): int(column)
        for row, column in zip(rows, columns, strict=True)
        if best[row, column] > IMPOSSIBLE
    }


def pixel_box(shares: Sequence[float], size: tuple[int, int]) -> Box | None:
    """Return a box in whole pixels; None if nothing of it lies in the picture.

    `shares`: centre x, centre y, width and height as shares of the picture. `size`:
    width and height of the picture.

    As in the reference program, all four are cut to whole pixels first, then turned
    into corners, and those clamped to the picture. Where width or height is odd the
    corners fall between two pixels: half a pixel is cut off here, where the program
    has Pillow round to the even pixel, so that a side may lie one pixel further on.
    A box with a number that is not finite is none.

    >>> pixel_box([0.5, 0.5, 0.5, 1.0], (101, 50))
    (25, 0, 75, 50)
    >>> pixel_box([2.0, 0.5, 0.1, 0.1], (100, 100)) is None
    True
    """
    if not np.isfinite(shares[:4]).all():
        return None
    width, height = size
    x, y = int(shares[0] * width), int(shares[1] * height)
    w, h = int(shares[2] * width), int(shares[3] * height)
    left, right = (min(max(side, 0), width) for side in (x - w / 2, x + w / 2))
    top, bottom = (min(max(side, 0), height) for side in (y - h / 2, y + h / 2))
    box = int(left), int(top), int(right), int(bottom)
    return box if box[0] < box[2] and box[1] < box[3] else None
