r"""Share of ratings that metrics could save.

With many stories that only the metric has scored, a mean needs :math:`1 - \rho^2` of
the ratings, where :math:`\rho` is the correlation of people and metric within methods.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import stdtrit

from analysis.inference.resampling import DECIMALS, divided, near_one
from analysis.results import NAN, Array, Counts

# Numbers held at once.
CHUNK = 4_000_000
# Jackknifed correlations further out have no finite Fisher's z.
LARGEST = 1 - 1e-12
# Fewer stories do not stand for others.
LEAST_STORIES = 5
# A spread this small beside the values is rounding.
NOTHING = 1e-20


@dataclass(frozen=True)
class Savings:
    """Shares of ratings that K metrics save; each array is of shape (K,).

    Attributes
    ----------
    correlation
        Within methods; NaN where one side is constant there.
    value
        The cross-fitted share, at least 0.
    low, high
        Its bounds.
    """

    correlation: Array
    value: Array
    low: Array
    high: Array


def saved_ratings(
    human: Array,
    scores: Array,
    group: Counts,
    story: Counts,
    weight: Array,
    confidence: float,
) -> Savings:
    r"""Return the share of ratings that each metric saves.

    Both sides are centred within groups. With :math:`u` the squared weights of cells in
    their group's mean, :math:`\rho = S_{xy} / \sqrt{S_{xx} S_{yy}}` of sums
    :math:`S_{xy} = \sum u\, dx\, dy`; the largest saving is :math:`\rho^2`
    (Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453, section 6). The value is
    :math:`1 - \sum u (dy - \lambda dx)^2 / \sum u\, dy^2` with :math:`\lambda \ge 0`
    and means of the other stories, so that a useless metric saves nothing on average.
    The bounds are squares of those of :math:`\rho`, by Fisher's z with the standard
    error of a jackknife over stories.

    Parameters
    ----------
    human
        People's mean value of each cell, (C,), with ties as they are.
    scores
        The metrics' scores, (K, C), without gaps; larger is better.
    group, story
        The method of each cell, or the pair of methods, and its story; a group has one
        cell of a story.
    weight
        How much the story of each cell counts: 1 / the probability of being drawn.
    """
    K, C = scores.shape
    found = np.full((4, K), np.nan)
    step = max(1, CHUNK // max(C, 1))
    for start in range(0, K, step):
        rows = slice(start, start + step)
        found[:, rows] = _saved(human, scores[rows], group, story, weight, confidence)
    return Savings(*found)


def _saved(
    human: Array,
    scores: Array,
    group: Counts,
    story: Counts,
    weight: Array,
    confidence: float,
) -> Array:
    share = weight / np.bincount(group, weight)[group]
    usable = share < 1
    n = len(np.unique(story[usable]))
    if n < LEAST_STORIES:
        return np.full((4, len(scores)), np.nan)
    group, share = group[usable], share[usable]
    codes = np.unique(story[usable], return_inverse=True)[1]
    of_group, of_story = _indicator(group), _indicator(codes)
    y = near_one(human[usable])[None]
    x = near_one(scores[:, usable])
    dy, dx = (v - ((v * share) @ of_group)[:, group] for v in (y, x))
    u, alone = share**2, 1 / (1 - share)
    parts = [u * a * b for a, b in ((dx, dx), (dx, dy), (dy, dy))]
    xx, xy, yy = (part.sum(axis=1, keepdims=True) for part in parts)
    rounding = NOTHING * (u * x**2).sum(axis=1, keepdims=True)
    xx = np.where(xx > rounding, xx, 0.0)
    yy = np.where(yy > NOTHING * (u * y**2).sum(), yy, 0.0)
    r = divided(xy, np.sqrt(xx * yy))
    # The same without each story, whose cells move the means of their methods too.
    left = [
        np.maximum(whole - (part * alone) @ of_story, 0.0)
        if part is not parts[1]
        else whole - (part * alone) @ of_story
        for whole, part in zip((xx, xy, yy), parts, strict=True)
    ]
    slope = np.maximum(divided(left[1], left[0]), 0.0)
    rest = (u * alone**2 * (dy - np.nan_to_num(slope)[:, codes] * dx) ** 2).sum(axis=1)
    value = 1 - divided(rest, (u * alone**2 * dy**2).sum(axis=1))
    z = np.arctanh(
        np.clip(divided(left[1], np.sqrt(left[0] * left[2])), -LARGEST, LARGEST)
    )
    error = np.sqrt(
        (n - 1) / n * ((z - z.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    )
    far = stdtrit(n - 1, (1 + confidence) / 2) * error
    centre = np.arctanh(np.clip(r[:, 0], -LARGEST, LARGEST))
    low, high = (np.maximum(np.tanh(centre + side * far), 0) ** 2 for side in (-1, 1))
    # Rounding: 1e-16 is no saving.
    defined = np.where(np.isfinite(r[:, 0]), np.maximum(value, 0.0), NAN)
    value = np.asarray(np.round(defined, DECIMALS), float)
    return np.stack([r[:, 0], value, np.minimum(low, value), np.maximum(high, value)])


def _indicator(codes: Counts) -> sparse.csr_array:
    """Return the matrix that sums cells by their codes."""
    n = len(codes)
    shape = n, int(codes.max()) + 1
    return sparse.csr_array((np.ones(n), (np.arange(n), codes)), shape=shape)
