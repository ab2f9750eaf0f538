"""Ranking methods by orders of several outputs: Plackett-Luce."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import CrossedCovariance, crossed_covariance
from analysis.rankings.choice_counts import kinds_drawn
from analysis.rankings.connectivity import (
    never_beaten,
    separate_parts,
    who_stands_apart,
)
from analysis.rankings.elo import (
    ELO_MEAN,
    ELO_SCALE,
    RankedMethod,
    Standings,
    comparisons,
    places,
)
from analysis.rankings.leaderboard_notes import (
    WEAK,
    no_intervals,
    prior_note,
    rated_apart,
)
from analysis.rankings.plackett_luce import covariance, fit, influence
from analysis.rankings.stages import Stages, ranking_stages
from analysis.results import Array, TableRow
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
    groups = separate_parts(_beats(stages))
    notes = rated_apart(stages.methods, groups, sentence("were never ranked together"))
    rows: list[RankingLeaderboardRow] = []
    compared: list[TableRow] = []
    for part, members in enumerate(groups, start=1):
        own = stages
        if len(groups) > 1:
            names = [stages.methods[k] for k in members]
            own = ranking_stages(rankings[rankings["method"].isin(names)])
        board = _fitted(own, parts)
        notes += [board.note] if board.note else []
        rows += board.rows(part, confidence)
        compared += [
            {"question": criterion, "source": "rankings", "part": part, **row}
            for row in board.comparisons(confidence)
        ]
    if parts and all(np.isnan(row.low) for row in rows):
        notes.append(no_intervals(stages.clusters, parts))
    return Standings(rows, compared, notes)


@dataclass(frozen=True)
class _Board:
    """Methods of one part, their log worths (M,) and the covariance of these."""

    stages: Stages
    theta: Array
    covariance: CrossedCovariance | None
    note: str

    def rows(self, part: int, confidence: float) -> list[RankingLeaderboardRow]:
        """Return the methods, best first."""
        stages = self.stages
        standings = places(self.theta, self.covariance, confidence)
        reasons = never_beaten(_beats(stages), stages.n_rankings)
        rows = [
            RankingLeaderboardRow(
                method=method,
                part=part,
                reason=reasons[i],
                log_worth=float((standings[i].rating - ELO_MEAN) / ELO_SCALE),
                n_rankings=int(stages.n_rankings[i]),
                n_stories=int(stages.n_stories[i]),
                **vars(standings[i]),
            )
            for i, method in enumerate(stages.methods)
        ]
        return sorted(rows, key=lambda row: (row.rank, row.method))

    def comparisons(self, confidence: float) -> list[TableRow]:
        """Compare every two methods."""
        methods = self.stages.methods
        return comparisons(self.theta, self.covariance, methods, confidence)


def _fitted(stages: Stages, parts: tuple[str, ...]) -> _Board:
    M = len(stages.methods)
    lacking = who_stands_apart(_beats(stages), stages.methods)
    sets, counts = stages.sets, stages.counts()
    if lacking:
        sets, counts = sets.with_average_method(counts, WEAK)
    theta, (converged,) = fit(sets, counts[None])
    if not converged:
        why = sentence("no ratings, since their maximum was not found.")
        return _Board(stages, np.full(M, np.nan), None, why)
    covered = None
    if parts:
        covered = crossed_covariance(
            influence(sets, counts[None], theta)[: stages.size, :M],
            stages.cell,
            kinds_drawn(stages.clusters, parts),
            rank=M - 1,
            model=covariance(sets, counts[None], theta)[0, :M, :M],
            is_least=bool(lacking),
        )
    note = prior_note(WEAK, lacking) if lacking else ""
    worth = theta[0, :M] - theta[0, :M].mean()
    return _Board(stages, worth, covered, note)


def _beats(stages: Stages) -> Array:
    """Return how often each method stood before each other one, (M, M)."""
    return np.asarray(stages.sets.beats(stages.counts()[None])[0])
