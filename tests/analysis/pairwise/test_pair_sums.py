"""Sums over pairs in many resamples, against sums one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.pairwise import pair_sums
from analysis.pairwise.pair_sums import Clusters, resampled_sums, weighted_sums

S, M = 4, 5
EVERY = [(s, i, j) for s in range(S) for i, j in itertools.combinations(range(M), 2)]


def clusters_of(keys):
    story, first, second = np.array(keys, int).reshape(-1, 3).T
    return Clusters(story, first, second, S, M)


@given(
    st.lists(st.sampled_from(EVERY), min_size=1, unique=True),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.1, 2.0]),  # always, sometimes, never by story and pair
    st.integers(1, 200),
)
def test_every_route_is_the_sum_over_pairs(keys, seed, least_filled, chunk):
    rng = np.random.default_rng(seed)
    clusters = clusters_of(keys)
    features = rng.integers(0, 2, (len(keys), 3)).astype(float)
    stories = rng.integers(0, 4, (6, S)).astype(float)
    methods = rng.integers(0, 4, (6, M)).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_sums, "LEAST_FILLED", least_filled)
        patch.setattr(pair_sums, "CHUNK", chunk)
        for a, b in itertools.product((stories, None), (methods, None)):
            found = weighted_sums(clusters, features, a, b)
            expected = sum(
                np.outer(
                    (1 if a is None else a[:, s])
                    * (np.ones(6) if b is None else b[:, i] * b[:, j]),
                    row,
                )
                for (s, i, j), row in zip(keys, features, strict=True)
            )
            if a is None and b is None:
                assert found.shape == (1, 3)
                expected = expected[:1]
            np.testing.assert_array_equal(found, expected)


def test_pairs_drawn_one_by_one():
    clusters = clusters_of(EVERY)
    rng = np.random.default_rng(0)
    sums = resampled_sums(clusters, np.ones((len(EVERY), 1)), ("units",), 50, rng)
    assert set(sums[:, 0]) == {float(len(EVERY))}
    both = resampled_sums(
        clusters, np.ones((len(EVERY), 1)), ("stories", "units"), 50, rng
    )
    assert np.std(both[:, 0]) > 0
