"""Whether one metric predicts the preferences of people better than another."""

import itertools

import numpy as np
from statsmodels.stats.contingency_tables import mcnemar

from analysis.inference.cluster_variance import compared
from analysis.inference.resampling import interval, stream
from analysis.inference.scaling import divided
from analysis.inference.significance import holm
from analysis.options import Sampling
from analysis.pairwise.accuracy_variance import STATISTICS, accuracy_variances
from analysis.pairwise.output_pairs import Pairs
from analysis.pairwise.pair_sums import resampled_sums, story_sums
from analysis.results import NAN, Array, Counts, TableRow
from analysis.sentences import sentence


def accuracy_differences(
    pairs: Pairs, *, epsilon: str, parts: tuple[str, ...], sampling: Sampling
) -> list[TableRow]:
    """Compare every two metrics by how often they predict people's preferences."""
    found: list[TableRow] = []
    for statistic in STATISTICS:
        known = accuracy_variances(pairs, statistic, epsilon=epsilon, parts=parts)
        rows = compared(known.values, pairs.metrics, known.of, sampling)
        keys = {
            "question": pairs.question,
            "source": pairs.source,
            "statistic": statistic,
            "n": known.n_pairs,
        }
        found += [keys | row for row in rows]
    return found


def mcnemar_tests(
    pairs: Pairs,
    *,
    parts: tuple[str, ...],
    resamples: int,
    confidence: float,
    seed: int,
) -> list[TableRow]:
    r"""Test every two metrics for equal accuracy on the pairs that people decide.

    `p_value` is McNemar's exact two-sided test: under the null hypothesis `only_a`
    is binomial with probability 1/2 of only_a + only_b (McNemar 1947). It takes
    pairs as independent, which those of one story and those that share an output
    are not.

    `p_stories` swaps the two metrics in whole stories at random and counts how often
    the difference is at least as large, :math:`(c + 1)/(k + 1)`; `p_adjusted` is it
    after Holm's adjustment for all pairs of metrics of the question.
    """
    decided = pairs.human != 0
    hits = (np.sign(pairs.scores) == pairs.human) & decided
    couples = list(itertools.combinations(range(len(pairs.metrics)), 2))
    if not couples:
        return []
    a, b = np.array(couples).T
    number, own = hits.sum(axis=1), hits.astype(float)
    both = np.round(own @ own.T).astype(int)[a, b]
    only_a, only_b = number[a] - both, number[b] - both
    n = int(decided.sum())
    drawn = _drawn_differences(pairs, hits, decided, (a, b), parts, resamples, seed)
    by_story = story_sums(pairs.clusters, hits.T.astype(float))
    p_stories = _swap_p(by_story[:, a] - by_story[:, b], resamples, pairs, seed)
    tested = p_stories if n else np.full(len(a), NAN)
    rows: list[TableRow] = []
    for c, (i, j) in enumerate(couples):
        low, high, why = interval(drawn[:, c], confidence)
        left, right = int(only_a[c]), int(only_b[c])
        rows.append(
            {
                "question": pairs.question,
                "metric_a": pairs.metrics[i],
                "metric_b": pairs.metrics[j],
                "source": pairs.source,
                "only_a": left,
                "only_b": right,
                "n": n,
                "difference": (left - right) / n if n else NAN,
                "low": low,
                "high": high,
                "p_value": float(mcnemar([[0, left], [right, 0]]).pvalue) if n else NAN,
                "p_stories": float(tested[c]),
                "reason": why
                if n
                else sentence("people prefer neither output of any pair"),
            }
        )
    for row, adjusted in zip(rows, holm(tested), strict=True):
        row["p_adjusted"] = float(adjusted)
    return rows


def _drawn_differences(
    pairs: Pairs,
    hits: Array,
    decided: Array,
    couples: tuple[Counts, Counts],
    parts: tuple[str, ...],
    resamples: int,
    seed: int,
) -> Array:
    parts = tuple(part for part in parts if part != "annotators") or ("stories",)
    features = np.vstack([decided, hits]).T
    rng = stream(seed, "mcnemar", pairs.question, pairs.source)
    sums = resampled_sums(pairs.clusters, features, parts, resamples, rng)
    share = divided(sums[:, 1:], sums[:, :1])
    return np.asarray(share[:, couples[0]] - share[:, couples[1]])


def _swap_p(differences: Array, swaps: int, pairs: Pairs, seed: int) -> Array:
    """Swap whole stories: from differences (S, C) to C two-sided p-values."""
    if swaps == 0:
        return np.full(differences.shape[1], NAN)
    rng = stream(seed, "mcnemar swaps", pairs.question, pairs.source)
    coins = rng.integers(0, 2, (swaps, len(differences))) * 2 - 1
    # Whole numbers, so that equal is equal.
    moved = np.abs(coins.astype(float) @ differences)
    observed = np.abs(differences.sum(axis=0))
    return np.asarray(((moved >= observed).sum(axis=0) + 1) / (swaps + 1))
