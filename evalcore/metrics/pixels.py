"""Pictures in a fixed size, so that baselines depend little on resolution.

A picture smaller than that size is enlarged smoothly: it gains no detail.
"""

import numpy as np
from PIL import Image

from evalcore.metrics.base import Floats, Picture

SIDE = 256


def normalised(picture: Picture) -> Floats:
    """Return the picture squashed to 256 x 256, as floats from 0 to 255.

    Parameters
    ----------
    picture
        Height x width x 3, RGB, eight bits.
    """
    image = Image.fromarray(picture).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return np.asarray(image, dtype=np.float64)
