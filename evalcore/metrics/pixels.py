"""Pictures in a fixed size, so that resolution alone changes no baseline."""

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
    image = Image.fromarray(picture).resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(image, dtype=np.float64)
