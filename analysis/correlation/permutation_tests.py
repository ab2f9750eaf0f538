"""Do two metrics agree with people equally well? A paired swap test.

Under the null hypothesis it does not matter which of two metrics a score comes
from, so their standardised scores may be swapped: for whole stories, for whole
methods, or both (PERM-INPUTS, PERM-SYSTEMS, PERM-BOTH).
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from analysis.correlation.cell_means import HUMAN_DIGITS, turned
from analysis.correlation.coefficients import RANKED, correlate, standardise
from analysis.correlation.levels import level_values
from analysis.correlation.permutation_draws import AnyCoins, Coins, Thrown
from analysis.correlation.permutation_pairs import Contests, Points, contests
from analysis.correlation.permutation_sums import swapped_values
from analysis.correlation.permutation_ties import own_ties
from analysis.correlation.weighted_sums import Floats
from analysis.inference.parallel import in_threads
from analysis.inference.resampling import no_draws, stream
from analysis.reading.cells import CellGrid
from analysis.results import NAN, Array, Mask

SLACK = 1e-9
# Means of standardised scores are computed numbers: equal up to rounding is equal.
MEAN_DIGITS = 12
TEST_NAMES = {
    ("stories",): "perm-stories",
    ("methods",): "perm-methods",
    ("stories", "methods"): "perm-both",
    ("units",): "perm-units",
}
METHODS = (("methods",),)
# Sums over the ties of each metric kept for all pairs: metrics x groups x swaps.
MOST_KEPT = 8_000_000


@dataclass(frozen=True)
class Difference:
    """What the swap test says of one pair of metrics at one level.

    Attributes
    ----------
    metric_a, metric_b
        The pair, in alphabetical order.
    coefficient
        ``kendall``, ``kendall_c``, ``spearman`` or ``pearson``.
    p_value
        Two-sided; NaN where the difference is undefined.
    test
        What was swapped.
    """

    metric_a: str
    metric_b: str
    coefficient: str
    p_value: float
    test: str


def swap_tests(
    grid: CellGrid,
    level: str,
    *,
    coefficients: Sequence[str],
    parts: tuple[str, ...],
    resamples: int,
    seed: int,
) -> list[Difference]:
    r"""Test every pair of metrics for equal agreement with people.

    Parameters
    ----------
    grid
        The common subset of one question.
    level
        ``"method"``, ``"story"``, ``"within_method"`` or ``"pooled"``.
    coefficients
        Some of ``kendall``, ``kendall_c``, ``spearman``, ``pearson``.
    parts
        What is swapped: ``stories``, ``methods``, both, or ``units`` (single
        cells, which treats them as independent). Annotators cannot be swapped;
        without any of these, both stories and methods are.
    resamples
        Number of random swaps; 0 makes no test.
    seed
        Seed of the coins. All pairs of one question share them.

    Returns
    -------
    list of Difference
        One a pair and coefficient.

    Notes
    -----
    Both metrics are standardised over the common cells. The p-value is
    :math:`(c + 1) / (k + 1)`, where c counts swaps with a difference at least
    as large in absolute value.

    With PERM-BOTH each story and each method throws a coin, and the scores of a
    cell are swapped where its two coins differ. The coins of any two cells are
    then uncorrelated, also inside one story, so by itself it is hardly stricter
    than swapping single cells. Therefore stories are swapped as well, and the
    larger of the two p-values is reported together with the test it comes from.

    Method-level scores can only be swapped for whole methods.

    The statistic is the difference of the two coefficients, except where scores tie
    in a group of more than `permutation_sums.EXACT_PAIRS` points: there one term of
    the rank coefficients is replaced by its mean over the swaps (see
    `permutation_sums.swapped_values`). A permutation test is exact for any statistic.

    References
    ----------
    Deutsch, D., Dror, R. and Roth, D. (2021), A Statistical Analysis of
    Summarization Evaluation Metrics Using Resampling Methods, TACL 9.
    """
    if resamples == 0 or not grid.cells.any():
        return []
    pairs = list(itertools.combinations(range(len(grid.metrics)), 2))
    swaps_of = {pair: _swaps_of(grid, pair, parts) for pair in pairs}
    compare = _comparison(grid, level, coefficients)
    thrown = {
        swap: compare.prepared(_throw(grid, swap, resamples, seed), coefficients)
        for swap in dict.fromkeys(itertools.chain(*swaps_of.values()))
    }

    def test(pair: tuple[int, int]) -> list[Difference]:
        a, b = pair
        names, swaps = (grid.metrics[a], grid.metrics[b]), swaps_of[pair]
        values = {swap: compare(a, b, thrown[swap], coefficients) for swap in swaps}
        found = []
        for name in coefficients:
            tests = [(_p_value(values[s][name]), TEST_NAMES[s]) for s in swaps]
            found.append(Difference(*names, name, *max(tests)))
        return found

    return [found for tests in in_threads(test, pairs) for found in tests]


def _swaps_of(
    grid: CellGrid, pair: tuple[int, int], parts: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    names = {grid.metrics[k] for k in pair}
    if grid.human_is_method_level or grid.method_level & names:
        return METHODS
    return _swaps(parts)


def _swaps(parts: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the swaps to make; the largest of their p-values is reported."""
    if "units" in parts:
        return (("units",),)
    chosen = tuple(part for part in parts if part in {"stories", "methods"})
    if len(chosen) == 1:
        return (chosen,)
    return ("stories", "methods"), ("stories",)


def _throw(grid: CellGrid, parts: tuple[str, ...], resamples: int, seed: int) -> Thrown:
    rng = stream(seed, "swaps", grid.question, *parts)
    S, M = grid.cells.shape
    shapes = {"stories": (S,), "methods": (M,), "units": (S, M)}
    found = {
        part: np.ones((1 + resamples, *shapes[part]), np.float64)
        for part in ("stories", "methods", *parts)
    }
    for part in parts:
        found[part][1:] = rng.integers(0, 2, (resamples, *shapes[part])) * 2 - 1
    return Thrown(found["stories"], found["methods"], found.get("units"))


def _p_value(differences: Array) -> float:
    observed, swapped = differences[0], differences[1:]
    defined = swapped[np.isfinite(swapped)]
    if np.isnan(observed) or not defined.size:
        return NAN
    count = int((np.abs(defined) >= abs(observed) - SLACK).sum())
    return (count + 1) / (defined.size + 1)


class _Compare(Protocol):
    """Returns coefficient(a) - coefficient(b) after each swap, shape (1 + B,)."""

    def prepared(self, thrown: Thrown, coefficients: Sequence[str]) -> Thrown: ...

    def __call__(
        self, a: int, b: int, thrown: Thrown, coefficients: Sequence[str]
    ) -> dict[str, Array]: ...


def _comparison(grid: CellGrid, level: str, coefficients: Sequence[str]) -> _Compare:
    """Prepare what all pairs of metrics share; standardised scores first of all."""
    ranked = bool(set(RANKED) & set(coefficients))
    used = grid.cells.reshape(-1)
    flat = standardise(grid.scores.reshape(len(grid.scores), -1), used)
    scores = flat.reshape(grid.scores.shape)
    if level == "method":
        once = no_draws(*grid.cells.shape)
        found = level_values(grid, level, once, coefficients)
        own = {name: values[:, 0] for name, values in found.items()}
        return _MethodMeans(grid, scores, own)
    if level == "pooled":
        cells = grid.cells
        points = Points(
            grid.human[cells][None],
            scores[:, None, cells],
            np.ones((1, int(cells.sum())), bool),
            grid.scores[:, None, cells],
        )
        return _Pooled(cells, points, contests(points) if ranked else None)
    inside = turned(grid) if level == "within_method" else grid
    if level == "within_method":
        scores = scores.transpose(0, 2, 1)
    points = Points(inside.human, scores, inside.cells, inside.scores)
    return _InGroups(level, points, contests(points) if ranked else None)


@dataclass(frozen=True)
class _Pooled:
    cells: Mask
    points: Points
    met: Contests | None

    def prepared(self, thrown: Thrown, coefficients: Sequence[str]) -> Thrown:
        """Sum ties inside each metric."""
        coins, own = thrown.of_cells(self.cells), None
        if set(RANKED) & set(coefficients):
            metrics = range(len(self.points.scores))
            found = in_threads(lambda k: own_ties(self.points, k, coins), metrics)
            own = dict(enumerate(found))
        return replace(thrown, coins=coins, own=own)

    def __call__(
        self, a: int, b: int, thrown: Thrown, coefficients: Sequence[str]
    ) -> dict[str, Array]:
        assert thrown.coins is not None
        found = swapped_values(
            self.points, self.met, a, b, thrown.coins, coefficients, thrown.own
        )
        return {name: first[0] - second[0] for name, (first, second) in found.items()}


@dataclass(frozen=True)
class _InGroups:
    """Coins of the group (a story) and of the points inside it (methods).

    A group's own coin exchanges its two results; the coins of points are shared by
    all groups, so the coefficients are computed once for these alone.
    """

    level: str
    points: Points
    met: Contests | None

    def prepared(self, thrown: Thrown, coefficients: Sequence[str]) -> Thrown:
        """Keep the coins of points once where no point has one; sum ties."""
        coins = thrown.turned() if self.level == "within_method" else thrown
        inner = coins.methods
        if (inner == 1).all():
            inner = inner[:1]
        coins = replace(coins, coins=Coins(inner.T))
        K, (G, _N) = len(self.points.scores), self.points.used.shape
        few = K * G * len(coins.stories) <= MOST_KEPT
        if not (few and set(RANKED) & set(coefficients)):
            return coins
        found = in_threads(lambda k: self._own(k, coins), range(K))
        return replace(coins, own=dict(enumerate(found)))

    def _own(self, k: int, thrown: Thrown) -> Floats:
        found = [own_ties(part.points, k, own) for part, own in self._parts(thrown)]
        return np.concatenate(found, axis=2)

    def _parts(self, thrown: Thrown) -> Iterator[tuple["_InGroups", AnyCoins]]:
        """Yield groups that share coins: all of them, or each alone."""
        assert thrown.coins is not None
        if thrown.units is None:
            yield self, thrown.coins
            return
        points, met = self.points, self.met
        for g in range(len(points.used)):
            one = slice(g, g + 1)
            yield (
                _InGroups(
                    self.level,
                    Points(
                        points.human[one],
                        points.scores[:, one],
                        points.used[one],
                        points.given[:, one],
                    ),
                    met and met.of_groups(one),
                ),
                Coins(thrown.units[:, g].T),
            )

    def __call__(
        self, a: int, b: int, thrown: Thrown, coefficients: Sequence[str]
    ) -> dict[str, Array]:
        found: dict[str, list[tuple[Array, Array]]] = {n: [] for n in coefficients}
        start = 0
        for part, coins in self._parts(thrown):
            stop = start + len(part.points.used)
            own = thrown.own and {k: thrown.own[k][:, :, start:stop] for k in (a, b)}
            values = swapped_values(
                part.points, part.met, a, b, coins, coefficients, own
            )
            for name, pair in values.items():
                found[name].append(pair)
            start = stop
        return {
            name: _swapped(
                thrown.stories.T, *map(np.concatenate, zip(*pairs, strict=True))
            )
            for name, pairs in found.items()
        }


def _swapped(coins: Array, first: Array, second: Array) -> Array:
    """Exchange two results in whole groups, average both, and subtract.

    Coins (G, B), results (G, B) or (G, 1).
    """
    defined = np.isfinite(first)
    if (defined == np.isfinite(second)).all():
        apart = np.where(defined, first - second, 0.0)
        total = np.einsum("gb,gb->b", coins, np.broadcast_to(apart, coins.shape))
        count = defined.sum(axis=0)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)
    kept = coins > 0
    return _average(np.where(kept, first, second)) - _average(
        np.where(kept, second, first)
    )


def _average(values: Array) -> Array:
    """Average over groups where defined: shape (G, B) to (B,)."""
    defined = np.isfinite(values)
    count = defined.sum(axis=0)
    total = np.where(defined, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


@dataclass(frozen=True)
class _MethodMeans:
    """Swap cells, then average over the cells of each method, then correlate.

    `own` has the coefficients of the metrics as they are: where all cells are swapped
    or none. Means of standardised scores, in which small ones lack digits, are for
    mixtures.
    """

    grid: CellGrid
    scores: Array
    own: dict[str, Array]

    def prepared(self, thrown: Thrown, _coefficients: Sequence[str]) -> Thrown:
        """Nothing is shared but the coins."""
        return thrown

    def __call__(
        self, a: int, b: int, thrown: Thrown, coefficients: Sequence[str]
    ) -> dict[str, Array]:
        grid, za, zb = self.grid, self.scores[a], self.scores[b]
        n = np.maximum(grid.cells.sum(axis=0), 1)
        half = np.where(grid.cells, (za - zb) / 2, 0.0)
        middle = ((za + zb) / 2).sum(axis=0) / n
        if thrown.units is None:
            shift = (thrown.stories @ half) * thrown.methods / n
        else:
            shift = np.einsum("bsm,sm->bm", thrown.units, half) / n
        human = np.round(grid.human.sum(axis=0) / n, HUMAN_DIGITS)
        used = grid.cells.any(axis=0)
        both = np.round(np.concatenate([middle + shift, middle - shift]), MEAN_DIGITS)
        orders = np.broadcast_to(human[used], (len(both), int(used.sum())))
        once = np.ones((len(both), 1, orders.shape[1]))
        found = correlate(orders, both[None, :, used], once, coefficients)
        whole = thrown.whole(grid.cells)
        return {
            name: np.where(
                whole != 0,
                whole * (own[a] - own[b]),
                np.subtract(*np.split(values[0, :, 0], 2)),
            )
            for (name, values), own in zip(
                found.items(), self.own.values(), strict=True
            )
        }
