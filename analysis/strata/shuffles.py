r"""Do two groups of stories differ? Dealing stories out anew, differences studentised.

Where groups differ in size and spread, a plain permutation test of a difference rejects
too often: the spread of the smaller group is shared out over both. Divided by a
standard error that allows for two spreads, and is computed anew in every shuffle, the
difference has the same distribution in the limit whatever the spreads (Chung and Romano
2013, Annals of Statistics 41(2)), and the test stays exact where groups are alike.
"""

from collections.abc import Callable

import numpy as np

from analysis.results import Array, Mask

# From weights of stories (B, S) and of methods (B, M) to L numbers (B, L).
Values = Callable[[Array, Array], Array]
SLACK = 1e-9


def shuffled_p(
    values: Values,
    n_methods: int,
    groups: tuple[Mask, Mask],
    resamples: int,
    rng: np.random.Generator,
) -> Array:
    """Return the p-value of each difference of two groups of stories.

    Parameters
    ----------
    values
        The statistics, by how often stories and methods count.
    n_methods
        M.
    groups
        The stories of both groups, each of shape (S,).
    resamples, rng
        How many shuffles, and their stream.

    Returns
    -------
    array of shape (L,)
        NaN where a difference is undefined, or is so in every shuffle.

    Notes
    -----
    The standard error of a difference is that of two means of the stories'
    pseudo-values, :math:`n v - (n - 1) v_{(s)}` of the n stories of both groups
    together. Of a mean over stories they are its terms. Groups of one story have no
    spread: then differences are compared as they are.
    """
    in_a, in_b = groups
    stories = np.flatnonzero(in_a | in_b)
    n, S = len(stories), len(in_a)

    def measured(kept: Mask) -> Array:
        weights = np.zeros((len(kept), S))
        weights[:, stories] = kept
        return values(weights, np.ones((len(kept), n_methods)))

    def differences(first: Mask) -> Array:
        apart = measured(first) - measured(~first)
        same = np.abs(apart) <= SLACK * np.maximum(1, np.abs(whole))
        return _studentised(np.where(same, 0.0, apart), first, spread)

    whole, without = measured(np.ones((1, n), bool)), measured(~np.eye(n, dtype=bool))
    spread = np.nan_to_num((n - 1) * (whole - without))
    observed = differences(in_a[stories][None])[0]
    dealt = rng.permuted(np.tile(in_a[stories], (resamples, 1)), axis=1)
    moved = differences(dealt)
    known = np.isfinite(moved)
    with np.errstate(invalid="ignore"):
        extreme = (np.abs(moved) >= np.abs(observed) * (1 - SLACK) - SLACK) & known
    p = (extreme.sum(axis=0) + 1) / (known.sum(axis=0) + 1)
    return np.where(np.isfinite(observed) & known.any(axis=0), p, np.nan)


def _studentised(differences: Array, first: Mask, spread: Array) -> Array:
    """Divide differences (B, L) by their standard errors."""
    variance = np.zeros(differences.shape)
    for group in (first.astype(float), (~first).astype(float)):
        n = group.sum(axis=1, keepdims=True)
        if (n < 2).any():
            return differences
        mean, square = group @ spread / n, group @ spread**2 / n
        variance += np.maximum(square - mean**2, 0) / (n - 1)
    # Rounding leaves something of no variance.
    least = SLACK**2 * np.maximum(1, (spread**2).mean(axis=0))
    return np.asarray(differences / np.sqrt(np.maximum(variance, least)))
