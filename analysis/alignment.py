"""Every table of a report, from ratings, choices and scores."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from analysis import leaderboard as boards
from analysis.agreement import CHOICE_STATISTICS, RATING_STATISTICS
from analysis.agreement import PARTS as AGREEMENT_PARTS
from analysis.cells import annotator_cells, common_grid
from analysis.kept import kept_rows, without_methods
from analysis.options import (
    AlignOptions,
    OptionError,
    Progress,
    check_known,
    resample_parts,
    silent,
    supported_parts,
)
from analysis.pairwise import choice_pairs, rating_pairs
from analysis.people import People, kept_people, note_directions, note_exclusions
from analysis.reliability import Reliability, choice_reliability, rating_reliability
from analysis.rows import (
    COLUMNS,
    Tables,
    add_agreement,
    add_cells,
    add_leaderboard,
    add_levels,
    add_means,
    add_pairs,
)
from analysis.scores import ScoreTable, score_table

SCORE_KEYS = ("metric", "story", "method", "shot", "metric_version", "backend")


@dataclass(frozen=True)
class Analysis:
    """The tables of a report, the points behind its figures, and its remarks.

    Attributes
    ----------
    tables
        File name without suffix to frame, with the columns of the contract.
    cells
        The common subset of every question: columns question, metric, story,
        method, human, score (as given, not turned), higher_is_better.
    notes
        Plain sentences: what was left out, dropped, or undefined.
    resampled
        Table to the clusters that were drawn for its intervals; none of a table
        without intervals.
    permutations
        How many the tests between metrics made at most.
    """

    tables: dict[str, pd.DataFrame]
    cells: pd.DataFrame
    notes: tuple[str, ...]
    resampled: Mapping[str, tuple[str, ...]]
    permutations: int


def align(
    *,
    ratings: pd.DataFrame | None,
    choices: pd.DataFrame | None,
    scores: pd.DataFrame,
    options: AlignOptions,
    progress: Progress = silent,
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
    progress
        Is told each step before it begins.

    Returns
    -------
    Analysis
        Tables method_means, correlations, metric_comparisons (with ratings),
        leaderboard, win_rates (with choices), pairwise_accuracy and agreement.

    Raises
    ------
    OptionError
        When an option does not fit the data, or nothing is left to analyse or to
        compare.

    Notes
    -----
    Rows marked as gold, repeated or excluded enter no table. All metrics of a
    question are compared on the cells that people and every metric cover.
    Tables do not depend on the order of the rows.
    """
    if ratings is None and choices is None:
        raise OptionError("--ratings, --choices: expected one of them, or both")
    found = Tables(options)
    note_exclusions([ratings, choices, scores], options, found.notes)
    people = kept_people(ratings, choices, options, found.notes)
    table = score_table(
        without_methods(
            kept_rows(scores, SCORE_KEYS), options.exclude_methods, ("method",)
        )
    )
    note_directions(table, found.notes)
    found.notes.extend(table.notes)
    compared = False
    if people.ratings is not None:
        compared |= _align_ratings(people.ratings, table, found, progress)
    if people.choices is not None:
        compared |= _align_choices(people.choices, table, found, progress)
    if not compared:
        raise OptionError("scores: no metric has a score of an output that was judged")
    progress("agreement of annotators")
    parts = supported_parts(options.resample, "units", AGREEMENT_PARTS)
    add_agreement(_questions(people, options), found, parts)
    return _analysis(found)


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
    found = Tables(options)
    note_exclusions([ratings, choices], options, found.notes)
    people = kept_people(ratings, choices, options, found.notes)
    parts = resample_parts(options.resample, default="units", allowed=AGREEMENT_PARTS)
    add_agreement(_questions(people, options), found, parts)
    return _analysis(found)


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
    check_known("--ties", (ties,), boards.TIES)
    found = Tables(options)
    note_exclusions([choices], options, found.notes)
    people = kept_people(None, choices, options, found.notes)
    allowed = ("stories", "units") if majority else boards.PARTS
    default = "stories" if majority else "stories+annotators"
    parts = resample_parts(options.resample, default=default, allowed=allowed)
    if people.choices is not None:
        add_leaderboard(people.choices, found, parts, ties=ties, by_majority=majority)
    return _analysis(found)


def _align_ratings(
    ratings: pd.DataFrame, table: ScoreTable, found: Tables, progress: Progress
) -> bool:
    """Add the tables of ratings; say whether any metric met them."""
    compared = False
    options = found.options
    parts = resample_parts(options.resample, default="stories+methods")
    by_annotator = annotator_cells(ratings)
    for dimension, cells in by_annotator.groupby("dimension", sort=True):
        question = str(dimension)
        rows = ratings[ratings["dimension"] == question]
        progress(f"{question}: means")
        add_means(rows, cells, question, parts, found)
        grid, notes = common_grid(question, cells, table)
        found.notes.extend(notes, question)
        compared |= bool(grid.metrics)
        add_cells(grid, table, found)
        progress(f"{question}: correlations")
        add_levels(grid, table.metrics, parts, found)
        pairs = rating_pairs(grid)
        if grid.human_is_method_level:
            found.notes.add(
                "ratings are method-level values, so only the method level is computed "
                "and no pairs inside stories.",
                question,
            )
        elif pairs.metrics:
            progress(f"{question}: pairwise accuracy")
            add_pairs(pairs, parts, found)
    return compared


def _align_choices(
    choices: pd.DataFrame, table: ScoreTable, found: Tables, progress: Progress
) -> bool:
    """Add the tables of choices; say whether any metric met them."""
    compared = False
    options = found.options
    parts = resample_parts(options.resample, default="stories+methods")
    for criterion, rows in choices.groupby("criterion", sort=True):
        pairs = choice_pairs(str(criterion), rows, table)
        found.notes.extend(pairs.notes, str(criterion))
        if pairs.metrics:
            compared = True
            progress(f"{criterion}: pairwise accuracy")
            add_pairs(pairs, parts, found)
    progress("leaderboard")
    allowed = supported_parts(options.resample, "stories+annotators", boards.PARTS)
    add_leaderboard(choices, found, allowed, ties="half", by_majority=False)
    return compared


def _questions(
    people: People, options: AlignOptions
) -> list[tuple[str, Reliability, tuple[str, ...]]]:
    found: list[tuple[str, Reliability, tuple[str, ...]]] = []
    if people.ratings is not None:
        for name, rows in people.ratings.groupby("dimension", sort=True):
            data = rating_reliability(rows, options.scale)
            found.append((str(name), data, RATING_STATISTICS))
    if people.choices is not None:
        for name, rows in people.choices.groupby("criterion", sort=True):
            found.append((str(name), choice_reliability(rows), CHOICE_STATISTICS))
    return found


def _analysis(found: Tables) -> Analysis:
    tables = found.frames()
    cells = tables.pop("cells", pd.DataFrame(columns=list(COLUMNS["cells"])))
    resampled = {
        name: parts
        for name, parts in found.resampled.items()
        if name in tables and tables[name].filter(regex="low$").notna().any(axis=None)
    }
    return Analysis(
        tables, cells, found.notes.sentences(), resampled, found.options.resamples
    )
