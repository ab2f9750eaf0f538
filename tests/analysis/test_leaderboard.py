"""Bradley-Terry and Davidson, connectivity, ranks."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from analysis.bradley_terry import fit
from analysis.leaderboard import ELO_SCALE, TIES, leaderboard


def board(choices, **options):
    options = {"criterion": "quality", "resamples": 0, **options}
    return leaderboard(choices, **options)


def simulated(n_stories=40, raters=3, seed=0, tie=0.4):
    rng = np.random.default_rng(seed)
    strength = dict(zip("abcde", [1, 0.5, 0, -0.5, -1], strict=True))
    rows = []
    for story, (a, b) in itertools.product(
        range(n_stories), itertools.combinations(strength, 2)
    ):
        for rater in range(raters):
            gap = strength[a] - strength[b] + rng.logistic()
            choice = "tie" if abs(gap) < tie else "a" if gap > 0 else "b"
            rows.append((f"s{story}", a, b, "quality", f"r{rater}", choice))
    columns = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
    return pd.DataFrame(rows, columns=columns)


@pytest.mark.shared
def test_stiglers_citations(shared):
    case = json.loads((shared / "data/agreement_cases.json").read_text())
    case = case["bt_citations_stigler1994"]
    counts = np.zeros((1, 2, 4, 4))
    counts[0, 0] = case["wins(row beats col)"]
    theta, converged = fit(counts)
    assert converged.all()
    expected = case["mle_log_ability"]
    np.testing.assert_allclose(theta[0] - theta[0, 0], expected, atol=1e-5)


def test_davidson_is_the_maximum_that_a_general_optimiser_finds():
    rng = np.random.default_rng(1)
    wins = rng.integers(1, 20, (4, 4)) * (1 - np.eye(4))
    ties = np.triu(rng.integers(0, 15, (4, 4)), 1)
    pairs = list(itertools.combinations(range(4), 2))

    def loss(p):
        theta, nu = np.append(0, p[:3]), np.exp(p[3])
        total = 0.0
        for i, j in pairs:
            a, b = np.exp(theta[[i, j]])
            tie = nu * np.sqrt(a * b)
            logs = np.log(np.array([a, b, tie]) / (a + b + tie))
            total += logs @ [wins[i, j], wins[j, i], ties[i, j]]
        return -total

    best = np.append(0, minimize(loss, np.zeros(4), method="BFGS").x[:3])
    theta, converged = fit(np.stack([wins, ties])[None], ties="davidson")
    assert converged.all()
    np.testing.assert_allclose(theta[0] - theta[0, 0], best, atol=1e-4)


def test_two_methods_have_the_logit_of_the_win_rate():
    answers = ["a"] * 6 + ["b"] * 2
    rows = pd.DataFrame({"choice": answers}).assign(
        story=[f"s{i}" for i in range(8)], method_a="x", method_b="y",
        criterion="quality", annotator="Ann",
    )  # fmt: skip
    standings, notes = board(rows)
    assert notes == []
    assert [row.method for row in standings] == ["x", "y"]
    gap = standings[0].rating - standings[1].rating
    assert gap == pytest.approx(ELO_SCALE * np.log(3))
    assert standings[0].rating + standings[1].rating == pytest.approx(2000)
    assert standings[0].n_comparisons == 8


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("by_majority", [False, True])
def test_true_order_is_found_with_intervals_around_the_ratings(ties, by_majority):
    parts = ("stories",) if by_majority else ("stories", "annotators")
    standings, _ = board(
        simulated(), ties=ties, by_majority=by_majority, parts=parts, resamples=200
    )
    assert [row.method for row in standings] == list("abcde")
    for row in standings:
        assert row.low < row.rating < row.high
        assert row.rank_low <= row.rank <= row.rank_high
    assert standings[0].n_comparisons == (160 if by_majority else 480) or ties == "drop"


def test_ties_widen_davidson_against_half_wins():
    choices = simulated(tie=1.0)
    spread = {
        ties: np.ptp([row.rating for row in board(choices, ties=ties)[0]])
        for ties in TIES
    }
    assert spread["half"] < spread["davidson"]
    assert spread["half"] < spread["drop"]


def test_an_unbeaten_method_has_no_rating_and_is_named():
    choices = simulated()
    choices = choices[(choices["method_a"] != "a") | (choices["choice"] == "a")]
    standings, notes = board(choices)
    assert all(np.isnan(row.rating) and np.isnan(row.rank) for row in standings)
    assert notes == ["no ratings, since a never lost to the others."]


def test_islands_are_named():
    choices = simulated()
    left = choices["method_a"].isin(["a", "b"]) & choices["method_b"].isin(["a", "b"])
    right = choices["method_a"].isin(["c", "d"]) & choices["method_b"].isin(["c", "d"])
    _, notes = board(choices[left | right])
    assert notes == [
        "no ratings, since these groups of methods were never compared: a, b; c, d."
    ]


def test_resamples_without_a_maximum_are_counted():
    choices = simulated(n_stories=3, raters=1, tie=0.0)
    standings, notes = board(choices, parts=("stories",), resamples=100)
    assert np.isfinite(standings[0].rating)
    assert "of 100 resamples left out for want of finite ratings" in notes[0]


def test_methods_with_ties_only_were_compared():
    choices = simulated().assign(choice="tie")
    _, notes = board(choices, ties="drop")
    assert notes[0].startswith(
        "no ratings, since these groups of methods have ties only between them"
    )


def test_two_runs_agree_and_row_order_does_not_matter():
    choices = simulated(n_stories=10)
    keys = ["story", "method_a", "method_b", "annotator"]
    shuffled = choices.sample(frac=1, random_state=3).sort_values(keys)
    ordered = choices.sort_values(keys)
    options = {"resamples": 50, "seed": 4}
    assert board(ordered, **options) == board(shuffled, **options)


@given(st.integers(0, 2**32 - 1))
def test_the_fit_balances_expected_and_observed_wins(seed):
    wins = np.random.default_rng(seed).integers(1, 30, (1, 5, 5)).astype(float)
    wins *= 1 - np.eye(5)
    theta, converged = fit(np.stack([wins, np.zeros_like(wins)], axis=1))
    assert converged.all()
    p = 1 / (1 + np.exp(theta[0][None, :] - theta[0][:, None]))
    expected = ((wins[0] + wins[0].T) * p).sum(axis=1)
    np.testing.assert_allclose(expected, wins[0].sum(axis=1), atol=1e-6)
