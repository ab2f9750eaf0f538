"""Half accuracy of a metric as a sum of what answers add."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.inference.confidence_sequences import mean_contributions
from analysis.pairwise.accuracy_contributions import accuracy_contributions
from benchmarks import stopping


def codes(column):
    found = np.unique(column, return_inverse=True)[1]
    return found, int(found.max()) + 1


@pytest.mark.shared
@pytest.mark.parametrize("name", ["dsg", "tifa"])
def test_half_accuracy_is_the_independent_value(shared, name):
    """Five raters, and two who often tie; of metrics that score every output."""
    folder = shared / "data" / name
    expected = json.loads((folder / "expected.json").read_text())
    expected = expected.get("metrics", expected)
    ratings = pd.read_csv(folder / "ratings.csv")
    scores = pd.read_csv(folder / "scores.csv")
    story, method, person = (
        codes(ratings[key]) for key in ("story", "method", "annotator")
    )
    compared = 0
    for metric, rows in scores.groupby("metric"):
        table = rows.pivot(index="story", columns="method", values="score")
        if table.isna().any(axis=None) or len(table) < story[1]:
            continue
        found = accuracy_contributions(
            ratings["rating"].to_numpy(float),
            method[0],
            table.to_numpy(),
            story,
            person,
        )
        half = expected[metric]["ppa_within_item_half"]
        assert found.value[0] == pytest.approx(half, abs=1e-9)
        assert found.added.sum() == pytest.approx(0, abs=1e-12)
        compared += 1
    assert compared >= 5


def test_one_answer_a_pair_is_a_mean():
    """Without ties of people each pair is then a value of its own, 0, a half or 1."""
    rng = np.random.default_rng(1)
    pair = np.arange(60)
    story, person = pair // 3, rng.integers(6, size=60)
    first, second = np.array([[0, 0, 1], [1, 2, 2]])[:, pair % 3]
    scores = rng.integers(3, size=(20, 3)).astype(float)
    won = rng.integers(2, size=60)
    metric = np.sign(scores[story, first] - scores[story, second])
    credit = (1 + (2 * won - 1) * metric) / 2
    twice = [np.repeat(one, 2) for one in (story, person, pair)]
    found = accuracy_contributions(
        np.stack([won, 1 - won], axis=1).ravel().astype(float),
        np.stack([first, second], axis=1).ravel(),
        scores,
        (twice[0], 20),
        (twice[1], 6),
        twice[2],
    )
    mean = mean_contributions(
        credit, np.zeros(60, int), 1, (story, 20), (person, 6), (0, 1), cells=pair
    )
    assert found.value == pytest.approx(mean.value)
    variance = mean.evidence().errors.variance
    assert found.evidence().errors.variance == pytest.approx(variance)


@pytest.mark.slow
@pytest.mark.parametrize("raters", [2, 4])
def test_variance_counts_stories_and_people_with_tastes(raters, monkeypatch):
    """Simulated: the variance over 150 studies by six people."""
    world = replace(
        stopping.WORLDS["accuracy"], people=6, raters=raters, tastes=1.0, knows=1.0
    )
    monkeypatch.setitem(stopping.TRUTHS, world, np.array([0.5]))
    found = [
        stopping.contributions(world, data, len(data.story))
        for data in (stopping.study(world, seed) for seed in range(150))
    ]
    real = np.var([one.value for one in found])
    estimated = np.mean([one.evidence().errors.variance for one in found])
    assert estimated == pytest.approx(real, rel=0.3)
