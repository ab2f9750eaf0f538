"""Do strata differ? Every statistic of one stratum less that of another.

Both strata come from one set of draws, so that what they share (the methods) is shared
there, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from analysis.correlations.cell_means import method_means
from analysis.correlations.levels import level_values
from analysis.inference.resampling import Draws, cluster_counts, interval, stream
from analysis.inference.scaling import divided
from analysis.inference.significance import holm
from analysis.options import AlignOptions
from analysis.pairwise.accuracy import ppa_by_story_weights
from analysis.pairwise.output_pairs import Pairs
from analysis.questions import QuestionData
from analysis.rankings.pair_votes import pair_votes, rates_by_story_weights
from analysis.reading.cells import CellGrid, rated_grid
from analysis.reading.scores import ScoreTable
from analysis.reliability.agreement import STATISTICS, agreement
from analysis.results import NAN, Array, Mask, TableRow
from analysis.sentences import chained, sentence
from analysis.strata.estimates import (
    Split,
    StatisticKey,
    in_own_units,
    scores_as_answers,
)
from analysis.strata.shuffles import Values, shuffled_p

# What VISTAR compares: how much of its score a method loses from core to hard.
CORE, HARD = "core", "hard"


@dataclass(frozen=True)
class StratumMeasure:
    """Numbers that follow from how often each story and method counts.

    Attributes
    ----------
    places
        Which numbers, L of them.
    stories
        S names.
    n_methods
        M.
    values
        From weights of stories (B, S) and of methods (B, M) to numbers (B, L).
    units
        What numbers of a method are multiplied by in the end; a percentage is not.
    """

    places: tuple[StatisticKey, ...]
    stories: tuple[str, ...]
    n_methods: int
    values: Values
    units: Mapping[str, float] = field(default_factory=dict)


def difference_rows(
    data: QuestionData, split: Split, *, parts: tuple[str, ...], options: AlignOptions
) -> list[TableRow]:
    r"""Compare strata: every statistic of one less that of another.

    Parameters
    ----------
    data, split, parts, options
        As for `strata_rows`.

    Returns
    -------
    list of Row
        Rows of ``strata_differences``; of the two strata core and hard also how
        many per cent of the core's mean a method loses, ``drop_percent``.

    Notes
    -----
    The interval draws stories inside each stratum and, where `parts` name them,
    the same methods for both. The p-value is that of a studentised permutation test
    (`shuffles.shuffled_p`): which of the stories belong to which of the two strata is
    shuffled, with :math:`p = (c + 1)/(k + 1)`. It is adjusted within tag, statistic and
    level (Holm). Two strata are compared with each other, each of several with all
    others.

    References
    ----------
    VISTAR, table 3: drop = (core - hard) / core.
    """
    return _compared_by(measures(data, options), data.name, split, parts, options)


def score_difference_rows(
    table: ScoreTable, split: Split, *, options: AlignOptions
) -> list[TableRow]:
    """Compare the mean scores of every method and metric between strata.

    Parameters
    ----------
    table
        The scores, as given.
    split, options
        As for `difference_rows`.
    """
    found = [
        _means_measure("", metric, *in_own_units(cells))
        for metric, cells in scores_as_answers(table)
    ]
    return _compared_by(found, "", split, ("stories",), options)


def _compared_by(
    found: list[StratumMeasure],
    question: str,
    split: Split,
    parts: tuple[str, ...],
    options: AlignOptions,
) -> list[TableRow]:
    rows: list[TableRow] = []
    for a, inside, b, outside in split.comparisons():
        for measure in found:
            strata = (a, inside), (b, outside)
            rows += _compared(question, split.tag, measure, *strata, parts, options)
    return _adjusted(rows)


def measures(data: QuestionData, options: AlignOptions) -> list[StratumMeasure]:
    """Return what of a question can be compared between strata."""
    found = [_agreement_measure(data)]
    if data.by_annotator is not None:
        found.append(_means_measure(data.name, "", data.by_annotator))
    if data.pairs.source == "choices":
        found.append(_wins_measure(data.answers))
    if data.grid is not None and data.grid.metrics and data.grid.cells.any():
        found += [
            _level_measure(data.grid, level, options.coefficients)
            for level in options.levels
        ]
    if data.pairs.metrics:
        found.append(_pairs_measure(data.pairs))
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
    # What all stories together do not define, no stratum does.
    names = [row.statistic for row in whole if np.isfinite(row.estimate.value)]

    def values(w: Array, _methods: Array) -> Array:
        found = [STATISTICS[name](answers, w[:, codes]) for name in names]
        return np.stack(found, 1) if found else np.empty((len(w), 0))

    return StratumMeasure(tuple(map(StatisticKey, names)), stories, 1, values)


def _means_measure(
    question: str,
    metric: str,
    by_annotator: pd.DataFrame,
    units: Mapping[str, float] | None = None,
) -> StratumMeasure:
    grid = rated_grid(question, by_annotator, judge=metric)
    once = np.ones((1, len(grid.methods)), int)

    def values(w: Array, _methods: Array) -> Array:
        draws = Draws(w.astype(int), np.broadcast_to(once, (len(w), once.size)))
        human, _, present = method_means(grid, draws)
        return np.where(present > 0, human, np.nan)

    places = tuple(StatisticKey("mean", metric, method) for method in grid.methods)
    return StratumMeasure(places, grid.stories, len(grid.methods), values, units or {})


def _wins_measure(choices: pd.DataFrame) -> StratumMeasure:
    votes, _ = pair_votes(choices)
    stories = tuple(sorted(choices["story"].unique()))

    def values(w: Array, _methods: Array) -> Array:
        return rates_by_story_weights(votes, w)

    places = tuple(StatisticKey("win_rate", method=name) for name in votes.methods)
    return StratumMeasure(places, stories, 1, values)


def _level_measure(
    grid: CellGrid, level: str, coefficients: Sequence[str]
) -> StratumMeasure:
    places = tuple(
        StatisticKey(name, metric=metric, level=level)
        for name in coefficients
        for metric in grid.metrics
    )

    def values(w: Array, methods: Array) -> Array:
        draws = Draws(w.astype(int), methods.astype(int))
        found = level_values(grid, level, draws, coefficients)
        return np.concatenate([found[name].T for name in coefficients], axis=1)

    return StratumMeasure(places, grid.stories, len(grid.methods), values)


def _pairs_measure(pairs: Pairs) -> StratumMeasure:
    names = ("ppa_strict", "ppa_half")
    places = tuple(
        StatisticKey(s, metric=metric) for s in names for metric in pairs.metrics
    )

    def values(w: Array, methods: Array) -> Array:
        strict, half = ppa_by_story_weights(pairs, w, methods)
        return np.concatenate([strict, half], axis=1)

    return StratumMeasure(places, pairs.stories, len(pairs.methods), values)


def _compared(
    question: str,
    tag: str,
    measure: StratumMeasure,
    first: tuple[str, frozenset[str]],
    second: tuple[str, frozenset[str]],
    parts: tuple[str, ...],
    options: AlignOptions,
) -> Iterator[TableRow]:
    (a, inside), (b, outside) = first, second
    in_a, in_b = (
        np.array([story in group for story in measure.stories], bool)
        for group in (inside, outside)
    )
    if not (in_a.any() and in_b.any()):
        return
    name = (question, tag, a, b)
    once = np.ones((1, measure.n_methods))
    value_a = measure.values(in_a[None].astype(float), once)[0]
    value_b = measure.values(in_b[None].astype(float), once)[0]
    drawn_a, drawn_b = _draws(measure, in_a, in_b, parts, name, options)
    p_values = np.full(len(measure.places), NAN)
    if options.resamples:
        rng = stream(options.seed, "shuffled strata", *name)
        p_values = shuffled_p(
            measure.values, measure.n_methods, (in_a, in_b), options.resamples, rng
        )
    for i, place in enumerate(measure.places):
        kinds = [(place.statistic, value_a - value_b, drawn_a - drawn_b)]
        if place.statistic == "mean" and (a, b) == (CORE, HARD):
            kinds.append(
                ("drop_percent", _drop(value_a, value_b), _drop(drawn_a, drawn_b))
            )
        for statistic, value, drawn in kinds:
            low, high, why = interval(drawn[:, i], options.confidence)
            unit = measure.units.get(place.method, 1.0) if statistic == "mean" else 1.0
            known = bool(np.isfinite(value[i]))
            reason = why if known else _why_undefined((a, value_a[i]), (b, value_b[i]))
            yield {
                "question": question,
                "metric": place.metric,
                "value": unit * float(value[i]),
                "low": unit * low if known else NAN,
                "high": unit * high if known else NAN,
                "n": int(in_a.sum() + in_b.sum()),
                "reason": reason,
                "tag": tag,
                "stratum_a": a,
                "stratum_b": b,
                "method": place.method,
                "statistic": statistic,
                "level": place.level,
                "p_value": float(p_values[i]) if known else NAN,
                "drawn": _drawn(place, parts) if known and np.isfinite(low) else "",
            }


def _drawn(place: StatisticKey, parts: tuple[str, ...]) -> str:
    """Return what an interval draws; no drawn method moves another one's mean."""
    of_metric = place.metric != "" and place.statistic != "mean"
    return "stories+methods" if of_metric and "methods" in parts else "stories"


def _drop(core: Array, hard: Array) -> Array:
    return divided(100 * (core - hard), core)


def _why_undefined(first: tuple[str, float], second: tuple[str, float]) -> str:
    unknown = [name for name, value in (first, second) if not np.isfinite(value)]
    if not unknown:
        return sentence("the mean of the first stratum is not above 0")
    return sentence(
        "undefined in {names}", names=chained("{first} and in {second}", unknown)
    )


def _draws(
    measure: StratumMeasure,
    in_a: Mask,
    in_b: Mask,
    parts: tuple[str, ...],
    name: tuple[str, ...],
    options: AlignOptions,
) -> tuple[Array, Array]:
    """Return resampled values of both strata, each (B, L); the methods are shared."""
    B = options.resamples
    if B == 0 or min(in_a.sum(), in_b.sum()) < 2:
        none = np.empty((0, len(measure.places)))
        return none, none
    rng = stream(options.seed, "strata", *name)
    methods = np.ones((B, measure.n_methods), int)
    if "methods" in parts:
        methods = cluster_counts(measure.n_methods, B, rng)
    found = []
    for mask in (in_a, in_b):
        weights = np.zeros((B, len(mask)))
        weights[:, mask] = cluster_counts(int(mask.sum()), B, rng)
        found.append(measure.values(weights, methods.astype(float)))
    return found[0], found[1]


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
