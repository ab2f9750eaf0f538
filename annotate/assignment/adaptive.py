"""Adaptive pair selection and its stopping rule."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
PairNumbers = NDArray[np.int64]

STEPS = 100
CONVERGED = 1e-9
# Newton's method overshoots far from the maximum, so its steps are limited.
LONGEST_STEP = 2.0
# Beyond this many standard deviations, the order of two methods is certain.
SETTLED = 12.0
# The power of the information that pairs are drawn in proportion to.
FOCUS = 4
# The ratio between the error of the whole study and that of one look.
CAUTION = 3


@dataclass(frozen=True)
class MethodEstimates:
    """Posterior means and covariance of the abilities of m methods."""

    mean: Array
    covariance: Array
    comparisons: Array

    def top(self, size: int) -> NDArray[np.intp]:
        """Return the `size` methods with the largest means, best first."""
        return np.argsort(-self.mean, kind="stable")[:size]


def posterior(wins: Array, ties: Array, *, prior_sd: float = 1.0) -> MethodEstimates:
    r"""Return the posterior of the abilities in the Bradley-Terry model."""
    from scipy.special import expit

    score = wins + (ties + ties.T) / 2
    total = score + score.T
    won, m = score.sum(axis=1), len(score)
    precision = prior_sd**-2
    # The likelihood depends only on differences; the second term fixes the sum.
    fixed = precision * np.eye(m) + 1 / max(m, 1)
    ability = np.zeros(m)
    for _ in range(STEPS):
        chance = expit(ability[:, None] - ability)
        gradient = won - (total * chance).sum(axis=1) - precision * ability
        curvature = fixed + _laplacian(total * chance * (1 - chance))
        try:
            step = np.linalg.solve(curvature, gradient)
        except np.linalg.LinAlgError:
            break
        largest = np.abs(step).max(initial=0.0)
        ability = ability + step * min(1.0, LONGEST_STEP / max(largest, 1e-300))
        if largest < CONVERGED:
            covariance = np.asarray(np.linalg.inv(curvature), np.float64)
            return MethodEstimates(ability, covariance, total.sum(axis=1))
    raise ValueError("The answers leave abilities without a finite maximum.")


def information(known: MethodEstimates, *, top: int | None = None) -> Array:
    """Return the expected information of one more comparison of each pair."""
    from scipy.special import expit

    gap = known.mean[:, None] - known.mean
    spread = _of_differences(known.covariance)
    apart = np.where(spread > 0, spread, 1.0)
    weight = _sensitivity(gap / np.sqrt(apart)) / apart
    np.fill_diagonal(weight, 0.0)
    if top is not None:
        best = np.zeros(len(gap), bool)
        best[known.top(top)] = True
        weight *= best[:, None] != best
    decided = known.covariance @ _laplacian(weight) @ known.covariance
    narrowed = 1 / np.sqrt(1 + np.pi / 8 * spread)
    chance = expit(narrowed * gap)
    fisher = narrowed * chance * (1 - chance)
    return np.asarray(fisher * _of_differences(decided) / (1 + fisher * spread))


def _sensitivity(z: Array) -> Array:
    """Return phi(z)^2 / (2 Phi(z) Phi(-z)), the rate at which an order is learnt."""
    from scipy.special import ndtr

    z = np.minimum(np.abs(z), SETTLED)
    tail = ndtr(-z)
    return np.asarray(np.exp(-z * z) / (4 * np.pi * tail * (1 - tail)))


def _of_differences(matrix: Array) -> Array:
    """Return x'Ax for the difference x of each pair of methods."""
    diagonal = np.diag(matrix)
    return np.asarray(diagonal[:, None] + diagonal - matrix - matrix.T)


def _laplacian(weight: Array) -> Array:
    """Return the sum over pairs of weight times xx', x the difference."""
    return np.asarray(np.diag(weight.sum(axis=1)) - weight)


@dataclass(frozen=True)
class ChosenUnit:
    """A chosen unit, with the details to log with its answer."""

    pair: tuple[int, int]
    story: int
    probability: float
    per_slot: float
    available: int


def probabilities(gain: Array, free: PairNumbers, *, explore: float = 0.2) -> Array:
    """Return the probability of each pair to come next."""
    open_ = np.triu(np.asarray(free) > 0, 1)
    if not open_.any():
        return np.zeros(open_.shape)
    alike = open_ / open_.sum()
    weights = np.where(open_, gain, 0.0)
    if weights.max() <= 0:
        return np.asarray(alike)
    weights = np.where(open_, (weights / weights.max()) ** FOCUS, 0.0)
    return np.asarray(explore * alike + (1 - explore) * weights / weights.sum())


def pick(
    gain: Array,
    free: PairNumbers,
    rng: np.random.Generator,
    *,
    explore: float = 0.2,
) -> ChosenUnit | None:
    """Draw a pair by `probabilities`, then one of its free stories."""
    free = np.asarray(free)
    of_pairs = np.triu(free.sum(axis=2), 1)
    chances = probabilities(gain, of_pairs, explore=explore)
    if not chances.any():
        return None
    first, second = divmod(int(rng.choice(chances.size, p=chances.ravel())), len(free))
    stories = np.flatnonzero(free[first, second])
    story = int(rng.choice(stories))
    unit = float(chances[first, second]) / len(stories)
    per_slot = unit / int(free[first, second, story])
    return ChosenUnit((first, second), story, unit, per_slot, int(of_pairs.sum()))


def counterbalanced(
    left: PairNumbers, right: PairNumbers, excess: PairNumbers
) -> tuple[PairNumbers, PairNumbers]:
    """Return the free slots that keep left and right within one."""
    of_pair = excess.sum(axis=2, keepdims=True)
    in_unit = np.where(excess < 1, left, 0), np.where(excess > -1, right, 0)
    free = np.where(of_pair < 1, in_unit[0], 0), np.where(of_pair > -1, in_unit[1], 0)
    stuck = ~(free[0] + free[1]).any(axis=2, keepdims=True)
    return np.where(stuck, in_unit[0], free[0]), np.where(stuck, in_unit[1], free[1])


def separated(
    known: MethodEstimates, top: int, *, draws: int = 4000, seed: int = 0
) -> float:
    """Return the posterior probability that the current best `top` are the best."""
    m = len(known.mean)
    if top >= m:
        return 1.0
    best = known.top(top)
    rest = np.setdiff1d(np.arange(m), best)
    noise = np.random.default_rng(seed).standard_normal((draws, m))
    drawn = known.mean + noise @ np.linalg.cholesky(known.covariance).T
    return float((drawn[:, best].min(axis=1) > drawn[:, rest].max(axis=1)).mean())


@dataclass(frozen=True)
class StopRule:
    """Rule that stops once the best `top` methods are distinguished."""

    top: int
    confidence: float = 0.95
    least: int = 10

    @property
    def error(self) -> float:
        """Return the error allowed for one look."""
        return (1 - self.confidence) / CAUTION

    @property
    def largest_p(self) -> float:
        """Return the two-sided p-value that matches the one-sided error."""
        return 2 * self.error

    def holds(self, known: MethodEstimates) -> bool:
        """Return whether to stop."""
        if (known.comparisons < self.least).any():
            return False
        return separated(known, self.top) >= 1 - self.error
