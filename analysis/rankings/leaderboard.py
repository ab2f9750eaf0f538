"""Ranking methods by side-by-side answers: Bradley-Terry and Davidson."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.inference.crossed_clusters import CrossedCovariance, crossed_covariance
from analysis.rankings.bradley_terry import (
    TIES,
    WINS_ON_LEFT,
    PairFit,
    fit_model,
    side_is_known,
    with_average_method,
    without_side,
)
from analysis.rankings.choice_counts import (
    PARTS,
    CriterionVotes,
    choice_votes,
    kinds_drawn,
)
from analysis.rankings.likelihood import bounded_ties, separate_parts, who_stands_apart
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
from analysis.results import NAN, Array, TableRow
from analysis.sentences import sentence

__all__ = ["ELO_SCALE", "PARTS", "TIES", "LeaderboardRow", "leaderboard", "side_effect"]
# Ties have a parameter of their own.
TIE_MODELS = ("davidson", "rao-kupper")
MAJORITY_HAS_NO_SIDE = sentence(
    "a majority joins answers of both sides; single votes have one each"
)


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
    side: bool = False,
    prior: float = 0.0,
    parts: tuple[str, ...] = ("stories", "annotators"),
    confidence: float = 0.95,
) -> Standings[LeaderboardRow]:
    r"""Rank the methods of one criterion by maximum likelihood.

    Bradley-Terry: :math:`P(i > j) = \operatorname{sigmoid}(\theta_i - \theta_j)`.
    Davidson: :math:`P(tie) \propto \nu \sqrt{\pi_i \pi_j}` with
    :math:`\pi = e^\theta`. Rao and Kupper: `analysis.rankings.bradley_terry`.
    Rating :math:`1000 + 400/\ln 10\,(\theta - \bar\theta)`.

    Methods that no chain of answers joins are rated apart, part by part. Inside a part
    the maximum exists where from every method a chain of wins (or ties that count)
    leads to every other (Ford 1957); a tie model also needs such a chain from a method
    back to itself with more wins than ties, where there are both. Where it does not
    exist, a weak prior makes one, and a remark says so: as if each method had met one
    more, of a strength that is fitted like the others, and had won half an answer and
    lost half of one. With `prior` that is done in any case, with so many answers.

    Intervals and tests of differences rest on what each answer adds to the fit, summed
    over stories and over annotators (`analysis.inference.crossed_clusters`); with a
    prior no error is less than that of independent answers. Ranks hold together for all
    methods, see `analysis.rankings.standings`.

    Source: Bradley and Terry (1952), Biometrika 39; Davidson (1970), JASA 65; Rao and
    Kupper (1967), JASA 62.
    """
    ask = _Ask(ties, parts, prior)
    sided = None
    notes: list[str] = []
    if side and by_majority:
        notes.append(_not_adjusted(MAJORITY_HAS_NO_SIDE))
    elif side:
        sided = _votes(choices, ask, side=True)
    votes = _votes(choices, ask, by_majority=by_majority)
    if len(votes.methods) < 2:
        notes.append(sentence("no ratings, since there is one method only."))
    wins, tied = without_side(votes.counts())
    groups = separate_parts(wins + tied)
    never = (
        sentence("have no answer but ties between them")
        if ties == "drop"
        else sentence("were never compared")
    )
    notes += rated_apart(votes.methods, groups, never)
    rows: list[LeaderboardRow] = []
    compared: list[TableRow] = []
    for part, members in enumerate(groups, start=1):
        board = None
        if sided is not None:
            board = _fitted(sided.among(members), ask)
            if board.why:
                notes.append(_not_adjusted(board.why))
        if board is None or board.why:
            board = _fitted(votes.among(members), ask)
        notes += board.notes
        rows += board.rows(part, confidence)
        about: TableRow = {"question": criterion, "source": "choices", "part": part}
        compared += board.rated.comparisons(about, confidence)
    if parts and rows and all(np.isnan(row.low) for row in rows):
        notes.append(no_intervals(votes.clusters, parts))
    return Standings(rows, compared, notes)


def side_effect(
    choices: pd.DataFrame,
    *,
    criterion: str,
    ties: str = "half",
    parts: tuple[str, ...] = ("stories", "annotators"),
    confidence: float = 0.95,
) -> list[TableRow]:
    r"""Estimate how much standing on the left helps an output.

    :math:`P(left\ wins) = \operatorname{sigmoid}(\theta_l - \theta_r + \delta)`,
    estimated together with the strengths, so that strong methods that stand on the
    left more often are not mistaken for an effect of the side.
    """
    ask = _Ask(ties, parts, 0.0)
    board = _fitted(_votes(choices, ask, side=True), ask)
    row: TableRow = dict.fromkeys(("value", "low", "high", "elo", "p_value"), NAN)
    row |= {"question": criterion, "reason": board.why}
    row["n"] = int(board.votes.counts()[WINS_ON_LEFT:].sum())
    if board.why:
        return [row]
    value = np.array([board.side])
    row |= {"value": board.side, "elo": board.side * ELO_SCALE}
    if board.of_side is not None:
        errors = board.of_side.of(np.eye(1))
        (low,), (high,) = errors.intervals(value, confidence)
        row |= {"low": float(low), "high": float(high)}
        row["p_value"] = float(errors.p_values(value)[0])
    return [row]


@dataclass(frozen=True)
class _Ask:
    """How ties count, what is drawn, and the weight of the prior."""

    ties: str
    parts: tuple[str, ...]
    prior: float


@dataclass(frozen=True)
class _Board:
    """What is known of the methods of one part."""

    votes: CriterionVotes
    rated: RatedPart
    side: float = NAN
    of_side: CrossedCovariance | None = None
    notes: tuple[str, ...] = ()
    why: str = ""

    def rows(self, part: int, confidence: float) -> list[LeaderboardRow]:
        """Return the methods, best first."""
        wins, tied = without_side(self.votes.counts())
        n = (wins + wins.T + tied + tied.T).sum(axis=1).astype(int)
        found = self.rated.standings(wins + tied + tied.T, n, confidence)
        rows = [
            LeaderboardRow(part=part, n_comparisons=int(answers), **row)
            for answers, row in zip(n, found, strict=True)
        ]
        return sorted(rows, key=lambda row: (row.rank, row.method))


def _votes(
    choices: pd.DataFrame, ask: _Ask, *, by_majority: bool = False, side: bool = False
) -> CriterionVotes:
    if side and "left_method" not in choices:
        choices = choices.assign(left_method=None)
    votes = choice_votes(choices, by_majority=by_majority, side=side)
    return votes.without_ties() if ask.ties == "drop" else votes


def _fitted(votes: CriterionVotes, ask: _Ask) -> _Board:
    """Fit methods that answers join; those of a side effect may come in parts."""
    M, counts = len(votes.methods), votes.counts()
    none = _Board(votes, RatedPart(votes.methods, np.full(M, NAN)))
    if M < 2:
        return none
    why = _why_no_side(counts) if votes.planes == 5 else ""
    if why:
        return replace(none, why=why)
    wins, tied = without_side(counts)
    lacking = who_stands_apart(wins + tied + tied.T, votes.methods)
    if ask.ties in TIE_MODELS and not bounded_ties(wins, tied):
        lacking = lacking or sentence(
            "no chain of answers from a method back to itself holds more wins than ties"
        )
    weight = ask.prior or (WEAK if lacking else 0.0)
    table = with_average_method(counts, weight) if weight else counts
    fit = fit_model(table, ties=ask.ties)
    if not fit.converged:
        why = sentence("their maximum was not found")
        if votes.planes == 5:
            why = sentence(
                "one side wins so regularly that its effect has no finite value"
            )
        return replace(none, why=why)
    notes = (prior_note(weight, lacking),) if weight else ()
    theta = fit.theta[:M] - fit.theta[:M].mean()
    of_theta, of_side = None, None
    if ask.parts:
        N = table.shape[-1]
        of_theta = _covariance(votes, fit, ask, slice(M), weight > 0)
        of_side = _covariance(votes, fit, ask, slice(N + 1, N + 2), weight > 0)
    rated = RatedPart(votes.methods, theta, of_theta)
    return _Board(votes, rated, fit.side, of_side, notes)


def _covariance(
    votes: CriterionVotes, fit: PairFit, ask: _Ask, some: slice, on_prior: bool
) -> CrossedCovariance | None:
    """Return how far some parameters would move with other answers."""
    M = len(votes.methods)
    adds = fit.influence[:, :M, :M, some].reshape(votes.size, -1)
    return crossed_covariance(
        adds,
        votes.cell,
        kinds_drawn(votes.clusters, ask.parts),
        rank=max(adds.shape[1] - 1, 1),
        model=fit.covariance[some, some],
        is_least=on_prior,
    )


def _why_no_side(counts: Array) -> str:
    """Say why the side has no effect that could be estimated."""
    if not counts[WINS_ON_LEFT:].any():
        return sentence("no answer says which output stood on the left")
    if not side_is_known(counts):
        return sentence(
            "the side cannot be told from the methods, since too few pairs were shown "
            "in both orders"
        )
    return ""


def _not_adjusted(why: str) -> str:
    return sentence("ratings are not adjusted for the side: {why}.", why=why)
