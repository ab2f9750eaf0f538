"""How colourful a picture is."""

import numpy as np

from evalcore.metrics.base import Floats, MetricInfo
from evalcore.metrics.pixels import PixelFormula, ShotFormula


def colourfulness(rgb: Floats) -> float:
    """Return the colourfulness of one picture.

    `rgb`: height x width x 3, from 0 to 255. Result: 0 for a grey picture; about 100
    for a very colourful one.

    M = sqrt(var(rg) + var(yb)) + 0.3 sqrt(mean(rg)^2 + mean(yb)^2), with rg = R - G and
    yb = (R + G) / 2 - B.

    Source: Hasler and Suesstrunk (2003), Measuring colourfulness in natural images, eq.
    10.

    >>> colourfulness(np.full((2, 2, 3), 7.0))
    0.0
    """
    red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    rg, yb = red - green, (red + green) / 2 - blue
    spread = np.sqrt(rg.var() + yb.var())
    return float(spread + 0.3 * np.sqrt(rg.mean() ** 2 + yb.mean() ** 2))


class Colourfulness(ShotFormula):
    """Colourfulness of each shot."""

    info = MetricInfo(
        name="colourfulness",
        title="Colourfulness",
        family="baseline",
        scores="shot",
        high=None,
        version="2",
        source="Hasler and Suesstrunk 2003, equation 10; baseline",
        measures="How colourful a shot is. It knows nothing of the story.",
    )
    encoder = PixelFormula("colourfulness 2", colourfulness)


METRIC = Colourfulness
