"""Comparison of a subset of a benchmark with the whole."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats

from analysis.inference.resampling import cluster_counts, divided, stream, unit_of
from analysis.options import COEFFICIENTS, OptionError
from analysis.planning.best_subset import (
    SAME_MEANS,
    BenchmarkScores,
    correlated_means,
    over_draws,
    random_subsets,
    story_means,
    weighted_correlations,
)
from analysis.results import Array, Estimate, Mask, TableRow, in_unit, undefined
from analysis.sentences import sentence

# Random subsets beside the given one.
RANDOM = 200
NO_PERCENT = sentence("there are no per cent of a mean of 0")


def tagged_stories(tags: pd.DataFrame, tag: str, value: str) -> list[str]:
    names = [str(name) for name in tags.columns if name != "story"]
    if tag not in names:
        raise OptionError(f"--tag: {tag!r}: expected {', '.join(names)}")
    found = tags.loc[tags[tag] == value, "story"]
    if found.empty:
        known = sorted(str(x) for x in tags[tag].dropna().unique() if x != "")
        raise OptionError(f"--value: {value!r}: expected one of {', '.join(known)}")
    return [str(story) for story in found]


def subset_rows(
    full: Sequence[BenchmarkScores],
    subset: Sequence[BenchmarkScores] | Sequence[str],
    *,
    name: str,
    resamples: int,
    confidence: float,
    seed: int,
) -> list[TableRow]:
    """Compare a subset of a benchmark with the whole, over the methods that both have.

    ``difference_percent_symmetric`` is in per cent of the mean of both (ViStoryBench,
    table S2, without sign); with ``_others`` coefficients are with the stories outside
    the subset, with ``_random`` means over random subsets of the same size;
    ``_all_methods`` gives means over whatever each has.
    """
    rows: list[TableRow] = []
    for board in full:
        comparison = _comparison(board, subset)
        if isinstance(comparison, str):
            found, n = {"mean_full": undefined(comparison)}, 0
        else:
            rng = stream(seed, "subset", name, board.question, board.metric)
            unit = unit_of(board.values)
            found = _statistics(comparison.over(unit), resamples, confidence, rng)
            # Means alone have a unit.
            found |= {
                name: in_unit(value, unit)
                for name, value in found.items()
                if name.startswith("mean_")
            }
            n = len(comparison.full.methods)
        for statistic, value in found.items():
            rows.append(
                {
                    "question": board.question,
                    "metric": board.metric,
                    **value.columns(),
                    "n": n,
                    "subset": name,
                    "statistic": statistic,
                }
            )
    return rows


@dataclass(frozen=True)
class _Comparison:
    """The whole and a part, with the same methods."""

    full: BenchmarkScores
    part: BenchmarkScores
    inside: Mask | None
    all_means: tuple[float, float] | None

    def over(self, unit: float) -> "_Comparison":
        """Return the same with all values divided by a unit."""
        full, part = (
            replace(board, values=board.values / unit)
            for board in (self.full, self.part)
        )
        means = self.all_means and (self.all_means[0] / unit, self.all_means[1] / unit)
        return _Comparison(full, part, self.inside, means)


def _comparison(
    board: BenchmarkScores, subset: Sequence[BenchmarkScores] | Sequence[str]
) -> _Comparison | str:
    """Match a board with its part; the reason where there is none."""
    inside = None
    boards = [part for part in subset if isinstance(part, BenchmarkScores)]
    if boards or not subset:
        key = (board.question, board.metric)
        named = [b for b in boards if (b.question, b.metric) == key]
        if not named:
            return sentence("the subset has no value of it")
        part = named[0]
    elif board.of_methods:
        return sentence("values are of whole methods, without stories")
    else:
        inside = np.isin(board.stories, [str(s) for s in subset])
        if not inside.any():
            return sentence("the subset has none of its stories")
        part = board.part(inside)
    own, other = (_covered(b) for b in (board, part))
    both = [m for m in own if m in other]
    if len(both) < 2:
        return sentence("fewer than two methods are in both")
    all_means = None
    if set(own) != set(other):
        all_means = _average(board), _average(part)
    return _Comparison(board.named(both), part.named(both), inside, all_means)


def _covered(board: BenchmarkScores) -> list[str]:
    known = np.isfinite(board.values).any(axis=0)
    return [str(m) for m in np.array(board.methods, object)[known]]


def _average(board: BenchmarkScores) -> float:
    return float(np.nanmean(board.means()))


def _statistics(
    comparison: _Comparison, resamples: int, confidence: float, rng: np.random.Generator
) -> dict[str, Estimate]:
    full, part = comparison.full, comparison.part
    drawn = _resampled(comparison, resamples, rng)
    one = np.ones((1, len(full.methods)))
    value = _compared(full.means()[None], part.means()[None], one)
    draws = _compared(*drawn)
    found = {
        name: over_draws(
            draws[name],
            confidence,
            float(values[0]),
            why=NO_PERCENT if "percent" in name else SAME_MEANS,
        )
        for name, values in value.items()
    }
    if comparison.inside is not None:
        found |= _beside(comparison, drawn[2], confidence, rng)
    ranks = [_ranks(b.means(), b.higher_is_better) for b in (full, part)]
    tops = [rank == rank.min() for rank in ranks]
    alone = {
        "largest_rank_change": float(np.abs(ranks[0] - ranks[1]).max()),
        "top_kept": float((tops[0] & tops[1]).any()),
    }
    if comparison.all_means is not None:
        whole, some = comparison.all_means
        percent = _percents(np.array(some - whole), np.array((some + whole) / 2))
        alone |= {
            "mean_full_all_methods": whole,
            "mean_subset_all_methods": some,
            "difference_percent_symmetric_all_methods": float(percent),
        }
    return found | {name: Estimate(number) for name, number in alone.items()}


def _resampled(
    comparison: _Comparison, resamples: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Draw methods, and stories inside and outside: means (B, M) twice, weights."""
    full, part, inside = comparison.full, comparison.part, comparison.inside
    methods = cluster_counts(len(full.methods), resamples, rng).astype(float)
    if inside is None:
        apart = [
            story_means(b.values, _drawn(np.ones(len(b.stories), bool), resamples, rng))
            for b in (full, part)
        ]
        means = apart[0], apart[1]
    else:
        within = _drawn(inside, resamples, rng)
        means = (
            story_means(full.values, within + _drawn(~inside, resamples, rng)),
            story_means(full.values, within),
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
    return found | weighted_correlations(a, b, weights)


def _percents(difference: Array, base: Array) -> Array:
    return divided(100 * difference, np.abs(base))


def _ranks(means: Array, higher_is_better: bool) -> Array:
    turned = -means if higher_is_better else means
    return np.asarray(stats.rankdata(np.round(turned, 12)))


def _beside(
    comparison: _Comparison, methods: Array, confidence: float, rng: np.random.Generator
) -> dict[str, Estimate]:
    """Hold the subset against the stories outside it, and beside random ones."""
    full, inside = comparison.full, comparison.inside
    assert inside is not None
    S, n = len(full.stories), int(inside.sum())
    if n == S:
        why = undefined(sentence("no story is outside the subset"))
        return {f"{name}_others": why for name in COEFFICIENTS}
    outside = story_means(full.values, (~inside)[None].astype(float))
    one = np.ones((1, len(full.methods)))
    value = correlated_means(comparison.part.means()[None], outside, one)
    resamples = len(methods)
    some = story_means(full.values, _drawn(inside, resamples, rng))
    rest = story_means(full.values, _drawn(~inside, resamples, rng))
    draws = correlated_means(some, rest, methods)
    found = {
        f"{name}_others": over_draws(draws[name], confidence, float(value[name][0]))
        for name in COEFFICIENTS
    }
    random = random_subsets(S, n, RANDOM, rng)
    means = story_means(full.values, random)
    whole = np.repeat(full.means()[None], RANDOM, axis=0)
    beside = correlated_means(means, whole, np.ones_like(means))
    for name in COEFFICIENTS:
        defined = beside[name][np.isfinite(beside[name])]
        found[f"{name}_random"] = over_draws(defined, confidence)
    return found
