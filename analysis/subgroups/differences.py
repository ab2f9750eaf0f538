"""Differences between subgroups, for every statistic.

Differences are studentised, with errors computed again in every shuffle (Chung and
Romano 2013, Annals of Statistics 41(2)); the interval holds what the test keeps.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pandas as pd

from analysis.correlations.levels import level_values, method_means
from analysis.inference.resampling import (
    DECIMALS,
    LEAST_DEFINED,
    Draws,
    divided,
    holm,
    stream,
    unit_of,
)
from analysis.options import AlignOptions
from analysis.pairwise.accuracy import ppa_by_story_weights
from analysis.questions import QuestionData
from analysis.rankings.choice_votes import pair_votes, rates_by_story_weights
from analysis.reading.cells import CellGrid, rated_grid
from analysis.reading.scores import ScoreTable
from analysis.reliability.agreement import STATISTICS, agreement
from analysis.results import NAN, Array, Mask, TableRow
from analysis.sentences import chained, sentence
from analysis.subgroups.estimates import Split, StatisticKey

# From weights of stories (B, S) to L numbers (B, L).
Values = Callable[[Array], Array]
SLACK = 1e-9


@dataclass(frozen=True)
class ShuffledTest:
    """Tests of the differences between two groups of stories."""

    values: Array
    variances: Array
    errors: Array
    p_values: Array
    critical: Array
    undefined: Array
    resamples: int

    def margins(self) -> Array:
        """Return half the widths of the differences' intervals, shape (L,)."""
        return np.asarray(self.critical * self.errors)

    def why_no_interval(self, place: int) -> str:
        """Return why a difference has no interval; empty where nothing forbids one."""
        n, total = int(self.undefined[place]), self.resamples
        if total == 0 or np.isnan(self.errors[place]):
            return ""
        if n > (1 - LEAST_DEFINED) * total:
            return sentence(
                "no interval: undefined in {n} of {total} resamples", n=n, total=total
            )
        if np.isnan(self.critical[place]):
            return sentence("no interval: every resample gives the same value")
        if np.isinf(self.critical[place]):
            return sentence("no interval: {n} resamples are too few", n=total - n)
        return ""

    def ratio(self, place: int) -> tuple[float, float]:
        """Return Fieller's interval of the second group's number by the first's."""
        first, second = self.values[:, place]
        v_first, v_second = self.critical[place] ** 2 * self.variances[:, place]
        lead = first**2 - v_first
        if not lead > 0:
            return NAN, NAN
        away = math.sqrt(first**2 * v_second + second**2 * v_first - v_first * v_second)
        return (first * second - away) / lead, (first * second + away) / lead


def shuffled_test(
    values: Values,
    groups: tuple[Mask, Mask],
    resamples: int,
    confidence: float,
    rng: np.random.Generator,
) -> ShuffledTest:
    """Compare two groups of stories by a studentised permutation test.

    The standard error of a difference is that of two means of the stories'
    pseudo-values. Groups of one story have no spread: then differences are compared as
    they are.
    """
    in_a, in_b = groups
    stories = np.flatnonzero(in_a | in_b)
    n, S = len(stories), len(in_a)

    def measured(kept: Mask) -> Array:
        weights = np.zeros((len(kept), S))
        weights[:, stories] = kept
        return values(weights)

    def studentised(first: Mask) -> Array:
        apart = measured(first) - measured(~first)
        same = np.abs(apart) <= SLACK * np.maximum(1, np.abs(whole))
        errors = standard_errors(first)
        return np.where(same, 0.0, apart) / np.where(np.isnan(errors), 1, errors)

    def standard_errors(first: Mask) -> Array:
        of_first, of_second = _variances(first, spread)
        return np.asarray(np.sqrt(np.maximum(of_first + of_second, least)))

    whole, without = measured(np.ones((1, n), bool)), measured(~np.eye(n, dtype=bool))
    spread = np.nan_to_num((n - 1) * (whole - without))
    # Rounding leaves something of no variance.
    least = SLACK**2 * np.maximum(1, (spread**2).mean(axis=0))
    own = in_a[stories][None]
    observed = np.abs(studentised(own)[0])
    moved = np.abs(studentised(rng.permuted(np.tile(own, (resamples, 1)), axis=1)))
    known = np.isfinite(moved)
    with np.errstate(invalid="ignore"):
        extreme = (moved >= observed * (1 - SLACK) - SLACK) & known
    p = (extreme.sum(axis=0) + 1) / (known.sum(axis=0) + 1)
    return ShuffledTest(
        np.concatenate([measured(own), measured(~own)]),
        np.concatenate(_variances(own, spread)),
        standard_errors(own)[0],
        np.where(np.isfinite(observed) & known.any(axis=0), p, NAN),
        _critical(np.where(known, moved, -np.inf), known.sum(axis=0), confidence),
        (~known).sum(axis=0),
        resamples,
    )


def _variances(first: Mask, spread: Array) -> tuple[Array, Array]:
    """Return the variances of both groups' means, each (B, L); NaN of one story."""
    found = []
    for group in (first.astype(float), (~first).astype(float)):
        n = group.sum(axis=1, keepdims=True)
        mean, square = group @ spread / n, group @ spread**2 / n
        freedom = np.where(n < 2, NAN, n - 1)
        found.append(np.maximum(square - mean**2, 0) / freedom)
    return found[0], found[1]


def _critical(moved: Array, n_known: Array, confidence: float) -> Array:
    """Return the largest sizes that are not rejected, of shuffled sizes (B, L)."""
    if not len(moved):
        return np.full(moved.shape[1], NAN)
    # p = (c + 1) / (n + 1) is small enough where at most so many are as extreme.
    most = np.floor((1 - confidence) * (n_known + 1) + SLACK).astype(int) - 1
    ordered = -np.sort(-moved, axis=0)
    rank = np.clip(most, 0, len(moved) - 1)
    limit = np.take_along_axis(ordered, rank[None], axis=0)[0]
    # As large as a shuffle's is not more extreme.
    limit = np.where(most < 0, np.inf, limit * (1 + 2 * SLACK) + SLACK)
    defined = (n_known >= LEAST_DEFINED * len(moved)) & (ordered[0] > SLACK)
    return np.where(defined, limit, NAN)


# VISTAR's drop is from core to hard.
CORE, HARD = "core", "hard"
FARTHEST = {"win_rate": 1.0, "ppa_strict": 1.0, "ppa_half": 1.0, "mean": np.inf}
FARTHEST_COEFFICIENTS = 2.0


@dataclass(frozen=True)
class StratumMeasure:
    """Numbers that follow from how often each story counts."""

    places: tuple[StatisticKey, ...]
    stories: tuple[str, ...]
    values: Values
    units: Mapping[str, float] = field(default_factory=dict)


def difference_rows(
    data: QuestionData, split: Split, *, options: AlignOptions
) -> list[TableRow]:
    """Compare subgroups: every statistic of one minus that of another.

    p is adjusted within tag, statistic and level (Holm). Two subgroups are compared
    with each other, each of several with all others. The interval of a drop (VISTAR,
    table 3) is Fieller's.
    """
    return _compared_by(measures(data, options), data.name, split, options)


def score_difference_rows(
    table: ScoreTable, split: Split, *, options: AlignOptions
) -> list[TableRow]:
    """Compare the mean scores of every method and metric between subgroups."""
    cells = table.cells[table.cells["story"] != ""]
    rows = cells.rename(columns={"score": "rating"}).assign(annotator="")
    found = [
        _means_measure(str(metric), own)
        for metric, own in rows.groupby("metric", sort=True)
    ]
    return _compared_by(found, "", split, options)


def _compared_by(
    found: list[StratumMeasure], question: str, split: Split, options: AlignOptions
) -> list[TableRow]:
    rows: list[TableRow] = []
    for a, inside, b, outside in split.comparisons():
        for measure in found:
            strata = (a, inside), (b, outside)
            rows += _compared(question, split.tag, measure, *strata, options)
    return _adjusted(rows)


def measures(data: QuestionData, options: AlignOptions) -> list[StratumMeasure]:
    """Return the statistics of a question that subgroups can be compared by."""
    found = [_agreement_measure(data)]
    if data.by_annotator is not None:
        found.append(_means_measure("", data.by_annotator))
    if data.pairs.source == "choices":
        votes, _ = pair_votes(data.answers)
        places = tuple(StatisticKey("win_rate", method=name) for name in votes.methods)
        stories = tuple(sorted(data.answers["story"].unique()))
        rates = partial(rates_by_story_weights, votes)
        found.append(StratumMeasure(places, stories, rates))
    if data.grid is not None and data.grid.metrics and data.grid.cells.any():
        found += [
            _level_measure(data.grid, level, options.coefficients)
            for level in options.levels
        ]
    if data.pairs.metrics:
        places = tuple(
            StatisticKey(name, metric=metric)
            for name in ("ppa_strict", "ppa_half")
            for metric in data.pairs.metrics
        )
        shares = partial(ppa_by_story_weights, data.pairs)
        found.append(StratumMeasure(places, data.pairs.stories, shares))
    return found


def _agreement_measure(data: QuestionData) -> StratumMeasure:
    answers = data.reliability
    stories = tuple(sorted(data.answers["story"].unique()))
    codes = answers.clusters["stories"][:, 0]
    whole = agreement(
        answers,
        data.statistics,
        parts=(),
        resamples=0,
        confidence=0.95,
        seed=0,
        question=data.name,
    )
    # A statistic that is undefined over all stories is so in every subgroup.
    names = [row.statistic for row in whole if np.isfinite(row.estimate.value)]

    def values(w: Array) -> Array:
        found = [STATISTICS[name](answers, w[:, codes]) for name in names]
        return np.stack(found, 1) if found else np.empty((len(w), 0))

    return StratumMeasure(tuple(map(StatisticKey, names)), stories, values)


def _means_measure(metric: str, by_annotator: pd.DataFrame) -> StratumMeasure:
    """Return the means of methods; those of scores in units of their own."""
    grid = rated_grid(metric, by_annotator, judge=metric)
    units = [unit_of(scores) if metric else 1.0 for scores in grid.human.T]
    grid = replace(grid, human=grid.human / units)

    def values(w: Array) -> Array:
        human, _, present = method_means(grid, _story_draws(grid, w))
        return np.where(present > 0, human, np.nan)

    places = tuple(StatisticKey("mean", metric, method) for method in grid.methods)
    in_units = dict(zip(grid.methods, units, strict=True))
    return StratumMeasure(places, grid.stories, values, in_units)


def _story_draws(grid: CellGrid, w: Array) -> Draws:
    return Draws(w.astype(int), np.ones((len(w), len(grid.methods)), int))


def _level_measure(
    grid: CellGrid, level: str, coefficients: Sequence[str]
) -> StratumMeasure:
    places = tuple(
        StatisticKey(name, metric=metric, level=level)
        for name in coefficients
        for metric in grid.metrics
    )

    def values(w: Array) -> Array:
        found = level_values(grid, level, _story_draws(grid, w), coefficients)
        return np.concatenate([found[name].T for name in coefficients], axis=1)

    return StratumMeasure(places, grid.stories, values)


def _compared(
    question: str,
    tag: str,
    measure: StratumMeasure,
    first: tuple[str, frozenset[str]],
    second: tuple[str, frozenset[str]],
    options: AlignOptions,
) -> Iterator[TableRow]:
    (a, inside), (b, outside) = first, second
    groups = (
        np.array([story in inside for story in measure.stories], bool),
        np.array([story in outside for story in measure.stories], bool),
    )
    if not (groups[0].any() and groups[1].any()):
        return
    rng = stream(options.seed, "shuffled strata", question, tag, a, b)
    test = shuffled_test(
        measure.values, groups, options.resamples, options.confidence, rng
    )
    about = {
        "question": question,
        "n": int(groups[0].sum() + groups[1].sum()),
        "tag": tag,
        "stratum_a": a,
        "stratum_b": b,
    }
    for i, place in enumerate(measure.places):
        kinds = [(place.statistic, *_difference(test, i, place, measure.units))]
        if place.statistic == "mean" and (a, b) == (CORE, HARD):
            kinds.append(("drop_percent", *_drop(test, i)))
        for statistic, value, low, high, why in kinds:
            known = math.isfinite(value)
            yield {
                **about,
                "metric": place.metric,
                "value": value,
                "low": low,
                "high": high,
                "reason": why if known else _why_undefined((a, b), test.values[:, i]),
                "method": place.method,
                "statistic": statistic,
                "level": place.level,
                "p_value": float(test.p_values[i]) if known else NAN,
                "drawn": "stories" if math.isfinite(low) else "",
            }


def _difference(
    test: ShuffledTest, place: int, key: StatisticKey, units: Mapping[str, float]
) -> tuple[float, float, float, str]:
    """Return a difference, its interval, and why it has none."""
    unit = units.get(key.method, 1.0) if key.statistic == "mean" else 1.0
    value, margin = np.subtract(*test.values[:, place]), test.margins()[place]
    if not math.isfinite(value) or not math.isfinite(margin):
        return unit * float(value), NAN, NAN, test.why_no_interval(place)
    farthest = FARTHEST.get(key.statistic, FARTHEST_COEFFICIENTS)
    low, high = np.clip(
        np.round([value - margin, value + margin], DECIMALS), -farthest, farthest
    )
    return unit * float(value), unit * float(low), unit * float(high), ""


def _drop(test: ShuffledTest, place: int) -> tuple[float, float, float, str]:
    """Return how many per cent of the first mean a method loses, as `_difference`."""
    core, hard = test.values[:, place]
    value = float(divided(100 * (core - hard), core))
    low, high = (100 * (1 - ratio) for ratio in reversed(test.ratio(place)))
    if math.isfinite(value) and math.isfinite(low):
        return value, round(low, DECIMALS), round(high, DECIMALS), ""
    far = sentence(
        "no interval: the mean of the first subgroup is not distinguishable from 0"
    )
    return value, NAN, NAN, test.why_no_interval(place) or far


def _why_undefined(strata: tuple[str, str], values: Array) -> str:
    unknown = [
        name
        for name, value in zip(strata, values, strict=True)
        if not np.isfinite(value)
    ]
    if not unknown:
        return sentence("the mean of the first subgroup is not above 0")
    return sentence(
        "undefined in {names}", names=chained("{first} and in {second}", unknown)
    )


def _adjusted(rows: list[TableRow]) -> list[TableRow]:
    """Adjust p-values within tag, statistic and level; a drop is a mean once more."""
    families: dict[tuple[object, ...], list[TableRow]] = {}
    for row in rows:
        families.setdefault((row["tag"], row["statistic"], row["level"]), []).append(
            row
        )
    for family in families.values():
        adjusted = holm(np.array([row["p_value"] for row in family], float))
        for row, p_value in zip(family, adjusted, strict=True):
            row["p_adjusted"] = float(p_value)
    return rows
