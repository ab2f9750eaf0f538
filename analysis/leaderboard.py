"""Ranking methods by side-by-side answers: Bradley-Terry and Davidson."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.choices import OUTCOMES, majority, vote_counts
from analysis.levels import CHUNK
from analysis.resampling import cluster_counts, interval, stream
from analysis.results import NAN, Array, Counts, Mask

ELO_SCALE = 400 / np.log(10)
ELO_MEAN = 1000.0
TIES = ("half", "drop", "davidson")
PARTS = ("stories", "annotators", "units")
STEPS = 100
CONVERGED = 1e-10
# Largest change of a strength in one step: Newton overshoots far from the top.
LONGEST_STEP = 2.0


@dataclass(frozen=True)
class Standing:
    """One method of a leaderboard.

    Attributes
    ----------
    method
        Its name.
    rating, low, high
        On the Elo scale, mean 1000; NaN when the maximum does not exist.
    rank, rank_low, rank_high
        1 is best; equal ratings share the better rank. NaN without a rating.
    n_comparisons
        Answers in which it takes part, as far as they enter the fit.
    """

    method: str
    rating: float
    low: float
    high: float
    rank: float
    rank_low: float
    rank_high: float
    n_comparisons: int


@dataclass(frozen=True)
class _Votes:
    """Answers of one criterion: which clusters they belong to, what they say."""

    methods: tuple[str, ...]
    story: Counts
    annotator: Counts
    unit: Counts
    first: Counts
    second: Counts
    outcome: Counts  # 0 first wins, 1 second wins, 2 tie

    def kept(self, rows: Mask) -> "_Votes":
        """Return the selected answers."""
        return _Votes(
            self.methods, self.story[rows], self.annotator[rows], self.unit[rows],
            self.first[rows], self.second[rows], self.outcome[rows],
        )  # fmt: skip


def leaderboard(
    choices: pd.DataFrame,
    *,
    criterion: str,
    ties: str = "half",
    by_majority: bool = False,
    parts: tuple[str, ...] = ("stories", "annotators"),
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[list[Standing], list[str]]:
    r"""Rank the methods of one criterion by maximum likelihood.

    Parameters
    ----------
    choices
        Kept rows of the criterion, methods in alphabetical order. ``both_bad``
        counts as a tie.
    criterion
        Named in the remarks and in the random stream.
    ties
        ``"half"``: half a win to each; ``"drop"``: left out; ``"davidson"``: a
        tie model with one parameter.
    by_majority
        Replace the answers of each story and pair by their majority; without
        one, a tie.
    parts
        Clusters to draw, of `PARTS`; units are pairs of outputs of one story.
        Methods are not drawn: a resample without one cannot rank it.
    resamples, confidence, seed
        Number of resamples (0 for no intervals), coverage, seed.

    Returns
    -------
    list of Standing
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
    remark says who stands apart. Resamples without a maximum are left out.

    References
    ----------
    Bradley and Terry (1952), Biometrika 39; Davidson (1970), JASA 65.
    """
    votes = _votes(choices, by_majority=by_majority)
    if ties == "drop":
        votes = votes.kept(votes.outcome != 2)
    M = len(votes.methods)
    counts = _counts(votes, np.ones((1, len(votes.story))), M)
    n = counts[0].sum(axis=(0, 2)) + counts[0].sum(axis=(0, 1))
    never = "have ties only between them" if ties == "drop" else "were never compared"
    connected, apart = _components(counts[0], votes.methods, never)
    if not connected:
        rows = [
            Standing(m, NAN, NAN, NAN, NAN, NAN, NAN, int(n[i]))
            for i, m in enumerate(votes.methods)
        ]
        return rows, [f"no ratings, since {apart}."]
    ratings = _elo(fit(counts, ties=ties)[0][0])
    drawn, lost = _resampled(
        votes, ties, parts, resamples, stream(seed, "bt", criterion)
    )
    notes = []
    if lost:
        notes.append(
            f"{lost} of {resamples} resamples left out for want of finite "
            "ratings, since a method always wins or always loses there."
        )
    return _standings(votes.methods, ratings, drawn, lost, n, confidence), notes


def _standings(
    methods: tuple[str, ...],
    ratings: Array,
    drawn: Array,
    lost: int,
    n: Counts,
    confidence: float,
) -> list[Standing]:
    ranks = _ranks(ratings[None])[0]
    drawn_ranks = _ranks(drawn)
    missing = np.full(lost, np.nan)
    tail = (1 - confidence) / 2
    rows = []
    for i, method in enumerate(methods):
        low, high, _ = interval(np.concatenate([drawn[:, i], missing]), confidence)
        rank_low = rank_high = NAN
        if np.isfinite(low):
            rank_low, rank_high = np.quantile(
                drawn_ranks[:, i], [tail, 1 - tail], method="inverted_cdf"
            )
        rows.append(
            Standing(
                method, float(ratings[i]), low, high, float(ranks[i]),
                float(rank_low), float(rank_high), int(n[i]),
            )
        )  # fmt: skip
    return sorted(rows, key=lambda row: (row.rank, row.method))


def _ranks(ratings: Array) -> Array:
    better = ratings[:, None, :] > ratings[:, :, None] + 1e-6
    return np.asarray(1 + better.sum(axis=2), float)


def _elo(theta: Array) -> Array:
    centred = theta - theta.mean(axis=-1, keepdims=True)
    return np.asarray(ELO_MEAN + ELO_SCALE * centred)


def _votes(choices: pd.DataFrame, *, by_majority: bool) -> _Votes:
    methods = tuple(sorted({*choices["method_a"], *choices["method_b"]}))
    if by_majority:
        rows, votes = vote_counts(choices)
        outcome = np.array([2, 0, 1])[majority(votes.sum(axis=0)).astype(int)]
        annotator = np.zeros(len(rows), int)
    else:
        rows = choices
        outcome = np.minimum(rows["choice"].map(OUTCOMES.index).to_numpy(int), 2)
        annotator = np.unique(rows["annotator"], return_inverse=True)[1]
    unit = rows.groupby(["story", "method_a", "method_b"]).ngroup().to_numpy(int)
    return _Votes(
        methods,
        np.unique(rows["story"], return_inverse=True)[1],
        annotator,
        unit,
        rows["method_a"].map(methods.index).to_numpy(int),
        rows["method_b"].map(methods.index).to_numpy(int),
        outcome,
    )


def _counts(votes: _Votes, weights: Array, M: int) -> Array:
    """Return wins of i over j and ties (i < j), shape (B, 2, M, M)."""
    tie = votes.outcome == 2
    i = np.where(votes.outcome == 1, votes.second, votes.first)
    j = np.where(votes.outcome == 1, votes.first, votes.second)
    where = (tie * M + i) * M + j
    pick = sparse.coo_array(
        (np.ones(len(where)), (where, np.arange(len(where)))),
        shape=(2 * M * M, len(where)),
    ).tocsr()
    return np.asarray((pick @ weights.T).T).reshape(len(weights), 2, M, M)


def _components(
    counts: Array, methods: tuple[str, ...], never: str
) -> tuple[bool, str]:
    """Tell whether the graph of wins is strongly connected, else what is not."""
    wins, ties = counts
    beats = sparse.csr_array(wins + ties + ties.T)
    n, label = sparse.csgraph.connected_components(beats, connection="strong")
    if n == 1:
        return len(methods) > 1, "there is one method only"
    loose, island = sparse.csgraph.connected_components(beats, directed=False)
    if loose > 1:
        groups = "; ".join(
            ", ".join(m for m, g in zip(methods, island, strict=True) if g == k)
            for k in range(loose)
        )
        return False, f"these groups of methods {never}: {groups}"
    linked = beats.toarray() > 0
    unbeaten = [
        ", ".join(np.array(methods, object)[label == k])
        for k in range(n)
        if not linked[label != k][:, label == k].any()
    ]
    return False, " and ".join(
        f"{names} never lost to the others" for names in unbeaten
    )


def _resampled(
    votes: _Votes,
    ties: str,
    parts: tuple[str, ...],
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Array, int]:
    """Return ratings of the resamples that have any, and how many have none."""
    M, n = len(votes.methods), len(votes.story)
    clusters = {
        "stories": votes.story,
        "annotators": votes.annotator,
        "units": votes.unit,
    }
    varied = any(clusters[part].max() > 0 for part in parts)
    if resamples == 0 or not varied:
        return np.empty((0, M)), 0
    found, lost = [], 0
    step = max(1, CHUNK // n)
    for start in range(0, resamples, step):
        B = min(step, resamples - start)
        weights = np.ones((B, n))
        for part in parts:
            codes = clusters[part]
            weights *= cluster_counts(int(codes.max()) + 1, B, rng)[:, codes]
        counts = _counts(votes, weights, M)
        theta, converged = fit(counts[_strong(counts)], ties=ties)
        found.append(_elo(theta[converged]))
        lost += B - int(converged.sum())
    return np.concatenate(found), lost


def _strong(counts: Array) -> Array:
    """Tell which resamples have a strongly connected graph of wins."""
    wins, ties = counts[:, 0], counts[:, 1]
    M = wins.shape[1]
    reach = (wins + ties + ties.transpose(0, 2, 1) > 0) | np.eye(M, dtype=bool)
    for _ in range(int(np.ceil(np.log2(max(M, 2))))):
        reach = np.matmul(reach.astype(np.float32), reach.astype(np.float32)) > 0
    return np.asarray(reach.all(axis=(1, 2)))


def fit(counts: Array, *, ties: str = "half") -> tuple[Array, Array]:
    """Fit strengths to many tables of counts by Newton's method.

    Parameters
    ----------
    counts
        Shape (B, 2, M, M): wins of i over j, and ties of i and j in either
        triangle. The graph of wins and ties must be strongly connected.
    ties
        ``"half"``, ``"drop"`` or ``"davidson"``.

    Returns
    -------
    theta
        Shape (B, M), mean 0: log strengths.
    converged
        Shape (B,).

    Notes
    -----
    Davidson's log nu is one more parameter. A table without ties has no finite
    maximum in it and is fitted without; a table of ties only has equal
    strengths.

    Examples
    --------
    >>> counts = np.zeros((1, 2, 2, 2))
    >>> counts[0, 0] = [[0, 3], [1, 0]]
    >>> theta, converged = fit(counts)
    >>> round(float(theta[0, 0] - theta[0, 1]), 6), bool(converged[0])
    (1.098612, True)
    """
    wins, tied = counts[:, 0], counts[:, 1] + counts[:, 1].transpose(0, 2, 1)
    if ties == "half":
        wins, tied = wins + tied / 2, np.zeros_like(tied)
    elif ties == "drop":
        tied = np.zeros_like(tied)
    total = wins + wins.transpose(0, 2, 1) + tied
    B, M = len(wins), wins.shape[-1]
    some_ties = tied.sum(axis=(1, 2)) > 0
    only_ties = wins.sum(axis=(1, 2)) == 0
    parameters = np.zeros((B, M + 1))
    converged = np.zeros(B, bool)
    # d/d theta: wins and half the ties; d/d log nu: the number of ties.
    observed = np.append(
        wins.sum(axis=2) + tied.sum(axis=2) / 2,
        tied.sum(axis=(1, 2))[:, None] / 2, axis=1,
    )  # fmt: skip
    for _ in range(STEPS):
        expected, hessian = _expectations(parameters, total, some_ties, only_ties)
        step = np.linalg.solve(hessian, (observed - expected)[:, :, None])[:, :, 0]
        step[~some_ties | only_ties, M] = 0
        largest = np.abs(step).max(axis=1)
        converged = largest < CONVERGED
        if converged.all():
            break
        parameters += (
            step * np.minimum(1, LONGEST_STEP / np.maximum(largest, 1))[:, None]
        )
    theta = parameters[:, :M]
    return theta - theta.mean(axis=1, keepdims=True), converged


def _expectations(
    parameters: Array, total: Array, some_ties: Mask, only_ties: Mask
) -> tuple[Array, Array]:
    """Return expected sufficient statistics and the information matrix."""
    M = total.shape[-1]
    theta, log_nu = parameters[:, :M], parameters[:, M]
    free = some_ties & ~only_ties
    nu = np.where(some_ties, np.exp(log_nu), 0.0)[:, None, None]
    gap = (theta[:, :, None] - theta[:, None, :]) / 2
    up, down = np.exp(gap), np.exp(-gap)
    mass = up + down + nu
    win, tie = up / mass, nu / mass
    score = total * (win + tie / 2)
    # Of one answer: variances of the score of i and of the tie, covariance.
    variance = total * (win + tie / 4 - (win + tie / 2) ** 2)
    cross = total * (tie / 2 - (win + tie / 2) * tie)
    information = np.zeros((len(total), M + 1, M + 1))
    information[:, :M, :M] = -variance
    diagonal = np.arange(M)
    information[:, diagonal, diagonal] = variance.sum(axis=2)
    # Only differences of strengths matter: fix their sum.
    information[:, :M, :M] += 1 / M
    coupling = np.where(free[:, None], cross.sum(axis=2), 0.0)
    information[:, :M, M] = information[:, M, :M] = coupling
    own = (total * tie * (1 - tie)).sum(axis=(1, 2)) / 2
    information[:, M, M] = np.where(free, own, 1.0)
    expected = np.append(
        score.sum(axis=2), (total * tie).sum(axis=(1, 2))[:, None] / 2, axis=1
    )
    return expected, information
