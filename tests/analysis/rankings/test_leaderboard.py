"""Bradley-Terry and Davidson, connectivity, ranks."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse.csgraph import connected_components
from scipy.stats import t as t_quantile
from statsmodels.stats.multitest import multipletests

from analysis.rankings.bradley_terry import ELO_SCALE, TIES, fit_model, leaderboard
from analysis.rankings.choice_votes import choice_votes
from analysis.rankings.likelihood import bounded_ties


def board(choices, **options):
    options = {"criterion": "quality", "parts": (), **options}
    found = leaderboard(choices, **options)
    return found.rows, found.notes


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
    counts = np.zeros((2, 4, 4))
    counts[0] = case["wins(row beats col)"]
    found = fit_model(counts)
    theta, converged = found.theta, found.converged
    assert converged
    expected = case["mle_log_ability"]
    np.testing.assert_allclose(theta - theta[0], expected, atol=1e-5)


@pytest.mark.parametrize("n", [3e6, 1e9])
def test_fit_converges_with_millions_of_answers(n):
    for won in np.random.default_rng(0).integers(1, n, 20).astype(float):
        counts = np.zeros((2, 2, 2))
        counts[0, 0, 1], counts[0, 1, 0] = won, n - won
        found = fit_model(counts)
        assert found.converged
        assert found.theta[0] - found.theta[1] == pytest.approx(np.log(won / (n - won)))
        counts[1, 0, 1] = n / 3
        assert fit_model(counts, ties="davidson").converged


@given(st.integers(0, 2**32 - 1))
def test_ties_are_bounded_where_no_direction_of_davidsons_model_leads_on(seed):
    # A linear programme looks for strengths and log nu along which no answer becomes
    # less likely.
    rng = np.random.default_rng(seed)
    M = int(rng.integers(2, 6))
    wins, ties = rng.random((2, M, M)) < rng.choice([0.1, 0.3, 0.6])
    np.fill_diagonal(wins, False)
    ties = np.triu(ties, 1)
    parts, _ = connected_components(wins | ties | ties.T, connection="strong")
    connected = parts == 1
    if not (connected and wins.any() and ties.any()):
        return
    rows = []
    for i, j in itertools.product(range(M), repeat=2):
        ahead = np.eye(M + 1)[i] - np.eye(M + 1)[j]
        tie = 2 * np.eye(M + 1)[M]
        rows += [ahead, ahead - tie] if wins[i, j] else []
        rows += [tie + ahead, tie - ahead] if ties[i, j] else []
    fall = -np.array(rows)
    found = linprog(
        fall.sum(axis=0), A_ub=fall, b_ub=np.zeros(len(fall)), bounds=(-1, 1)
    )
    counts = np.stack([wins, ties]).astype(float)
    assert bounded_ties(*counts) == (abs(found.fun) < 1e-6)
    assert fit_model(counts, ties="davidson").converged == (abs(found.fun) < 1e-6)


AVERAGE = (
    "; they rest on a weak prior: as if each method had won half an answer more, and "
    "lost half of one, against an average one."
)


def never_lost(wins=25, ties=11):
    """Return answers about a pair in which one method wins every comparison."""
    choices = ["a"] * wins + ["tie"] * ties
    rows = pd.DataFrame({"choice": choices}).assign(method_a="x", method_b="y")
    story = [f"s{i}" for i in range(len(rows))]
    return rows.assign(story=story, annotator="Ann")


@pytest.mark.parametrize("answers", [never_lost(), never_lost(1143, 358)])
@pytest.mark.parametrize("options", [{}, {"by_majority": True}])
def test_ties_without_a_finite_parameter_rest_on_a_weak_prior(answers, options):
    standings, notes = board(answers, ties="davidson", parts=("stories",), **options)
    assert [row.rank for row in standings] == [1, 2]
    assert standings[0].low > 1000 > standings[1].high
    assert notes == [
        "no finite ratings fit best, since no chain of answers from a method back to "
        f"itself holds more wins than ties{AVERAGE}"
    ]
    # Half a win for a tie has a maximum.
    standings, notes = board(answers, ties="half", **options)
    assert notes == []
    assert all(np.isfinite(row.rating) for row in standings)


def test_unbeaten_method_leads_and_the_others_are_ranked():
    choices = simulated()
    choices = choices[(choices["method_a"] != "a") | (choices["choice"] == "a")]
    standings, notes = board(choices, parts=("stories", "annotators"))
    assert notes == [
        f"no finite ratings fit best, since a never lost to the others{AVERAGE}"
    ]
    first, *others = standings
    n = int((choices["method_a"] == "a").sum())
    assert (first.method, first.rank) == ("a", 1)
    assert (first.rank_low, first.rank_high) == (1, 1)
    assert first.reason == f"never lost in {n} answers"
    # Ratings of the others keep their distances: the prior is weak.
    without = choices[choices["method_a"] != "a"]
    apart = np.diff([row.rating for row in others])
    expected = np.diff([row.rating for row in board(without)[0]])
    np.testing.assert_allclose(apart, expected, atol=3)
    assert {row.reason for row in others} == {""}


def islands():
    choices = simulated()
    left = choices["method_a"].isin(["a", "b"]) & choices["method_b"].isin(["a", "b"])
    right = choices["method_a"].isin(["c", "d"]) & choices["method_b"].isin(["c", "d"])
    return choices[left | right]


@pytest.mark.parametrize("ties", TIES)
def test_islands_are_named_and_ranked_apart(ties):
    choices = islands()
    found = leaderboard(choices, criterion="quality", ties=ties)
    never = (
        "have no answer but ties between them"
        if ties == "drop"
        else "were never compared"
    )
    assert found.notes == [
        f"these groups of methods {never}, and each has ratings and ranks of its own: "
        "a, b; c, d."
    ]
    placed = [(row.method, row.part, row.rank) for row in found.rows]
    assert placed == [("a", 1, 1), ("b", 1, 2), ("c", 2, 1), ("d", 2, 2)]
    # Each part is as it is alone.
    for part, names in ((1, "ab"), (2, "cd")):
        own = choices[choices["method_a"].isin(list(names))]
        alone = leaderboard(own, criterion="quality", ties=ties)
        here = [row for row in found.rows if row.part == part]
        for row, there in zip(here, alone.rows, strict=True):
            assert (row.rating, row.low, row.high) == pytest.approx(
                (there.rating, there.low, there.high)
            )
    assert [(row["part"], row["method_a"]) for row in found.comparisons] == [
        (1, "a"),
        (2, "c"),
    ]


def test_leaderboard_of_single_vote_and_of_ties_only():
    choices = simulated().iloc[:1].assign(choice="a")
    standings, notes = board(choices, parts=("stories", "annotators"))
    assert [(row.method, row.rank) for row in standings] == [("a", 1), ("b", 2)]
    assert [row.reason for row in standings] == [
        "never lost in 1 answer",
        "never won in 1 answer",
    ]
    assert notes[1:] == ["no intervals: only one story and one annotator to draw from."]
    for ties in ("half", "davidson"):
        standings, notes = board(
            simulated().assign(choice="tie"), ties=ties, parts=("stories",)
        )
        assert {row.rating for row in standings} == {1000.0}
        assert all(np.isnan(row.low) for row in standings)
        assert {(row.rank_low, row.rank_high) for row in standings} == {(1, 5)}
        assert notes == ["no intervals: all answers say the same."]


def sided_votes(delta, n=4000, tie=0.0, seed=0):
    rng = np.random.default_rng(seed)
    strength = np.array([0.8, 0.3, -0.2, -0.9])
    i, step = rng.integers(0, 4, n), rng.integers(1, 4, n)
    j = (i + step) % 4
    gap = strength[i] - strength[j] + delta + rng.logistic(size=n)
    choice = np.where(np.abs(gap) < tie, "tie", np.where(gap > 0, "a", "b"))
    names = np.array(list("wxyz"))
    return pd.DataFrame(
        {
            "story": [f"s{k % 50}" for k in range(n)],
            "method_a": names[i],
            "method_b": names[j],
            "annotator": [f"r{k % 7}" for k in range(n)],
            "choice": choice,
            "left_method": names[i],
        }
    )


def design(votes, columns):
    """The design matrix of a logit: first minus second, dropping the last method."""
    names = list("wxyz")
    x = np.zeros((len(votes), 4))
    x[np.arange(len(votes)), votes["method_a"].map(names.index)] += 1
    x[np.arange(len(votes)), votes["method_b"].map(names.index)] -= 1
    return np.column_stack([x[:, :3], np.ones((len(votes), 1))])[:, columns]


def test_strengths_are_those_of_statsmodels_logit():
    votes = sided_votes(0.4)
    reference = sm.Logit(votes["choice"] == "a", design(votes, [0, 1, 2])).fit(disp=0)
    counts = choice_votes(votes, by_majority=False).counts()
    found = fit_model(counts)
    theta = found.theta - found.theta[3]
    np.testing.assert_allclose(theta[:3], reference.params, atol=1e-8)


def evenly(votes):
    """Return equally many answers of each annotator, as statsmodels needs."""
    by = votes.groupby("annotator")
    return by.head(by.size().min())


def test_errors_by_one_kind_of_clusters_are_those_of_statsmodels():
    """Of two methods nothing is shared with other estimates: the plain sandwich."""
    votes = sided_votes(0.0, n=600)
    votes = votes[
        votes["method_a"].isin(["w", "x"]) & votes["method_b"].isin(["w", "x"])
    ]
    votes = evenly(votes)
    y = np.where(
        votes["method_a"] == "w", votes["choice"] == "a", votes["choice"] == "b"
    )
    people = pd.factorize(votes["annotator"])[0]
    reference = sm.Logit(y, np.ones(len(y))).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": people, "use_correction": False}
    )
    error = reference.bse[0] * np.sqrt(7 / 6)
    found = leaderboard(votes, criterion="q", parts=("annotators",))
    (row,) = found.comparisons
    assert row["difference"] == pytest.approx(reference.params[0] * ELO_SCALE)
    half = t_quantile.ppf(0.975, 6) * error * ELO_SCALE
    assert row["high"] - row["difference"] == pytest.approx(half)
    p_value = 2 * t_quantile.sf(abs(reference.params[0]) / error, 6)
    assert row["p_value"] == row["p_adjusted"] == pytest.approx(p_value)


def test_ranks_hold_together_and_say_what_comparisons_say():
    found = leaderboard(simulated(n_stories=12), criterion="q")
    p = [row["p_value"] for row in found.comparisons]
    np.testing.assert_allclose(
        [row["p_adjusted"] for row in found.comparisons],
        multipletests(p, method="holm")[1],
    )
    apart = {
        (row["method_a"], row["method_b"])[:: 1 if row["difference"] > 0 else -1]
        for row in found.comparisons
        if row["p_adjusted"] <= 0.05
    }
    assert 0 < len(apart) < 10
    for row in found.rows:
        assert row.rank_low == 1 + sum(b == row.method for _, b in apart)
        assert row.rank_high == 5 - sum(a == row.method for a, _ in apart)


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_influence_of_an_answer_is_the_slope_of_the_fit_by_its_weight(ties):
    votes = choice_votes(simulated(), by_majority=False)
    counts = votes.counts()
    fit = fit_model(counts, ties=ties)
    adds = fit.influence.reshape(votes.size, -1)
    assert np.abs(np.bincount(votes.cell, minlength=votes.size) @ adds).max() < 1e-6
    for cell in np.unique(votes.cell)[::7]:
        less = counts.copy()
        less.reshape(-1)[cell] -= 1e-3
        slope = (fit.theta - fit_model(less, ties=ties).theta) / 1e-3
        np.testing.assert_allclose(adds[cell, :5], slope, atol=2e-5)
