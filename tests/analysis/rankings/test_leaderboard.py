"""Bradley-Terry and Davidson, connectivity, ranks."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.sparse.csgraph import connected_components

from analysis.inference.resampling import cluster_counts, stream
from analysis.rankings.bradley_terry import fit_model
from analysis.rankings.choice_counts import choice_votes, resampled_counts
from analysis.rankings.connectivity import bounded_ties, strongly_connected
from analysis.rankings.leaderboard import (
    ELO_SCALE,
    TIES,
    leaderboard,
    side_effect,
)
from analysis.result_tables.columns import COLUMNS


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
    found = fit_model(counts)
    theta, converged = found.theta, found.converged
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
    found = fit_model(np.stack([wins, ties])[None], ties="davidson")
    theta, converged = found.theta, found.converged
    assert converged.all()
    np.testing.assert_allclose(theta[0] - theta[0, 0], best, atol=1e-4)


@pytest.mark.parametrize("n", [3e6, 1e7, 1e9])
def test_a_fit_of_millions_of_answers_converges(n):
    won = np.random.default_rng(0).integers(1, n, 100).astype(float)
    counts = np.zeros((100, 2, 2, 2))
    counts[:, 0, 0, 1], counts[:, 0, 1, 0] = won, n - won
    found = fit_model(counts)
    assert found.converged.all()
    gap = found.theta[:, 0] - found.theta[:, 1]
    np.testing.assert_allclose(gap, np.log(won / (n - won)), atol=1e-9)
    counts[:, 1, 0, 1] = n / 3
    assert fit_model(counts, ties="davidson").converged.all()


@given(st.integers(0, 2**32 - 1))
def test_ties_are_bounded_where_no_direction_of_davidsons_model_leads_on(seed):
    # A linear programme looks for strengths and log nu along which no answer becomes
    # less likely.
    rng = np.random.default_rng(seed)
    M = int(rng.integers(2, 6))
    wins, ties = rng.random((2, M, M)) < rng.choice([0.1, 0.3, 0.6])
    np.fill_diagonal(wins, False)
    ties = np.triu(ties, 1)
    connected = strongly_connected((wins | ties | ties.T)[None].astype(float))[0]
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
    counts = np.stack([wins, ties])[None].astype(float)
    assert bounded_ties(*counts[0][:, None]) == [abs(found.fun) < 1e-6]
    assert fit_model(counts, ties="davidson").converged == [abs(found.fun) < 1e-6]


def never_lost(wins=25, ties=11):
    """Answers of one pair, of which one method wins many and the other none."""
    choices = ["a"] * wins + ["tie"] * ties
    rows = pd.DataFrame({"choice": choices}).assign(method_a="x", method_b="y")
    story = [f"s{i}" for i in range(len(rows))]
    return rows.assign(story=story, annotator="Ann")


@pytest.mark.parametrize("answers", [never_lost(), never_lost(1143, 358)])
@pytest.mark.parametrize("options", [{}, {"by_majority": True}])
def test_ties_without_a_finite_parameter_leave_no_ratings(answers, options):
    standings, notes = board(answers, ties="davidson", resamples=50, **options)
    assert all(np.isnan(row.rating) for row in standings)
    assert notes == [
        "no ratings, since ties have no finite parameter: no chain of answers from a "
        "method back to itself holds more wins than ties."
    ]
    # Half a win for a tie has a maximum.
    standings, _ = board(answers, ties="half", **options)
    assert all(np.isfinite(row.rating) for row in standings)


def test_a_resample_whose_ties_have_no_finite_parameter_has_no_ratings():
    # One answer in 37 makes the difference: a resample is without it in 37% of cases.
    answers = pd.concat([never_lost(), never_lost(1, 0).assign(choice="b", story="t")])
    standings, notes = board(
        answers, ties="davidson", parts=("stories",), resamples=400, seed=1
    )
    gap = standings[0].rating - standings[1].rating
    # The two pairs of odds, of a win and of a loss against a tie, are those observed.
    assert gap == pytest.approx(ELO_SCALE * np.log(25))
    lost = int(notes[0].split(" of ")[0])
    assert 110 < lost < 185
    assert notes[0].endswith(
        "since some methods never lose to the others, or no chain of answers from a "
        "method back to itself holds more wins than ties there."
    )
    assert standings[0].high < 2000


def test_two_methods_have_the_logit_of_the_win_rate():
    answers = ["a"] * 6 + ["b"] * 2
    rows = pd.DataFrame({"choice": answers}).assign(
        story=[f"s{i}" for i in range(8)],
        method_a="x",
        method_b="y",
        criterion="quality",
        annotator="Ann",
    )
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


def test_islands_are_named_where_ties_are_dropped():
    choices = simulated()
    left = choices["method_a"].isin(["a", "b"]) & choices["method_b"].isin(["a", "b"])
    right = choices["method_a"].isin(["c", "d"]) & choices["method_b"].isin(["c", "d"])
    _, notes = board(choices[left | right], ties="drop")
    assert notes == [
        "no ratings, since these groups of methods have no answer but ties between "
        "them: a, b; c, d."
    ]


def test_one_story_of_one_annotator_has_ratings_without_intervals():
    choices = simulated().assign(story="s", annotator="x")
    parts = ("stories", "annotators")
    standings, notes = board(choices, parts=parts, resamples=20)
    assert all(np.isfinite(row.rating) and np.isnan(row.low) for row in standings)
    assert notes == ["no intervals: only one story and one annotator to draw from."]
    _, notes = board(choices, parts=parts, resamples=0)
    assert notes == []


def test_resamples_without_a_maximum_are_counted():
    choices = simulated(n_stories=3, raters=1, tie=0.0)
    standings, notes = board(choices, parts=("stories",), resamples=100)
    assert np.isfinite(standings[0].rating)
    assert notes[0].endswith(
        "of 100 resamples left out for want of finite ratings, since some methods "
        "never lose to the others there."
    )


def test_methods_with_ties_only_were_compared():
    choices = simulated().assign(choice="tie")
    _, notes = board(choices, ties="drop")
    assert notes[0].startswith(
        "no ratings, since these groups of methods have no answer but ties between them"
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
    found = fit_model(np.stack([wins, np.zeros_like(wins)], axis=1))
    theta, converged = found.theta, found.converged
    assert converged.all()
    p = 1 / (1 + np.exp(theta[0][None, :] - theta[0][:, None]))
    expected = ((wins[0] + wins[0].T) * p).sum(axis=1)
    np.testing.assert_allclose(expected, wins[0].sum(axis=1), atol=1e-6)


def with_sides(choices, seed=0, known=1.0):
    """Say which output stood on the left; whom that helps is another matter."""
    rng = np.random.default_rng(seed)
    left = np.where(
        rng.random(len(choices)) < 0.5, *choices[["method_a", "method_b"]].T.to_numpy()
    )
    return choices.assign(
        left_method=np.where(rng.random(len(choices)) < known, left, None)
    )


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
    counts = choice_votes(votes, by_majority=False, side=False).counts()[None]
    found = fit_model(counts)
    theta = found.theta[0] - found.theta[0, 3]
    np.testing.assert_allclose(theta[:3], reference.params, atol=1e-8)


def test_the_side_effect_is_the_intercept_of_statsmodels_logit():
    votes = sided_votes(0.4)
    reference = sm.Logit(votes["choice"] == "a", design(votes, [0, 1, 2, 3])).fit(
        disp=0
    )
    counts = choice_votes(votes, by_majority=False, side=True).counts()[None]
    found = fit_model(counts)
    assert found.side[0] == pytest.approx(reference.params.iloc[3], abs=1e-8)
    theta = found.theta[0] - found.theta[0, 3]
    np.testing.assert_allclose(theta[:3], reference.params[:3], atol=1e-8)
    (row,) = side_effect(votes, criterion="q", resamples=0)
    assert set(row) == set(COLUMNS["side_effect"])
    assert row["value"] == found.side[0]
    assert row["elo"] == pytest.approx(400 * row["value"] / np.log(10))
    assert (row["question"], row["n"], row["reason"]) == ("q", 4000, "")


def test_half_ties_are_a_weighted_logit():
    votes = sided_votes(-0.3, tie=0.5)
    both = pd.concat([votes.assign(won=1.0), votes.assign(won=0.0)])
    weight = np.where(
        both["choice"] == "tie", 0.5, (both["choice"] == "a") == both["won"]
    )
    reference = sm.GLM(
        both["won"],
        design(both, [0, 1, 2, 3]),
        family=sm.families.Binomial(),
        freq_weights=weight,
    ).fit()
    (row,) = side_effect(votes, criterion="q", resamples=0)
    assert row["value"] == pytest.approx(reference.params.iloc[3], abs=1e-8)


def test_davidson_with_sides_is_the_maximum_that_a_general_optimiser_finds():
    votes = sided_votes(0.5, n=600, tie=0.6)
    # A fifth without a side: they inform the strengths only.
    unknown = np.arange(600) % 5 == 0
    votes.loc[unknown, "left_method"] = None
    names = list("wxyz")
    i, j = (votes[c].map(names.index).to_numpy() for c in ("method_a", "method_b"))
    column = votes["choice"].map(["a", "tie", "b"].index).to_numpy()

    def loss(p):
        theta, log_nu, delta = np.append(p[:3], 0), p[3], p[4]
        eta = theta[i] - theta[j] + delta * ~unknown
        logs = np.stack([eta / 2, np.full(600, log_nu), -eta / 2], axis=1)
        logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
        return -logs[np.arange(600), column].sum()

    best = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-7}).x
    counts = choice_votes(votes, by_majority=False, side=True).counts()[None]
    found = fit_model(counts, ties="davidson")
    mine = [*(found.theta[0, :3] - found.theta[0, 3]), found.log_nu[0], found.side[0]]
    np.testing.assert_allclose(mine, best, atol=1e-5)


@pytest.mark.parametrize("ties", TIES)
def test_a_side_effect_is_found_and_its_absence_too(ties):
    (row,) = side_effect(
        sided_votes(0.5, tie=0.3), criterion="q", ties=ties, resamples=300
    )
    assert row["low"] < row["value"] < row["high"]
    assert row["low"] > 0.2
    assert row["p_value"] < 0.01
    (row,) = side_effect(
        sided_votes(0.0, tie=0.3), criterion="q", ties=ties, resamples=300
    )
    assert row["low"] < 0 < row["high"]
    assert row["p_value"] > 0.05


def test_a_board_is_adjusted_for_the_side():
    # z stands on the left whenever it meets w, and the left wins often.
    votes = sided_votes(1.5)
    votes = votes[~((votes["method_a"] == "w") & (votes["method_b"] == "z"))]
    plain, _ = board(votes)
    adjusted, notes = board(votes, side=True)
    assert notes == []
    strength = {r.method: r.rating for r in adjusted}
    unadjusted = {r.method: r.rating for r in plain}
    truth = (0.8 + 0.9) * ELO_SCALE
    assert strength["w"] - strength["z"] == pytest.approx(truth, abs=40)
    assert unadjusted["w"] - unadjusted["z"] < truth - 60


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda v: v.drop(columns="left_method"), "no answer says which"),
        (lambda v: v.assign(left_method=np.nan), "no answer says which"),
        (
            lambda v: v.assign(
                left_method=v[["method_a", "method_b"]].min(axis=1)
            ).query("method_a in ['w', 'x'] and method_b in ['w', 'x']"),
            "cannot be told from the methods",
        ),
        (lambda v: v.assign(choice="a"), "has no finite value"),
    ],
)
def test_a_side_effect_that_is_undefined_has_a_reason(change, why):
    (row,) = side_effect(change(sided_votes(0.0)), criterion="q", resamples=20)
    assert np.isnan(row["value"])
    assert np.isnan(row["p_value"])
    assert why in row["reason"]
    standings, notes = board(change(sided_votes(0.0)), side=True)
    assert np.isfinite(standings[0].rating)
    assert notes[0].startswith("ratings are not adjusted for the side: ")
    assert why in notes[0]


def test_what_a_resample_lacks_is_told_by_what_is_fitted():
    answers = pd.concat([never_lost(12, 0), never_lost(3, 0).assign(choice="b")])
    answers = answers.assign(
        story=[f"s{i}" for i in range(15)], left_method=[*"xy" * 7, "x"]
    )
    _, (note,) = board(answers, side=True, parts=("stories",), resamples=200)
    assert note.endswith(
        "since some methods never lose to the others, or the side cannot be told from "
        "the methods, or one side wins so regularly that its effect has no finite "
        "value there."
    )


def test_a_majority_has_no_side():
    _, notes = board(sided_votes(0.0), side=True, by_majority=True)
    assert "majority" in notes[0]


def test_which_method_is_named_first_is_no_side():
    votes = sided_votes(0.4, tie=0.3)
    turned = votes.rename(columns={"method_a": "method_b", "method_b": "method_a"})
    turned["choice"] = votes["choice"].replace({"a": "b", "b": "a"})
    (one,), (two,) = (
        side_effect(rows, criterion="q", ties="davidson", resamples=20)
        for rows in (votes, turned)
    )
    assert one == pytest.approx(two, nan_ok=True)


@pytest.mark.parametrize(
    "parts",
    [
        ("stories",),
        ("annotators",),
        ("units",),
        ("stories", "annotators"),
        ("annotators", "units"),
        ("stories", "units"),
    ],
)
@pytest.mark.parametrize("side", [False, True])
def test_resampled_counts_are_those_of_weighted_answers(parts, side):
    rows = with_sides(simulated(n_stories=6), known=0.8)
    votes = choice_votes(rows, by_majority=False, side=side)
    (found,) = resampled_counts(votes, parts, resamples=7, seed=3, name="x")
    weight = np.ones((7, len(rows)))
    for part in parts:
        codes, n = votes.clusters[part]
        drawn = cluster_counts(n, 7, stream(3, "x", part))
        weight *= drawn[:, codes]
    expected = [np.bincount(votes.cell, w, votes.size) for w in weight]
    np.testing.assert_array_equal(found, np.reshape(expected, found.shape))


def test_rows_may_come_in_any_order_and_as_categories():
    choices = with_sides(simulated(n_stories=8))
    mixed = choices.sample(frac=1, random_state=1).astype(
        {"story": "category", "method_a": "category"}
    )
    options = {"resamples": 30, "side": True}
    assert board(choices, **options) == board(mixed, **options)


@settings(max_examples=20)
@given(st.permutations("abcde"))
def test_new_names_change_names_only(names):
    choices = simulated(n_stories=6)
    called = dict(zip("abcde", names, strict=True))
    renamed = choices.replace({"method_a": called, "method_b": called})
    before = {called[r.method]: r.rating for r in board(choices)[0]}
    after = {r.method: r.rating for r in board(renamed)[0]}
    assert before == pytest.approx(after)


def test_a_majority_is_the_same_whichever_method_is_named_first():
    choices = simulated(n_stories=8)
    turned = choices.rename(columns={"method_a": "method_b", "method_b": "method_a"})
    turned["choice"] = choices["choice"].replace({"a": "b", "b": "a"})
    mixed = pd.concat([choices[::2], turned[1::2]])
    (one, _), (two, _) = (board(rows, by_majority=True) for rows in (choices, mixed))
    assert [(r.method, r.rating, r.n_comparisons) for r in one] == [
        (r.method, r.rating, r.n_comparisons) for r in two
    ]


def test_one_method_or_one_story():
    standings, notes = board(simulated(n_stories=1), resamples=20, parts=("stories",))
    assert np.isnan(standings[0].low)
    assert np.isnan(standings[0].rank_low)
    one = simulated().assign(method_b="a", method_a="a")
    _, notes = board(one)
    assert notes == ["no ratings, since there is one method only."]


@given(st.integers(0, 2**32 - 1))
def test_resamples_have_ratings_where_wins_lead_from_all_to_all(seed):
    rng = np.random.default_rng(seed)
    counts = rng.binomial(1, 0.25, (20, 2, 4, 4)) * (1 - np.eye(4))
    counts[:, 1] *= rng.binomial(1, 0.3, (20, 1, 1))
    beats = counts[:, 0] + counts[:, 1] + counts[:, 1].transpose(0, 2, 1)
    for table, strong in zip(beats, strongly_connected(beats), strict=True):
        parts, _ = connected_components(table, directed=True, connection="strong")
        assert strong == (parts == 1)


def test_resamples_in_which_the_side_says_all_are_counted_as_undefined():
    """A study so small that some resamples cannot tell strengths from the side."""
    answers = """
        0,A,B,p,tie,B  0,A,B,q,tie,A  0,A,C,q,a,A  0,B,C,q,b,B  1,A,B,p,a,A
        1,A,B,q,a,B    1,A,C,p,b,A    1,A,C,q,a,A  1,B,C,p,b,B  1,B,C,q,a,B
        2,A,B,p,a,A    2,A,B,q,a,A    2,A,C,p,tie,A 2,B,C,q,b,C
    """
    names = ["story", "method_a", "method_b", "annotator", "choice", "left_method"]
    rows = [dict(zip(names, row.split(","), strict=True)) for row in answers.split()]
    choices = pd.DataFrame(rows).assign(criterion="c")
    (row,) = side_effect(choices, criterion="c", resamples=10)
    assert row["value"] == pytest.approx(0.66261317623)
    assert np.isnan(row["low"])
    assert "undefined in 6 of 10 resamples" in row["reason"]
