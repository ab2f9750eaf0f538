"""Ranking methods by orders of several outputs: Plackett-Luce."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.rankings.choice_counts import resampled_counts
from analysis.rankings.connectivity import strongly_connected, who_stands_apart
from analysis.rankings.elo import (
    ELO_MEAN,
    ELO_SCALE,
    RankedRating,
    elo,
    interval_notes,
    places,
)
from analysis.rankings.plackett_luce import fit
from analysis.rankings.stages import Stages, ranking_stages
from analysis.results import Array
from analysis.sentences import sentence


@dataclass(frozen=True, kw_only=True)
class RankingLeaderboardRow(RankedRating):
    """One method of a leaderboard of rankings.

    Attributes
    ----------
    method
        Its name.
    log_worth
        The rating as a natural logarithm of the worth, mean 0.
    n_rankings, n_stories
        Answers in which it is ranked beside others, and stories of these.
    """

    method: str
    log_worth: float
    n_rankings: int
    n_stories: int


def ranking_leaderboard(
    rankings: pd.DataFrame,
    *,
    criterion: str,
    parts: tuple[str, ...] = ("stories", "annotators"),
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[list[RankingLeaderboardRow], list[str]]:
    r"""Rank the methods of one criterion by maximum likelihood.

    Parameters
    ----------
    rankings
        Kept rows of the criterion (`analysis.tables.RANKING_COLUMNS`), in any order.
        Orders are strict. Those of a method alone say nothing and are left out.
    criterion
        Named in the random stream.
    parts
        Clusters to draw, of `analysis.rankings.choice_counts.PARTS`; units are sets of
        outputs of one story. Methods are not drawn: a resample without one cannot rank
        it.
    resamples, confidence, seed
        Number of resamples (0 for no intervals), coverage, seed.

    Returns
    -------
    list of RankingLeaderboardRow
        Best first, equal ones by name.
    list of str
        Remarks: why there is no rating, how many resamples had none.

    Raises
    ------
    InputError
        Where methods of an answer share a rank.

    Notes
    -----
    Plackett-Luce: see `analysis.rankings.plackett_luce.fit`, without a prior. Rating
    :math:`1000 + 400/\ln 10\,(\theta - \bar\theta)`, as in the leaderboard of pairs,
    which orders of two methods agree with.

    The maximum exists where from every method a chain of others, each ranked below the
    one before in some answer, leads to every other (Hunter 2004, assumption 1 and
    section 5); otherwise ratings are empty and a remark says who stands apart.
    Resamples without a maximum are left out. Ratings have percentile intervals, ranks
    those of `analysis.rankings.rank_intervals.rank_intervals`.

    References
    ----------
    Plackett (1975), Applied Statistics 24; Hunter (2004), Annals of Statistics 32.
    """
    stages = ranking_stages(rankings)
    if not stages.methods:
        return [], [sentence("no ratings, since no answer ranks two methods.")]
    counts = stages.counts()[None]
    beats = stages.sets.beats(counts)[0]
    without = _rows(stages, [RankedRating()] * len(stages.methods))
    apart = who_stands_apart(
        beats, stages.methods, sentence("were never ranked together")
    )
    if apart:
        return without, [sentence("no ratings, since {apart}.", apart=apart)]
    (theta,), (converged,) = fit(stages.sets, counts)
    if not converged:
        return without, [sentence("no ratings, since their maximum was not found.")]
    draws = resampled_counts(
        stages, parts, resamples=resamples, seed=seed, name=f"pl {criterion}"
    )
    drawn = _resampled(stages, theta, draws)
    found = places(elo(theta), drawn, confidence)
    rows = sorted(_rows(stages, found), key=lambda row: (row.rank, row.method))
    why = sentence("some methods are never ranked below the others")
    return rows, interval_notes(drawn, resamples, parts, why)


def _rows(stages: Stages, found: list[RankedRating]) -> list[RankingLeaderboardRow]:
    return [
        RankingLeaderboardRow(
            method=method,
            log_worth=float((place.rating - ELO_MEAN) / ELO_SCALE),
            n_rankings=int(stages.n_rankings[i]),
            n_stories=int(stages.n_stories[i]),
            **vars(place),
        )
        for i, (method, place) in enumerate(zip(stages.methods, found, strict=True))
    ]


def _resampled(stages: Stages, theta: Array, draws: Iterator[Array]) -> Array:
    """Return ratings (B, M) of the resamples, NaN where there is no maximum."""
    ratings = [np.empty((0, len(stages.methods)))]
    for counts in draws:
        rating = np.full((len(counts), len(theta)), np.nan)
        defined = strongly_connected(stages.sets.beats(counts))
        found, converged = fit(stages.sets, counts[defined], start=theta)
        defined[defined] = converged
        rating[defined] = elo(found[converged])
        ratings.append(rating)
    return np.concatenate(ratings)
