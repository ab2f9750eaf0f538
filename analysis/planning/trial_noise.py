"""Intervals of what repeated trials do to means: over trials, not over stories.

Drawing stories would add a noise of its own to every mean over them, as large as the
one that is to be told: intervals would lie too high.
"""

import numpy as np
from scipy import stats

from analysis.inference.resampling import DECIMALS
from analysis.results import Array, Estimate
from analysis.sentences import sentence

SAME = sentence("no interval: the trials have the same means")
OF_THESE = sentence(
    "no interval is made: it is of these trials, not of trials in general"
)


def trial_interval(value: float, freedom: float, confidence: float) -> Estimate:
    r"""Return a standard deviation over trials with its interval.

    Means over many outputs are normal, so that :math:`\nu s^2 / \sigma^2` is
    chi-square: the bounds are :math:`s \sqrt{\nu / \chi^2_{\nu, 1 - a / 2}}` and
    :math:`s \sqrt{\nu / \chi^2_{\nu, a / 2}}`.
    """
    if value < 10**-DECIMALS:
        return Estimate(value, reason=SAME)
    tail = (1 - confidence) / 2
    low, high = (
        value * float(np.sqrt(freedom / stats.chi2.ppf(share, freedom)))
        for share in (1 - tail, tail)
    )
    return Estimate(value, low, high)


def freedom_of_noise(means: Array) -> float:
    r"""Return the degrees of freedom of the mean over methods of their variances.

    With n = K - 1 and the covariances S of methods over trials it is
    :math:`n (\mathrm{tr}\,S)^2 / \mathrm{tr}(S^2)` (Box 1954, Annals of Mathematical
    Statistics 25(2), 290-302): n where trials move all methods together, up to n times
    the number of methods where they move each by itself. Of few trials it is rather
    too small, so that intervals are rather too wide.
    """
    covariance = np.atleast_2d(np.cov(means, rowvar=False))
    squares = float((covariance**2).sum())
    n = float(len(means) - 1)
    return n * float(np.trace(covariance)) ** 2 / squares if squares > 0 else n
