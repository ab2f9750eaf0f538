"""Maximum likelihood where one of several outcomes occurs, by Fisher's scoring."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import softmax

from analysis.results import Array, Mask

STEPS = 200
CONVERGED = 1e-10
# Of S comparisons with k outcomes each: their probabilities (S, k) at some parameters,
# and the gradients of the logarithms of these (S, k, P).
Outcomes = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Maximum:
    """Parameters of a likelihood, of which the first are strengths that sum to 0."""

    parameters: Array
    converged: bool
    information: Array
    scores: Sequence[Array]
    n_methods: int

    @cached_property
    def covariance(self) -> Array:
        """The inverse of the information, answers being independent."""
        inverse = np.linalg.inv(self.information)
        inverse[: self.n_methods, : self.n_methods] -= 1 / self.n_methods
        return np.asarray(inverse)

    @cached_property
    def influence(self) -> list[Array]:
        """What one more outcome of each kind would add to the parameters, (S, k, P)."""
        return [own @ self.covariance for own in self.scores]


def logit(features: Array) -> Outcomes:
    """Return outcomes whose log odds are features (S, k, P) times parameters."""

    def outcomes(parameters: Array) -> tuple[Array, Array]:
        chance = softmax(features @ parameters, axis=1)
        expected = np.einsum("sk,skp->sp", chance, features)
        return chance, features - expected[:, None]

    return outcomes


def maximise(
    parts: Sequence[tuple[Outcomes, Array]],
    start: Array,
    n_methods: int,
    *,
    longest: float = 2.0,
    free: Mask | None = None,
    limits: Array | None = None,
) -> Maximum:
    """Fit parameters to how often each outcome occurred, counts of shape (S, k)."""
    M, parameters, converged = n_methods, start, False
    fixed = np.zeros(len(start), bool) if free is None else ~free

    def derivatives() -> tuple[Array, Array, list[Array]]:
        gradient, scores = np.zeros(len(start)), []
        # Only differences of strengths matter: fix their sum.
        information = np.zeros((len(start), len(start)))
        information[:M, :M] = 1 / M
        for outcomes, counts in parts:
            chance, own = outcomes(parameters)
            own[..., fixed] = 0
            expected = counts.sum(axis=1, keepdims=True) * chance
            flat = own.reshape(-1, len(start))
            gradient += counts.ravel() @ flat
            information += flat.T @ (expected.reshape(-1, 1) * flat)
            scores.append(own)
        information[fixed, fixed] = 1
        return gradient, information, scores

    for _ in range(STEPS):
        gradient, information, scores = derivatives()
        try:
            step = np.linalg.solve(information, gradient)
        except np.linalg.LinAlgError:
            break
        # Only rounding, which grows with the answers, moves all strengths at once.
        step[:M] -= step[:M].mean()
        largest = float(np.abs(step).max())
        if not np.isfinite(largest):
            break
        parameters = parameters + step * min(1.0, longest / (largest + 1e-300))
        converged = largest < CONVERGED
        if converged or (limits is not None and (np.abs(parameters) > limits).any()):
            break
    parameters[:M] -= parameters[:M].mean()
    _, information, scores = derivatives()
    return Maximum(parameters, converged, information, scores, M)
