r"""Means of two waves of ratings that share linking outputs, and their errors.

Ratings are :math:`y = c + \delta w + e`, with c the output and w the later wave. An
estimate is a weighted sum :math:`\ell'y` of them. Its variance adds what people vary
around outputs and wave to what stories vary around means; single ratings are in both,
and are taken off once (Cameron, Gelbach and Miller 2011, JBES 29(2)). Every sum of
squares is divided by its expectation under equal errors, and has the degrees of freedom
that these imply (Bell and McCaffrey 2002, Survey Methodology 28(2)): where people are
few their number counts, and somebody in both waves is one person.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from analysis.inference.crossed_clusters import (
    PRIOR_FREEDOM,
    ClusteredVariance,
    Errors,
    joined_errors,
)
from analysis.results import Array, Counts, Estimate, Mask
from analysis.sentences import sentence

# Below this share of their errors, ratings say too little beside the outputs' means.
LEAST_LEFT = 0.2
FEW_PEOPLE = sentence("each wave needs two people or more")
FEW_RATINGS = sentence("too few outputs have two ratings in a wave")
NO_SPREAD = sentence("nothing varies")


# The mean of some outputs in one wave: what each rating adds to it.
Group = Array


@dataclass(frozen=True)
class Waves:
    """Each person's ratings of outputs in the first wave (0) and the later one (1)."""

    value: Array
    wave: Counts
    person: Counts
    story: Counts
    output: Counts

    @cached_property
    def is_linking(self) -> Mask:
        """Ratings of outputs that were rated in both waves."""
        shape = (2, int(self.output.max()) + 1)
        known = np.zeros(shape, bool)
        known[self.wave, self.output] = True
        return np.asarray((known[0] & known[1])[self.output])

    def group(self, kept: Mask) -> Group:
        """Return the mean of the kept ratings, which are of one wave.

        Outputs count equally, and so do the ratings of one.
        """
        outputs, place = np.unique(self.output[kept], return_inverse=True)
        weights = np.zeros(len(self.value))
        weights[kept] = 1 / (np.bincount(place)[place] * max(len(outputs), 1))
        return weights

    def mean(self, group: Group) -> float:
        return float(group @ self.value)

    @cached_property
    def _sizes(self) -> Array:
        return np.bincount(self.output).astype(float)

    @cached_property
    def _wave_alone(self) -> tuple[Array, float]:
        """Return the wave without the outputs' means, and its sum of squares."""
        own = self.wave - self._within(self.wave.astype(float))
        return own, float(own @ own)

    def _within(self, values: Array) -> Array:
        sums = np.bincount(self.output, values, minlength=len(self._sizes))
        means = np.divide(sums, self._sizes, np.zeros(len(sums)), where=sums != 0)
        return np.asarray(means[self.output])

    @cached_property
    def _rest(self) -> Array:
        """Ratings without the effects of output and wave."""
        alone, square = self._wave_alone
        rest = self.value - self._within(self.value)
        return rest - alone * ((alone @ rest) / square) if square else rest

    @cached_property
    def _left(self) -> Array:
        """The share of each rating's error that output and wave leave."""
        alone, square = self._wave_alone
        left = 1 - 1 / self._sizes[self.output]
        return left - alone**2 / square if square else left

    def estimate(
        self, groups: list[tuple[float, Group]], confidence: float
    ) -> Estimate:
        """Return a sum of means, each times a number, with interval and test of 0."""
        value = sum(times * self.mean(group) for times, group in groups)
        errors, reason = self.errors(groups)
        n = int(sum((group > 0).sum() for _times, group in groups))
        if errors is None:
            return Estimate(value, n=n, reason=reason)
        low, high = errors.intervals(np.array([value]), confidence)
        p_value = errors.p_values(np.array([value]))
        return Estimate(
            value,
            float(low[0]),
            float(high[0]),
            n,
            p_value=float(p_value[0]),
            reason=NO_SPREAD if np.isnan(low[0]) else "",
        )

    def errors(self, groups: list[tuple[float, Group]]) -> tuple[Errors | None, str]:
        """Return variance and degrees of freedom of a sum, or why there are none."""
        weights = np.sum([k * group for k, group in groups], axis=0)
        used = np.flatnonzero(weights)
        for wave in np.unique(self.wave[used]):
            if len(np.unique(self.person[used][self.wave[used] == wave])) < 2:
                return None, FEW_PEOPLE
        total = float(weights @ weights)
        left = weights**2 * self._left
        if left.sum() < LEAST_LEFT * total:
            return None, FEW_RATINGS
        single = float((weights * self._rest) @ (weights * self._rest))
        single *= total / float(left.sum())
        people = self._of_people(weights, total)
        stories = _moderated(*self._of_stories(groups, weights, total), single)
        # Single ratings count as many as they are, less those that means use up.
        n_single = total * float(left.sum()) / float((weights**4).sum())
        kinds = [
            ClusteredVariance(np.array([v]), np.array([n + 1]), np.ones(1))
            for v, n in (stories, people)
        ]
        both = np.array([single])
        return joined_errors(kinds, both, np.array([n_single + 1]), rank=1), ""

    def _of_people(self, weights: Array, total: float) -> tuple[float, float]:
        _codes, person = np.unique(self.person, return_inverse=True)
        sums = np.bincount(person, weights * self._rest).astype(float)
        P, C = len(sums), len(self._sizes)
        shape = (P, C)
        added = sparse.coo_array((weights, (person, self.output)), shape).tocsr()
        added = added @ sparse.diags_array(1 / np.sqrt(np.maximum(self._sizes, 1)))
        expected = np.diag(np.bincount(person, weights**2)).astype(float)
        expected -= (added @ added.T).toarray()
        alone, square = self._wave_alone
        if square:
            moved = np.bincount(person, weights * alone)
            expected -= np.outer(moved, moved) / square
        return _corrected(sums, expected, total)

    def _of_stories(
        self, groups: list[tuple[float, Group]], weights: Array, total: float
    ) -> tuple[float, float]:
        _codes, story = np.unique(self.story, return_inverse=True)
        W = np.stack([group for _times, group in groups], axis=1)
        times = np.array([k for k, _group in groups])
        S = int(story.max()) + 1
        added = np.stack(
            [
                np.bincount(story, k * w, minlength=S)
                for k, w in zip(times, W.T, strict=True)
            ],
            axis=1,
        )
        sums = np.bincount(story, weights * self.value, minlength=S).astype(float)
        sums -= added @ (W.T @ self.value)
        shared = np.stack(
            [np.bincount(story, weights * w, minlength=S) for w in W.T], axis=1
        )
        squares = np.diag(np.bincount(story, weights**2, minlength=S))
        expected = squares - added @ shared.T - shared @ added.T
        expected = expected + added @ (W.T @ W) @ added.T
        return _corrected(sums, expected, total)


def _moderated(variance: float, n: float, single: float) -> tuple[float, float]:
    """Move the variance by stories, with n degrees of freedom, to that of ratings.

    Linking outputs are few, and what stories add to single ratings is mostly small: it
    counts as if it had been nothing in `PRIOR_FREEDOM` stories more (Smyth 2004).
    """
    whole = n + PRIOR_FREEDOM
    return (n * variance + PRIOR_FREEDOM * single) / whole, whole


def _corrected(sums: Array, expected: Array, total: float) -> tuple[float, float]:
    """Return a variance from sums over clusters, and its degrees of freedom."""
    trace = float(np.trace(expected))
    if trace <= 1e-12 * total:
        return 0.0, 1.0
    freedom = trace**2 / float((expected * expected).sum())
    return float(sums @ sums) * total / trace, max(freedom, 1.0)
