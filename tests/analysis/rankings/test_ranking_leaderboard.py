"""The leaderboard of rankings: beside that of choices, and where there is none."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.rankings.bradley_terry import leaderboard
from analysis.rankings.plackett_luce import ranking_leaderboard
from analysis.reading.inputs import read_rankings
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


BOTH = ("stories", "annotators")


def board(rankings, **options):
    options = {"criterion": "quality", "parts": (), **options}
    found = ranking_leaderboard(rankings, **options)
    return found.rows, found.notes


@pytest.mark.slow
@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_rankings_of_two_have_the_board_of_their_choices(seed):
    rankings = simulated(k=2, seed=seed)
    mine, notes = board(rankings)
    choices = implied_choices(rankings)
    other = leaderboard(choices, criterion="quality", parts=())
    assert notes == other.notes
    for row, there in zip(mine, other.rows, strict=True):
        assert (row.method, row.n_rankings) == (there.method, there.n_comparisons)
        assert row.rating == pytest.approx(there.rating, abs=1e-6, nan_ok=True)
        assert row.rank == pytest.approx(there.rank, nan_ok=True)


@pytest.mark.parametrize(
    "parts", [("stories",), ("annotators",), ("units",), BOTH, ("annotators", "units")]
)
def test_rankings_of_two_have_the_intervals_of_their_choices(parts):
    rankings = simulated(600, k=2)
    mine = ranking_leaderboard(rankings, criterion="quality", parts=parts)
    other = leaderboard(implied_choices(rankings), criterion="quality", parts=parts)
    assert mine.notes == other.notes
    for row, there in zip(mine.rows, other.rows, strict=True):
        bounds = (row.low, row.high, row.rank_low, row.rank_high)
        assert bounds == pytest.approx(
            (there.low, there.high, there.rank_low, there.rank_high), abs=1e-6
        )
    for row, there in zip(mine.comparisons, other.comparisons, strict=True):
        assert row == pytest.approx({**there, "source": "rankings"}, abs=1e-6)


def test_islands_are_named_and_ranked_apart():
    rankings = simulated(k=2)
    sets = rankings.groupby("slot")["method"].transform(lambda m: "".join(sorted(m)))
    standings, notes = board(rankings[sets.isin(["ab", "cd", "ce", "de"])], parts=BOTH)
    assert notes == [
        "these groups of methods were never ranked together, and each has ratings and "
        "ranks of its own: c, d, e; a, b."
    ]
    placed = [(row.part, row.method, row.rank) for row in standings]
    assert placed == [(1, "c", 1), (1, "d", 2), (1, "e", 3), (2, "a", 1), (2, "b", 2)]
    assert all(row.low < row.rating < row.high for row in standings)


def tied(rankings, share=3, seed=1):
    """Return rankings, some with a tie of the first two places."""
    some = rankings["slot"] % share == seed % share
    return rankings.assign(
        rank=rankings["rank"].where(~some, 1 + rankings["rank"] // 3)
    )


@pytest.mark.parametrize("parts", [("stories",), BOTH])
def test_tied_rankings_of_two_have_the_board_of_davidson(parts):
    rankings = tied(simulated(600, k=2))
    mine = ranking_leaderboard(rankings, criterion="quality", parts=parts)
    choices = implied_choices(rankings)
    assert (choices["choice"] == "tie").sum() == 200
    other = leaderboard(choices, criterion="quality", ties="davidson", parts=parts)
    for row, there in zip(mine.rows, other.rows, strict=True):
        bounds = (row.method, row.rating, row.low, row.high, row.rank_low)
        expected = (there.method, there.rating, there.low, there.high, there.rank_low)
        assert bounds == pytest.approx(expected, abs=1e-6)


def test_only_the_order_of_ranks_counts():
    rankings = tied(simulated())
    gaps = rankings.assign(rank=rankings["rank"] ** 2)
    assert board(rankings, parts=BOTH) == board(gaps, parts=BOTH)
    assert board(rankings)[1][0].startswith("80 of 240 rankings hold ties")


def test_ratings_rest_on_a_prior_when_ties_have_no_bound():
    """Differences, and how rare ties are, could grow together without an end."""
    rows = [
        (f"s{k}", method, "quality", "r", rank)
        for k, ranks in enumerate(([1, 2, 3], [1, 1, 2], [1, 2, 2]))
        for method, rank in zip("abc", ranks, strict=True)
    ]
    names = ["story", "method", "criterion", "annotator", "rank"]
    standings, notes = board(pd.DataFrame(rows, columns=names))
    assert [row.method for row in standings] == ["a", "b", "c"]
    assert "ties leave some differences without a bound" in notes[0]


def test_ties_alone_rate_all_methods_the_same():
    rankings = simulated(k=3).assign(rank=1)
    standings, _notes = board(rankings, parts=BOTH)
    assert [row.rating for row in standings] == pytest.approx([1000] * 6)
    assert {row.rank for row in standings} == {1.0}


@pytest.mark.slow
def test_public_rankings_of_pictures_are_read_and_fitted(shared, tmp_path):
    """ImageReward: 466 rankings of 4 to 9 pictures, 349 with ties, 137 with gaps."""
    frame = pd.read_csv(
        shared / "data" / "imagereward_rankings" / "rankings.csv", dtype=str
    )
    frame = frame.rename(columns={"output": "method"})
    frame.assign(criterion="q", annotator="a").to_csv(tmp_path / "r.csv", index=False)
    standings, notes = board(read_rankings(tmp_path / "r.csv"), parts=("stories",))
    assert notes[0].startswith("349 of 466 rankings hold ties")
    assert sum(row.n_rankings for row in standings) == len(frame)
    assert all(row.low < row.rating < row.high for row in standings)
