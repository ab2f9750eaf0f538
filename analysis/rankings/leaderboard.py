"""Ranking methods by side-by-side answers: Bradley-Terry and Davidson."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.inference.resampling import bootstrap_p, interval
from analysis.rankings.bradley_terry import (
    TIES,
    WINS_ON_LEFT,
    Fit,
    fit_model,
    side_is_known,
    without_side,
)
from analysis.rankings.choice_counts import (
    PARTS,
    CriterionVotes,
    choice_votes,
    resampled_counts,
)
from analysis.rankings.connectivity import (
    bounded_ties,
    strongly_connected,
    who_stands_apart,
)
from analysis.rankings.elo import (
    ELO_MEAN,
    ELO_SCALE,
    RankedRating,
    elo,
    interval_notes,
    places,
)
from analysis.results import NAN, Array, Counts, TableRow
from analysis.sentences import chained, sentence

__all__ = [
    "ELO_MEAN",
    "ELO_SCALE",
    "PARTS",
    "TIES",
    "LeaderboardRow",
    "leaderboard",
    "side_effect",
]

MAJORITY_HAS_NO_SIDE = sentence(
    "a majority joins answers of both sides; single votes have one each"
)
UNBOUNDED_TIES = sentence(
    "no chain of answers from a method back to itself holds more wins than ties"
)


@dataclass(frozen=True, kw_only=True)
class LeaderboardRow(RankedRating):
    """One method of a leaderboard; `n_comparisons` answers of it enter the fit."""

    method: str
    n_comparisons: int


@dataclass(frozen=True)
class _Ask:
    """What is asked for: the arguments of `leaderboard`."""

    criterion: str
    ties: str
    parts: tuple[str, ...]
    resamples: int
    seed: int


def leaderboard(
    choices: pd.DataFrame,
    *,
    criterion: str,
    ties: str = "half",
    by_majority: bool = False,
    side: bool = False,
    parts: tuple[str, ...] = ("stories", "annotators"),
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[list[LeaderboardRow], list[str]]:
    r"""Rank the methods of one criterion by maximum likelihood.

    Parameters
    ----------
    choices
        Kept rows of the criterion, in any order. ``both_bad`` counts as a tie.
    criterion
        Named in the random stream.
    ties
        ``"half"``: half a win to each; ``"drop"``: left out; ``"davidson"``: a
        tie model with one parameter.
    by_majority
        Replace the answers of each story and pair by their majority; without
        one, a tie.
    side
        Adjust for the side on which outputs stood, as `left_method` says; see
        `side_effect`. Where the effect cannot be estimated a remark says why, and
        ratings are not adjusted. Answers with an unknown side count without it.
    parts
        Clusters to draw, of `PARTS`; units are pairs of outputs of one story.
        Methods are not drawn: a resample without one cannot rank it.
    resamples, confidence, seed
        Number of resamples (0 for no intervals), coverage, seed.

    Returns
    -------
    list of LeaderboardRow
        Best first, equal ones by name.
    list of str
        Remarks: why there is no rating, how many resamples had none.

    Notes
    -----
    Bradley-Terry: :math:`P(i > j) = \operatorname{sigmoid}(\theta_i - \theta_j)`,
    without a prior. Davidson: :math:`P(tie) \propto \nu \sqrt{\pi_i \pi_j}` with
    :math:`\pi = e^\theta`. Rating :math:`1000 + 400/\ln 10\,(\theta - \bar\theta)`.

    The maximum exists where from every method a chain of wins (or ties that
    count) leads to every other (Ford 1957); otherwise ratings are empty and a
    remark says who stands apart. Davidson's also needs such a chain from a method
    back to itself with more wins than ties, where there are both: without one, a
    remark says that ties have no finite parameter. Resamples without a maximum are
    left out.

    Ratings have percentile intervals. Those of ranks come from the differences
    between methods, see `analysis.rankings.rank_intervals.rank_intervals`.

    References
    ----------
    Bradley and Terry (1952), Biometrika 39; Davidson (1970), JASA 65.
    """
    ask = _Ask(criterion, ties, parts, resamples, seed)
    notes = []
    board = None
    if side:
        why = MAJORITY_HAS_NO_SIDE
        if not by_majority:
            board = _sided_board(choices, ask)
            why = board.why
        if why:
            notes.append(
                sentence("ratings are not adjusted for the side: {why}.", why=why)
            )
    if board is None or board.point is None:
        board = _plain_board(choices, ask, by_majority=by_majority)
    if board.point is None:
        rows = [
            LeaderboardRow(method=method, n_comparisons=int(n))
            for method, n in zip(board.votes.methods, board.n, strict=True)
        ]
        return rows, [sentence("{text}.", text=board.why)]
    why = _why_not_in_resamples(ties, sided=board.votes.planes == 5)
    notes += interval_notes(board.ratings, resamples, parts, why)
    return _standings(board, board.point, confidence), notes


def side_effect(
    choices: pd.DataFrame,
    *,
    criterion: str,
    ties: str = "half",
    parts: tuple[str, ...] = ("stories", "annotators"),
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[TableRow]:
    r"""Estimate how much standing on the left helps an output.

    Parameters
    ----------
    choices, criterion, ties, parts, resamples, confidence, seed
        As given to `leaderboard`. `left_method` names the output on the left; answers
        without it inform the strengths only.

    Returns
    -------
    list of TableRow
        One row of ``side_effect``: value is the log odds for the left output
        between equal methods, above 0 in favour of the left; elo the same in points;
        n the answers with a known side; p_value for "no effect", from the resamples.

    Notes
    -----
    :math:`P(left\ wins) = \operatorname{sigmoid}(\theta_l - \theta_r + \delta)`,
    estimated together with the strengths, so that strong methods that stand on the
    left more often are not mistaken for an effect of the side.
    """
    board = _sided_board(choices, _Ask(criterion, ties, parts, resamples, seed))
    row: TableRow = dict.fromkeys(("value", "low", "high", "elo", "p_value"), NAN)
    if board.point is not None:
        value = float(board.point.side[0])
        low, high, reason = interval(board.sides, confidence)
        row |= {"value": value, "low": low, "high": high, "elo": value * ELO_SCALE}
        row |= {"p_value": bootstrap_p(board.sides), "reason": reason}
    else:
        row["reason"] = board.why
    n = int(board.votes.counts()[WINS_ON_LEFT:].sum())
    row |= {"question": criterion, "n": n}
    return [row]


@dataclass(frozen=True)
class _Board:
    """A fit and those of its resamples, or why there is none.

    Attributes
    ----------
    votes, n
        The answers, and the number of those of each method.
    point
        The fit of all answers.
    ratings, sides
        Shape (B, M) and (B,): of the resamples, NaN where there is no maximum.
    why
        Why there is no fit.
    """

    votes: CriterionVotes
    n: Counts
    point: Fit | None
    ratings: Array
    sides: Array
    why: str = ""


def _plain_board(choices: pd.DataFrame, ask: _Ask, *, by_majority: bool) -> _Board:
    """Fit the answers without their sides."""
    votes = choice_votes(choices, by_majority=by_majority, side=False)
    return _fitted(votes, ask)


def _sided_board(choices: pd.DataFrame, ask: _Ask) -> _Board:
    """Fit the answers with their sides."""
    if "left_method" not in choices:
        choices = choices.assign(left_method=None)
    return _fitted(choice_votes(choices, by_majority=False, side=True), ask)


def _fitted(votes: CriterionVotes, ask: _Ask) -> _Board:
    M = len(votes.methods)
    if ask.ties == "drop":
        votes = votes.without_ties()
    counts = votes.counts()
    plain = without_side(counts).sum(axis=0)
    n = (plain.sum(axis=0) + plain.sum(axis=1)).astype(int)
    none = _Board(votes, n, None, np.empty((0, M)), np.empty(0))
    never = (
        sentence("have no answer but ties between them")
        if ask.ties == "drop"
        else sentence("were never compared")
    )
    wins, tied = without_side(counts)
    apart = who_stands_apart(wins + tied + tied.T, votes.methods, never)
    if apart:
        return replace(none, why=sentence("no ratings, since {apart}", apart=apart))
    if votes.planes == 5:
        if not counts[WINS_ON_LEFT:].any():
            return replace(
                none, why=sentence("no answer says which output stood on the left")
            )
        if not side_is_known(counts):
            return replace(
                none,
                why=sentence(
                    "the side cannot be told from the methods, since too few "
                    "pairs were shown in both orders"
                ),
            )
    if ask.ties == "davidson" and not bounded_ties(wins[None], tied[None])[0]:
        return replace(
            none,
            why=sentence(
                "no ratings, since ties have no finite parameter: {why}",
                why=UNBOUNDED_TIES,
            ),
        )
    point = fit_model(counts[None], ties=ask.ties)
    if not point.converged[0]:
        why = sentence("no ratings, since their maximum was not found")
        if votes.planes == 5:
            why = sentence(
                "one side wins so regularly that its effect has no finite value"
            )
        return replace(none, why=why)
    ratings, sides = _resampled(votes, point, ask)
    return replace(none, point=point, ratings=ratings, sides=sides)


def _resampled(votes: CriterionVotes, point: Fit, ask: _Ask) -> tuple[Array, Array]:
    """Return ratings (B, M) and side effects (B,) of the resamples."""
    M = len(votes.methods)
    ratings, sides = [np.empty((0, M))], [np.empty(0)]
    for counts in resampled_counts(
        votes,
        ask.parts,
        resamples=ask.resamples,
        seed=ask.seed,
        name=f"bt {ask.criterion}",
    ):
        wins, tied = without_side(counts).transpose(1, 0, 2, 3)
        defined = strongly_connected(wins + tied + tied.transpose(0, 2, 1))
        found = fit_model(counts[defined], ties=ask.ties, start=point)
        defined[defined] = found.converged
        rating, side = np.full((len(counts), M), np.nan), np.full(len(counts), np.nan)
        rating[defined] = elo(found.theta[found.converged])
        side[defined] = found.side[found.converged]
        ratings.append(rating)
        sides.append(side)
    return np.concatenate(ratings), np.concatenate(sides)


def _why_not_in_resamples(ties: str, *, sided: bool) -> str:
    """Say why a resample may have no maximum, by what is fitted."""
    reasons = [sentence("some methods never lose to the others")]
    if ties == "davidson":
        reasons.append(UNBOUNDED_TIES)
    if sided:
        reasons.append(sentence("the side cannot be told from the methods"))
        reasons.append(
            sentence("one side wins so regularly that its effect has no finite value")
        )
    return chained("{first}, or {second}", reasons)


def _standings(board: _Board, point: Fit, confidence: float) -> list[LeaderboardRow]:
    found = places(elo(point.theta)[0], board.ratings, confidence)
    rows = [
        LeaderboardRow(method=method, n_comparisons=int(n), **vars(place))
        for method, place, n in zip(board.votes.methods, found, board.n, strict=True)
    ]
    return sorted(rows, key=lambda row: (row.rank, row.method))
