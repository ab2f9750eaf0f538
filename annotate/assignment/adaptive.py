"""Adaptive pairs: what to compare next, and when to stop.

Pure: counts of answers and open slots in, a choice and its probability out. A choice
is drawn, never forced: `pick` mixes information with chance so that every open pair
keeps a known probability, which is logged beside the answer, and
`analysis.rankings.pair_votes` turns the log into estimates that do not depend on
what was chosen. What may be chosen comes from
outside as open slots, so that neither a redundancy nor, through `counterbalanced`, the
balance of left and right can be broken.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
PairNumbers = NDArray[np.int64]

STEPS = 100
CONVERGED = 1e-9
# Largest change of an ability in one step: Newton overshoots far from the top.
LONGEST_STEP = 2.0
# Beyond this many standard deviations the order of two methods is settled.
SETTLED = 12.0
# How much smaller the error of one look is than that of the whole study.
CAUTION = 3


@dataclass(frozen=True)
class MethodEstimates:
    """What is known of m methods.

    Attributes
    ----------
    mean
        Shape (m,): posterior mean of the abilities (log odds), which sum to 0.
    covariance
        Shape (m, m): their posterior covariance, up to a constant in all entries.
    comparisons
        Shape (m,): answers in which each method took part.
    """

    mean: Array
    covariance: Array
    comparisons: Array

    def top(self, size: int) -> NDArray[np.intp]:
        """Return the `size` methods of the largest means, the best first."""
        return np.argsort(-self.mean, kind="stable")[:size]


def posterior(
    wins: Array, ties: Array | None = None, *, prior_sd: float = 1.0
) -> MethodEstimates:
    r"""Return the posterior of the abilities under Bradley and Terry.

    Parameters
    ----------
    wins
        Shape (m, m): how often the method of the row won against that of the column.
    ties
        Shape (m, m), in either triangle: half a win for both. A tie varies less than
        a win or a loss, so that the posterior is then a little too wide.
    prior_sd
        Of the abilities before any answer; infinite for the maximum of the likelihood.

    Raises
    ------
    ValueError
        Without a prior, the likelihood has no finite maximum.

    Notes
    -----
    Log odds of a win are differences of normal abilities (Bradley and Terry 1952,
    Biometrika 39); Laplace's approximation takes mode and inverse curvature of the log
    posterior (as Chu and Ghahramani 2005, Preference learning with Gaussian processes).

    Examples
    --------
    >>> found = posterior(np.array([[0, 3], [1, 0]]), prior_sd=math.inf)
    >>> round(float(found.mean[0] - found.mean[1]), 6) == round(math.log(3), 6)
    True
    """
    score = np.asarray(wins, float)
    if ties is not None:
        score = score + (np.asarray(ties, float) + np.asarray(ties, float).T) / 2
    total = score + score.T
    won, m = score.sum(axis=1), len(score)
    precision = prior_sd**-2
    # Only differences are known of the likelihood: the second term fixes the sum.
    fixed = precision * np.eye(m) + 1 / max(m, 1)
    ability = np.zeros(m)
    for _ in range(STEPS):
        chance = _logistic(ability[:, None] - ability)
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
    r"""Return what one more comparison of each pair is expected to tell of the ranking.

    With `top`, count only what decides which methods are the best `top`. The array
    (m, m) is symmetric with 0 on the diagonal; in nats, to first order.

    Notes
    -----
    The ranking is a set of orders, one for every two methods a and b, with entropy
    :math:`h(p_{ab})`, :math:`p_{ab} = \Phi(z_{ab})`, in a normal posterior. The sum of
    these entropies bounds the joint entropy of the ranking from above; over the a
    that are among the best now and the b that are not, it bounds that of the event
    that these are the best. A comparison with Fisher information w on the difference
    x lowers the variance of the difference of a and b by

    .. math:: \Delta_{ab} = w (x_{ab}' C x)^2 / (1 + w x' C x)

    and :math:`p_{ab}` is a martingale, so that its entropy is expected to fall by

    .. math:: \frac{\varphi(z_{ab})^2}{2 p_{ab} (1 - p_{ab})}
              \frac{\Delta_{ab}}{x_{ab}' C x_{ab}}

    for small :math:`\Delta`. The sum over a and b is a quadratic form in x, which
    makes all pairs cost as much as one product of matrices. Expected information gain:
    Lindley 1956 (Annals of Mathematical Statistics 27); for pairs Mikhailiuk et al.
    2021 (ASAP, ICPR), there of the abilities and here of their order. w is averaged
    over the posterior (MacKay 1992, Neural Computation 4).
    """
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
    chance = _logistic(narrowed * gap)
    fisher = narrowed * chance * (1 - chance)
    return np.asarray(fisher * _of_differences(decided) / (1 + fisher * spread))


def _sensitivity(z: Array) -> Array:
    """Return phi(z)^2 / (2 Phi(z) Phi(-z)), how fast an order is learnt."""
    z = np.minimum(np.abs(z), SETTLED)
    tail = np.array([math.erfc(x) for x in (z / math.sqrt(2)).ravel()]) / 2
    tail = tail.reshape(z.shape)
    return np.asarray(np.exp(-z * z) / (4 * np.pi * tail * (1 - tail)))


def _of_differences(matrix: Array) -> Array:
    """Return x'Ax for the difference x of every two methods."""
    diagonal = np.diag(matrix)
    return np.asarray(diagonal[:, None] + diagonal - matrix - matrix.T)


def _laplacian(weight: Array) -> Array:
    """Return the sum over pairs of weight times xx', x the difference."""
    return np.asarray(np.diag(weight.sum(axis=1)) - weight)


def _logistic(x: Array) -> Array:
    return np.asarray(0.5 + 0.5 * np.tanh(x / 2))


@dataclass(frozen=True)
class ChosenUnit:
    """A unit that was chosen, and what must be logged with its answer.

    Attributes
    ----------
    pair
        The two methods, the smaller index first.
    story
        The story.
    probability
        Of this unit, given what was available.
    per_slot
        Of each of its open slots, which are alike: `probability` over their number.
    available
        Open slots of all units.
    """

    pair: tuple[int, int]
    story: int
    probability: float
    per_slot: float
    available: int


def probabilities(
    gain: Array, free: PairNumbers, *, explore: float = 0.2, focus: float = 4.0
) -> Array:
    """Return with which probability each pair comes next.

    Parameters
    ----------
    gain
        Shape (m, m), symmetric: `information` of the pairs.
    free
        Shape (m, m): open slots of each pair; only the upper triangle is read.
    explore
        The part that goes to all available pairs alike; the rest goes by information.
    focus
        Power of the information: 0 draws alike, infinity takes the best pair.

    Returns
    -------
    array of shape (m, m)
        0 outside the upper triangle and where nothing is free. The sum is 1, unless
        nothing is free; each free pair has at least ``explore`` over their number.
    """
    if not 0 <= explore <= 1 or not 0 <= focus < math.inf:
        raise ValueError("explore must lie in [0, 1], focus must be finite and not < 0")
    open_ = np.triu(np.asarray(free) > 0, 1)
    if not open_.any():
        return np.zeros(open_.shape)
    alike = open_ / open_.sum()
    worth = np.where(open_, gain, 0.0)
    if worth.max() <= 0:
        return np.asarray(alike)
    worth = np.where(open_, (worth / worth.max()) ** focus, 0.0)
    return np.asarray(explore * alike + (1 - explore) * worth / worth.sum())


def pick(
    gain: Array,
    free: PairNumbers,
    rng: np.random.Generator,
    *,
    explore: float = 0.2,
    focus: float = 4.0,
) -> ChosenUnit | None:
    """Draw the next unit: a pair by `probabilities`, then one of its free stories.

    `free`, shape (m, m, stories), has the open slots of each unit that this annotator
    may fill; only pairs in the upper triangle are read. None when nothing is free.
    """
    free = np.asarray(free)
    of_pairs = np.triu(free.sum(axis=2), 1)
    chances = probabilities(gain, of_pairs, explore=explore, focus=focus)
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
    """Keep the open slots that hold left and right within one while answers come in.

    Parameters
    ----------
    left, right
        Shape (m, m, stories): open slots in which the pair's first method is planned
        on the left, or on the right.
    excess
        Filled slots with it on the left, minus those with it on the right.

    Returns
    -------
    tuple of two arrays
        `left` and `right` without slots that would bring the excess of a unit or of a
        pair of methods beyond one. To `pick` goes their sum; the slot is then drawn
        among those that the unit keeps.

    Notes
    -----
    A pair whose planned sides are even never loses all its slots so. Suppose its first
    method was left once more than right, and only units with excess -1 have open right
    slots: each has at least as many open left ones, and so has the pair, against the
    one more right slot that evenness leaves. With an odd plan this can happen, and
    then the rule for the pair gives way to that of the unit.
    """
    of_pair = excess.sum(axis=2, keepdims=True)
    in_unit = np.where(excess < 1, left, 0), np.where(excess > -1, right, 0)
    kept = np.where(of_pair < 1, in_unit[0], 0), np.where(of_pair > -1, in_unit[1], 0)
    stuck = ~(kept[0] + kept[1]).any(axis=2, keepdims=True)
    return np.where(stuck, in_unit[0], kept[0]), np.where(stuck, in_unit[1], kept[1])


def separated(
    known: MethodEstimates, top: int, *, draws: int = 4000, seed: int = 0
) -> float:
    """Return the posterior probability that the best `top` now are the best `top`.

    Their inner order does not matter. Counted in draws from the posterior, which
    `seed` fixes: with 4000 the standard error at .95 is .0035.
    """
    if top < 1:
        raise ValueError("top must be at least 1")
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
    """Stop when the best `top` methods are told from the others by the answers alone.

    Whether they are for other stories and annotators, too, is another question
    (`annotate.assignment.adaptive_pairs.best_methods`), asked where this rule holds.

    Parameters
    ----------
    top
        Size of the set.
    confidence
        A study of any abilities declares a wrong set at most this seldom: .95 for
        one in twenty.
    least
        Answers in which every method must have taken part before.

    Notes
    -----
    A posterior probability holds what it says at every look, on average over the
    prior, but not for abilities that lie closer than the prior expects: where the last
    of the best and the first of the others are equal, repeated looks at .95 can end in
    a wrong set more often than one time in twenty. The error that one look may have is
    therefore `CAUTION` times smaller: a random walk passes a level at some time twice
    as often as it stands above it at the end (reflection principle), and a level that
    falls with the answers needs more. `docs/adaptive.md` has the measured errors.
    """

    top: int
    confidence: float = 0.95
    least: int = 10

    def __post_init__(self) -> None:
        if self.top < 1 or self.least < 0 or not 0 < self.confidence < 1:
            raise ValueError("top must be >= 1, least >= 0, 0 < confidence < 1")

    @property
    def threshold(self) -> float:
        """The posterior probability at which to stop."""
        return 1 - self.error

    @property
    def error(self) -> float:
        """The error that one look may have."""
        return (1 - self.confidence) / CAUTION

    @property
    def largest_p(self) -> float:
        """The p-value that tests may have: of two sides, where an error has one."""
        return 2 * self.error

    def holds(
        self, known: MethodEstimates, *, draws: int = 4000, seed: int = 0
    ) -> bool:
        """Tell whether to stop; `draws` and `seed` as in `separated`."""
        if (known.comparisons < self.least).any():
            return False
        return separated(known, self.top, draws=draws, seed=seed) >= self.threshold
