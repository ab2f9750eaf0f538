"""Strengths of methods from pairs, by maximum likelihood, with ties and the side."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from analysis.rankings.likelihood import (
    Maximum,
    Outcomes,
    bounded_ties,
    logit,
    maximise,
)
from analysis.results import Array, Counts

TIES = ("half", "drop", "davidson", "rao-kupper")
# Planes of a table of counts (methods x methods each).
WINS, TIED, WINS_ON_LEFT, WINS_ON_RIGHT, TIED_LEFT_FIRST = range(5)
# Outcomes of one comparison: the first wins, the second wins, neither.
FIRST, SECOND, TIE = range(3)
# A side effect, or Rao and Kupper's threshold, beyond so many log odds has no finite
# maximum.
LARGEST = 15.0
# The share of what is known of the side that must remain beside the methods.
LEAST_KNOWN = 1e-9


@dataclass(frozen=True)
class PairFit:
    """Strengths, the parameter of ties and the side effect of one table of counts."""

    theta: Array
    log_ties: float
    side: float
    converged: bool
    influence: Array
    covariance: Array


def fit_model(table: Array, *, ties: str = "half") -> PairFit:
    r"""Fit strengths to one table of counts (planes, M, M).

    With i on the left, :math:`\eta = \theta_i - \theta_j + \delta`, and without a
    known side :math:`\eta = \theta_i - \theta_j`:

    .. math:: P(i) : P(tie) : P(j) = e^{\eta/2} : \nu : e^{-\eta/2}

    with :math:`\nu = 0` except for Davidson. The side effect is one factor on the odds
    of the left output (Davidson and Beaver 1977, Biometrics 33, whose tie parameter
    is :math:`\nu e^{\delta/2}`). Rao and Kupper (1967, JASA 62) have a threshold
    :math:`\tau > 0` instead: :math:`P(i) = \sigma(\eta - \tau)`, :math:`P(j) =
    \sigma(-\eta - \tau)`. Without ties there is no parameter of theirs; ties alone
    leave all strengths equal. Elsewhere it is finite where `bounded_ties` says so.

    The influence of an answer is :math:`I^{-1} s`, with :math:`I` the information of
    all answers and :math:`s` the gradient of its log likelihood; shape
    (planes, M, M, M + 2). Summed over all answers it is 0 at the maximum.
    """
    counts = _by_outcome(np.asarray(table, float))
    M, has_side = table.shape[-1], len(table) == 5
    at = np.nonzero(counts.any(axis=1))
    own = counts[at[0], :, at[1], at[2]]
    free = np.ones(M + 2, bool)
    free[M] = own[:, TIE].any() and own[:, :TIE].any()
    free[M + 1] = counts[1].any()
    start, limits = np.zeros(M + 2), np.full(M + 2, np.inf)
    limits[M + 1] = LARGEST
    gaps = _gaps(at, M)
    known = not has_side or side_is_known(table)
    if ties == "rao-kupper":
        if free[M]:
            tied = own[:, TIE].sum() / own.sum()
            # Among equals a share s of ties has the threshold log((1 + s) / (1 - s)).
            start[M] = np.log(np.log((1 + tied) / (1 - tied)))
        limits[M], known = LARGEST, True
        outcomes = _ordered(gaps, M, has_ties=bool(free[M]))
    else:
        features = np.stack([gaps / 2, -gaps / 2, np.zeros_like(gaps)], axis=1)
        features[:, TIE, M] = 1
        if ties == "davidson":
            known &= bounded_ties(*without_side(table))
        if ties != "davidson" or not own[:, TIE].any():
            free[M] = False
            half = own[:, TIE, None] / 2 if ties == "half" else 0.0
            features, own = features[:, :TIE], own[:, :TIE] + half
        outcomes = logit(features)
    if ties == "rao-kupper" and not own[:, :TIE].any():
        # Nothing but ties: all are equal.
        none = np.zeros((len(table), M, M, M + 2))
        return PairFit(start[:M], 0.0, 0.0, True, none, np.eye(M + 2))
    longest = 1.0 if ties == "rao-kupper" else 2.0
    found = maximise(
        [(outcomes, own)], start, M, longest=longest, free=free, limits=limits
    )
    theta, (log_ties, side) = np.split(found.parameters, [M])
    converged = known and found.converged
    influence, covariance = np.empty(0), np.empty(0)
    if converged:
        influence = _by_plane(found, at, len(table))
        covariance = found.covariance
    return PairFit(
        theta, float(log_ties), float(side), converged, influence, covariance
    )


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


def _by_plane(found: Maximum, at: tuple[Counts, ...], planes: int) -> Array:
    """Lay the influence of outcomes out as a table."""
    (own,) = found.influence
    if own.shape[1] == TIE:
        own = np.concatenate([own, own.mean(axis=1, keepdims=True)], axis=1)
    M, P = found.n_methods, len(found.parameters)
    cube = np.zeros((2, 3, M, M, P))
    cube[at[0], :, at[1], at[2]] = own
    adds = [cube[0, FIRST], cube[0, TIE]]
    if planes == 5:
        right = cube[1, SECOND].transpose(1, 0, 2)
        adds += [cube[1, FIRST], right, cube[1, TIE]]
    return np.stack(adds)


def _gaps(at: tuple[Counts, ...], M: int) -> Array:
    """Return the features of the log odds of the first: methods, ties, side."""
    known, first, second = at
    rows = np.arange(len(first))
    gaps = np.zeros((len(first), M + 2))
    gaps[rows, first], gaps[rows, second], gaps[:, M + 1] = 1, -1, known
    return gaps


def _ordered(gaps: Array, M: int, *, has_ties: bool) -> Outcomes:
    """Return Rao and Kupper's outcomes, with the logarithm of the threshold."""

    def outcomes(parameters: Array) -> tuple[Array, Array]:
        threshold = np.exp(parameters[M]) if has_ties else 0.0
        gap = gaps @ np.where(np.arange(M + 2) == M, 0, parameters)
        win, lose = expit(gap - threshold), expit(-gap - threshold)
        tie = np.maximum(1 - win - lose, 1e-300)
        of_win, of_loss = win * (1 - win), lose * (1 - lose)
        by_gap = np.stack([1 - win, lose - 1, (of_loss - of_win) / tie], axis=1)
        by_threshold = [win - 1, lose - 1, (of_win + of_loss) / tie]
        if not has_ties:
            by_gap[:, TIE], tie = 0, np.zeros_like(tie)
        scores = by_gap[:, :, None] * gaps[:, None]
        scores[:, :, M] = threshold * np.stack(by_threshold, axis=1)
        return np.stack([win, lose, tie], axis=1), scores

    return outcomes


def without_side(counts: Array) -> Array:
    """Add the planes of a table up to wins and ties, (2, M, M)."""
    if len(counts) == 2:
        return counts
    wins = counts[[WINS, WINS_ON_LEFT, WINS_ON_RIGHT]].sum(axis=0)
    return np.stack([wins, counts[TIED] + counts[TIED_LEFT_FIRST]])


def with_average_method(counts: Array, weight: float) -> Array:
    """Add a method that won and lost half of `weight` answers against each other."""
    planes, M, _ = counts.shape
    found = np.zeros((planes, M + 1, M + 1))
    found[:, :M, :M] = counts
    found[WINS, :M, M] = found[WINS, M, :M] = weight / 2
    return found


def side_is_known(table: Array) -> bool:
    """Tell whether the side is no sum of effects of methods: its residual is not 0."""
    counts, M = _by_outcome(np.asarray(table, float)).sum(axis=1), table.shape[-1]
    at = np.nonzero(counts)
    gaps = _gaps(at, M)
    information = gaps.T @ (counts[at][:, None] * gaps) / 4
    own, with_methods = information[M + 1, M + 1], information[:M, M + 1]
    # Methods that never met leave directions without information.
    inverse = np.linalg.pinv(
        information[:M, :M] + 1 / M, rcond=LEAST_KNOWN, hermitian=True
    )
    rest = own - with_methods @ inverse @ with_methods
    return bool(own > 0 and rest > LEAST_KNOWN * own)
