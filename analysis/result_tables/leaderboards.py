"""The leaderboards of methods, and for what other stories and people they hold."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import cast

import numpy as np
import pandas as pd

from analysis.options import supported_parts
from analysis.questions import QuestionData
from analysis.rankings import leaderboard as boards
from analysis.rankings.elo import RankedRating
from analysis.rankings.ranking_leaderboard import ranking_leaderboard
from analysis.rankings.rating_rankings import rating_leaderboard
from analysis.reading.choices import win_rates
from analysis.result_tables.contract import TableCollector

# Clusters, and which column of the answers tells them apart.
CLUSTERS = {"stories": "story", "annotators": "annotator"}


def add_leaderboard(
    choices: pd.DataFrame,
    found: TableCollector,
    parts: tuple[str, ...],
    *,
    ties: str,
    by_majority: bool,
    side: bool = False,
) -> None:
    """Add ratings of the methods and win rates of their pairs."""
    board = partial(boards.leaderboard, ties=ties, by_majority=by_majority, side=side)
    _add_standings("leaderboard", choices, board, found, parts)
    for record in win_rates(choices).to_dict("records"):
        found.add("win_rates", {str(k): v for k, v in record.items()})


def add_ranking_leaderboard(
    rankings: pd.DataFrame, found: TableCollector, parts: tuple[str, ...]
) -> None:
    """Add ratings of the methods by orders of several outputs."""
    table = "ranking_leaderboard"
    _add_standings(table, rankings, ranking_leaderboard, found, parts)


def _add_standings(
    table: str,
    answers: pd.DataFrame,
    board: Callable[..., tuple[Iterable[RankedRating], list[str]]],
    found: TableCollector,
    parts: tuple[str, ...],
) -> None:
    for criterion, rows in answers.groupby("criterion", sort=True):
        name = str(criterion)
        standings, notes = board(
            rows, criterion=name, parts=parts, **found.options.sampling
        )
        found.notes.extend(notes, name)
        drawn = _drawn(rows, parts)
        standing = (
            {
                "criterion": name,
                **vars(row),
                "drawn": drawn if np.isfinite(row.rank_low) else "",
            }
            for row in standings
        )
        found.extend(table, standing, parts)


def add_rating_leaderboard(question: QuestionData, found: TableCollector) -> None:
    """Add means of the methods in three ways, with ranks."""
    assert question.by_annotator is not None
    parts = supported_parts(found.options.resample, "stories", tuple(CLUSTERS))
    rows, notes = rating_leaderboard(
        question.answers,
        question.by_annotator,
        question=question.name,
        parts=parts,
        **found.options.sampling,
    )
    drawn = _drawn(question.answers, parts)
    for row in rows:
        row["drawn"] = drawn if np.isfinite(cast("float", row["mean_rank_low"])) else ""
    found.extend("rating_leaderboard", rows, parts)
    found.notes.extend(notes, question.name)


def _drawn(answers: pd.DataFrame, parts: tuple[str, ...]) -> str:
    """Return the clusters that vary when drawn: not the only story or annotator."""
    alone = {part for part, key in CLUSTERS.items() if answers[key].nunique() < 2}
    return "+".join(part for part in parts if part not in alone)
