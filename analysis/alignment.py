"""Every table of a report, from ratings, choices and scores."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis import leaderboard as boards
from analysis.agreement import (
    CHOICE_STATISTICS,
    RATING_STATISTICS,
    Agreement,
    agreement,
)
from analysis.agreement import PARTS as AGREEMENT_PARTS
from analysis.cells import (
    Grid,
    ScoreTable,
    annotator_cells,
    common_grid,
    kept_rows,
    score_table,
    without_methods,
)
from analysis.choices import OUTCOMES, WIN_RATE_COLUMNS, ordered_choices, win_rates
from analysis.comparison import swap_tests
from analysis.correlation import COEFFICIENTS, LEVELS
from analysis.levels import level_estimates
from analysis.means import mean_ratings
from analysis.pairwise import Pairs, choice_pairs, pair_agreement, rating_pairs
from analysis.reliability import Reliability, choice_reliability, rating_reliability
from analysis.resampling import PARTS, interval, resample_parts
from analysis.results import NAN, Array, Estimate, OptionError, undefined
from analysis.significance import EXACT_BELOW, holm

RATING_KEYS = ("dimension", "story", "method", "annotator", "shot", "round")
CHOICE_KEYS = ("criterion", "story", "method_a", "method_b", "annotator", "round")
SCORE_KEYS = ("metric", "story", "method", "shot", "metric_version", "backend")
COLUMNS = {
    "method_means": (
        "dimension", "method", "mean", "sd_annotators", "n_ratings", "n_annotators",
        "n_stories", "low", "high",
    ),
    "agreement": (
        "question", "statistic", "value", "low", "high", "n_units", "n_annotators",
        "n_answers", "reason",
    ),
    "correlations": (
        "dimension", "metric", "level", "coefficient", "value", "low", "high", "n",
        "n_groups", "p_value", "reason",
    ),
    "pairwise_accuracy": (
        "question", "metric", "source", "ppa_strict", "ppa_strict_low",
        "ppa_strict_high", "ppa_half", "ppa_half_low", "ppa_half_high",
        "metric_tie_rate", "n_pairs", "acc_eq", "epsilon", "epsilon_in_sample",
    ),
    "metric_comparisons": (
        "dimension", "level", "coefficient", "metric_a", "metric_b", "difference",
        "low", "high", "p_value", "p_adjusted", "test",
    ),
    "leaderboard": (
        "criterion", "method", "rating", "low", "high", "rank", "rank_low",
        "rank_high", "n_comparisons",
    ),
    "win_rates": WIN_RATE_COLUMNS,
    "cells": ("question", "metric", "story", "method", "human", "score"),
}  # fmt: skip
# Digits kept in tables: sums may differ in the last bits between machines.
DIGITS = 12
# Answers are skewed where alpha is below the first and AC above the second.
LOW_ALPHA, HIGH_AC = 0.2, 0.6
Row = dict[str, object]

__all__ = ["AlignOptions", "Analysis", "OptionError", "agree", "align", "rank"]


@dataclass(frozen=True)
class AlignOptions:
    """What to compute and how; the options of the command line.

    Attributes
    ----------
    exclude_methods
        Methods left out of every table.
    scale
        Lowest and highest rating; the categories of AC1 and AC2.
    levels, coefficients
        Which rows `correlations` and `metric_comparisons` hold.
    epsilon
        Tie threshold of acc_eq: ``"heldout"`` (tuned on other stories),
        ``"insample"`` (tuned on the same ones, flagged) or ``"0"``.
    resamples, resample, confidence, seed
        Number and unit of bootstrap resamples (None: the default of each
        analysis), coverage of intervals, and seed of every random step.
    """

    exclude_methods: tuple[str, ...] = ()
    scale: tuple[int, int] | None = None
    levels: tuple[str, ...] = ("method", "story", "pooled")
    coefficients: tuple[str, ...] = ("kendall", "spearman", "pearson")
    epsilon: str = "heldout"
    resamples: int = 1000
    resample: str | None = None
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse values that no analysis knows."""
        _known("--levels", self.levels, LEVELS)
        _known("--coefficients", self.coefficients, COEFFICIENTS)
        _known("--epsilon", (self.epsilon,), ("heldout", "insample", "0"))
        if not 0 < self.confidence < 1:
            raise OptionError(
                f"--confidence: {self.confidence}: expected a number between 0 and 1"
            )
        if self.resamples < 0:
            raise OptionError(f"--resamples: {self.resamples}: expected 0 or more")
        resample_parts(self.resample, default="units")


@dataclass(frozen=True)
class Analysis:
    """The tables of a report, the points behind its figures, and its remarks.

    Attributes
    ----------
    tables
        File name without suffix to frame, with the columns of the contract.
    cells
        The common subset of every question: columns question, metric, story,
        method, human, score (as given, not turned).
    notes
        Plain sentences: what was left out, dropped, or undefined.
    """

    tables: dict[str, pd.DataFrame]
    cells: pd.DataFrame
    notes: tuple[str, ...]


def align(
    *,
    ratings: pd.DataFrame | None,
    choices: pd.DataFrame | None,
    scores: pd.DataFrame,
    options: AlignOptions,
) -> Analysis:
    """Compare every metric with people.

    Parameters
    ----------
    ratings, choices
        What people say, with the columns of `analysis.tables`; at least one.
    scores
        What metrics say.
    options
        The options of the command line.

    Returns
    -------
    Analysis
        Tables method_means, correlations, metric_comparisons (with ratings),
        leaderboard, win_rates (with choices), pairwise_accuracy and agreement.

    Raises
    ------
    OptionError
        When an option does not fit the data, or nothing is left to analyse.

    Notes
    -----
    Rows marked as gold, repeated or excluded enter no table. All metrics of a
    question are compared on the cells that people and every metric cover.
    Tables do not depend on the order of the rows.
    """
    if ratings is None and choices is None:
        raise OptionError("expected ratings, choices or both")
    people = _people(ratings, choices, options)
    notes = _exclusion_notes([ratings, choices, scores], options)
    table = score_table(
        without_methods(
            kept_rows(scores, SCORE_KEYS), options.exclude_methods, ("method",)
        )
    )
    notes += people.notes + _direction_notes(table)
    found = _Tables(options)
    if people.ratings is not None:
        _align_ratings(people.ratings, table, found)
    if people.choices is not None:
        _align_choices(people.choices, table, found)
    _add_agreement(people, found, strict=False)
    return found.analysis(notes)


def agree(
    *,
    ratings: pd.DataFrame | None = None,
    choices: pd.DataFrame | None = None,
    options: AlignOptions,
) -> Analysis:
    """Measure how well people agree with one another.

    Parameters
    ----------
    ratings, choices
        What people say; one of them or both.
    options
        The options of the command line. `resample` may name stories, methods
        and units; the default is units.

    Returns
    -------
    Analysis
        The table agreement.
    """
    if ratings is None and choices is None:
        raise OptionError("expected ratings or choices")
    people = _people(ratings, choices, options)
    found = _Tables(options)
    _add_agreement(people, found, strict=True)
    return found.analysis(_exclusion_notes([ratings, choices], options) + people.notes)


def rank(
    *,
    choices: pd.DataFrame,
    ties: str = "half",
    majority: bool = False,
    options: AlignOptions,
) -> Analysis:
    """Rank methods by side-by-side answers.

    Parameters
    ----------
    choices
        What people say.
    ties
        ``"half"``, ``"drop"`` or ``"davidson"``.
    majority
        Count the majority of each story's annotators instead of single votes.
    options
        The options of the command line. `resample` may name stories, annotators
        and units; the default is stories and annotators, or stories with
        `majority`.

    Returns
    -------
    Analysis
        The tables leaderboard and win_rates.
    """
    _known("--ties", (ties,), boards.TIES)
    people = _people(None, choices, options)
    found = _Tables(options)
    allowed = ("stories", "units") if majority else boards.PARTS
    default = "stories" if majority else "stories+annotators"
    parts = resample_parts(options.resample, default=default, allowed=allowed)
    if people.choices is not None:
        _add_leaderboard(people.choices, found, parts, ties=ties, by_majority=majority)
    return found.analysis(_exclusion_notes([choices], options) + people.notes)


def _known(option: str, given: Iterable[str], known: tuple[str, ...]) -> None:
    for value in given:
        if value not in known:
            raise OptionError(f"{option}: {value!r}: expected {', '.join(known)}")


@dataclass(frozen=True)
class _People:
    """Kept and sorted answers, and what was left out."""

    ratings: pd.DataFrame | None
    choices: pd.DataFrame | None
    notes: list[str]


class _Tables:
    """Collects rows of the tables and remarks."""

    def __init__(self, options: AlignOptions) -> None:
        self.options = options
        self.rows: dict[str, list[Row]] = {}
        self.notes: list[str] = []

    def add(self, table: str, row: Row) -> None:
        self.rows.setdefault(table, []).append(row)

    def analysis(self, notes: list[str]) -> Analysis:
        frames = {
            name: _frame(self.rows[name], columns)
            for name, columns in COLUMNS.items()
            if name in self.rows
        }
        cells = frames.pop("cells", _frame([], COLUMNS["cells"]))
        return Analysis(frames, cells, tuple(dict.fromkeys(notes + self.notes)))


def _frame(rows: list[Row], columns: tuple[str, ...]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(columns))
    for column in frame.select_dtypes("float"):
        frame[column] = [_rounded(value) for value in frame[column]]
    for column in ("rank", "rank_low", "rank_high"):
        if column in frame:
            frame[column] = frame[column].astype("Int64")
    return frame


def _rounded(value: float) -> float:
    # Adding 0.0 turns -0.0 into 0.0.
    return float(f"{value:.{DIGITS}g}") + 0.0


def _people(
    ratings: pd.DataFrame | None, choices: pd.DataFrame | None, options: AlignOptions
) -> _People:
    notes = []
    kept: list[pd.DataFrame | None] = []
    for name, frame, keys, columns in (
        ("ratings", ratings, RATING_KEYS, ("method",)),
        ("choices", choices, CHOICE_KEYS, ("method_a", "method_b")),
    ):
        if frame is None:
            kept.append(None)
            continue
        rows = kept_rows(frame, keys)
        if len(rows) < len(frame):
            notes.append(
                f"{len(frame) - len(rows)} of {len(frame)} {name} are gold, repeated "
                "or excluded and enter no table."
            )
        rows = without_methods(rows, options.exclude_methods, columns)
        if rows.empty:
            raise OptionError(f"{name}: no row is left to analyse")
        kept.append(rows)
    rated, chosen = kept
    if rated is not None:
        rated = _one_kind_of_row(rated, notes)
    if chosen is not None:
        chosen = kept_rows(ordered_choices(chosen), CHOICE_KEYS)
        notes += _both_bad_notes(chosen)
    return _People(rated, chosen, notes)


def _one_kind_of_row(ratings: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Where some ratings of a dimension name a story, drop those that do not."""
    named = ratings["story"] != ""
    stray = ~named & named.groupby(ratings["dimension"]).transform("any")
    for dimension, count in stray.groupby(ratings["dimension"]).sum().items():
        if count:
            notes.append(
                f"{dimension}: {count} ratings without a story were left out, since "
                "others name one."
            )
    return ratings[~stray].reset_index(drop=True)


def _both_bad_notes(choices: pd.DataFrame) -> list[str]:
    bad = choices[choices["choice"] == OUTCOMES[3]].groupby("criterion").size()
    return [
        f"{criterion}: {count} answers say that both are bad; they are neither wins "
        "nor ties in win rates, and ties in the leaderboard."
        for criterion, count in bad.items()
    ]


def _exclusion_notes(
    frames: list[pd.DataFrame | None], options: AlignOptions
) -> list[str]:
    if not options.exclude_methods:
        return []
    columns = ("method", "method_a", "method_b")
    known = {
        str(name)
        for frame in frames
        if frame is not None
        for column in columns
        if column in frame
        for name in frame[column].unique()
    }
    for name in options.exclude_methods:
        if name not in known:
            raise OptionError(
                f"--exclude-methods: {name!r}: expected one of "
                f"{', '.join(sorted(known))}"
            )
    return [f"Left out as asked: {', '.join(options.exclude_methods)}."]


def _direction_notes(table: ScoreTable) -> list[str]:
    lower = [m for m in table.metrics if not table.higher_is_better[m]]
    if not lower:
        return []
    return [
        f"Lower is better for {', '.join(lower)}: the sign is turned before "
        "comparing, so that positive always means agreement with people."
    ]


def _align_ratings(ratings: pd.DataFrame, table: ScoreTable, found: _Tables) -> None:
    options = found.options
    parts = resample_parts(options.resample, default="stories+methods")
    by_annotator = annotator_cells(ratings)
    for dimension, cells in by_annotator.groupby("dimension", sort=True):
        question = str(dimension)
        rows = ratings[ratings["dimension"] == question]
        _add_means(rows, cells, question, parts, found)
        grid, notes = common_grid(question, cells, table)
        found.notes += notes
        _add_cells(grid, table, found)
        _add_levels(grid, table.metrics, parts, found)
        pairs = rating_pairs(grid)
        if grid.human_is_method_level:
            found.notes.append(
                f"{question}: ratings are method-level values, so only the method "
                "level is computed and no pairs inside stories."
            )
        elif pairs.metrics:
            _add_pairs(pairs, parts, found)


def _add_means(
    ratings: pd.DataFrame,
    cells: pd.DataFrame,
    dimension: str,
    parts: tuple[str, ...],
    found: _Tables,
) -> None:
    options = found.options
    for row in mean_ratings(
        ratings, cells, dimension=dimension, parts=parts, resamples=options.resamples,
        confidence=options.confidence, seed=options.seed,
    ):  # fmt: skip
        found.add(
            "method_means",
            {
                "dimension": dimension,
                "method": row.method,
                "mean": row.mean.value,
                "sd_annotators": row.sd_annotators,
                "n_ratings": row.n_ratings,
                "n_annotators": row.n_annotators,
                "n_stories": row.mean.n,
                "low": row.mean.low,
                "high": row.mean.high,
            },
        )


def _add_cells(grid: Grid, table: ScoreTable, found: _Tables) -> None:
    for k, metric in enumerate(grid.metrics):
        sign = 1 if table.higher_is_better[metric] else -1
        for s, m in np.argwhere(grid.cells):
            found.add(
                "cells",
                {
                    "question": grid.question,
                    "metric": metric,
                    "story": grid.stories[s],
                    "method": grid.methods[m],
                    "human": grid.human[s, m],
                    "score": sign * grid.scores[k, s, m],
                },
            )


def _add_levels(
    grid: Grid, metrics: tuple[str, ...], parts: tuple[str, ...], found: _Tables
) -> None:
    """Add correlations of all metrics at all levels, and their comparisons."""
    options = found.options
    estimates: dict[tuple[str, str, str], Estimate] = {}
    for level in options.levels:
        usable = tuple(m for m in grid.metrics if _level_exists(grid, level, m))
        part = grid.with_metrics(usable)
        here, draws = level_estimates(
            part, level, coefficients=options.coefficients, parts=parts,
            resamples=options.resamples, confidence=options.confidence,
            seed=options.seed,
        )  # fmt: skip
        estimates |= {(m, level, name): value for (m, name), value in here.items()}
        _add_comparisons(part, level, parts, here, draws, found)
    n_methods = int(grid.cells.any(axis=0).sum())
    if "method" in options.levels and 0 < n_methods < EXACT_BELOW:
        found.notes.append(
            f"{grid.question}: the method level rests on {n_methods} methods and is "
            "nearly uninformative; its p-values are exact."
        )
    for metric in metrics:
        for level in options.levels:
            for name in options.coefficients:
                value = estimates.get(
                    (metric, level, name), _no_level(grid, level, metric)
                )
                _add_correlation(grid.question, metric, level, name, value, found)


def _level_exists(grid: Grid, level: str, metric: str) -> bool:
    return level == "method" or not (
        grid.human_is_method_level or metric in grid.method_level
    )


def _no_level(grid: Grid, level: str, metric: str) -> Estimate:
    if metric not in grid.metrics:
        return undefined("no rated output has a score of this metric")
    side = "ratings" if grid.human_is_method_level else "scores"
    return undefined(f"{side} are method-level values, without stories")


def _add_correlation(
    dimension: str, metric: str, level: str, name: str, value: Estimate, found: _Tables
) -> None:
    found.add(
        "correlations",
        {
            "dimension": dimension,
            "metric": metric,
            "level": level,
            "coefficient": name,
            "value": value.value,
            "low": value.low,
            "high": value.high,
            "n": value.n,
            "n_groups": value.n_groups,
            "p_value": value.p_value,
            "reason": value.reason,
        },
    )


def _add_comparisons(
    grid: Grid,
    level: str,
    parts: tuple[str, ...],
    estimates: dict[tuple[str, str], Estimate],
    draws: dict[str, Array],
    found: _Tables,
) -> None:
    """Add all pairs of metrics; Holm's adjustment is within level and coefficient."""
    options = found.options
    tests = {
        (test.metric_a, test.metric_b, test.coefficient): test
        for test in swap_tests(
            grid, level, coefficients=options.coefficients, parts=parts,
            resamples=options.resamples, seed=options.seed,
        )
    }  # fmt: skip
    pairs = [
        (a, b)
        for a in range(len(grid.metrics))
        for b in range(a + 1, len(grid.metrics))
    ]
    for name in options.coefficients:
        rows = []
        for a, b in pairs:
            first, second = grid.metrics[a], grid.metrics[b]
            low, high, _ = interval(draws[name][a] - draws[name][b], options.confidence)
            test = tests.get((first, second, name))
            difference = estimates[first, name].value - estimates[second, name].value
            rows.append(
                {
                    "dimension": grid.question,
                    "level": level,
                    "coefficient": name,
                    "metric_a": first,
                    "metric_b": second,
                    "difference": difference,
                    "low": low if np.isfinite(difference) else NAN,
                    "high": high if np.isfinite(difference) else NAN,
                    "p_value": test.p_value if test else NAN,
                    "test": test.test if test else "",
                }
            )
        adjusted = holm(np.array([row["p_value"] for row in rows], float))
        for row, p_value in zip(rows, adjusted, strict=True):
            found.add("metric_comparisons", {**row, "p_adjusted": float(p_value)})


def _add_pairs(pairs: Pairs, parts: tuple[str, ...], found: _Tables) -> None:
    options = found.options
    for row in pair_agreement(
        pairs, epsilon=options.epsilon, parts=parts, resamples=options.resamples,
        confidence=options.confidence, seed=options.seed,
    ):  # fmt: skip
        found.add(
            "pairwise_accuracy",
            {
                "question": pairs.question,
                "metric": row.metric,
                "source": pairs.source,
                "ppa_strict": row.strict.value,
                "ppa_strict_low": row.strict.low,
                "ppa_strict_high": row.strict.high,
                "ppa_half": row.half.value,
                "ppa_half_low": row.half.low,
                "ppa_half_high": row.half.high,
                "metric_tie_rate": row.tie_rate,
                "n_pairs": row.n_pairs,
                "acc_eq": row.acc_eq,
                "epsilon": row.epsilon,
                "epsilon_in_sample": row.in_sample,
            },
        )


def _align_choices(choices: pd.DataFrame, table: ScoreTable, found: _Tables) -> None:
    options = found.options
    parts = resample_parts(options.resample, default="stories+methods")
    for criterion, rows in choices.groupby("criterion", sort=True):
        pairs = choice_pairs(str(criterion), rows, table)
        if pairs.metrics:
            _add_pairs(pairs, parts, found)
        else:
            found.notes.append(f"{criterion}: no metric scores both outputs of a pair.")
    allowed = _supported(options.resample, "stories+annotators", boards.PARTS)
    _add_leaderboard(choices, found, allowed, ties="half", by_majority=False)


def _supported(
    text: str | None, default: str, supported: tuple[str, ...]
) -> tuple[str, ...]:
    """Return what an analysis can draw of the parts asked for, else its default."""
    asked = resample_parts(text, default=default, allowed=PARTS)
    return tuple(part for part in asked if part in supported) or tuple(
        default.split("+")
    )


def _add_leaderboard(
    choices: pd.DataFrame,
    found: _Tables,
    parts: tuple[str, ...],
    *,
    ties: str,
    by_majority: bool,
) -> None:
    options = found.options
    for criterion, rows in choices.groupby("criterion", sort=True):
        standings, notes = boards.leaderboard(
            rows, criterion=str(criterion), ties=ties, by_majority=by_majority,
            parts=parts, resamples=options.resamples, confidence=options.confidence,
            seed=options.seed,
        )  # fmt: skip
        found.notes += notes
        for row in standings:
            found.add("leaderboard", {"criterion": str(criterion), **vars(row)})
    for record in win_rates(choices).to_dict("records"):
        found.add("win_rates", {str(k): v for k, v in record.items()})


def _add_agreement(people: _People, found: _Tables, *, strict: bool) -> None:
    """Add agreement; `strict` refuses resampling units that it cannot draw."""
    options = found.options
    if strict:
        parts = resample_parts(
            options.resample, default="units", allowed=AGREEMENT_PARTS
        )
    else:
        parts = _supported(options.resample, "units", AGREEMENT_PARTS)
    questions: list[tuple[str, Reliability, tuple[str, ...]]] = []
    if people.ratings is not None:
        questions += [
            (str(name), rating_reliability(rows, options.scale), RATING_STATISTICS)
            for name, rows in people.ratings.groupby("dimension", sort=True)
        ]
    if people.choices is not None:
        questions += [
            (str(name), choice_reliability(rows), CHOICE_STATISTICS)
            for name, rows in people.choices.groupby("criterion", sort=True)
        ]
    for question, data, statistics in questions:
        rows = agreement(
            data, statistics, parts=parts, resamples=options.resamples,
            confidence=options.confidence, seed=options.seed, question=question,
        )  # fmt: skip
        for row in rows:
            found.add(
                "agreement",
                {
                    "question": question,
                    "statistic": row.statistic,
                    "value": row.estimate.value,
                    "low": row.estimate.low,
                    "high": row.estimate.high,
                    "n_units": row.estimate.n,
                    "n_annotators": row.n_annotators,
                    "n_answers": row.n_answers,
                    "reason": row.estimate.reason,
                },
            )
        found.notes += _skew_notes(question, rows)


def _skew_notes(question: str, rows: list[Agreement]) -> list[str]:
    values = {row.statistic: row.estimate.value for row in rows}
    alpha = values.get("alpha_ordinal", values["alpha_nominal"])
    other = values.get("ac2_quadratic", values["ac1"])
    if alpha < LOW_ALPHA and other > HIGH_AC:
        return [
            f"{question}: nearly all answers are the same, so alpha is low "
            f"({alpha:.2f}) although annotators agree ({other:.2f} by Gwet's "
            "coefficient, which does not collapse there)."
        ]
    return []
