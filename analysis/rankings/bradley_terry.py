"""Ranking methods by side-by-side answers: Bradley-Terry and Davidson."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import CrossedCovariance, crossed_covariance
from analysis.rankings.choice_stages import ChoiceSets
from analysis.rankings.choice_votes import (
    PARTS,
    TIED,
    WINS,
    CriterionVotes,
    choice_votes,
    kinds_drawn,
)
from analysis.rankings.likelihood import bounded_ties, separate_parts, why_separated
from analysis.rankings.plackett_luce import fit
from analysis.rankings.standings import (
    ELO_SCALE,
    WEAK,
    RankedMethod,
    RatedPart,
    Standings,
    no_intervals,
    prior_note,
    rated_apart,
)
from analysis.results import NAN, Array
from analysis.sentences import sentence

__all__ = ["ELO_SCALE", "PARTS", "TIES", "LeaderboardRow", "fit_model", "leaderboard"]
TIES = ("half", "drop", "davidson")
# The last outcome of a comparison: the first wins, the second wins, neither.
TIE = 2


@dataclass(frozen=True)
class PairFit:
    """Strengths of the methods of one table of counts."""

    theta: Array
    converged: bool
    influence: Array
    covariance: Array


def fit_model(table: Array, *, ties: str = "half") -> PairFit:
    r"""Fit strengths to one table of counts, wins and ties (2, M, M).

    This is Plackett and Luce's model of orders of two, with ties Davidson's:

    .. math:: P(i) : P(tie) : P(j) = e^{\eta/2} : \nu : e^{-\eta/2},
        \quad \eta = \theta_i - \theta_j

    with :math:`\nu = 0` except for Davidson, where it is finite if `bounded_ties` says
    so. Without ties there is no parameter of theirs; ties alone leave all strengths
    equal.

    The influence of an answer is :math:`I^{-1} s`, with :math:`I` the information of
    all answers and :math:`s` the gradient of its log likelihood, for each cell of the
    table. Summed over all answers it is 0 at the maximum.
    """
    table = np.asarray(table, float)
    M = table.shape[-1]
    wins, tied = table[WINS], table[TIED] + table[TIED].T
    counts_ties = ties == "davidson" and bool(tied.any() and wins.any())
    if not counts_ties and ties != "drop":
        wins = wins + tied / 2
    first, second = pairs = np.nonzero(np.triu(wins + wins.T + tied, 1))
    unit, source = np.eye(M, dtype=bool), np.arange(len(first))
    chosen = [unit[first], unit[second]]
    counts = [wins[first, second], wins[second, first]]
    if counts_ties:
        chosen.append(unit[first] | unit[second])
        counts.append(tied[pairs])
    members = np.column_stack(pairs)
    sets = ChoiceSets((members,), np.tile(source, len(chosen)), np.concatenate(chosen))
    found = fit(sets, np.concatenate(counts))
    theta = found.parameters[:M]
    if not (found.converged and (not counts_ties or bounded_ties(*table))):
        return PairFit(theta, False, np.empty(0), np.empty(0))
    of_outcomes = found.influence.reshape(len(chosen), len(first), -1)
    influence = np.zeros((2, M, M, of_outcomes.shape[-1]))
    influence[WINS, first, second], influence[WINS, second, first] = of_outcomes[:2]
    of_tie = of_outcomes[TIE] if counts_ties else of_outcomes.mean(axis=0)
    influence[TIED, first, second] = influence[TIED, second, first] = of_tie
    return PairFit(theta, True, influence, found.covariance)


def with_average_method(counts: Array, weight: float) -> Array:
    """Add a method that won and lost half of `weight` answers against each other."""
    planes, M, _ = counts.shape
    found = np.zeros((planes, M + 1, M + 1))
    found[:, :M, :M] = counts
    found[WINS, :M, M] = found[WINS, M, :M] = weight / 2
    return found


@dataclass(frozen=True, kw_only=True)
class LeaderboardRow(RankedMethod):
    """One method of a leaderboard; `n_comparisons` answers of it enter the fit."""

    n_comparisons: int


def leaderboard(
    choices: pd.DataFrame,
    *,
    criterion: str,
    ties: str = "half",
    by_majority: bool = False,
    parts: tuple[str, ...] = ("stories", "annotators"),
    confidence: float = 0.95,
) -> Standings[LeaderboardRow]:
    r"""Rank the methods of one criterion by maximum likelihood: see `fit_model`.

    Rating :math:`1000 + 400/\ln 10\,(\theta - \bar\theta)`. Methods that no chain of
    answers joins are rated apart, part by part. Inside a part the maximum exists where
    from every method a chain of wins (or ties that count) leads to every other (Ford
    1957); Davidson's also needs such a chain from a method back to itself with more
    wins than ties, where there are both. Where it does not exist, a weak prior makes
    one, and a remark says so. Intervals and tests rest on what each answer adds to the
    fit (`analysis.inference.crossed_clusters`); ranks hold together for all methods.

    Source: Bradley and Terry (1952), Biometrika 39; Davidson (1970), JASA 65.
    """
    votes = choice_votes(choices, by_majority=by_majority)
    votes = votes.without_ties() if ties == "drop" else votes
    notes: list[str] = []
    if len(votes.methods) < 2:
        notes.append(sentence("no ratings, since there is one method only."))
    groups = separate_parts(votes.counts().sum(axis=0))
    never = (
        sentence("have no answer but ties between them")
        if ties == "drop"
        else sentence("were never compared")
    )
    notes += rated_apart(votes.methods, groups, never)
    found: Standings[LeaderboardRow] = Standings([], [], notes)
    for part, members in enumerate(groups, start=1):
        own = votes.among(members)
        board, note = _fitted(own, ties, parts)
        notes += [note] if note else []
        wins, tied = own.counts()
        n = (wins + wins.T + tied + tied.T).sum(axis=1).astype(int)
        rows = [
            LeaderboardRow(part=part, n_comparisons=int(answers), **row)
            for answers, row in zip(
                n, board.standings(wins + tied + tied.T, n, confidence), strict=True
            )
        ]
        found.add(criterion, "choices", part, rows, board, confidence)
    if parts and found.rows and all(np.isnan(row.low) for row in found.rows):
        notes.append(no_intervals(votes.clusters, parts))
    return found


def _fitted(
    votes: CriterionVotes, ties: str, parts: tuple[str, ...]
) -> tuple[RatedPart, str]:
    """Fit the methods of one part; also say on what prior, if on any."""
    M, counts = len(votes.methods), votes.counts()
    none = RatedPart(votes.methods, np.full(M, NAN))
    if M < 2:
        return none, ""
    wins, tied = counts
    lacking = why_separated(wins + tied + tied.T, votes.methods)
    if ties == "davidson" and not bounded_ties(wins, tied):
        lacking = lacking or sentence(
            "no chain of answers from a method back to itself holds more wins than ties"
        )
    found = fit_model(
        with_average_method(counts, WEAK) if lacking else counts, ties=ties
    )
    if not found.converged:
        return none, ""
    covariance: CrossedCovariance | None = None
    if parts:
        adds = found.influence[:, :M, :M, :M].reshape(votes.size, M)
        covariance = crossed_covariance(
            adds,
            votes.cell,
            kinds_drawn(votes.clusters, parts),
            rank=M - 1,
            model=found.covariance[:M, :M],
            is_least=bool(lacking),
            weights=_about(M),
        )
    theta = found.theta[:M] - found.theta[:M].mean()
    note = prior_note(lacking) if lacking else ""
    return RatedPart(votes.methods, theta, covariance), note


def _about(n: int) -> Array:
    """Return which methods each cell of a table of counts is about, (2 n n, n)."""
    _plane, winner, loser = np.indices((2, n, n)).reshape(3, -1)
    return np.asarray(np.eye(n)[winner] + np.eye(n)[loser])
