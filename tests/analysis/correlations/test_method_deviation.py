"""Methods that a metric favours."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.correlations.method_deviation import method_deviations, rated_cells
from analysis.questions import kept_scores
from analysis.reading.cells import CellGrid, annotator_cells, common_grid

STORIES, METHODS = ("stories",), ("a", "b", "c", "d", "e", "f")


def grid_of(human, scores, votes=None):
    human, scores = np.asarray(human, float), np.asarray(scores, float)
    names = tuple(f"s{i:02}" for i in range(len(human)))
    votes = human[None] if votes is None else votes
    cells = np.ones(human.shape, bool)
    methods = METHODS[: human.shape[1]]
    alone = frozenset()
    return CellGrid(
        "look", names, methods, ("m",), cells, human, scores[None], votes, alone
    )


def study(seed=0, stories=30, methods=6, favour=0.0):
    """People's values and scores, which favour the first method."""
    rng = np.random.default_rng(seed)
    good = np.linspace(0, 3, methods) + 0.3 * rng.normal(size=(stories, methods))
    human = good + 0.2 * rng.normal(size=good.shape)
    scores = 2 * good + 0.5 * rng.normal(size=good.shape)
    scores[:, 0] += 2 * favour
    return human, scores


def deviations(grid, parts=STORIES, scale=None, **options):
    known = rated_cells(grid, parts, scale)
    return method_deviations(known, confidence=0.95, **options)


def column(rows, name):
    return np.array([row.get(name, np.nan) for row in rows], float)


def test_deviation_is_the_residual_from_the_line_of_the_others():
    human, scores = study()
    scores[:] = scores.mean(axis=0)  # without errors, a line is that of least squares
    rows = deviations(grid_of(human, scores))
    h, x = human.mean(axis=0), scores[0]
    for m, row in enumerate(rows):
        others = np.arange(6) != m
        line = stats.linregress(x[others], h[others])
        expected = line.intercept + line.slope * x[m]
        assert row["predicted"] == pytest.approx(expected)
        assert row["value"] == pytest.approx(expected - h[m])


def test_line_is_not_flattened_by_errors_of_scores():
    """Fuller (1987): least squares give the slope times the reliability of means."""
    steep, plain = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        good = np.linspace(0, 1, 6) + np.zeros((20, 1))
        scores = good + 0.5 * rng.normal(size=good.shape)
        rows = deviations(grid_of(good + 0.01 * rng.normal(size=good.shape), scores))
        steep.append(column(rows, "value")[0])
        x, h = scores.mean(axis=0), good.mean(axis=0)
        line = stats.linregress(x[1:], h[1:])
        plain.append(line.intercept + line.slope * x[0] - h[0])
    error = np.nanstd(steep) / np.sqrt(np.isfinite(steep).sum())
    assert np.isfinite(steep).sum() > 35
    assert np.mean(plain) > 0.04
    assert abs(np.nanmean(steep)) < 3 * error


@given(st.floats(0.01, 100), st.floats(-100, 100))
def test_deviation_does_not_depend_on_the_unit_of_scores(unit, shift):
    human, scores = study(favour=0.5)
    rows = deviations(grid_of(human, scores))
    others = deviations(grid_of(human, unit * scores + shift))
    for name in ("value", "low", "high"):
        assert column(others, name) == pytest.approx(column(rows, name), abs=1e-6)


def test_favoured_method_is_found_and_marked_as_trained_on_the_metric():
    human, scores = study(favour=1.0)
    rows = deviations(grid_of(human, scores), trained=[("a", "m"), ("b", "other")])
    first, *others = rows
    assert first["value"] == pytest.approx(1.0, abs=0.2)
    assert first["p_adjusted"] < 1e-6
    assert first["trained_on"]
    assert not any(row["trained_on"] for row in others)


def test_difference_of_scores_on_peoples_scale_is_that_of_a_t_test():
    human, scores = (np.clip(np.round(values), 0, 3) for values in study())
    rows = deviations(grid_of(human, scores), scale=(0, 3))
    for m, row in enumerate(rows):
        test = stats.ttest_1samp(scores[:, m] - human[:, m], 0)
        interval = test.confidence_interval()
        assert row["difference"] == pytest.approx(np.mean(scores[:, m] - human[:, m]))
        assert row["difference_low"] == pytest.approx(interval.low)
        assert row["difference_high"] == pytest.approx(interval.high)
    assert "difference" not in deviations(grid_of(human, scores), scale=(0, 4))[0]


def test_annotators_with_favourites_widen_intervals():
    human, scores = study()
    rng = np.random.default_rng(1)
    votes = human + 0.5 * rng.normal(size=(5, 1, 6)) + 0.1 * rng.normal(size=(5, 30, 6))
    grid = grid_of(votes.mean(axis=0), scores, votes)
    alone, both = (
        deviations(grid, parts) for parts in (STORIES, ("stories", "annotators"))
    )
    assert column(alone, "value") == pytest.approx(column(both, "value"))
    widths = [column(rows, "high") - column(rows, "low") for rows in (alone, both)]
    assert (widths[1] > 1.5 * widths[0]).all()
    assert {row["drawn"] for row in both} == {"stories+annotators"}


@pytest.mark.parametrize(
    ("human", "scores", "reason"),
    [
        (*study(methods=3), "fewer than four methods"),
        (*study(stories=1), "ratings are method-level values"),
        (study()[0], np.random.default_rng(3).normal(size=(30, 6)), "not shown"),
        (study()[0], np.ones((30, 6)), "not shown"),
        (study()[0], -study()[1], "not shown"),
    ],
)
def test_deviation_is_undefined_with_a_reason(human, scores, reason):
    rows = deviations(grid_of(human, scores))
    assert np.isnan(column(rows, "value")).all()
    assert all(reason in row["reason"] and row["drawn"] == "" for row in rows)


def test_gpt4o_favours_blip_diffusion_in_imagenhub(shared):
    """GPT-4o gives BLIPDiffusion_Edit .46 where people give .09 (`shared/data`)."""
    folder = shared / "data" / "viescore"
    ratings, scores = (
        pd.read_csv(folder / f"{name}.csv", dtype={"story": str})
        for name in ("ratings", "scores")
    )
    ratings = ratings[ratings["dimension"] == "SC"]
    scores = scores[scores["metric"] == "gpt4o_0shot|SC"]
    parts = [
        frame.assign(
            method=frame["task"] + "/" + frame["method"],
            story=frame["task"] + "/" + frame["story"],
        )
        for frame in (ratings, scores.assign(higher_is_better=True))
    ]
    table = kept_scores(parts[1], ())
    grid, _ = common_grid("SC", annotator_cells(parts[0]), table)
    rows = deviations(grid, ("stories", "annotators"))
    found = {row["method"]: row for row in rows}
    row = found["Subject-Driven_IE/BLIPDiffusion_Edit"]
    assert row["human"] == pytest.approx(0.089, abs=5e-4)
    assert row["score"] == pytest.approx(0.458, abs=5e-4)
    assert 0.15 < row["low"] < row["value"] < row["high"] < 0.32
    assert 0.3 < row["difference_low"] < 0.37 < row["difference_high"] < 0.45
    assert row["p_adjusted"] < 0.001
    assert row["value"] == max(column(rows, "value"))
