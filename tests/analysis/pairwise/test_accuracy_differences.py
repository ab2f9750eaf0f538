"""Differences between two metrics' accuracies in pairs."""

import numpy as np
import pytest

from analysis.inference.cluster_variance import (
    leave_outs,
    pair_values,
    variance_of_methods,
    variances_of_pairs,
)
from analysis.pairwise.accuracy import pair_agreement
from analysis.pairwise.accuracy_differences import (
    STATISTICS,
    accuracy_differences,
    accuracy_variances,
    predicted_pairs,
)
from analysis.pairwise.output_pairs import rating_pairs
from tests.analysis.correlations.test_metric_differences import two_metrics, without

BOTH = ("stories", "methods")
SAMPLING = {"resamples": 9, "confidence": 0.95, "seed": 0}


def accuracies(pairs, epsilon="heldout"):
    rows = pair_agreement(pairs, epsilon=epsilon, parts=("stories",), **SAMPLING)
    return {
        row.metric: {
            "ppa_half": row.half.value,
            "ppa_strict": row.strict.value,
            "acc_eq": row.acc_eq.value,
        }
        for row in rows
    }


@pytest.mark.parametrize("epsilon", ["heldout", "insample", "0"])
def test_differences_are_those_of_the_accuracies(epsilon):
    pairs = rating_pairs(two_metrics(n_stories=12, holes={(0, 1), (4, 2)}))
    expected = accuracies(pairs, epsilon)
    rows = accuracy_differences(pairs, epsilon=epsilon, parts=BOTH, sampling=SAMPLING)
    assert [row["statistic"] for row in rows] == list(STATISTICS)
    for row in rows:
        a, b = (
            expected[row[key]][row["statistic"]] for key in ("metric_a", "metric_b")
        )
        assert row["difference"] == pytest.approx(a - b)
        assert row["test"] == "stories+methods"


def test_variance_by_methods_is_that_of_the_accuracy_without_them():
    """acc_eq of a complete table is a plain mean, so leaving out is exact."""
    grid = two_metrics(n_stories=9)

    def accuracies_of(kept):
        pairs = rating_pairs(without(grid, kept))
        told = [
            predicted_pairs(pairs.human, x, "0", np.zeros((1, 0), int))
            for x in pairs.scores
        ]
        return [right.mean() for right, *_ in told]

    values = np.array([accuracies_of(kept) for kept in leave_outs(6)]).T
    known = accuracy_variances(rating_pairs(grid), "acc_eq", epsilon="0", parts=BOTH)
    for found, left in (
        (known.of(0, 1), values[0] - values[1]),
        (known.of(0), values[0]),
    ):
        expected = variance_of_methods(pair_values(left, 6), 6)
        assert found.methods == pytest.approx(expected)


def chance_of(weights, human_ties, metric_ties):
    """The formula of statistics.md, section 4b, of pairs that count so often."""
    p, t = (
        (weights @ ties) / weights.sum(axis=-1) for ties in (human_ties, metric_ties)
    )
    return t * p + (1 - t) * (1 - p) / 2


def test_chance_of_acc_eq_is_estimated_and_so_is_its_error():
    """What each pair adds to it is found by counting that pair a little more often."""
    grid = two_metrics(n_stories=30, n_methods=8)
    pairs = rating_pairs(grid)
    known = accuracy_variances(pairs, "acc_eq", epsilon="0", parts=BOTH)
    n = len(pairs.human)
    ties = [(x == 0).astype(float) for x in (pairs.human, pairs.scores[1])]
    assert min(map(np.mean, ties)) > 0.05
    chance = chance_of(np.ones(n), *ties)
    assert known.chances[1] == pytest.approx(chance)
    more = 1e-6
    adds = (chance_of(1 + more * np.eye(n), *ties) - chance) * n / more
    right = np.sign(pairs.scores[1]) == pairs.human
    apart = right - right.mean() - adds
    expected = variances_of_pairs(apart.reshape(30, 28), 8, 1 / n, BOTH)
    p_value = expected.p_value(right.mean() - chance)
    assert 0.001 < p_value < 0.999
    assert known.estimate(1, 0.95).p_value == pytest.approx(p_value, rel=1e-4)


def test_difference_to_a_constant_metric_has_the_p_value_of_chance():
    grid = two_metrics(n_stories=12, n_methods=8)
    scores = np.stack([grid.scores[0], np.ones(grid.cells.shape)])
    pairs = rating_pairs(type(grid)(**{**vars(grid), "scores": scores}))
    rows = accuracy_differences(pairs, epsilon="0", parts=BOTH, sampling=SAMPLING)
    options = {"epsilon": "0", "parts": BOTH, **SAMPLING}
    (own, *_rest) = pair_agreement(pairs, **options)
    (apart,) = (row for row in rows if row["statistic"] == "ppa_half")
    assert apart["difference"] == pytest.approx(own.half.value - 0.5)
    assert 0 < own.half.p_value < 1
    assert apart["p_value"] == pytest.approx(own.half.p_value, rel=1e-9)
