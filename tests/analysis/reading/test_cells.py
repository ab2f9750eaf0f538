"""Cells: means of means, common subsets, ties, signs."""

from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.options import AlignOptions, OptionError
from analysis.reading.cells import (
    annotator_cells,
    common_grid,
    human_cells,
    same_within_tolerance,
)
from analysis.reading.column_cleaning import kept_rows
from analysis.reading.identities import one_identity
from analysis.reading.scores import score_table

RATING_KEYS = ("dimension", "story", "method", "annotator", "shot", "round")


def ratings(*rows, columns=("story", "method", "annotator", "rating")):
    return pd.DataFrame(rows, columns=list(columns)).assign(dimension="d")


def scores(*rows, columns=("story", "method", "metric", "score")):
    return pd.DataFrame(rows, columns=list(columns))


def grid(rated, scored):
    cells = annotator_cells(kept_rows(rated, RATING_KEYS))
    return common_grid("d", cells, score_table(scored))


@given(
    st.lists(st.integers(0, 4), min_size=3, max_size=7),
    st.randoms(use_true_random=False),
)
def test_equal_sums_are_equal_means(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    means = np.array([sum(v / len(values) for v in vs) for vs in (values, shuffled)])
    a, b = same_within_tolerance(means)
    assert a == b


def test_scores_average_over_shots_exactly():
    rows = [
        ("s", method, "k", str(shot), value)
        for method, values in {"m": (0.1, 0.2, 0.3), "n": (0.3, 0.2, 0.1)}.items()
        for shot, value in enumerate(values)
    ]
    table = score_table(
        scores(*rows, columns=("story", "method", "metric", "shot", "score"))
    )
    first, second = table.cells["score"]
    assert first == second  # 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1 in floats


def test_common_subset_is_what_all_metrics_cover():
    rated = ratings(
        *[(s, m, "Ann", 1) for s in "st" for m in "xy"], ("u", "x", "Ann", 1)
    )
    scored = scores(
        *[(s, m, "full", 1.0) for s in "stu" for m in "xy"],
        ("s", "x", "part", 1.0),
        ("s", "y", "part", np.nan),
        ("t", "x", "part", 0.0),
        ("t", "y", "part", 2.0),
        ("z", "x", "other", 1.0),
    )
    found, notes = grid(rated, scored)
    assert found.metrics == ("full", "part")
    assert found.cells.tolist() == [[True, False], [True, True], [False, False]]
    assert found.apart == {"full"}
    assert notes == [
        "metric other has no score for any rated output.",
        "metrics are compared with each other on 3 of 5 rated outputs, which all of "
        "them score (part lacks 2); each is held against people on all that it scores.",
    ]


def test_contradicting_directions_are_refused():
    scored = scores(("s", "x", "fid", 3.0), ("s", "y", "fid", 1.0))
    scored["higher_is_better"] = [True, False]
    with pytest.raises(OptionError, match="metric 'fid' is marked both"):
        score_table(scored)


def test_score_of_a_whole_output_stands_for_its_shots():
    columns = ("story", "method", "metric", "shot", "score")
    scored = scores(
        ("s", "x", "k", "", 10.0),
        ("s", "x", "k", "1", 1.0),
        ("s", "x", "k", "2", 2.0),
        ("s", "y", "k", "1", 3.0),
        ("s", "y", "k", "2", 5.0),
        columns=columns,
    )
    table = score_table(scored)
    assert table.cells["score"].tolist() == [10.0, 4.0]
    assert table.notes == (
        "Metric k: 2 scores of shots left out, since their outputs have a score as a "
        "whole.",
    )


# The same whatever the order of the rows ----------------------------------------------


def test_scores_are_refused_when_they_cannot_be_used():
    with pytest.raises(OptionError, match="scores: no row has a score"):
        score_table(scores(("s", "x", "k", np.nan)))
    with pytest.raises(OptionError, match="'constant': expected another name"):
        score_table(scores(("s", "x", "constant", 1.0)))
    versions = scores(("s", "x", "random", 1.0), ("s", "y", "random", 1.0))
    versions["backend"] = ["expected", "drawn"]
    told = r"'random \(expected\)': expected another name"
    with pytest.raises(OptionError, match=told):
        score_table(one_identity(versions, AlignOptions())[0])


@st.composite
def shuffled_tables(draw):
    """Draw ratings with rounds, scores with versions, and an order of each."""
    number = st.floats(-9, 9, allow_subnormal=False)
    pick = st.tuples(
        st.sampled_from(["s", "狐", "狐", ""]),
        st.sampled_from("xxy"),
        st.sampled_from(["Ann", "Ann", "Bob"]),
        st.sampled_from(["", "1", "2"]),
        st.sampled_from("123"),
        st.sampled_from("pppq"),
    )
    keys = draw(st.lists(pick, unique=True, min_size=8, max_size=25))
    rated = pd.DataFrame(
        [(*key, draw(number)) for key in keys],
        columns=[
            "story",
            "method",
            "annotator",
            "shot",
            "round",
            "dimension",
            "rating",
        ],
    )
    pick = st.tuples(
        st.sampled_from(["s", "狐", ""]),
        st.sampled_from("xy"),
        st.sampled_from("kl"),
        st.sampled_from(["", "1", "2"]),
        st.sampled_from(["", "1"]),
    )
    keys = draw(st.lists(pick, unique=True, min_size=1, max_size=16))
    scored = pd.DataFrame(
        [(*key, draw(number)) for key in keys],
        columns=["story", "method", "metric", "shot", "metric_version", "score"],
    )
    orders = [draw(st.permutations(range(len(frame)))) for frame in (rated, scored)]
    return rated, scored, orders


@given(shuffled_tables())
def test_cell_is_a_mean_of_annotators_means(tables):
    rated = tables[0]
    cells = human_cells(annotator_cells(kept_rows(rated, RATING_KEYS)))
    for row in cells.itertuples():
        own = {}
        for other in rated.itertuples():
            key = (other.dimension, other.story, other.method)
            if key == (row.dimension, row.story, row.method):
                own.setdefault(other.annotator, []).append(other.rating)
        expected = fmean(fmean(values) for values in own.values())
        assert row.human == pytest.approx(expected, abs=1e-8)
