"""Shares with intervals that stay inside 0 and 1, of effective numbers of answers."""

import numpy as np

from analysis.inference.crossed_clusters import two_sided
from analysis.results import Array


def share_intervals(shares: Array, n: Array, quantiles: Array) -> tuple[Array, Array]:
    """Return the bounds of shares.

    Wilson (1927, JASA 22). A share that is 0 or 1 has an interval with a width, too.
    """
    z = quantiles**2 / n
    middle = shares + z / 2
    far = np.sqrt(z * (shares * (1 - shares) + z / 4))
    low, high = (middle - far) / (1 + z), (middle + far) / (1 + z)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def half_p_values(shares: Array, n: Array, freedom: Array) -> Array:
    """Test that each share is a half, in agreement with `share_intervals`."""
    return two_sided((shares - 0.5) * 2 * np.sqrt(n), freedom)
