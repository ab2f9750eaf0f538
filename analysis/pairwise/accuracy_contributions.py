"""Half accuracy of a metric on pairs of outputs, as a sum of what answers add."""

import numpy as np

from analysis.correlations.levels import HUMAN_DIGITS
from analysis.inference.confidence_sequences import Contributions
from analysis.inference.crossed_clusters import Cluster
from analysis.results import NAN, Array, Counts


def accuracy_contributions(
    values: Array,
    of: Counts,
    scores: Array,
    stories: Cluster,
    people: Cluster,
    answers: Counts | None = None,
) -> Contributions:
    r"""Return a metric's half accuracy on pairs of outputs inside stories.

    With C pairs on which the metric prefers the output that people prefer, D on which
    it prefers the other one, and T that only the metric ties, half accuracy is
    :math:`a = (C + T / 2) / N`, where :math:`N = C + D + T`. Pairs that people tie, and
    outputs without a score, are left out; without any pair a is NaN.

    A pair of people's preference h has the credit :math:`c(h)`, and adds
    :math:`d(h) = (c(h) - a) / N`, or 0 if people tie. With :math:`g_i = d(h) -
    d(h_{-i})`, where person i is left out of the pair (the jackknife; a preference of
    nobody is a tie), each of its k people adds (exactly so in a mean)

    .. math:: d(h) / k + (g_i - \bar g) (k - 1) / k.

    Parameters
    ----------
    values, of
        The answers as numbers, and the method of each. Fewer people prefer less
        certainly, so that the accuracy of a study rises somewhat as answers come.
    scores
        The metric's scores by story and method, with NaN for gaps; higher is better.
    stories, people
        The cluster of each answer, and how many there are.
    answers
        For comparisons: the answer that each value belongs to. People then prefer what
        more than half of the answers prefer; without this, the higher mean.

    Notes
    -----
    Statistic: `ppa_half` of `analysis.pairwise.accuracy`. Contributions: the jackknife
    of Efron and Stein (1981, Annals of Statistics 9(3)).
    """
    (story, S), (person, A), n = stories, people, scores.shape[1]
    scored = np.isfinite(scores)
    if answers is None:
        beside = np.zeros((S, n), bool)
        beside[story, of] = True
        found = beside[story]
        prefers = np.repeat(values[:, None], n, axis=1)
    else:
        table = np.full((int(answers.max(initial=-1)) + 1, n), NAN)
        table[answers, of] = values
        found = np.isfinite(table[answers])
        prefers = (values[:, None] > table[answers]).astype(float)
    found &= scored[story] & scored[story, of][:, None] & (np.arange(n) != of[:, None])
    row, other = np.nonzero(found)
    first, second = np.minimum(of[row], other), np.maximum(of[row], other)
    code = (story[row] * n + first) * n + second
    codes, pair = np.unique(code, return_inverse=True)
    groups, group = np.unique(pair * A + person[row], return_inverse=True)
    of_pair, who = np.divmod(groups, A)
    side = (of[row] > other).astype(int)
    given = prefers[row, other]
    own = _totals(group, side, given, len(groups))
    whole = _totals(pair, side, given, len(codes))
    in_story, (i, j) = codes // n**2, np.divmod(codes % n**2, n)
    metric = np.sign(scores[in_story, i] - scores[in_story, j])
    human, others = (
        _preference(totals, are_votes=answers is not None)
        for totals in (whole, whole[:, of_pair] - own)
    )
    N = int(np.count_nonzero(human))
    value = float((1 + human * metric)[human != 0].sum() / 2 / N) if N else NAN

    def added(preference: Array, metric: Array) -> Array:
        credit = (1 + preference * metric) / 2 - value
        return np.asarray(np.where(preference != 0, credit / max(N, 1), 0.0))

    together = added(human, metric)
    k = np.bincount(of_pair, minlength=len(codes))
    change = together[of_pair] - added(others, metric[of_pair])
    change -= (np.bincount(of_pair, change, len(codes)) / k)[of_pair]
    k = k[of_pair]
    clusters = (in_story[of_pair], S), (who, A)
    return Contributions(
        np.array([value]),
        np.zeros(len(groups), int),
        together[of_pair] / k + change * (k - 1) / k,
        *clusters,
        (0.0, 1.0),
        np.array([len(np.unique(in_story[human != 0]))]),
    )


def _totals(code: Counts, side: Counts, values: Array, n: int) -> Array:
    """Return sums and numbers of values of both sides, shape (2, n, 2)."""
    both = code * 2 + side
    sums = (
        np.bincount(both, values, minlength=2 * n),
        np.bincount(both, minlength=2 * n),
    )
    return np.stack(sums).reshape(2, n, 2).astype(float)


def _preference(totals: Array, *, are_votes: bool) -> Array:
    """Return 1 where the first side is preferred, -1 the second, 0 neither."""
    sums, sizes = totals
    means = sums / np.maximum(sizes, 1)
    if are_votes:
        means = (means > 1 / 2).astype(float)
    ahead = np.sign(np.round(means[:, 0] - means[:, 1], HUMAN_DIGITS))
    return np.asarray(np.where((sizes > 0).all(axis=1), ahead, 0.0))
