"""Adaptive choice: posterior, information, draws, stopping rule."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from analysis.rankings.bradley_terry import fit_model
from annotate.assignment.adaptive import (
    MethodEstimates,
    StopRule,
    counterbalanced,
    information,
    pick,
    posterior,
    probabilities,
    separated,
)

SEEDS = st.integers(0, 2**32 - 1)


def votes(seed: int, m: int, most: int = 9) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    wins = rng.integers(0, most + 1, (m, m)) * (1 - np.eye(m, dtype=int))
    return wins, np.triu(rng.integers(0, 3, (m, m)), 1)


# --- Posterior ----------------------------------------------------------------------


@given(seed=SEEDS, m=st.integers(2, 7), prior_sd=st.sampled_from([0.3, 1.0, 4.0]))
def test_posterior_has_mode_and_curvature_of_the_likelihood(seed, m, prior_sd):
    wins, ties = votes(seed, m)
    score = wins + (ties + ties.T) / 2

    def loss(ability):
        gap = ability[:, None] - ability
        return (score * np.logaddexp(0, -gap)).sum() + (ability**2).sum() / (
            2 * prior_sd**2
        )

    known = posterior(wins, ties, prior_sd=prior_sd)
    found = minimize(loss, np.zeros(m), method="BFGS", options={"gtol": 1e-8}).x
    assert known.mean == pytest.approx(found, abs=1e-5)
    assert known.mean.sum() == pytest.approx(0, abs=1e-9)
    step = 1e-3 * (np.eye(m)[0] - np.eye(m)[1])
    bend = loss(known.mean + step) - 2 * loss(known.mean) + loss(known.mean - step)
    x = step / 1e-3
    precision = np.linalg.inv(known.covariance)
    assert bend / 1e-6 == pytest.approx(x @ precision @ x, rel=1e-3)


@given(seed=SEEDS, m=st.integers(2, 12))
def test_posterior_without_prior_equals_leaderboard(seed, m):
    wins, ties = votes(seed, m)
    wins = wins + 1 - np.eye(m)
    found = fit_model(np.stack([wins, ties]))
    assert found.converged
    known = posterior(wins, ties, prior_sd=math.inf)
    assert known.mean == pytest.approx(found.theta, abs=1e-7)


# --- Information --------------------------------------------------------------------


@given(m=st.integers(2, 9), wins=st.integers(0, 30), more=st.integers(1, 30))
def test_information_falls_with_knowledge_of_a_pair(m, wins, more):
    even = np.full((m, m), wins) * (1 - np.eye(m))
    before = information(posterior(even, 0 * even))
    even[0, 1] += more
    even[1, 0] += more
    after = information(posterior(even, 0 * even))
    assert after[0, 1] < before[0, 1]
    assert after[0, 1] == pytest.approx(after[after > 0].min())


def test_information_is_greatest_at_the_boundary_of_the_top():
    ability = np.arange(6) * -0.4
    wins = 50 / (1 + np.exp(ability - ability[:, None])) * (1 - np.eye(6))
    gain = information(posterior(wins, 0 * wins), top=3)
    assert np.unravel_index(gain.argmax(), gain.shape) == (2, 3)


def test_information_matches_simulated_entropy():
    """For two methods: the mutual information of the next answer and the order."""
    for wins, losses in ((0, 0), (30, 30), (40, 25)):
        known = posterior(np.array([[0, wins], [losses, 0]]), np.zeros((2, 2)))
        spread = known.covariance[0, 0] * 2 - 2 * known.covariance[0, 1]
        gap = known.mean[0] - known.mean[1]
        d = np.random.default_rng(1).normal(gap, math.sqrt(spread), 300_000)
        chance, order = 1 / (1 + np.exp(-d)), d > 0

        def entropy(p):
            return -(p * np.log(p) + (1 - p) * np.log(1 - p))

        inside = [
            (share, entropy(chance[which].mean()))
            for which in (order, ~order)
            if (share := which.mean())
        ]
        exact = entropy(chance.mean()) - sum(share * h for share, h in inside)
        assert information(known)[0, 1] == pytest.approx(exact, rel=0.3)


# --- Choice -------------------------------------------------------------------------


@given(
    seed=SEEDS,
    m=st.integers(2, 7),
    explore=st.floats(0, 1),
    most=st.integers(0, 3),
)
def test_probabilities_respect_caps_and_exploration(seed, m, explore, most):
    free = np.random.default_rng(seed).integers(0, most + 1, (m, m))
    gain = information(posterior(*votes(seed, m)))
    found = probabilities(gain, free, explore=explore)
    open_ = np.triu(free > 0, 1)
    assert (found[~open_] == 0).all()
    if not open_.any():
        assert found.sum() == 0
        return
    assert found.sum() == pytest.approx(1)
    assert (found[open_] >= explore / open_.sum() - 1e-12).all()


def test_probabilities_are_equal_when_no_pair_gains():
    found = probabilities(np.zeros((3, 3)), np.ones((3, 3), int))
    assert found[np.triu_indices(3, 1)] == pytest.approx([1 / 3] * 3)


@given(seed=SEEDS, m=st.integers(2, 5), stories=st.integers(1, 4))
def test_picking_uses_every_slot_once(seed, m, stories):
    rng = np.random.default_rng(seed)
    free = np.triu(rng.integers(0, 3, (stories, m, m)), 1).transpose(1, 2, 0)
    gain = information(posterior(*votes(seed, m)))
    for left in range(int(free.sum()), 0, -1):
        choice = pick(gain, free, rng)
        assert choice is not None
        unit = (*choice.pair, choice.story)
        assert free[unit] > 0
        assert choice.available == left
        assert choice.per_slot == pytest.approx(choice.probability / free[unit])
        free[unit] -= 1
    assert pick(gain, free, rng) is None


@pytest.mark.slow
def test_logged_probability_matches_the_draw():
    gain = information(posterior(*votes(3, 3)))
    free = np.random.default_rng(4).integers(0, 3, (3, 3, 2))
    free[0, 1] = 1, 2
    rng = np.random.default_rng(5)
    drawn = [pick(gain, free, rng) for _ in range(6_000)]
    of_unit = {(c.pair, c.story): c.probability for c in drawn}
    assert sum(of_unit.values()) == pytest.approx(1)
    for unit, probability in of_unit.items():
        share = sum((c.pair, c.story) == unit for c in drawn) / len(drawn)
        assert share == pytest.approx(probability, abs=0.03)


# --- Left and right -----------------------------------------------------------------


def planned_sides(
    rng: np.random.Generator, m: int, stories: int, redundancy: int
) -> tuple[np.ndarray, np.ndarray]:
    """Plan sides like `designs.counterbalancing`: within one per unit and pair."""
    left = np.zeros((m, m, stories), int)
    for a, b in zip(*np.triu_indices(m, 1), strict=True):
        more = rng.permutation(np.arange(stories) % 2) * (redundancy % 2)
        left[a, b] = redundancy // 2 + more
    slots = np.triu(np.ones((m, m), int), 1)[:, :, None] * redundancy
    return left, slots - left


@given(
    seed=SEEDS,
    m=st.integers(2, 4),
    stories=st.integers(1, 6),
    redundancy=st.integers(1, 4),
)
def test_sides_stay_balanced_after_every_answer(seed, m, stories, redundancy):
    rng = np.random.default_rng(seed)
    left, right = planned_sides(rng, m, stories, redundancy)
    excess = np.zeros_like(left)
    even = stories * redundancy % 2 == 0
    for _ in range(int((left + right).sum())):
        kept = counterbalanced(left, right, excess)
        choice = pick(np.ones((m, m)), kept[0] + kept[1], rng)
        assert choice is not None
        unit = (*choice.pair, choice.story)
        on_left = rng.random() < kept[0][unit] / (kept[0][unit] + kept[1][unit])
        (left if on_left else right)[unit] -= 1
        excess[unit] += 1 if on_left else -1
        assert np.abs(excess).max() <= 1
        assert np.abs(excess.sum(axis=2)).max() <= (1 if even else 2)
    assert np.abs(excess.sum(axis=2)).max() <= 1


# --- Stopping -----------------------------------------------------------------------


def known(*means: float, sd: float = 0.2, comparisons: float = 100) -> MethodEstimates:
    m = len(means)
    return MethodEstimates(np.array(means), np.eye(m) * sd**2, np.full(m, comparisons))


def test_separation_matches_the_normal_distribution():
    for gap in (0.0, 0.3, 0.8):
        exact = math.erfc(-gap / 0.4) / 2
        found = separated(known(gap, 0.0), 1, draws=40_000)
        assert found == pytest.approx(exact, abs=0.01)


def test_stop_rule_requires_comparisons_of_every_method():
    state = known(5.0, 4.0, 0.0, -1.0, comparisons=9)
    assert not StopRule(2, least=10).holds(state)
    assert StopRule(2, least=9).holds(state)
