"""Plackett-Luce against other people's programs, and the laws of the model."""

import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.discrete.conditional_models import ConditionalLogit

from analysis.rankings import bradley_terry
from analysis.rankings.plackett_luce import choice_sets, fit

SEEDS = st.integers(0, 2**32 - 1)
# Orders of two to five of five methods.
ORDERS = (
    "abcd",
    "bacd",
    "acbe",
    "dbac",
    "eac",
    "cabd",
    "bde",
    "adbec",
    "cbd",
    "baed",
    "ecd",
    "dab",
    "ab",
    "ba",
    "cae",
    "bceda",
)


def coded(orders, names="abcde"):
    """Return arrays of equal lengths, from texts or lists of numbers."""
    found = defaultdict(list)
    for order in orders:
        found[len(order)].append(
            [names.index(x) if isinstance(x, str) else x for x in order]
        )
    return [np.array(rows) for rows in found.values()]


def table(orders, n_methods=5):
    """Return the choice sets and their counts in orders."""
    sets, cell, _ = choice_sets(coded(orders), n_methods)
    return sets, np.bincount(cell, minlength=sets.size).astype(float)


def fitted(orders, n_methods=5):
    found = fit(*table(orders, n_methods))
    assert found.converged
    return found.parameters


def drawn(seed, n=60, n_methods=5, sizes=(2, 3, 4, 5)):
    """Return orders of methods of known worth in which each beats each other one."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=n_methods) * 0.7
    orders = [list(pair) for pair in itertools.permutations(range(n_methods), 2)]
    for _ in range(n):
        shown = rng.choice(n_methods, rng.choice(sizes), replace=False)
        noisy = theta[shown] + rng.gumbel(size=len(shown))
        orders.append(shown[np.argsort(-noisy)].tolist())
    return orders


def test_worths_are_those_of_choix():
    """Computed once by choix 0.4.1: ilsr_rankings(5, orders, alpha=0, tol=1e-14)."""
    expected = [0.48058932, 0.55128313, -0.00744509, -0.68154014, -0.34288721]
    np.testing.assert_allclose(fitted(ORDERS), expected, atol=1e-8)


@pytest.mark.slow
@settings(max_examples=15)
@given(SEEDS)
def test_worths_and_errors_are_those_of_a_conditional_logit(seed):
    """A ranking is a series of choices (Allison and Christakis 1994)."""
    orders = drawn(seed)
    chosen, methods, groups = [], [], []
    for order in orders:
        for stage in range(len(order) - 1):
            for place in range(stage, len(order)):
                chosen.append(place == stage)
                methods.append(order[place])
                groups.append(len(groups) if place == stage else groups[-1])
    x = np.eye(5)[methods][:, 1:]
    found = ConditionalLogit(np.array(chosen, int), x, groups=np.array(groups))
    found = found.fit(disp=0, method="newton")
    sets, counts = table(orders)
    own = fit(sets, counts)
    theta, c = own.parameters, own.covariance
    np.testing.assert_allclose(theta[1:] - theta[0], found.params, atol=1e-4)
    errors = np.sqrt(np.diag(c) + c[0, 0] - 2 * c[0])
    np.testing.assert_allclose(errors[1:], found.bse, rtol=1e-3)


@given(SEEDS)
def test_orders_of_two_are_bradley_terry(seed):
    orders = drawn(seed, sizes=(2,))
    counts = np.zeros((2, 5, 5))
    for better, worse in orders:
        counts[0, better, worse] += 1
    there = bradley_terry.fit_model(counts)
    theta = fitted(orders)
    np.testing.assert_allclose(theta, there.theta, atol=1e-9)
