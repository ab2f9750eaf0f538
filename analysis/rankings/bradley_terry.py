"""Strengths of methods by maximum likelihood: Bradley-Terry, Davidson, the side.

Many tables of counts are fitted at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.rankings.connectivity import bounded_ties
from analysis.rankings.rao_kupper import FIRST, SECOND, TIE, OrderedFit, fit_ordered
from analysis.results import Array, Mask

TIES = ("half", "drop", "davidson", "rao-kupper")
# Planes of a table of counts (methods x methods each).
WINS, TIED, WINS_ON_LEFT, WINS_ON_RIGHT, TIED_LEFT_FIRST = range(5)
STEPS = 100
CONVERGED = 1e-10
# Largest change of a parameter in one step: Newton overshoots far from the top.
LONGEST_STEP = 2.0
# A side effect beyond this many log odds has no finite maximum.
LARGEST_SIDE = 15.0
# The share of what is known of the side that must remain beside the methods.
LEAST_KNOWN = 1e-9


@dataclass(frozen=True)
class Fit:
    """Parameters of B tables of counts."""

    theta: Array
    log_nu: Array
    side: Array
    converged: Mask


@dataclass(frozen=True)
class _Statistics:
    """What the likelihood needs of the counts."""

    unsided: Array
    sided: Array | None
    observed: Array
    free: Mask
    some_ties: Mask

    def of(self, rows: Mask) -> "_Statistics":
        sided = None if self.sided is None else self.sided[rows]
        return _Statistics(
            self.unsided[rows],
            sided,
            self.observed[rows],
            self.free[rows],
            self.some_ties[rows],
        )


def fit_model(counts: Array, *, ties: str = "half", start: Fit | None = None) -> Fit:
    r"""Fit strengths to many tables of counts by Newton's method.

    With i on the left, :math:`\eta = \theta_i - \theta_j + \delta`, and without a
    known side :math:`\eta = \theta_i - \theta_j`:

    .. math:: P(i) : P(tie) : P(j) = e^{\eta/2} : \nu : e^{-\eta/2}

    with :math:`\nu = 0` except for Davidson. The side effect is one factor on the odds
    of the left output (Davidson and Beaver 1977, Biometrics 33, whose tie parameter
    is :math:`\nu e^{\delta/2}`). Log nu is one more parameter: a table without ties
    has no finite maximum in it and is fitted without; one of ties only has equal
    strengths. Others have a maximum in it where
    `analysis.rankings.connectivity.bounded_ties` says so.
    """
    if ties == "rao-kupper":
        return _stacked([fit_ordered(_by_outcome(table)) for table in counts])
    data = _statistics(counts, ties)
    B, M = len(counts), counts.shape[-1]
    parameters = np.zeros((B, M + 2))
    if start is not None:
        parameters[:, :M] = start.theta
        parameters[:, M], parameters[:, M + 1] = start.log_nu, start.side
    parameters[~data.free] = 0
    converged = np.zeros(B, bool)
    active = np.ones(B, bool) if data.sided is None else _side_is_known(data)
    if ties == "davidson":
        active &= bounded_ties(*without_side(counts).transpose(1, 0, 2, 3))
    for _ in range(STEPS):
        if not active.any():
            break
        here = data if active.all() else data.of(active)
        gradient, information = _derivatives(parameters[active], here)
        step = _solved(information, gradient)
        # Only rounding, which grows with the answers, moves all strengths at once.
        step[:, :M] -= step[:, :M].mean(axis=1, keepdims=True)
        largest = np.abs(step).max(axis=1, keepdims=True)
        parameters[active] += np.nan_to_num(
            step * np.minimum(1, LONGEST_STEP / (largest + 1e-300))
        )
        converged[active] = largest[:, 0] < CONVERGED
        still = largest[:, 0] >= CONVERGED
        still &= np.abs(parameters[active, M + 1]) < LARGEST_SIDE
        active[active] = still
    theta = parameters[:, :M] - parameters[:, :M].mean(axis=1, keepdims=True)
    return Fit(theta, parameters[:, M], parameters[:, M + 1], converged)


def influence(fit: Fit, counts: Array, ties: str = "half") -> tuple[Array, Array]:
    r"""Return what one more answer of each kind would add to the parameters.

    The influence is :math:`I^{-1} s`, with :math:`I` the information of all answers
    and :math:`s` the gradient of the log likelihood of the answer. Summed over all
    answers it is 0 at the maximum.
    """
    if ties == "rao-kupper":
        return _ordered_influence(counts[0])
    data = _statistics(counts, ties)
    parameters = np.column_stack([fit.theta, fit.log_nu, fit.side])
    _, information = _derivatives(parameters, data)
    inverse = np.linalg.inv(information[0])
    planes, M = counts.shape[1], counts.shape[-1]
    gradient = np.zeros((planes, M, M, M + 2))
    nu = np.exp(fit.log_nu[0]) if data.some_ties[0] else 0.0
    gap = fit.theta[0][:, None] - fit.theta[0]
    # Who stands in the row: on the left, on the right, or nobody knows.
    sides = {WINS: 0, TIED: 0, WINS_ON_LEFT: 1, WINS_ON_RIGHT: -1, TIED_LEFT_FIRST: 1}
    i, j = np.indices((M, M))
    for plane in range(planes):
        side = sides[plane]
        half = np.exp((gap + side * fit.side[0]) / 2)
        mass = half + 1 / half + nu
        is_tie = plane in (TIED, TIED_LEFT_FIRST)
        rest = (0.5 if is_tie else 1.0) - (half + nu / 2) / mass
        gradient[plane, i, j, i] += rest
        gradient[plane, i, j, j] -= rest
        gradient[plane, ..., M] = is_tie - nu / mass
        gradient[plane, ..., M + 1] = side * rest
    gradient[..., ~data.free[0]] = 0
    found = gradient.reshape(-1, M + 2) @ inverse
    found[:, :M] -= found[:, :M].mean(axis=1, keepdims=True)
    inverse[:M, :M] -= 1 / M
    return found, inverse


def _by_outcome(table: Array) -> Array:
    """Lay a table (planes, M, M) out by known side, outcome, and both methods."""
    M = table.shape[-1]
    found = np.zeros((2, 3, M, M))
    found[0, FIRST], found[0, TIE] = table[WINS], table[TIED]
    if len(table) == 5:
        found[1, FIRST] = table[WINS_ON_LEFT]
        # Who won on the right was the second one.
        found[1, SECOND] = table[WINS_ON_RIGHT].T
        found[1, TIE] = table[TIED_LEFT_FIRST]
    return found


def _stacked(fits: Sequence[OrderedFit]) -> Fit:
    return Fit(
        np.stack([fit.theta for fit in fits]),
        np.array([fit.log_threshold for fit in fits]),
        np.array([fit.side for fit in fits]),
        np.array([fit.converged for fit in fits]),
    )


def _ordered_influence(table: Array) -> tuple[Array, Array]:
    """Return `influence` of one table where near equals tie."""
    fit = fit_ordered(_by_outcome(table))
    inverse = np.asarray(np.linalg.inv(fit.information), float)
    M = table.shape[-1]
    gradient = [fit.scores[0, FIRST], fit.scores[0, TIE]]
    if len(table) == 5:
        right = fit.scores[1, SECOND].transpose(1, 0, 2)
        gradient += [fit.scores[1, FIRST], right, fit.scores[1, TIE]]
    found: Array = np.stack(gradient).reshape(-1, M + 2) @ inverse
    found[:, :M] -= found[:, :M].mean(axis=1, keepdims=True)
    inverse[:M, :M] -= 1 / M
    return found, inverse


def _solved(information: Array, gradient: Array) -> Array:
    """Return each table's Newton step; nan where its information is singular.

    That happens where answers follow the side so closely that strengths cannot be told
    from it any more.
    """
    try:
        return np.asarray(np.linalg.solve(information, gradient[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        step = np.full(gradient.shape, np.nan)
        for table, (matrix, slope) in enumerate(
            zip(information, gradient, strict=True)
        ):
            try:
                step[table] = np.linalg.solve(matrix, slope)
            except np.linalg.LinAlgError:
                continue
        return step


def without_side(counts: Array) -> Array:
    """Add the planes of a table up to wins and ties, (..., 2, M, M)."""
    if counts.shape[-3] == 2:
        return counts
    wins = (WINS, WINS_ON_LEFT, WINS_ON_RIGHT)
    return np.stack(
        [
            counts[..., wins, :, :].sum(axis=-3),
            counts[..., TIED, :, :] + counts[..., TIED_LEFT_FIRST, :, :],
        ],
        axis=-3,
    )


def with_average_method(counts: Array, weight: float) -> Array:
    """Add a method that won and lost half of `weight` answers against each other one.

    Its strength is fitted like theirs, and comes out near their average. What is added
    has no side.
    """
    planes, M, _ = counts.shape
    found = np.zeros((planes, M + 1, M + 1))
    found[:, :M, :M] = counts
    found[WINS, :M, M] = found[WINS, M, :M] = weight / 2
    return found


def side_is_known(counts: Array) -> bool:
    """Tell whether the side can be told from the methods in one table (5, M, M).

    It cannot where, for example, one method always stands on the left.
    """
    return bool(_side_is_known(_statistics(counts[None], "half"))[0])


def _statistics(counts: Array, ties: str) -> _Statistics:
    counts = np.asarray(counts, float)
    if ties == "drop":
        counts = counts.copy()
        counts[:, TIED] = 0
        counts[:, TIED_LEFT_FIRST:] = 0
    wins, tied = without_side(counts).transpose(1, 0, 2, 3)
    B, M = len(wins), wins.shape[-1]
    n_ties = tied.sum(axis=(1, 2))
    observed = np.zeros((B, M + 2))
    observed[:, :M] = wins.sum(axis=2) + (tied.sum(axis=2) + tied.sum(axis=1)) / 2
    free = np.ones((B, M + 2), bool)
    some_ties = (n_ties > 0) & (ties == "davidson")
    free[:, M] = some_ties & (wins.sum(axis=(1, 2)) > 0)
    observed[:, M] = n_ties
    unsided = counts[:, WINS] + counts[:, TIED]
    sided = None
    if counts.shape[1] == 5:
        left, right, even = counts[:, WINS_ON_LEFT:].transpose(1, 0, 2, 3)
        sided = left + right.transpose(0, 2, 1) + even
        observed[:, M + 1] = left.sum(axis=(1, 2)) + even.sum(axis=(1, 2)) / 2
    free[:, M + 1] = sided is not None
    return _Statistics(
        unsided + unsided.transpose(0, 2, 1), sided, observed, free, some_ties
    )


def _side_is_known(data: _Statistics) -> Mask:
    """Tell where the side is no sum of effects of methods: its residual is not 0."""
    plain = replace(data, some_ties=np.zeros_like(data.some_ties))
    _, information = _derivatives(np.zeros(data.observed.shape), plain)
    M = data.observed.shape[1] - 2
    own, with_methods = information[:, M + 1, M + 1], information[:, :M, M + 1]
    # Methods that never met leave directions without information.
    inverse = np.linalg.pinv(information[:, :M, :M], rcond=LEAST_KNOWN, hermitian=True)
    explained = inverse @ with_methods[:, :, None]
    rest = own - (with_methods * explained[:, :, 0]).sum(axis=1)
    return np.asarray((own > 0) & (rest > LEAST_KNOWN * own))


def _derivatives(parameters: Array, data: _Statistics) -> tuple[Array, Array]:
    """Return the gradient of the log likelihood and the information matrix."""
    B, M = len(parameters), parameters.shape[1] - 2
    half = np.exp(parameters[:, :M] / 2)
    ratio = half[:, :, None] / half[:, None, :]
    nu = np.where(data.some_ties, np.exp(parameters[:, M]), 0.0)[:, None, None]
    mean, variance, tie, cross, both = _moments(data.unsided, ratio, nu)
    expected = np.zeros((B, M + 2))
    expected[:, :M] = mean.sum(axis=2)
    expected[:, M] = tie.sum(axis=(1, 2)) / 2
    information = np.zeros((B, M + 2, M + 2))
    information[:, :M, M] = cross.sum(axis=2)
    information[:, M, M] = both.sum(axis=(1, 2)) / 2
    if data.sided is not None:
        ratio = ratio * np.exp(parameters[:, M + 1] / 2)[:, None, None]
        mean, sided, tie, cross, both = _moments(data.sided, ratio, nu)
        variance = variance + sided + sided.transpose(0, 2, 1)
        # The right output scores what the left one does not.
        expected[:, :M] += mean.sum(axis=2) + (data.sided - mean).sum(axis=1)
        expected[:, M] += tie.sum(axis=(1, 2))
        expected[:, M + 1] = mean.sum(axis=(1, 2))
        information[:, :M, M] += cross.sum(axis=2) - cross.sum(axis=1)
        information[:, M, M] += both.sum(axis=(1, 2))
        information[:, :M, M + 1] = sided.sum(axis=2) - sided.sum(axis=1)
        information[:, M, M + 1] = cross.sum(axis=(1, 2))
        information[:, M + 1, M + 1] = sided.sum(axis=(1, 2))
    information[:, M:, :M] = information[:, :M, M:].transpose(0, 2, 1)
    information[:, M + 1, M] = information[:, M, M + 1]
    # Only differences of strengths matter: fix their sum.
    information[:, :M, :M] = 1 / M - variance
    diagonal = np.arange(M)
    information[:, diagonal, diagonal] += variance.sum(axis=2)
    gradient = np.where(data.free, data.observed - expected, 0.0)
    if not data.free.all():
        fixed = ~data.free
        information[fixed[:, :, None] | fixed[:, None, :]] = 0
        information[:, range(M + 2), range(M + 2)] += fixed
    return gradient, information


def _moments(
    total: Array, ratio: Array, nu: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Return moments of the score of i against j and of the tie, times the answers.

    A win scores 1, a tie 1/2: expected score, its variance, expected ties, covariance,
    variance of the tie. `ratio` is the square root of the odds.
    """
    down = 1 / ratio
    if not nu.any():
        win = total / (1 + down * down)
        none = np.zeros((len(total), 1, 1))
        return win, win / (1 + ratio * ratio), none, none, none
    mass = ratio + down + nu
    win, tie = ratio / mass, nu / mass
    mean = win + tie / 2
    return (
        total * mean,
        total * (win + tie / 4 - mean * mean),
        total * tie,
        total * (tie / 2 - mean * tie),
        total * (tie * (1 - tie)),
    )
