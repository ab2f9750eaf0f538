"""How sharp a picture is."""

from collections.abc import Sequence

import numpy as np

from evalcore.metrics.base import Floats, MetricInfo, Picture, Value
from evalcore.metrics.pixels import normalised

LUMA = np.array([0.299, 0.587, 0.114])


def sharpness(grey: Floats) -> float:
    """Return the variance of the Laplacian of a grey picture.

    Parameters
    ----------
    grey
        Height x width, from 0 to 255, at least 3 x 3.

    Notes
    -----
    The Laplacian is the 4-neighbour one, on inner pixels only.

    References
    ----------
    Pech-Pacheco et al. (2000), Diatom autofocusing in brightfield microscopy.

    Examples
    --------
    >>> sharpness(np.full((5, 5), 9.0))
    0.0
    """
    laplacian = (
        grey[:-2, 1:-1] + grey[2:, 1:-1] + grey[1:-1, :-2] + grey[1:-1, 2:]
        - 4 * grey[1:-1, 1:-1]
    )  # fmt: skip
    return float(laplacian.var())


class Sharpness:
    """Sharpness of each shot."""

    info = MetricInfo(
        name="sharpness",
        title="Sharpness",
        scores="shot",
        higher_is_better=True,
        low=0,
        high=None,
        version="2",
        source="variance of the Laplacian at 256 x 256; baseline",
        measures="Fine detail in a shot. Noise counts as detail.",
    )

    def missing(self) -> str:
        """Return nothing: it is always ready."""
        return ""

    def score(self, pictures: Sequence[tuple[int, Picture | None]]) -> list[Value]:
        """Return one value a shot that is there."""
        return [
            Value(sharpness(normalised(picture) @ LUMA), shot)
            for shot, picture in pictures
            if picture is not None
        ]
