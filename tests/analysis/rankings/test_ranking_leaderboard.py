"""The leaderboard of rankings: beside that of choices, and where there is none."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.inference.resampling import cluster_counts, stream
from analysis.problems import InputError
from analysis.rankings import plackett_luce
from analysis.rankings.choice_counts import PARTS, resampled_counts
from analysis.rankings.leaderboard import leaderboard
from analysis.rankings.plackett_luce import choice_sets, fit
from analysis.rankings.ranking_leaderboard import ranking_leaderboard
from analysis.rankings.stages import ranking_stages
from analysis.reading.rankings import implied_choices

STRENGTH = dict(zip("abcdef", np.linspace(1, -1, 6), strict=True))


def simulated(n=240, k=4, seed=0, n_stories=30, annotators=8):
    rng = np.random.default_rng(seed)
    rows = []
    for slot in range(n):
        shown = rng.choice(list(STRENGTH), k, replace=False)
        noisy = [STRENGTH[m] + rng.gumbel() for m in shown]
        who = f"r{rng.integers(annotators)}"
        for rank, at in enumerate(np.argsort(noisy)[::-1], start=1):
            story = f"s{slot % n_stories}"
            rows.append((story, shown[at], "quality", who, rank, slot))
    names = ["story", "method", "criterion", "annotator", "rank", "slot"]
    return pd.DataFrame(rows, columns=names)


def board(rankings, **options):
    return ranking_leaderboard(
        rankings, **{"criterion": "quality", "resamples": 0, **options}
    )


def test_true_order_is_found_with_intervals_around_the_ratings():
    standings, notes = board(simulated(900), resamples=200)
    assert notes == []
    assert [row.method for row in standings] == list("abcdef")
    assert np.mean([row.rating for row in standings]) == pytest.approx(1000)
    assert sum(row.log_worth for row in standings) == pytest.approx(0, abs=1e-9)
    for row in standings:
        assert row.low < row.rating < row.high
        assert row.rank_low <= row.rank <= row.rank_high
        assert row.log_worth == pytest.approx(STRENGTH[row.method], abs=0.3)
        assert row.n_stories == 30
    assert sum(row.n_rankings for row in standings) == 900 * 4


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_rankings_of_two_have_the_board_of_their_choices(seed):
    rankings = simulated(k=2, seed=seed)
    mine, notes = board(rankings)
    other, told = leaderboard(
        implied_choices(rankings), criterion="quality", resamples=0
    )
    assert notes == told
    for row, there in zip(mine, other, strict=True):
        assert (row.method, row.n_rankings) == (there.method, there.n_comparisons)
        assert row.rating == pytest.approx(there.rating, abs=1e-6, nan_ok=True)
        assert row.rank == pytest.approx(there.rank, nan_ok=True)


def test_rankings_of_two_have_the_intervals_of_their_choices(monkeypatch):
    """Drawn from the same stream, resamples are the same."""

    def drawn(*args, name, **options):
        return resampled_counts(*args, name=name.replace("pl", "bt"), **options)

    monkeypatch.setattr("analysis.rankings.ranking_leaderboard.resampled_counts", drawn)
    rankings = simulated(600, k=2)
    mine, notes = board(rankings, resamples=200)
    other, told = leaderboard(
        implied_choices(rankings), criterion="quality", resamples=200
    )
    assert notes == told
    for row, there in zip(mine, other, strict=True):
        bounds = (row.low, row.high, row.rank_low, row.rank_high)
        assert bounds == pytest.approx(
            (there.low, there.high, there.rank_low, there.rank_high), abs=1e-6
        )


@pytest.mark.parametrize("parts", [("stories",), ("annotators", "stories"), ("units",)])
def test_resamples_draw_whole_answers(parts):
    """Every resample is a fit of the rows of the drawn clusters, copied out."""
    rankings = simulated(60, n_stories=6, annotators=3)
    stages = ranking_stages(rankings)
    name = "pl quality"
    (counts,) = resampled_counts(stages, parts, resamples=3, seed=0, name=name)
    weights = {
        part: cluster_counts(stages.clusters[part][1], 3, stream(0, name, part))
        for part in parts
    }
    for b in range(3):
        w = np.prod([weights[p][b][stages.clusters[p][0]] for p in parts], axis=0)
        expected = np.bincount(stages.cell, weights=w, minlength=stages.size)
        np.testing.assert_array_equal(counts[b], expected)


def test_units_are_sets_of_outputs_of_a_story():
    rankings = simulated(60, n_stories=6)
    stages = ranking_stages(rankings)
    assert set(stages.clusters) == set(PARTS)
    sets = rankings.groupby("slot").agg({"story": "first", "method": frozenset})
    assert stages.clusters["units"][1] == len(sets.drop_duplicates())
    assert len(stages.cell) == 60 * 3


def test_stages_are_the_orders():
    rankings = simulated(50)
    theta = fit(ranking_stages(rankings).sets, ranking_stages(rankings).counts()[None])
    orders = [
        ["abcdef".index(m) for m in rows.sort_values("rank")["method"]]
        for _, rows in rankings.groupby("slot")
    ]
    sets, cell, _ = choice_sets([np.array(orders)], 6)
    counts = np.bincount(cell, minlength=sets.size)[None].astype(float)
    np.testing.assert_allclose(theta[0], fit(sets, counts)[0], atol=1e-9)


def test_the_order_of_rows_does_not_matter_and_two_runs_agree():
    rankings = simulated()
    mixed = rankings.sample(frac=1, random_state=1)
    options = {"resamples": 50, "seed": 3}
    assert board(rankings, **options) == board(mixed, **options)


def test_without_slots_an_annotator_has_one_answer_a_story():
    rankings = simulated(120, n_stories=120)
    without = rankings.drop(columns="slot")
    assert board(rankings, resamples=20) == board(without, resamples=20)


def test_a_method_that_is_left_out_leaves_the_order_of_the_others():
    rankings = simulated(400)
    fewer = rankings[rankings["method"] != "f"]
    again = fewer.assign(
        rank=fewer.groupby("slot")["rank"].rank(method="first").astype(int)
    )
    standings, notes = board(fewer, resamples=20)
    assert (standings, notes) == board(again, resamples=20)
    assert {row.method for row in standings} == set("abcde")


def test_an_unbeaten_method_has_no_rating_and_is_named():
    rankings = simulated()
    always = rankings.groupby("slot")["method"].transform(lambda m: "a" in set(m))
    first = rankings["method"] == "a"
    rankings.loc[first, "rank"] = 0  # before all others
    standings, notes = board(rankings[always])
    assert all(
        np.isnan([row.rating, row.rank, row.log_worth]).all() for row in standings
    )
    assert notes == ["no ratings, since a never lost to the others."]


def test_islands_are_named():
    rankings = simulated(k=2)
    sets = rankings.groupby("slot")["method"].transform(lambda m: "".join(sorted(m)))
    _, notes = board(rankings[sets.isin(["ab", "cd", "ce", "de"])])
    assert notes == [
        "no ratings, since these groups of methods were never ranked together: "
        "a, b; c, d, e."
    ]


def test_worths_that_are_not_found_are_not_told(monkeypatch):
    monkeypatch.setattr(plackett_luce, "STEPS", 1)
    standings, notes = board(simulated())
    assert all(np.isnan([row.rating, row.log_worth]).all() for row in standings)
    assert notes == ["no ratings, since their maximum was not found."]


def test_rankings_of_one_method_only():
    standings, notes = board(simulated().assign(method="a", slot=range(960)))
    assert standings == []
    assert notes == ["no ratings, since no answer ranks two methods."]


def test_one_story_of_one_annotator_has_ratings_without_intervals():
    standings, notes = board(simulated().assign(story="s", annotator="x"), resamples=20)
    assert all(np.isfinite(row.rating) and np.isnan(row.low) for row in standings)
    assert notes == ["no intervals: only one story and one annotator to draw from."]


def test_resamples_without_a_maximum_are_counted():
    rankings = simulated(14, n_stories=5, seed=5)
    standings, notes = board(rankings, resamples=100)
    assert np.isfinite(standings[0].rating)
    assert notes[0].endswith(
        "of 100 resamples left out for want of finite ratings, since some methods are "
        "never ranked below the others there."
    )


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [("rank", 1, "each rank once in an answer"), ("method", "a", "each method once")],
)
def test_ties_and_doubled_methods_are_refused(column, value, told):
    with pytest.raises(InputError, match=f"rankings: {column}: .*expected {told}"):
        board(simulated(3).assign(**{column: value}))
