"""Leaderboards of methods, and the tests between them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis.options import OptionError, supported_parts
from analysis.questions import QuestionData
from analysis.rankings.bradley_terry import leaderboard
from analysis.rankings.choice_votes import with_weights
from analysis.rankings.method_means import mean_ranks, mean_ratings
from analysis.rankings.method_verdicts import method_verdict_rows, top_rows
from analysis.rankings.plackett_luce import ranking_leaderboard
from analysis.rankings.standings import Standings
from analysis.rankings.win_rates import method_win_rates, win_rates
from analysis.reading.kept_answers import KeptAnswers
from analysis.reading.scores import ScoreTable
from analysis.result_tables.contract import TableCollector
from analysis.sentences import sentence
from analysis.subgroups.estimates import score_mean_rows

WEIGHTED = sentence(
    "pairs were selected adaptively. Win rates weight answers by the inverse of their "
    "probability of being requested; counts of wins, and majorities, are unweighted. "
    "The leaderboard needs no weights."
)
# Clusters, and the columns of the answers that identify them.
CLUSTERS = {"stories": "story", "annotators": "annotator"}


def add_leaderboard(
    choices: pd.DataFrame,
    found: TableCollector,
    parts: tuple[str, ...],
    *,
    ties: str,
    by_majority: bool,
) -> None:
    """Add ratings of the methods, and win rates of them and of their pairs."""
    board = partial(leaderboard, ties=ties, by_majority=by_majority)
    _add_standings("leaderboard", choices, board, found, parts)
    drawn = parts if found.options.resamples else ()
    level = found.options.confidence
    for criterion, answers in choices.groupby("criterion", sort=True):
        rows, is_weighted = with_weights(answers)
        if is_weighted:
            found.notes.add(WEIGHTED, str(criterion))
        of_pairs = win_rates(
            rows, parts=drawn, confidence=level, baseline=found.options.baseline
        )
        of_methods = method_win_rates(rows, parts=drawn, confidence=level)
        for table, rates in (("win_rates", of_pairs), ("method_win_rates", of_methods)):
            about = {
                "criterion": str(criterion),
                "drawn": parts_drawn(rows, drawn),
                "weighted": is_weighted,
            }
            found.extend(table, [about | rate for rate in rates], parts)


def add_ranking_leaderboard(
    rankings: pd.DataFrame, found: TableCollector, parts: tuple[str, ...]
) -> None:
    """Add ratings of the methods from rankings."""
    table = "ranking_leaderboard"
    _add_standings(table, rankings, ranking_leaderboard, found, parts)


def _add_standings(
    table: str,
    answers: pd.DataFrame,
    board: Callable[..., Standings[Any]],
    found: TableCollector,
    parts: tuple[str, ...],
) -> None:
    options = found.options
    for criterion, rows in answers.groupby("criterion", sort=True):
        name = str(criterion)
        standings = board(
            rows,
            criterion=name,
            parts=parts if options.resamples else (),
            confidence=options.confidence,
        )
        found.notes.extend(standings.notes, name)
        drawn = parts_drawn(rows, parts)
        placed = (
            {
                "criterion": name,
                **vars(row),
                "drawn": drawn if np.isfinite(row.rank_low) else "",
            }
            for row in standings.rows
        )
        found.extend(table, placed, parts)
        compared = [row | {"drawn": drawn} for row in standings.comparisons]
        found.extend("method_comparisons", compared, parts)


def add_means(question: QuestionData, found: TableCollector) -> None:
    """Add the mean rating and the rank of every method, and their differences."""
    assert question.by_annotator is not None
    options = found.options
    parts = supported_parts(options.resample, "stories+annotators", tuple(CLUSTERS))
    drawn = parts_drawn(question.answers, parts)
    if drawn:
        found.resample("method_means", tuple(drawn.split("+")))
    sampled, confidence = parts if options.resamples else (), options.confidence
    ranks, compared = mean_ranks(
        question.by_annotator, parts=sampled, confidence=confidence
    )
    about = {"question": question.name, "source": "ratings", "part": 1, "drawn": drawn}
    found.extend("method_comparisons", [about | row for row in compared], parts)
    for row in mean_ratings(
        question.answers,
        question.by_annotator,
        parts=sampled,
        confidence=confidence,
        scale=options.scale_of(question.name),
    ):
        found.add(
            "method_means",
            {
                "dimension": question.name,
                "method": row.method,
                "mean": row.mean.value,
                "sd_annotators": row.sd_annotators,
                "n_ratings": row.n_ratings,
                "n_annotators": row.n_annotators,
                "n_stories": row.mean.n,
                "low": row.mean.low,
                "high": row.mean.high,
                **ranks[row.method],
                "drawn": drawn if np.isfinite(row.mean.low) else "",
            },
        )


def add_method_scores(
    people: KeptAnswers, table: ScoreTable, found: TableCollector
) -> None:
    """Add the mean score of every method by every metric, over the judged stories."""
    answers = (people.ratings, people.choices, people.rankings)
    judged = {s for rows in answers if rows is not None for s in rows["story"]} - {""}
    if judged:
        kept = table.cells["story"].isin([*judged, ""])
        table = replace(table, cells=table.cells[kept])
    rows = score_mean_rows(table, options=found.options)
    found.extend("method_scores", rows, ("stories",))


def add_method_verdicts(found: TableCollector, *, by_rates: bool = True) -> None:
    """Add which method people prefer, from the existing tables.

    `by_rates` tells whether leaderboards count like win rates: single votes, with ties
    as half.
    """
    tables, options = found.frames(), found.options
    if not by_rates:
        tables = {name: t for name, t in tables.items() if name != "method_win_rates"}
    rows = method_verdict_rows(tables, options.confidence)
    found.extend("method_verdicts", rows)
    if not options.top:
        return
    level = options.top_confidence or options.confidence
    best = top_rows(tables, options.top, level)
    if rows and not best:
        most = max(int(str(row["n_methods"])) for row in rows)
        raise OptionError(f"--top: {options.top}: expected fewer than {most} methods")
    found.extend("top_methods", best)


def parts_drawn(answers: pd.DataFrame, parts: tuple[str, ...]) -> str:
    """Return the clusters with at least two members."""
    alone = {part for part, key in CLUSTERS.items() if answers[key].nunique() < 2}
    return "+".join(part for part in parts if part not in alone)
