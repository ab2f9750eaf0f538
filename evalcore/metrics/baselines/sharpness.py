"""How sharp a picture is."""

from evalcore.metrics.base import Floats, MetricInfo
from evalcore.metrics.pixels import LUMA, PixelFormula, ShotFormula, laplacian


def sharpness(grey: Floats) -> float:
    """Return the variance of the Laplacian of a grey picture.

    `grey`: height x width, from 0 to 255, at least 3 x 3.

    The Laplacian is the 4-neighbour one, on inner pixels only.

    Source: Pech-Pacheco et al. (2000), Diatom autofocusing in brightfield microscopy.

    >>> import numpy as np
    >>> sharpness(np.full((5, 5), 9.0))
    0.0
    """
    return float(laplacian(grey).var())


class Sharpness(ShotFormula):
    """Sharpness of each shot."""

    info = MetricInfo(
        name="sharpness",
        title="Sharpness",
        family="baseline",
        scores="shot",
        high=None,
        version="2",
        source="variance of the Laplacian at 256 x 256; baseline",
        measures="Fine detail in a shot. Noise counts as detail.",
    )
    encoder = PixelFormula("sharpness 2", lambda rgb: sharpness(rgb @ LUMA))


METRIC = Sharpness
