"""Ranking methods by orders of several outputs: Plackett-Luce."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import crossed_covariance
from analysis.rankings.choice_counts import kinds_drawn
from analysis.rankings.likelihood import separate_parts, who_stands_apart
from analysis.rankings.plackett_luce import Stages, fit, ranking_stages
from analysis.rankings.standings import (
    ELO_MEAN,
    ELO_SCALE,
    WEAK,
    RankedMethod,
    RatedPart,
    Standings,
    no_intervals,
    prior_note,
    rated_apart,
)
from analysis.results import TableRow
from analysis.sentences import sentence


@dataclass(frozen=True, kw_only=True)
class RankingLeaderboardRow(RankedMethod):
    """One method of a leaderboard of rankings."""

    log_worth: float
    n_rankings: int
    n_stories: int


def ranking_leaderboard(
    rankings: pd.DataFrame,
    *,
    criterion: str,
    parts: tuple[str, ...] = ("stories", "annotators"),
    confidence: float = 0.95,
) -> Standings[RankingLeaderboardRow]:
    r"""Rank the methods of one criterion by maximum likelihood.

    Plackett-Luce: see `analysis.rankings.plackett_luce.fit`. Rating
    :math:`1000 + 400/\ln 10\,(\theta - \bar\theta)`, as in the leaderboard of pairs,
    which orders of two methods agree with. So do parts that were never ranked together,
    and the weak prior where no maximum exists: see
    `analysis.rankings.leaderboard.leaderboard`. It exists where from every method a
    chain of others, each ranked below the one before in some answer, leads to every
    other (Hunter 2004, assumption 1 and section 5). Intervals and ranks are made as
    there.

    Source: Plackett (1975), Applied Statistics 24; Hunter (2004), Annals of Statistics
    32.
    """
    stages = ranking_stages(rankings)
    if not stages.methods:
        notes = [sentence("no ratings, since no answer ranks two methods.")]
        return Standings([], [], notes)
    groups = separate_parts(stages.beats())
    notes = rated_apart(stages.methods, groups, sentence("were never ranked together"))
    rows: list[RankingLeaderboardRow] = []
    compared: list[TableRow] = []
    for part, members in enumerate(groups, start=1):
        own = stages
        if len(groups) > 1:
            names = [stages.methods[k] for k in members]
            own = ranking_stages(rankings[rankings["method"].isin(names)])
        board, note = _fitted(own, parts)
        notes += [note] if note else []
        rows += _rows(own, board, part, confidence)
        about: TableRow = {"question": criterion, "source": "rankings", "part": part}
        compared += board.comparisons(about, confidence)
    if parts and all(np.isnan(row.low) for row in rows):
        notes.append(no_intervals(stages.clusters, parts))
    return Standings(rows, compared, notes)


def _rows(
    stages: Stages, board: RatedPart, part: int, confidence: float
) -> list[RankingLeaderboardRow]:
    """Return the methods, best first."""
    standings = board.standings(stages.beats(), stages.n_rankings, confidence)
    rows = [
        RankingLeaderboardRow(
            part=part,
            log_worth=float((row["rating"] - ELO_MEAN) / ELO_SCALE),
            n_rankings=int(stages.n_rankings[i]),
            n_stories=int(stages.n_stories[i]),
            **row,
        )
        for i, row in enumerate(standings)
    ]
    return sorted(rows, key=lambda row: (row.rank, row.method))


def _fitted(stages: Stages, parts: tuple[str, ...]) -> tuple[RatedPart, str]:
    """Fit the methods of one part; also say on what prior, or why there is no fit."""
    M, beats = len(stages.methods), stages.beats()
    lacking = who_stands_apart(beats, stages.methods)
    sets, counts = stages.sets, stages.counts()
    if lacking:
        sets, counts = sets.with_average_method(counts, WEAK)
    found = fit(sets, counts)
    if not found.converged:
        why = sentence("no ratings, since their maximum was not found.")
        return RatedPart(stages.methods, np.full(M, np.nan)), why
    covariance = None
    if parts:
        adds = np.concatenate(
            [own.reshape(-1, sets.n_methods) for own in found.influence]
        )
        covariance = crossed_covariance(
            adds[: stages.sets.size, :M],
            stages.cell,
            kinds_drawn(stages.clusters, parts),
            rank=M - 1,
            model=found.covariance[:M, :M],
            is_least=bool(lacking),
        )
    worth = found.parameters[:M] - found.parameters[:M].mean()
    note = prior_note(WEAK, lacking) if lacking else ""
    return RatedPart(stages.methods, worth, covariance), note
