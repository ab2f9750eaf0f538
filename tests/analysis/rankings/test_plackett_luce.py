"""Plackett-Luce against other people's programs, and the laws of the model."""

import itertools
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.discrete.conditional_models import ConditionalLogit

from analysis.rankings.choice_stages import choice_sets, ranking_stages
from analysis.rankings.plackett_luce import fit

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
    return [
        (np.array(rows), np.tile(np.arange(k), (len(rows), 1)))
        for k, rows in found.items()
    ]


def table(orders, n_methods=5):
    """Return the choice sets and their counts in orders."""
    sets, cell, _ = choice_sets(coded(orders), n_methods)
    return sets, np.bincount(cell, minlength=len(sets.source)).astype(float)


def stages(groups):
    """Return the stages of rankings: lists of groups of methods that tie, best first.

    The rank of a group is the number of methods up to it, so ranks have gaps.
    """
    rows = [
        (f"s{n}", f"{m}", "q", f"a{n % 5}", sum(map(len, order[: k + 1])))
        for n, order in enumerate(groups)
        for k, group in enumerate(order)
        for m in group
    ]
    names = ["story", "method", "criterion", "annotator", "rank"]
    return ranking_stages(pd.DataFrame(rows, columns=names))


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


# Davidson (1970), table 1: brands i and j of pudding, preferences for each, and ties.
PUDDING = (
    (1, 2, 19, 22, 16),
    (1, 3, 16, 19, 12),
    (2, 3, 19, 19, 10),
    (1, 4, 18, 23, 13),
    (2, 4, 23, 19, 9),
    (3, 4, 19, 20, 15),
    (1, 5, 13, 19, 18),
    (2, 5, 16, 20, 12),
    (3, 5, 16, 15, 17),
    (4, 5, 17, 14, 16),
    (1, 6, 18, 21, 12),
    (2, 6, 22, 20, 12),
    (3, 6, 13, 18, 10),
    (4, 6, 14, 19, 18),
    (5, 6, 11, 21, 12),
)


def test_ties_of_pairs_are_those_of_davidsons_pudding():
    """The vignette of R's PlackettLuce 0.4.5: worths, tie parameter, errors."""
    groups = []
    for i, j, first, second, ties in PUDDING:
        groups += [[[i], [j]]] * first + [[[j], [i]]] * second + [[[i, j]]] * ties
    own = stages(groups)
    found = fit(own.sets, own.counts())
    worth, delta = np.exp(found.parameters[:6]), np.exp(found.parameters[6])
    expected = [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855]
    np.testing.assert_allclose(worth / worth.sum(), expected, atol=3e-5)
    assert delta == pytest.approx(0.7468147, abs=3e-5)
    c = found.covariance
    errors = np.sqrt(np.diag(c) + c[0, 0] - 2 * c[0])[1:6]
    np.testing.assert_allclose(
        errors, [0.1872, 0.1935, 0.1882, 0.1927, 0.1924], atol=6e-5
    )
    assert np.sqrt(c[6, 6]) == pytest.approx(0.082499, abs=2e-6)


def test_ties_in_sets_of_three_are_those_of_r_plackettluce():
    """Rankings and coefficients of its tests/testthat/test-S3-methods.R.

    Its pseudo-rankings are the answers against an average method.
    """
    groups = ["A>B", "B>O>A", "B=O>A", "A>B>O", "B=O>A", "A>O"]
    own = stages([[list(group) for group in one] for one in map(_split, groups)])
    found = fit(*own.sets.with_average_method(own.counts(), 1.0))
    worth = found.parameters[:3] - found.parameters[0]
    np.testing.assert_allclose(worth[1:], [0.2867987, -0.4636687], atol=1e-6)
    assert found.parameters[4] == pytest.approx(-1.0701129, abs=1e-6)


def _split(text):
    return [part.split("=") for part in text.split(">")]


def tied(seed, n, n_methods, sizes, coarse):
    """Return rankings of noisy worths that tie where these round to the same."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        shown = rng.choice(n_methods, rng.choice(sizes), replace=False)
        value = np.round((rng.gumbel(size=len(shown)) - 0.5 * shown) / coarse)
        levels = sorted(set(value), reverse=True)
        found.append([shown[value == x].tolist() for x in levels])
    return found


def test_ties_of_several_sizes_maximise_the_likelihood_summed_subset_by_subset():
    groups = tied(1, 60, 5, (2, 3, 4, 5), 1.2)
    sizes = sorted({len(group) for order in groups for group in order} - {1})
    assert sizes == [2, 3, 4]

    def loss(theta, log_delta):
        delta_of = {1: 0.0, **dict(zip(sizes, log_delta, strict=True))}
        found = 0.0
        for order in groups:
            left = [m for group in order for m in group]
            for group in order:
                if len(left) < 2:
                    break
                terms = [
                    delta + theta[list(best)].mean()
                    for t, delta in delta_of.items()
                    for best in itertools.combinations(left, t)
                ]
                found += np.logaddexp.reduce(terms)
                found -= delta_of[len(group)] + theta[group].mean()
                left = left[len(group) :]
        return found

    own = stages(groups)
    found = fit(own.sets, own.counts())
    at, h = found.parameters, 0.01
    least = loss(at[:5], at[5:])
    for k, step in enumerate(h * np.eye(8)):
        before, after = (loss(p[:5], p[5:]) for p in (at - step, at + step))
        assert (after - before) / (2 * h) == pytest.approx(0, abs=2e-3)
        curvature = (after + before - 2 * least) / h**2
        # The information also fixes the sum of worths.
        information = found.information[k, k] - (1 / 5 if k < 5 else 0)
        assert curvature == pytest.approx(information, rel=1e-3)
