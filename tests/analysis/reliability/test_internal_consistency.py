"""Cronbach's alpha against values of other programs, and laws."""

import numpy as np
import pandas as pd
import pytest

from analysis.reading.column_cleaning import kept_rows
from analysis.reading.kept_answers import RATING_KEYS
from analysis.reliability.internal_consistency import (
    against_the_others,
    cronbach,
    panel_consistency,
    scale_consistency,
)
from analysis.statistics import COLUMNS

# Data set "cronbach_alpha" of pingouin 0.7.0, items Q1, Q10, Q2 ... Q9 of 15 people;
# its documentation gives alpha = 0.5917188485995826 (as R's psych::alpha).
PINGOUIN = [
    [3, 5, 7, 2, 6, 1, 4, 2, 6, 5, 4, 4, 5, 6, 4],
    [2, 5, 5, 3, 5, 2, 3, 5, 2, 2, 1, 4, 5, 5, 4],
    [2, 4, 3, 4, 5, 2, 3, 4, 5, 4, 3, 2, 5, 5, 3],
    [4, 6, 5, 3, 6, 3, 5, 4, 5, 6, 5, 3, 6, 5, 5],
    [1, 3, 5, 3, 5, 4, 3, 3, 5, 4, 2, 2, 2, 4, 5],
    [4, 5, 6, 2, 4, 2, 5, 7, 1, 3, 5, 5, 3, 2, 3],
    [5, 1, 4, 2, 4, 5, 2, 2, 6, 5, 3, 3, 3, 2, 1],
    [1, 2, 3, 2, 4, 2, 1, 2, 5, 3, 2, 4, 2, 1, 3],
    [4, 5, 3, 6, 6, 3, 2, 4, 2, 1, 3, 2, 4, 4, 2],
    [3, 5, 6, 6, 7, 5, 4, 6, 3, 7, 4, 3, 4, 6, 3],
]
# pingouin.cronbach_alpha of the same table without one of the items.
WITHOUT = [
    0.46869032463399113,
    0.5225907821229049,
    0.5072805578342905,
    0.5183498526654163,
    0.5318291700241741,
    0.668489065606362,
    0.6711414790996786,
    0.5685063322572637,
    0.6101190476190478,
    0.5194256756756759,
]
# Data set "cronbach_wide_missing": 0.8016949152542373 after leaving out rows that
# lack an answer ("psych:alpha(data, use='complete.obs')").
MISSING = """11111111111 11111111010 .011.111100 11101101100 11111000100 01.01111000
11110010000 11111000000 01011000010 100101001.0 11100000000 10010000000"""


def ratings(items, **columns):
    """Rows of an items-by-cases matrix; every case is one annotator's of a story."""
    rows = [
        {"story": f"s{c:02d}", "dimension": f"q{i}", "rating": value}
        for i, values in enumerate(np.asarray(items, float))
        for c, value in enumerate(values)
        if np.isfinite(value)
    ]
    frame = pd.DataFrame(rows).assign(**{"method": "m", "annotator": "r"} | columns)
    return kept_rows(frame, RATING_KEYS)


def found(rows, resamples=0, function=scale_consistency, **options):
    table = function(rows, resamples=resamples, confidence=0.95, seed=0, **options)
    frame = pd.DataFrame(table, columns=list(COLUMNS["scale_consistency"]))
    return frame.set_index(["level", "statistic", "question"])


@pytest.mark.parametrize("level", ["answers", "cells"])
def test_pingouin_and_psych(level):
    table = found(ratings(PINGOUIN))
    row = table.loc[(level, "cronbach_alpha", "")]
    assert row["value"] == pytest.approx(0.5917188485995826)
    assert (row["n"], row["n_items"]) == (15, 10)
    for i, expected in enumerate(WITHOUT):
        row = table.loc[(level, "cronbach_alpha_without", f"q{i}")]
        assert row["value"] == pytest.approx(expected)
        assert row["n_items"] == 9


def test_cases_that_lack_an_answer_do_not_enter():
    items = np.array(
        [[float(c.replace(".", "nan")) for c in row] for row in MISSING.split()]
    ).T
    row = found(ratings(items)).loc[("answers", "cronbach_alpha", "")]
    assert row["value"] == pytest.approx(0.8016949152542373)
    assert row["n"] == 9


def test_cells_are_means_over_annotators():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=40)
    frames = [
        ratings(truth + rng.normal(size=(3, 40)), annotator=f"r{a}") for a in range(4)
    ]
    table = found(pd.concat(frames))["value"]
    means = sum(
        frame.pivot_table(index="story", columns="dimension", values="rating")
        for frame in frames
    )
    expected = cronbach(means.to_numpy() / 4, np.ones((1, 40)))[0]
    assert table["cells", "cronbach_alpha", ""] == pytest.approx(expected)
    assert table["cells", "cronbach_alpha", ""] > table["answers", "cronbach_alpha", ""]


def test_intervals_draw_stories():
    rng = np.random.default_rng(0)
    quality = np.repeat(rng.normal(size=30), 4)
    rows = ratings(quality + 0.5 * rng.normal(size=(3, 120)))
    by_case = found(rows, 500).loc[("answers", "cronbach_alpha", "")]
    rows["method"] = "m" + (rows["story"].str[1:].astype(int) % 4).astype(str)
    rows["story"] = "s" + (rows["story"].str[1:].astype(int) // 4).astype(str)
    by_story = found(rows, 500).loc[("answers", "cronbach_alpha", "")]
    assert by_story["value"] == pytest.approx(by_case["value"])
    assert by_case["low"] < by_case["value"] < by_case["high"]
    width = [row["high"] - row["low"] for row in (by_case, by_story)]
    assert width[1] > 1.3 * width[0]


def test_the_panel_is_shrout_and_fleiss_icc_3_k():
    # Shrout and Fleiss (1979), table 4: ICC(3,4) = .91 of their 6 targets, 4 judges.
    judges = [
        [9, 6, 8, 7, 10, 6],
        [2, 1, 4, 1, 5, 2],
        [5, 3, 6, 2, 6, 4],
        [8, 2, 8, 6, 9, 7],
    ]
    rows = ratings(judges).rename(columns={"annotator": "x", "dimension": "annotator"})
    row = found(rows.assign(dimension="d"), 99, panel_consistency).loc[
        ("panel", "cronbach_alpha", "d")
    ]
    assert row["value"] == pytest.approx(0.91, abs=0.005)
    assert (row["n"], row["n_items"]) == (6, 4)
    assert row["low"] < row["value"] <= row["high"]


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([[1, 2, 3]], "needs two questions or more"),
        ([[1, np.nan], [np.nan, 2]], "no case has an answer of all 2 questions"),
        ([[1, np.nan], [1, 2]], "only one case has an answer of all 2 questions"),
        ([[1, 2], [2, 1]], "the sum of the answers is the same in all cases"),
    ],
)
def test_undefined_is_empty_with_a_reason(items, reason):
    row = found(ratings(items), 9).loc[("answers", "cronbach_alpha", "")]
    assert np.isnan(row["value"])
    assert row["reason"] == reason


def three_questions(turned=()):
    """Three dimensions that follow one quality, some on a scale the other way round."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=30)
    items = [quality + 0.5 * rng.normal(size=30) for _ in range(3)]
    return ratings([-x if i in turned else x for i, x in enumerate(items)])


def test_a_scale_that_runs_the_other_way_is_named():
    assert against_the_others(three_questions()) == []
    (note,) = against_the_others(three_questions(turned=[1]))
    assert note.startswith("Ratings of q1 fall where those of the other questions rise")
    (note,) = against_the_others(three_questions(turned=[0, 2]))
    assert note.startswith("Ratings of q1 fall")  # most are taken to be right
    two = three_questions(turned=[0])
    (note,) = against_the_others(two[two["dimension"] < "q2"])
    assert note.startswith("Ratings of q1 fall")
