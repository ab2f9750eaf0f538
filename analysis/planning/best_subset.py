"""Benchmarks laid out by story and method: means of some stories, and their order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.correlations.coefficients import correlate
from analysis.inference.resampling import divided, interval, stream, unit_of
from analysis.options import COEFFICIENTS
from analysis.reading.cells import rated_grid
from analysis.reading.scores import ScoreTable, laid_out
from analysis.results import NAN, Array, Estimate, Mask, TableRow, undefined
from analysis.sentences import sentence

SAME_MEANS = sentence("all means are the same")


@dataclass(frozen=True)
class BenchmarkScores:
    """One metric's scores, or people's ratings on one question, of a benchmark."""

    question: str
    metric: str
    stories: tuple[str, ...]
    methods: tuple[str, ...]
    values: Array
    higher_is_better: bool = True

    @property
    def of_methods(self) -> bool:
        """True if there are no stories to choose from."""
        return self.stories == ("",)

    def part(self, stories: Mask) -> "BenchmarkScores":
        names = tuple(np.array(self.stories, object)[stories])
        return replace(self, stories=names, values=self.values[stories])

    def named(self, methods: Sequence[str]) -> "BenchmarkScores":
        where = [self.methods.index(name) for name in methods]
        return replace(self, methods=tuple(methods), values=self.values[:, where])

    def means(self) -> Array:
        """Return each method's mean over its stories; NaN without one."""
        return np.asarray(story_means(self.values, np.ones((1, len(self.stories))))[0])


def story_means(values: Array, weights: Array) -> Array:
    """Average over weighted stories: weights (B, S) to means (B, M)."""
    present = np.isfinite(values)
    count = weights @ present
    return divided(weights @ np.where(present, values, 0.0), count)


def score_boards(table: ScoreTable) -> list[BenchmarkScores]:
    """Lay out every metric of a table of scores."""
    found = []
    for metric in table.metrics:
        rows = table.cells[table.cells["metric"] == metric]
        stories = tuple(sorted(rows["story"].unique()))
        methods = tuple(sorted(rows["method"].unique()))
        values = laid_out(rows, "score", stories, methods)
        better = table.higher_is_better[metric]
        found.append(BenchmarkScores("", metric, stories, methods, values, better))
    return found


def rating_boards(by_annotator: pd.DataFrame) -> list[BenchmarkScores]:
    """Lay out people's cell means, of rows of `cells.annotator_cells`."""
    found = []
    for dimension, rows in by_annotator.groupby("dimension", sort=True):
        grid = rated_grid(str(dimension), rows)
        values = np.where(grid.cells, grid.human, np.nan)
        found.append(
            BenchmarkScores(grid.question, "", grid.stories, grid.methods, values)
        )
    return found


def weighted_correlations(a: Array, b: Array, weights: Array) -> dict[str, Array]:
    """Correlate rows of (B, M) under weights of the methods."""
    if not len(a):
        return {name: np.empty(0) for name in COEFFICIENTS}
    # Means of whole numbers of cells: what differs in the last bits is tied.
    a, b = np.round(a / unit_of(a), 12), np.round(b / unit_of(b), 12)
    found = correlate(a, b[None], weights[:, None, :], COEFFICIENTS)
    return {name: values[0, :, 0] for name, values in found.items()}


def correlated_means(a: Array, b: Array, weights: Array) -> dict[str, Array]:
    """Correlate over the methods that have both means."""
    known = np.isfinite(a) & np.isfinite(b)
    weights = np.where(known, weights, 0.0)
    return weighted_correlations(
        np.where(known, a, 0.0), np.where(known, b, 0.0), weights
    )


def mean_defined(values: Array) -> float:
    """Average the values that are defined; NaN where none is."""
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else NAN


def over_draws(
    draws: Array,
    confidence: float,
    value: float | None = None,
    *,
    why: str = SAME_MEANS,
) -> Estimate:
    """Return a value, or else the mean of the draws, with the interval of the draws."""
    found = mean_defined(draws) if value is None else value
    if np.isnan(found):
        return undefined(why)
    low, high, reason = interval(draws, confidence)
    return Estimate(found, low, high, reason=reason)


def random_subsets(S: int, n: int, times: int, rng: np.random.Generator) -> Array:
    """Draw `times` subsets of n of S stories, as weights (times, S)."""
    order = rng.random((times, S)).argsort(axis=1)
    chosen = np.zeros((times, S))
    np.put_along_axis(chosen, order[:, :n], 1.0, 1)
    return chosen


# Halvings of the methods, and random subsets beside the chosen one in each.
SPLITS, RANDOM = 20, 50
# Fewer methods have no halves in which an order could be checked.
LEAST_METHODS = 6
SIZES = (5, 10, 20, 40, 80)
EXCHANGES = 500


def best_subsets(
    boards: Sequence[BenchmarkScores],
    *,
    sizes: Sequence[int] = SIZES,
    confidence: float,
    seed: int,
) -> tuple[list[TableRow], list[TableRow]]:
    """Search for the stories that keep means and order of the methods best."""
    usable = [b for b in boards if not b.of_methods]
    rows: list[TableRow] = [
        _best_row(
            b, undefined(sentence("values are of whole methods, without stories"))
        )
        for b in boards
        if b.of_methods
    ]
    if not usable:
        return rows, []
    stories, methods, cube = _together(usable)
    sizes, why = [n for n in dict.fromkeys(sizes) if 0 < n < len(stories)], ""
    if not sizes:
        why = sentence(
            "no size is smaller than the {n} stories there are", n=len(stories)
        )
    elif len(methods) < LEAST_METHODS:
        why = sentence(
            "fewer than {n} methods: no half could check the other", n=LEAST_METHODS
        )
    if why:
        return rows + [_best_row(b, undefined(why)) for b in usable], []
    checked, chosen = _checked(cube, sizes, stream(seed, "best subset"))
    half = len(methods) - len(methods) // 2
    for b, board in enumerate(usable):
        for (n, name, source), values in checked.items():
            found = over_draws(values[:, b], confidence)
            rows.append(_best_row(board, found, n, name, source, half))
    listed: list[TableRow] = []
    distance = _distances(cube)
    for n in sizes:
        for place, s in enumerate(_search(distance, n), 1):
            share = float(chosen[n][s])
            listed.append(
                {"size": n, "place": place, "story": stories[s], "chosen": share}
            )
    return rows, listed


def _best_row(
    board: BenchmarkScores,
    found: Estimate,
    size: float = NAN,
    statistic: str = "",
    source: str = "",
    n: int = 0,
) -> TableRow:
    return {
        "question": board.question,
        "metric": board.metric,
        **found.columns(),
        "n": n,
        "size": size,
        "statistic": statistic,
        "source": source,
    }


def _together(
    boards: Sequence[BenchmarkScores],
) -> tuple[tuple[str, ...], tuple[str, ...], Array]:
    """Lay boards out on common stories and methods, (K, S, M), each in its unit."""
    stories = tuple(sorted({s for b in boards for s in b.stories}))
    methods = tuple(sorted({m for b in boards for m in b.methods}))
    cube = np.full((len(boards), len(stories), len(methods)), np.nan)
    for k, board in enumerate(boards):
        rows = np.searchsorted(stories, board.stories)
        columns = np.searchsorted(methods, board.methods)
        cube[k][np.ix_(rows, columns)] = board.values / unit_of(board.values)
    return stories, methods, cube


def _distances(cube: Array) -> Array:
    """Return products (S, S) whose mean over a subset is its squared error."""
    with np.errstate(invalid="ignore"):
        present = np.isfinite(cube)
        count = np.maximum(present.sum(axis=1), 1)
        means = np.where(present, cube, 0.0).sum(axis=1) / count
        known = np.asarray(present.any(axis=1))
        mean = (means * known).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        squares = np.where(known, means - mean[:, None], 0.0) ** 2
        spread = np.sqrt(squares.sum(axis=1))
    scale = np.where(spread > 0, spread, 1.0)[:, None, None]
    apart = np.where(present, (cube - means[:, None, :]) / scale, 0.0)
    flat = apart.transpose(1, 0, 2).reshape(cube.shape[1], -1)
    return np.asarray(flat @ flat.T)


def _search(products: Array, n: int) -> list[int]:
    """Choose n stories: greedily, then exchange while the sum of products falls."""
    own = np.diag(products)
    chosen: list[int] = []
    towards = np.zeros(len(products))
    for _ in range(n):
        cost = 2 * towards + own
        cost[chosen] = np.inf
        best = int(np.argmin(cost))
        chosen.append(best)
        towards += products[best]
    for _ in range(EXCHANGES):
        out = np.array(chosen)
        others = np.setdiff1d(np.arange(len(products)), out)
        change = (
            2 * (towards[others][None, :] - towards[out][:, None])
            - 2 * products[np.ix_(out, others)]
            + own[out][:, None]
            + own[others][None, :]
        )
        where = np.unravel_index(int(np.argmin(change)), change.shape)
        if change[where] >= -1e-9 * max(1.0, float(own.max())):
            break
        gone, come = chosen[where[0]], int(others[where[1]])
        chosen[where[0]] = come
        towards += products[come] - products[gone]
    return chosen


def _checked(
    cube: Array, sizes: Sequence[int], rng: np.random.Generator
) -> tuple[dict[tuple[int, str, str], Array], dict[int, Array]]:
    """Choose on one half of the methods, check on the other."""
    K, S, M = cube.shape
    found = {
        (n, name, source): np.full((SPLITS, K), np.nan)
        for n in sizes
        for name in COEFFICIENTS
        for source in ("heldout", "insample", "random", "gain")
    }
    chosen = {n: np.zeros(S) for n in sizes}
    for split in range(SPLITS):
        order = rng.permutation(M)
        search, check = order[: M // 2], order[M // 2 :]
        distance = _distances(cube[:, :, search])
        for n in sizes:
            subset = np.zeros((1, S))
            subset[0, _search(distance, n)] = 1
            chosen[n] += subset[0] / SPLITS
            random = random_subsets(S, n, RANDOM, rng)
            for k in range(K):
                held = _against_whole(cube[k][:, check], subset)
                same = _against_whole(cube[k][:, search], subset)
                beside = _against_whole(cube[k][:, check], random)
                for name in COEFFICIENTS:
                    by_chance = mean_defined(beside[name])
                    found[n, name, "heldout"][split, k] = held[name][0]
                    found[n, name, "insample"][split, k] = same[name][0]
                    found[n, name, "random"][split, k] = by_chance
                    found[n, name, "gain"][split, k] = held[name][0] - by_chance
    return found, chosen


def _against_whole(values: Array, subsets: Array) -> dict[str, Array]:
    part = story_means(values, subsets)
    whole = np.broadcast_to(story_means(values, np.ones((1, len(values)))), part.shape)
    return correlated_means(part, whole, np.ones(part.shape))
