"""Sums over weighted pairs and ranks, for many weights at once.

A bootstrap resample is the same data with whole-number weights, and Kendall's and
Spearman's coefficients are sums over pairs of weighted points. All sums here are
whole numbers, so they are exact and do not depend on the order of the points.
"""

import numpy as np

from analysis.correlations.kendall_large import many_sums
from analysis.correlations.kendall_small import few_sums
from analysis.correlations.weighted_sums import CellWeights, Floats, RankSums
from analysis.results import Array

# Groups of at most this many points compare all pairs by one table of signs.
FEW_POINTS = 128


def rank_sums(
    human: Array, scores: Array, weights: Floats | CellWeights, *, spearman: bool = True
) -> RankSums:
    """Sum over pairs and ranks in every group and under every weighting.

    Few points: all signs of a group in one matrix product. Many points are cut into
    blocks; the cost is N (block + values) B instead of N^2 B.
    """
    if weights.shape[2] <= FEW_POINTS:
        return few_sums(human, scores, np.asarray(weights), spearman=spearman)
    return many_sums(human, scores, weights, spearman=spearman)
