"""Ranking methods by orders of several outputs, perhaps with ties: Plackett-Luce."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import softmax

from analysis.inference.crossed_clusters import crossed_covariance
from analysis.rankings.choice_stages import ChoiceSets, Stages, ranking_stages
from analysis.rankings.choice_votes import kinds_drawn
from analysis.rankings.likelihood import Maximum, climb, separate_parts, why_separated
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
from analysis.results import Array
from analysis.sentences import counted, sentence


def fit(sets: ChoiceSets, counts: Array) -> Maximum:
    r"""Fit log worths, and the logarithms of parameters of ties, to choices.

    An order :math:`i_1 \succ \dots \succ i_k` has the probability

    .. math:: \prod_{j=1}^{k-1} \frac{e^{\theta_{i_j}}}{\sum_{l \ge j} e^{\theta_{i_l}}}

    (Plackett 1975, Applied Statistics 24; Luce 1959). Where methods tie, the best of a
    set S are a subset C of t methods with a probability in proportion to

    .. math:: \delta_t \prod_{i \in C} e^{\theta_i / t}, \quad \delta_1 = 1,

    over all subsets of the sizes that occur (Davidson-Luce: Firth, Kosmidis and Turner
    2019, arXiv 1909.07123; Turner, van Etten, Firth and Kosmidis 2020, Computational
    Statistics 35, equation 3). What somebody ranks says nothing of methods that were
    not shown. Two methods are Bradley-Terry's model, with ties Davidson's. The log
    likelihood is concave; without ties it has a maximum where the graph is strongly
    connected (Hunter 2004, Annals of Statistics 32, section 5). The parameter of a size
    that no other choice competes with is 1.

    Parameters
    ----------
    sets
        S sets, and C choices from them.
    counts
        How often each choice occurs, (C,).

    Returns
    -------
    Maximum
        M log worths of sum 0, then a log parameter for each of ``sets.tie_sizes``; its
        scores are those of choices, (C, M + ties).
    """
    M, ties = sets.n_methods, sets.tie_sizes
    features = np.column_stack(
        [sets.chosen / sets.tied[:, None], sets.tied[:, None] == ties]
    )
    size = sets.inside.sum(axis=1)[sets.source]
    smaller = (size[:, None] >= ties) & (sets.tied[:, None] < ties)
    fixed = np.flatnonzero(~smaller.any(axis=0)) + M
    n = np.bincount(sets.source, counts, minlength=sets.n_sets).astype(float)

    def derivatives(parameters: Array) -> tuple[Array, Array, Array]:
        expected, information = _expected(sets, n, parameters)
        scores = features - expected[sets.source]
        information -= expected.T @ (n[:, None] * expected)
        scores[:, fixed] = 0
        information[fixed], information[:, fixed] = 0, 0
        information[fixed, fixed] = 1
        return counts @ scores, information, scores

    return climb(derivatives, np.zeros(M + len(ties)), M)


def _expected(sets: ChoiceSets, n: Array, parameters: Array) -> tuple[Array, Array]:
    """Return the expected features of each set's choice, and sums of their products."""
    M, P = sets.n_methods, len(parameters)
    sizes = np.concatenate([[1], sets.tie_sizes])
    log_delta = np.concatenate([[0.0], parameters[M:]])
    means, products = [], np.zeros(P * P)
    start = 0
    for members in sets.members:
        S, k = members.shape
        own = n[start : start + S]
        start += S
        theta = parameters[members]
        theta = theta - theta.max(axis=1, keepdims=True)
        possible = np.flatnonzero(sizes <= k)
        sums = [subset_sums(np.exp(theta / t), t) for t in sizes[possible]]
        weights = np.stack([np.log(total) for total, _, _ in sums], axis=1)
        chance = softmax(weights + log_delta[possible], axis=1)
        mean = np.zeros((S, P))
        second = np.zeros((S, k, k))
        for column, (t, (total, single, double)) in enumerate(
            zip(sizes[possible], sums, strict=True)
        ):
            share = chance[:, column] / total / t
            one = share[:, None] * single
            mean[np.arange(S)[:, None], members] += one
            second += (share / t)[:, None, None] * double
            if t > 1:
                at = M + possible[column] - 1
                mean[:, at] = chance[:, column]
                products[at * P + at] += own @ chance[:, column]
                sides = np.bincount(
                    members.ravel(), (own[:, None] * one).ravel(), minlength=P
                )
                products[at * P : at * P + P] += sides
                products[at::P] += sides
        cells = members[:, :, None] * P + members[:, None, :]
        products += np.bincount(
            cells.ravel(), (own[:, None, None] * second).ravel(), minlength=P * P
        )
        means.append(mean)
    return np.concatenate(means), products.reshape(P, P)


def subset_sums(weights: Array, t: int) -> tuple[Array, Array, Array]:
    """Sum the products of weights over all subsets of t of k members.

    Returns
    -------
    tuple
        The sum over all subsets, (S,), over those with each member, (S, k), and over
        those with every two, (S, k, k), each member with itself as with one.
    """
    S, k = weights.shape
    # Elementary symmetric polynomials of the members behind each place.
    behind = np.zeros((k + 1, S, t + 1))
    behind[k, :, 0] = 1
    for j in range(k - 1, -1, -1):
        behind[j] = behind[j + 1]
        behind[j, :, 1:] += weights[:, j, None] * behind[j + 1, :, :-1]
    before = np.zeros((S, t + 1))
    before[:, 0] = 1
    # Those of the members up to a place, without each of these.
    without = np.zeros((S, k, t + 1))
    double = np.zeros((S, k, k))
    for j in range(k):
        if t > 1:
            rest = behind[j + 1][:, t - 2 :: -1]
            pairs = np.einsum("sim,sm->si", without[:, :j, : t - 1], rest)
            double[:, :j, j] = pairs * weights[:, :j] * weights[:, j, None]
        without[:, :j, 1:] += weights[:, j, None, None] * without[:, :j, :-1]
        without[:, j] = before
        before[:, 1:] += weights[:, j, None] * before[:, :-1]
    single = weights * without[:, :, t - 1]
    double += double.transpose(0, 2, 1)
    double[:, np.arange(k), np.arange(k)] = single
    return before[:, t], single, double


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
    """Rank the methods of one criterion by maximum likelihood: see `fit`.

    Ratings, parts, the weak prior, intervals and ranks are as in the leaderboard of
    pairs with Davidson's ties, which orders of two methods agree with. Without ties the
    maximum exists where from every method a chain of others, each ranked below the one
    before in some answer, leads to every other (Hunter 2004, Annals of Statistics 32,
    assumption 1 and section 5); a tie leads both ways. Whether ties have finite
    parameters as well is seen from the information at the maximum.
    """
    stages = ranking_stages(rankings)
    if not stages.methods:
        notes = [sentence("no ratings, since no answer ranks two methods.")]
        return Standings([], [], notes)
    groups = separate_parts(stages.beats())
    notes = rated_apart(stages.methods, groups, sentence("were never ranked together"))
    found: Standings[RankingLeaderboardRow] = Standings([], [], notes)
    for part, members in enumerate(groups, start=1):
        own = stages
        if len(groups) > 1:
            names = [stages.methods[k] for k in members]
            own = ranking_stages(rankings[rankings["method"].isin(names)])
        board, of_part = _fitted(own, parts)
        notes += of_part
        rows = [
            RankingLeaderboardRow(
                part=part,
                log_worth=float((row["rating"] - ELO_MEAN) / ELO_SCALE),
                n_rankings=int(own.n_rankings[i]),
                n_stories=int(own.n_stories[i]),
                **row,
            )
            for i, row in enumerate(
                board.standings(own.beats(), own.n_rankings, confidence)
            )
        ]
        found.add(criterion, "rankings", part, rows, board, confidence)
    if parts and all(np.isnan(row.low) for row in found.rows):
        notes.append(no_intervals(stages.clusters, parts))
    return found


# At a maximum, information of so different sizes is what rounding leaves of none.
SINGULAR = 1e12


def _fitted(stages: Stages, parts: tuple[str, ...]) -> tuple[RatedPart, list[str]]:
    """Fit the methods of one part; also say on what prior, or why there is no fit."""
    M, beats = len(stages.methods), stages.beats()
    lacking = why_separated(beats, stages.methods)
    sets, counts = stages.sets, stages.counts()
    found = None if lacking else fit(sets, counts)
    if found and len(sets.tie_sizes) and not _is_finite(found):
        found, lacking = None, sentence("ties leave some differences without a bound")
    if found is None:
        sets, counts = sets.with_average_method(counts, WEAK)
        found = fit(sets, counts)
    if not found.converged:
        why = sentence("no ratings, since their maximum was not found.")
        return RatedPart(stages.methods, np.full(M, np.nan)), [why]
    covariance = None
    if parts:
        covariance = crossed_covariance(
            found.influence[: len(stages.sets.source), :M],
            stages.cell,
            kinds_drawn(stages.clusters, parts),
            rank=M - 1,
            model=found.covariance[:M, :M],
            is_least=bool(lacking),
            weights=stages.sets.inside[stages.sets.source].astype(float),
        )
    worth = found.parameters[:M] - found.parameters[:M].mean()
    notes = [prior_note(lacking)] if lacking else []
    if stages.n_tied:
        delta = np.exp(found.parameters[sets.n_methods :])
        fitted = zip(sets.tie_sizes, delta, strict=True)
        notes.append(
            sentence(
                "{tied} of {rankings} hold ties, whose frequency is fitted with the "
                "ratings (parameters by the number of methods in a tie: {values}).",
                tied=stages.n_tied,
                rankings=counted(stages.n_answers, "ranking"),
                values=[f"{t}: {value:.3g}" for t, value in fitted],
            )
        )
    return RatedPart(stages.methods, worth, covariance), notes


def _is_finite(found: Maximum) -> bool:
    """Return whether a maximum was found that is none at infinity."""
    return found.converged and bool(np.linalg.cond(found.information) < SINGULAR)
