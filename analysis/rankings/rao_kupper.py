"""Strengths of methods by maximum likelihood where near equals tie: Rao and Kupper."""

from dataclasses import dataclass

import numpy as np

from analysis.results import Array

STEPS = 200
CONVERGED = 1e-10
# Largest change of a parameter in one step.
LONGEST_STEP = 1.0
# A threshold or a side beyond so many log odds has no finite maximum.
LARGEST = 15.0
# Outcomes of one comparison: the first wins, the second wins, neither.
FIRST, SECOND, TIE = range(3)


@dataclass(frozen=True)
class OrderedFit:
    """Parameters of one table, and what one more answer would add to them."""

    theta: Array
    log_threshold: float
    side: float
    converged: bool
    information: Array
    scores: Array


def fit_ordered(counts: Array) -> OrderedFit:
    r"""Fit strengths, the threshold of a tie, and the side.

    With :math:`\eta = \theta_i - \theta_j`, plus :math:`\delta` where i stands on the
    left, and a threshold :math:`\tau > 0`:

    .. math:: P(i) = \sigma(\eta - \tau), \quad P(j) = \sigma(-\eta - \tau), \quad
              P(tie) = 1 - P(i) - P(j)

    (Rao and Kupper 1967, JASA 62, whose parameter is :math:`e^\tau`). Without ties
    there is no threshold, and the model is Bradley-Terry's. Found by Fisher's scoring.
    """
    M = counts.shape[-1]
    parameters = np.zeros(M + 2)
    if not counts[:, :TIE].any():
        # Nothing but ties: all are equal.
        none = np.zeros((2, 3, M, M, M + 2))
        return OrderedFit(parameters[:M], 0.0, 0.0, True, np.eye(M + 2), none)
    free = np.ones(M + 2, bool)
    free[M] = counts[:, TIE].any()
    free[M + 1] = counts[1].any()
    if free[M]:
        tied = counts[:, TIE].sum() / counts.sum()
        # Among equals a share s of ties has the threshold log((1 + s) / (1 - s)).
        parameters[M] = np.log(np.log((1 + tied) / (1 - tied)))
    converged = False
    information, scores = np.eye(M + 2), np.zeros((2, 3, M, M, M + 2))
    for _ in range(STEPS):
        gradient, information, scores = _derivatives(parameters, counts, free)
        step = np.linalg.solve(information, gradient)
        step[:M] -= step[:M].mean()
        largest = np.abs(step).max()
        if not np.isfinite(largest):
            break
        parameters += step * min(1.0, LONGEST_STEP / (largest + 1e-300))
        if largest < CONVERGED:
            converged = True
            break
        if np.abs(parameters[M:]).max() > LARGEST:
            break
    theta = parameters[:M] - parameters[:M].mean()
    return OrderedFit(
        theta,
        float(parameters[M]),
        float(parameters[M + 1]),
        converged,
        information,
        scores,
    )


def _derivatives(
    parameters: Array, counts: Array, free: Array
) -> tuple[Array, Array, Array]:
    """Return the gradient, the expected information, and the gradients of answers."""
    M = counts.shape[-1]
    chance, by_gap, by_threshold = _outcomes(parameters, M, has_ties=bool(free[M]))
    scores = np.zeros((2, 3, M, M, M + 2))
    i, j = np.indices((M, M))
    for known in (0, 1):
        for outcome in range(3):
            scores[known, outcome, i, j, i] += by_gap[known, outcome]
            scores[known, outcome, i, j, j] -= by_gap[known, outcome]
            scores[known, outcome, ..., M] = by_threshold[known, outcome]
            scores[known, outcome, ..., M + 1] = known * by_gap[known, outcome]
    scores[..., np.logical_not(free)] = 0
    flat = scores.reshape(-1, M + 2)
    gradient = counts.ravel() @ flat
    expected = (counts.sum(axis=1, keepdims=True) * chance).ravel()
    information = flat.T @ (expected[:, None] * flat)
    # Only differences of strengths matter: fix their sum.
    information[:M, :M] += 1 / M
    fixed = np.flatnonzero(np.logical_not(free))
    information[fixed, fixed] = 1
    return gradient, information, scores


def _outcomes(
    parameters: Array, M: int, *, has_ties: bool
) -> tuple[Array, Array, Array]:
    """Return chances (2, 3, M, M), and slopes of their logarithms."""
    theta, threshold = parameters[:M], np.exp(parameters[M]) if has_ties else 0.0
    gap = theta[:, None] - theta
    gap = np.stack([gap, gap + parameters[M + 1]])
    win, lose = _logistic(gap - threshold), _logistic(-gap - threshold)
    tie = np.maximum(1 - win - lose, 1e-300)
    of_win, of_loss = win * (1 - win), lose * (1 - lose)
    by_gap = np.stack([1 - win, lose - 1, (of_loss - of_win) / tie], axis=1)
    by_threshold = threshold * np.stack(
        [win - 1, lose - 1, (of_win + of_loss) / tie], axis=1
    )
    if not has_ties:
        by_gap[:, TIE], by_threshold[:] = 0, 0
        tie = np.zeros_like(tie)
    return np.stack([win, lose, tie], axis=1), by_gap, by_threshold


def _logistic(x: Array) -> Array:
    return np.asarray(0.5 + 0.5 * np.tanh(x / 2))
