"""Half accuracy of a metric as a sum of what answers add."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.inference.confidence_sequences import mean_contributions
from analysis.pairwise.accuracy_contributions import accuracy_contributions
from benchmarks import stopping


@pytest.mark.shared
def test_half_accuracy_is_the_independent_value(shared):
    """Five raters; of metrics that score every output."""
    folder = shared / "data/dsg"
    expected = json.loads((folder / "expected.json").read_text())
    ratings = pd.read_csv(folder / "ratings.csv")
    wide = pd.read_csv(folder / "scores.csv").pivot(
        index=["metric", "story"], columns="method", values="score"
    )
    story, method, person = (
        np.unique(ratings[key], return_inverse=True)[1]
        for key in ("story", "method", "annotator")
    )
    clusters = (story, 160), (person, 5)
    whole = wide.dropna().groupby("metric").filter(lambda rows: len(rows) == 160)
    for metric, table in whole.groupby("metric"):
        values = ratings["rating"].to_numpy(float)
        found = accuracy_contributions(values, method, table.to_numpy(), *clusters)
        half = expected[metric]["ppa_within_item_half"]
        assert found.value[0] == pytest.approx(half, abs=1e-9)
    assert whole.index.get_level_values("metric").nunique() >= 5


def test_accuracy_of_single_answers_is_a_mean():
    """Without ties of people each pair is then a value of its own, 0, a half or 1."""
    rng, pair = np.random.default_rng(1), np.arange(40)
    person, won = rng.integers(6, size=40), rng.integers(2, size=40)
    scores = rng.integers(3, size=(40, 2)).astype(float)
    credit = (1 + (2 * won - 1) * np.sign(scores[:, 0] - scores[:, 1])) / 2
    twice = np.repeat(pair, 2)
    found = accuracy_contributions(
        np.stack([won, 1 - won], axis=1).ravel().astype(float),
        np.tile([0, 1], 40),
        scores,
        (twice, 40),
        (person[twice], 6),
        twice,
    )
    clusters = (pair, 40), (person, 6)
    mean = mean_contributions(credit, np.zeros(40, int), 1, *clusters, (0, 1))
    assert found.value == pytest.approx(mean.value)
    variance = mean.evidence().errors.variance
    assert found.evidence().errors.variance == pytest.approx(variance)


@pytest.mark.slow
@pytest.mark.parametrize("raters", [2, 4])
def test_variance_counts_stories_and_people_with_tastes(raters, monkeypatch):
    """Simulated: the variance over 150 studies by six people."""
    world = stopping.WORLDS["accuracy"]
    world = replace(world, people=6, raters=raters, tastes=1.0, knows=1.0)
    monkeypatch.setitem(stopping.TRUTHS, world, np.array([0.5]))
    studies = (stopping.study(world, seed) for seed in range(150))
    found = [stopping.contributions(world, one, len(one.story)) for one in studies]
    real = np.var([one.value for one in found])
    estimated = np.mean([one.evidence().errors.variance for one in found])
    assert estimated == pytest.approx(real, rel=0.3)
