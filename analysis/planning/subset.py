"""Whether a part of a benchmark says what the whole says, and which part would.

A subset is judged by the means it gives to methods, and by their order. Since it is
part of the whole, agreement with the whole flatters it: it is also held against the
stories outside it, and beside random subsets of the same size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats

from analysis.correlation import correlate
from analysis.options import COEFFICIENTS
from analysis.reading.cells import rated_grid
from analysis.reading.scores import ScoreTable, laid_out
from analysis.resampling import cluster_counts, interval, stream
from analysis.results import NAN, Array, Mask

SUBSET_COLUMNS = (
    "question", "metric", "value", "low", "high", "n", "reason", "subset", "statistic",
)  # fmt: skip
BEST_SUBSET_COLUMNS = (
    "question", "metric", "value", "low", "high", "n", "reason", "size", "statistic",
    "source",
)  # fmt: skip
SUBSET_STORIES_COLUMNS = ("size", "place", "story", "chosen")
# Random subsets beside the given one, and splits of the methods into halves.
RANDOM, SPLITS = 200, 20
# Fewer methods have no halves in which an order could be checked.
LEAST_METHODS = 6
SIZES = (5, 10, 20, 40, 80)
EXCHANGES = 500
Row = dict[str, object]


@dataclass(frozen=True)
class Board:
    """One metric's scores, or people's ratings on one question, of a benchmark.

    Attributes
    ----------
    question, metric
        A dimension and an empty metric, or a metric and an empty question.
    stories, methods
        Labels; one story "" where values hold for methods as a whole.
    values
        Shape (S, M), as given; NaN where there is none.
    higher_is_better
        Which end of the order is its top.
    """

    question: str
    metric: str
    stories: tuple[str, ...]
    methods: tuple[str, ...]
    values: Array
    higher_is_better: bool = True

    @property
    def of_methods(self) -> bool:
        """Whether there are no stories to choose from."""
        return self.stories == ("",)

    def part(self, stories: Mask) -> "Board":
        """Return some of the stories."""
        names = tuple(np.array(self.stories, object)[stories])
        return replace(self, stories=names, values=self.values[stories])

    def named(self, methods: Sequence[str]) -> "Board":
        """Return some of the methods, in this order."""
        where = [self.methods.index(name) for name in methods]
        return replace(self, methods=tuple(methods), values=self.values[:, where])

    def means(self) -> Array:
        """Return each method's mean over its stories; NaN without one."""
        return np.asarray(_means(self.values, np.ones((1, len(self.stories))))[0])


def _means(values: Array, weights: Array) -> Array:
    """Average over weighted stories: weights (B, S) to means (B, M)."""
    present = np.isfinite(values)
    count = weights @ present
    total = weights @ np.where(present, values, 0.0)
    means = np.where(count > 0, total / np.where(count > 0, count, 1.0), np.nan)
    return np.asarray(means)


def score_boards(table: ScoreTable) -> list[Board]:
    """Lay out every metric of a table of scores."""
    found = []
    for metric in table.metrics:
        rows = table.cells[table.cells["metric"] == metric]
        stories = tuple(sorted(rows["story"].unique()))
        methods = tuple(sorted(rows["method"].unique()))
        values = laid_out(rows, "score", stories, methods)
        better = table.higher_is_better[metric]
        found.append(Board("", metric, stories, methods, values, better))
    return found


def rating_boards(by_annotator: pd.DataFrame) -> list[Board]:
    """Lay out people's cell means, of rows of `cells.annotator_cells`."""
    found = []
    for dimension, rows in by_annotator.groupby("dimension", sort=True):
        grid = rated_grid(str(dimension), rows)
        values = np.where(grid.cells, grid.human, np.nan)
        found.append(Board(grid.question, "", grid.stories, grid.methods, values))
    return found


def subset_rows(
    full: Sequence[Board],
    subset: Sequence[Board] | Sequence[str],
    *,
    name: str,
    resamples: int,
    confidence: float,
    seed: int,
) -> list[Row]:
    """Hold a subset of a benchmark against the whole.

    Parameters
    ----------
    full
        The whole, from `score_boards` and `rating_boards`.
    subset
        The stories of the subset, or boards of their own, as two published tables.
    name
        What the subset is called.
    resamples, confidence, seed
        Number of resamples (0 for no intervals), coverage, seed. Methods are drawn,
        and stories inside the subset and outside it.

    Returns
    -------
    list of dict
        Columns `SUBSET_COLUMNS`; `n` is the number of methods that both have.

    Notes
    -----
    Means are over the methods that both have. Statistics: ``mean_full``,
    ``mean_subset``; ``difference_percent`` is the subset's mean less the whole's in per
    cent of the whole's, ``difference_percent_symmetric`` in per cent of the mean of
    both (so prints ViStoryBench, table S2, without sign); ``kendall``, ``spearman``
    and ``pearson`` correlate method means; with ``_others`` they correlate with the
    stories outside the subset; with ``_random`` they are means over random subsets of
    the same size, with the range of the middle share; ``largest_rank_change``;
    ``top_kept`` is 1 where the best method is the same. Where the two have different
    methods, ``_all_methods`` gives means over whatever each has: their difference is
    also one of methods.
    """
    rows: list[Row] = []
    for board in full:
        comparison = _comparison(board, subset)
        if isinstance(comparison, str):
            found = {"mean_full": (NAN, NAN, NAN, comparison)}
            n = 0
        else:
            rng = stream(seed, "subset", name, board.question, board.metric)
            found = _statistics(comparison, resamples, confidence, rng)
            n = len(comparison.full.methods)
        for statistic, (value, low, high, reason) in found.items():
            rows.append(
                {
                    "question": board.question, "metric": board.metric, "value": value,
                    "low": low, "high": high, "n": n, "reason": reason,
                    "subset": name, "statistic": statistic,
                }
            )  # fmt: skip
    return rows


@dataclass(frozen=True)
class _Comparison:
    """The whole and a part, with the same methods.

    `inside` tells which stories of the whole are the part's; None where the part
    comes from another table. `all_means` are means over whatever methods each has.
    """

    full: Board
    part: Board
    inside: Mask | None
    all_means: tuple[float, float] | None


def _comparison(
    board: Board, subset: Sequence[Board] | Sequence[str]
) -> _Comparison | str:
    """Match a board with its part; the reason where there is none."""
    inside = None
    boards = [part for part in subset if isinstance(part, Board)]
    if boards or not subset:
        key = (board.question, board.metric)
        named = [b for b in boards if (b.question, b.metric) == key]
        if not named:
            return "the subset has no value of it"
        part = named[0]
    elif board.of_methods:
        return "values are of whole methods, without stories"
    else:
        inside = np.isin(board.stories, [str(s) for s in subset])
        if not inside.any():
            return "the subset has none of its stories"
        part = board.part(inside)
    own, other = (_covered(b) for b in (board, part))
    both = [m for m in own if m in other]
    if len(both) < 2:
        return "fewer than two methods are in both"
    all_means = None
    if set(own) != set(other):
        all_means = _average(board), _average(part)
    return _Comparison(board.named(both), part.named(both), inside, all_means)


def _covered(board: Board) -> list[str]:
    known = np.isfinite(board.values).any(axis=0)
    return [str(m) for m in np.array(board.methods, object)[known]]


def _average(board: Board) -> float:
    return float(np.nanmean(board.means()))


Found = dict[str, tuple[float, float, float, str]]


def _statistics(
    comparison: _Comparison, resamples: int, confidence: float, rng: np.random.Generator
) -> Found:
    full, part = comparison.full, comparison.part
    drawn = _resampled(comparison, resamples, rng)
    one = np.ones((1, len(full.methods)))
    value = _compared(full.means()[None], part.means()[None], one)
    draws = _compared(*drawn)
    found: Found = {}
    for name, values in value.items():
        found[name] = _bounded(float(values[0]), draws[name], confidence)
    if comparison.inside is not None:
        found |= _beside(comparison, drawn[2], confidence, rng)
    ranks = [_ranks(b.means(), b.higher_is_better) for b in (full, part)]
    change = float(np.abs(ranks[0] - ranks[1]).max())
    found["largest_rank_change"] = (change, NAN, NAN, "")
    tops = [rank == rank.min() for rank in ranks]
    kept = float((tops[0] & tops[1]).any())
    found["top_kept"] = (kept, NAN, NAN, "")
    if comparison.all_means is not None:
        whole, some = comparison.all_means
        found["mean_full_all_methods"] = (whole, NAN, NAN, "")
        found["mean_subset_all_methods"] = (some, NAN, NAN, "")
        percent = _percent(some - whole, (some + whole) / 2)
        found["difference_percent_symmetric_all_methods"] = (percent, NAN, NAN, "")
    return found


def _bounded(
    value: float, draws: Array, confidence: float
) -> tuple[float, float, float, str]:
    if np.isnan(value):
        return NAN, NAN, NAN, "all means are the same"
    return value, *interval(draws, confidence)


def _resampled(
    comparison: _Comparison, resamples: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Draw methods, and stories inside and outside: means (B, M) twice, weights."""
    full, part, inside = comparison.full, comparison.part, comparison.inside
    methods = cluster_counts(len(full.methods), resamples, rng).astype(float)
    if inside is None:
        apart = [
            _means(b.values, _drawn(np.ones(len(b.stories), bool), resamples, rng))
            for b in (full, part)
        ]
        means = apart[0], apart[1]
    else:
        within = _drawn(inside, resamples, rng)
        means = (
            _means(full.values, within + _drawn(~inside, resamples, rng)),
            _means(full.values, within),
        )
    known = np.isfinite(means[0]) & np.isfinite(means[1])
    return means[0], means[1], np.where(known, methods, 0.0)


def _drawn(stories: Mask, resamples: int, rng: np.random.Generator) -> Array:
    counts = np.zeros((resamples, len(stories)))
    if stories.any():
        counts[:, stories] = cluster_counts(int(stories.sum()), resamples, rng)
    return counts


def _compared(whole: Array, part: Array, weights: Array) -> dict[str, Array]:
    """Compare method means (B, M) under weights of the methods."""
    used = weights > 0
    total = np.maximum(weights.sum(axis=1), 1)
    a, b = np.where(used, whole, 0.0), np.where(used, part, 0.0)
    full, some = (weights * a).sum(axis=1) / total, (weights * b).sum(axis=1) / total
    none = ~used.any(axis=1)
    full, some = np.where(none, np.nan, full), np.where(none, np.nan, some)
    found = {
        "mean_full": full,
        "mean_subset": some,
        "difference_percent": _percents(some - full, full),
        "difference_percent_symmetric": _percents(some - full, (some + full) / 2),
    }
    return found | _correlated(a, b, weights)


def _correlated(a: Array, b: Array, weights: Array) -> dict[str, Array]:
    """Correlate rows of (B, M) under weights of the methods."""
    if not len(a):
        return {name: np.empty(0) for name in COEFFICIENTS}
    # Means of whole numbers of cells: what differs in the last bits is tied.
    a, b = np.round(a, 12), np.round(b, 12)
    found = correlate(a, b[None], weights[:, None, :], COEFFICIENTS)
    return {name: values[0, :, 0] for name, values in found.items()}


def _percents(difference: Array, base: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        value = 100 * difference / np.abs(base)
    return np.where(base != 0, value, np.nan)


def _percent(difference: float, base: float) -> float:
    return float(_percents(np.array(difference), np.array(base)))


def _ranks(means: Array, higher_is_better: bool) -> Array:
    turned = -means if higher_is_better else means
    return np.asarray(stats.rankdata(np.round(turned, 12)))


def _beside(
    comparison: _Comparison,
    methods: Array,
    confidence: float,
    rng: np.random.Generator,
) -> Found:
    """Hold the subset against the stories outside it, and beside random ones."""
    full, inside = comparison.full, comparison.inside
    assert inside is not None
    S, n = len(full.stories), int(inside.sum())
    found: Found = {}
    if n == S:
        why = "no story is outside the subset"
        return {f"{name}_others": (NAN, NAN, NAN, why) for name in COEFFICIENTS}
    outside = _means(full.values, (~inside)[None].astype(float))
    one = np.ones((1, len(full.methods)))
    value = _safe(comparison.part.means()[None], outside, one)
    resamples = len(methods)
    some = _means(full.values, _drawn(inside, resamples, rng))
    rest = _means(full.values, _drawn(~inside, resamples, rng))
    draws = _safe(some, rest, methods)
    for name in COEFFICIENTS:
        found[f"{name}_others"] = _bounded(
            float(value[name][0]), draws[name], confidence
        )
    random = _random_subsets(S, n, RANDOM, rng)
    means = _means(full.values, random)
    whole = np.repeat(full.means()[None], RANDOM, axis=0)
    beside = _safe(means, whole, np.ones_like(means))
    for name in COEFFICIENTS:
        values = beside[name][np.isfinite(beside[name])]
        average = float(values.mean()) if len(values) else NAN
        found[f"{name}_random"] = _bounded(average, values, confidence)
    return found


def _safe(a: Array, b: Array, weights: Array) -> dict[str, Array]:
    """Correlate over the methods that have both means."""
    known = np.isfinite(a) & np.isfinite(b)
    weights = np.where(known, weights, 0.0)
    return _correlated(np.where(known, a, 0.0), np.where(known, b, 0.0), weights)


def _random_subsets(S: int, n: int, times: int, rng: np.random.Generator) -> Array:
    order = rng.random((times, S)).argsort(axis=1)
    chosen = np.zeros((times, S))
    np.put_along_axis(chosen, order[:, :n], 1.0, 1)
    return chosen


def best_subsets(
    boards: Sequence[Board],
    *,
    sizes: Sequence[int] = SIZES,
    splits: int = SPLITS,
    confidence: float,
    seed: int,
) -> tuple[list[Row], list[Row]]:
    """Search for the stories that keep means and order of the methods best.

    Parameters
    ----------
    boards
        The whole benchmark; all metrics and questions are kept together.
    sizes
        Numbers of stories; those that are not fewer than there are, are left out.
    splits
        How often the methods are divided into halves.
    confidence
        Share of the splits between `low` and `high`.
    seed
        Of the splits and random subsets.

    Returns
    -------
    best_subset
        Columns `BEST_SUBSET_COLUMNS`, averages over splits; `source` is ``heldout``
        (stories chosen on the other half of the methods), ``insample`` (on the same
        half: it flatters), ``random`` (as many stories at random), or ``gain``
        (held out less random). `n` is the number of methods of the half.
    subset_stories
        Columns `SUBSET_STORIES_COLUMNS`: the subset chosen on all methods; `chosen` is
        the share of splits in which the story was chosen, a low one being a sign that
        others would do as well.

    Notes
    -----
    What is searched for: the least mean squared difference between a method's mean in
    the subset and in the whole, in units of the methods' standard deviation, over all
    methods and boards; greedily, then by exchanges as long as one helps. A missing
    value counts as its method's mean in the search, and is left out in the check.
    """
    usable = [b for b in boards if not b.of_methods]
    rows: list[Row] = [
        _best_row(b, (NAN, NAN, NAN, "values are of whole methods, without stories"))
        for b in boards if b.of_methods
    ]  # fmt: skip
    if not usable:
        return rows, []
    stories, methods, cube = _together(usable)
    sizes = [n for n in dict.fromkeys(sizes) if 0 < n < len(stories)]
    if not sizes:
        why = f"no size is smaller than the {len(stories)} stories there are"
        rows += [_best_row(b, (NAN, NAN, NAN, why)) for b in usable]
        return rows, []
    chosen: dict[int, Array] = {n: np.full(len(stories), np.nan) for n in sizes}
    if len(methods) < LEAST_METHODS:
        why = f"fewer than {LEAST_METHODS} methods: no half could check the other"
        rows += [_best_row(b, (NAN, NAN, NAN, why)) for b in usable]
    else:
        checked, chosen = _checked(cube, sizes, splits, stream(seed, "best subset"))
        half = len(methods) - len(methods) // 2
        for b, board in enumerate(usable):
            for (n, name, source), values in checked.items():
                found = _over_splits(values[:, b], confidence)
                rows.append(_best_row(board, found, n, name, source, half))
    listed: list[Row] = []
    distance = _distances(cube)
    for n in sizes:
        for place, s in enumerate(_search(distance, n), 1):
            share = float(chosen[n][s])
            listed.append(
                {"size": n, "place": place, "story": stories[s], "chosen": share}
            )
    return rows, listed


def _best_row(
    board: Board,
    found: tuple[float, float, float, str],
    size: float = NAN,
    statistic: str = "",
    source: str = "",
    n: int = 0,
) -> Row:
    value, low, high, reason = found
    return {
        "question": board.question, "metric": board.metric, "value": value, "low": low,
        "high": high, "n": n, "reason": reason, "size": size, "statistic": statistic,
        "source": source,
    }  # fmt: skip


def _together(
    boards: Sequence[Board],
) -> tuple[tuple[str, ...], tuple[str, ...], Array]:
    """Lay boards out on common stories and methods, shape (K, S, M)."""
    stories = tuple(sorted({s for b in boards for s in b.stories}))
    methods = tuple(sorted({m for b in boards for m in b.methods}))
    cube = np.full((len(boards), len(stories), len(methods)), np.nan)
    for k, board in enumerate(boards):
        rows = np.searchsorted(stories, board.stories)
        columns = np.searchsorted(methods, board.methods)
        cube[k][np.ix_(rows, columns)] = board.values
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
    cube: Array, sizes: Sequence[int], splits: int, rng: np.random.Generator
) -> tuple[dict[tuple[int, str, str], Array], dict[int, Array]]:
    """Choose on one half of the methods, check on the other.

    Returns
    -------
    dict
        (size, statistic, source) to an array (splits, K).
    dict
        Size to the share of splits that chose each story.
    """
    K, S, M = cube.shape
    found = {
        (n, name, source): np.full((splits, K), np.nan)
        for n in sizes for name in COEFFICIENTS
        for source in ("heldout", "insample", "random", "gain")
    }  # fmt: skip
    chosen = {n: np.zeros(S) for n in sizes}
    for split in range(splits):
        order = rng.permutation(M)
        search, check = order[: M // 2], order[M // 2 :]
        distance = _distances(cube[:, :, search])
        for n in sizes:
            subset = np.zeros((1, S))
            subset[0, _search(distance, n)] = 1
            chosen[n] += subset[0] / splits
            random = _random_subsets(S, n, RANDOM // 4, rng)
            for k in range(K):
                held = _against_whole(cube[k][:, check], subset)
                same = _against_whole(cube[k][:, search], subset)
                beside = _against_whole(cube[k][:, check], random)
                for name in COEFFICIENTS:
                    by_chance = _mean(beside[name])
                    found[n, name, "heldout"][split, k] = held[name][0]
                    found[n, name, "insample"][split, k] = same[name][0]
                    found[n, name, "random"][split, k] = by_chance
                    found[n, name, "gain"][split, k] = held[name][0] - by_chance
    return found, chosen


def _against_whole(values: Array, subsets: Array) -> dict[str, Array]:
    part = _means(values, subsets)
    whole = np.broadcast_to(_means(values, np.ones((1, len(values)))), part.shape)
    return _safe(part, whole, np.ones(part.shape))


def _mean(values: Array) -> float:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else NAN


def _over_splits(values: Array, confidence: float) -> tuple[float, float, float, str]:
    average = _mean(values)
    if np.isnan(average):
        return NAN, NAN, NAN, "all means are the same"
    return average, *interval(values, confidence)
