"""Confidence sequences: boundaries, variances by clusters, forecasts."""

import numpy as np
import pytest
from scipy.stats import norm

from analysis.inference import confidence_sequences as sequences
from analysis.inference.crossed_clusters import Errors
from benchmarks import stopping
from tests.cases import slow


def crossed(rng, stories=40, people=12, methods=3):
    """Return ratings of every output by every person, from 0 to 4."""
    shape = (stories, people, methods)
    opinion = 2 + rng.normal(size=(stories, 1, methods)) * 0.6
    severity = rng.normal(size=(1, people, 1)) * 0.5
    values = np.clip(np.round(opinion + severity + rng.normal(size=shape)), 0, 4)
    story, person, method = (one.ravel() for one in np.indices(shape))
    return story, person, method, values.ravel()


def means(story, person, method, values, people=12, ends=(0, 4)):
    clusters = (story, 40), (person, people) if people else None
    return sequences.mean_contributions(values, method, 3, *clusters, ends)


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_goal_boundary_is_crossed_as_often_as_stated(alpha):
    """Counted on random walks, before time 1 and, inverted, after it."""
    rng = np.random.default_rng(1)
    c, crossings, n = sequences.goal_quantile(alpha), 0, 4000
    for _ in range(n):
        before = rng.normal(size=400).cumsum() / 20
        bridge = rng.normal(size=400).cumsum() / 20
        steps = np.arange(1, 401) / 400
        after = bridge + (before[-1] - bridge[-1]) * steps
        crossings += max(np.abs(before).max(), np.abs(after).max()) > c
    # A walk misses crossings between its steps: about 0.58 of a step's size.
    expected = 1 - _inside(c + 0.58 / 20)
    assert crossings / n == pytest.approx(expected, abs=0.012)
    assert expected < alpha < 1.45 * expected


def _inside(c):
    """Return the probability of no crossing by images, summed over a fine grid."""
    x = np.linspace(-c, c, 4001)
    k = np.arange(-20, 21)[:, None]
    inside = (np.exp(-2 * k * c * (k * c - x)) * np.where(k % 2, -1.0, 1.0)).sum(axis=0)
    return np.trapezoid(norm.pdf(x) * inside**2, x)


def test_goal_costs_less_than_half_more_than_fixed_size():
    """Twice the known quantile of a fixed size, 1.96, squared."""
    assert (sequences.goal_quantile(0.05) / 1.96) ** 2 == pytest.approx(1.431, abs=0.01)


def test_goal_half_width_stays_at_goal_after_it_is_reached():
    errors = Errors(np.array([1.0, 1e-2, 1e-9]), np.full(3, 1e9))
    half = sequences.goal_half_widths(errors, 0.3, 0.05)
    assert half[0] == pytest.approx(0.3 * (sequences.goal_quantile(0.05) / 0.3) ** 2)
    assert list(half[1:]) == pytest.approx([0.3 * max(1, 0.01 * 5.4978 / 0.09), 0.3])


def test_mixture_is_tightest_near_given_half_width():
    variances = np.geomspace(1e-5, 1, 400)
    errors = Errors(variances, np.full(400, 1e9))
    half = sequences.mixture_half_widths(errors, 0.2, 0.05)
    assert half[np.argmin(half / np.sqrt(variances))] == pytest.approx(0.2, rel=0.03)
    assert (half > norm.isf(0.025) * np.sqrt(variances)).all()
    assert (np.diff(half) > 0).all()


def test_variance_counts_whole_stories_and_people():
    """Simulated: the variance of means over 300 studies, of stories and people drawn.

    A variance of single ratings would be a tenth of it.
    """
    rng = np.random.default_rng(3)
    studies = [means(*crossed(rng)) for _ in range(300)]
    real = np.var([one.value for one in studies], axis=0).mean()
    told = np.mean([one.evidence().errors.variance for one in studies])
    assert told == pytest.approx(real, rel=0.25)
    parts = studies[0].evidence()
    total = parts.of_stories + parts.of_people + parts.of_answers
    assert total == pytest.approx(parts.errors.variance)
    alone = [means(*crossed(rng), people=0).evidence() for _ in range(20)]
    assert np.mean([one.errors.variance for one in alone]) < 0.7 * told


def test_equal_answers_leave_a_variance():
    story, person, method, values = crossed(np.random.default_rng(1))
    known = means(story, person, method, 0 * values).evidence()
    assert known.errors.variance == pytest.approx(np.full(3, 16 / 40**2))
    half = sequences.goal_half_widths(known.errors, 0.1, 0.05 / 3)
    assert (half > sequences.smallest_goal(4, 40, 0.05 / 3)).all()


def test_mean_is_that_of_cells_and_order_is_without_effect():
    story, person, method, values = crossed(np.random.default_rng(2))
    kept = np.random.default_rng(0).random(len(values)) < 0.5
    rows = [one[kept] for one in (story, person, method, values)]
    found = means(*rows)
    first = rows[2] == 0
    cells = [rows[3][first & (rows[0] == s)].mean() for s in np.unique(rows[0][first])]
    assert found.value[0] == pytest.approx(np.mean(cells))
    order = np.random.default_rng(5).permutation(kept.sum())
    again = means(*(one[order] for one in rows)).evidence()
    assert again.errors.variance == pytest.approx(found.evidence().errors.variance)


def test_difference_of_methods_is_paired():
    """Severity and story are the same on both sides, and cancel."""
    rng = np.random.default_rng(4)
    story, person, method, values = crossed(rng)
    shift = rng.normal(size=40)[story] + rng.normal(size=12)[person]
    found = means(story, person, method, values + shift)
    gap = found.evidence(np.array([[1.0, -1.0, 0.0]]))
    alone = found.evidence().errors.variance
    assert gap.errors.variance[0] < 0.5 * (alone[0] + alone[1])


def test_correlation_contributions_match_drawing_stories_again():
    """The reference is numpy's correlation and its jackknife over stories."""
    rng = np.random.default_rng(6)
    story, _person, _method, values = crossed(rng, methods=1)
    human = values.reshape(40, 12).mean(axis=1)
    scores = human + rng.normal(size=40)
    found = sequences.correlation_contributions(
        human, scores, story, values, (story, 40), None
    )
    assert found.value[0] == pytest.approx(np.corrcoef(human, scores)[0, 1])
    left = [
        np.corrcoef(np.delete(human, i), np.delete(scores, i))[0, 1] for i in range(40)
    ]
    jackknife = 39 / 40 * ((left - np.mean(left)) ** 2).sum()
    ends = ((-1 - found.value) ** 2 + (1 - found.value) ** 2) / 40**2
    told = found.evidence().errors.variance - ends
    assert told == pytest.approx(jackknife, rel=0.15)


def test_needed_names_what_stands_in_the_way():
    known = sequences.Evidence(
        np.zeros(1), Errors(np.array([0.3]), np.array([9.0])), *np.array([[0.1]] * 3)
    )

    def ask(wanted, most=10):
        return sequences.needed(
            known, np.array([wanted]), answers=100, stories=(10, most), people=8
        )

    assert ask(0.3) == sequences.Needed(0)
    assert ask(0.25).answers == pytest.approx(100, abs=2)  # half of 0.1
    assert ask(0.2, most=20).answers == pytest.approx(100, abs=2)
    assert ask(0.15, most=20) == sequences.Needed(None, people=11)
    assert ask(0.19) == sequences.Needed(None, people=9)  # stories are all rated
    few = sequences.Evidence(
        np.zeros(1), known.errors, *np.array([[0.1], [0.0], [0.1]])
    )
    assert sequences.needed(
        few, np.array([0.05]), answers=100, stories=(10, 10), people=8
    ) == sequences.Needed(None, stories=40)


@pytest.mark.parametrize("name", ["mean, floor", *slow("top 2 of 5, all equal")])
def test_studies_that_look_all_the_time_stop_rightly(name):
    """Twenty studies of the simulation, whose results are in benchmarks/results."""
    stops = [
        stopping.run(stopping.WORLDS[name], seed, every=False) for seed in range(20)
    ]
    assert sum(stop is not None and stop.missed for stop in stops) <= 1
    ended = sum(stop is not None and stop.answers > 0 for stop in stops)
    assert ended >= 15 if name == "mean, floor" else ended <= 1
