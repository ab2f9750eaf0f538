"""Coefficients of two matrices, against scipy over plain loops."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import analysis
from analysis.options import OptionError
from analysis.problems import InputError

SCIPY = {
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
    "kendall_c": lambda x, y: stats.kendalltau(x, y, variant="c").statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
}


@pytest.fixture
def cells():
    """Ratings and scores with ties, holes in both, and one story of equal ratings."""
    rng = np.random.default_rng(4)
    human = rng.integers(0, 5, (12, 7)).astype(float)
    metric = np.round(0.4 * human + rng.normal(size=human.shape), 1)
    human[3] = 2.0
    human[5, 1] = human[6, 6] = metric[5, 2] = metric[8, 0] = np.nan
    return human, metric


def averaged(human, metric, coefficient):
    """Correlate inside rows, and average where both sides vary: value, n, groups."""
    found, n = [], 0
    for x, y in zip(human, metric, strict=True):
        both = np.isfinite(x) & np.isfinite(y)
        if both.sum() > 1 and np.ptp(x[both]) > 0 and np.ptp(y[both]) > 0:
            found.append(SCIPY[coefficient](x[both], y[both]))
            n += both.sum()
    return np.mean(found), n, len(found)


@pytest.mark.parametrize("coefficient", SCIPY)
@pytest.mark.parametrize("level", ["story", "within_method"])
def test_averages_are_scipys(cells, level, coefficient):
    sides = cells if level == "story" else [side.T for side in cells]
    expected = averaged(*sides, coefficient)
    found = analysis.correlation(*cells, level=level, coefficient=coefficient)
    assert (found.value, found.n, found.n_groups) == pytest.approx(expected)


@pytest.mark.parametrize("coefficient", SCIPY)
def test_pooled_and_method_level_are_scipys(cells, coefficient):
    human, metric = cells
    both = np.isfinite(human) & np.isfinite(metric)
    expected = SCIPY[coefficient](human[both], metric[both])
    found = analysis.correlation(human, metric, "pooled", coefficient)
    assert (float(found), found.n, found.n_groups) == (pytest.approx(expected), 80, 1)
    means = [np.nanmean(np.where(both, side, np.nan), axis=0) for side in cells]
    found = analysis.correlation(human, metric, "method", coefficient)
    assert (float(found), found.n) == (pytest.approx(SCIPY[coefficient](*means)), 7)


def test_no_value_has_a_reason():
    found = analysis.correlation([[1, 2], [3, 4]], [[5, 5], [6, 6]])
    assert np.isnan(float(found))
    assert (found.n, found.n_groups) == (0, 0)
    assert found.reason == (
        "in no story do both people and the metric distinguish two methods"
    )


SQUARE = pd.DataFrame([[1, 2], [2, 3]], ["a", "b"], ["x", "y"])
A_MATRIX = "expected a matrix: a row a story, a column a method"


@pytest.mark.parametrize(
    ("human", "metric", "problems"),
    [
        ([1, 2], [1, 2], [f"human: {A_MATRIX}"]),
        ([[1, 2], [3]], [[1, 2], [3, 4]], [f"human: {A_MATRIX}"]),
        (
            np.ones((2, 3)),
            np.ones((2, 2)),
            ["metric: (2, 2): expected the shape of human, (2, 3)"],
        ),
        (
            [[1, "x"], [1, 2]],
            [[1, 2], [3, 4]],
            ["human[0, 1]: x: expected a number, or NaN where there is none"],
        ),
        (
            SQUARE,
            SQUARE.astype(float).replace(3, np.inf),
            ["metric.iloc[1, 1]: inf: expected a number, or NaN where there is none"],
        ),
        (
            SQUARE,
            SQUARE.set_axis(["a", "a"]),
            ["metric.index: a: expected a label once"],
        ),
        (
            SQUARE,
            SQUARE.set_axis(["A", "B"]),
            [
                "metric.index: 'A', 'B': expected labels of human.index, such as "
                "'a', 'b'"
            ],
        ),
        (
            [[1, "\uff14"], [1, 2]],
            [[1, 2], [3, 4]],
            [
                "human[0, 1]: \uff14 (U+FF14): expected a number, or NaN where there "
                "is none"
            ],
        ),
        (
            pd.DataFrame(np.ones((3, 2)), ["1", "10", "9"]),
            pd.DataFrame(np.ones((3, 2)), ["01", "10", "09"]),
            [
                "metric.index: '01', '10', '09': expected labels of human.index (at "
                "least half of 3, not 1), such as '1', '10', '9'"
            ],
        ),
    ],
)
def test_wrong_matrices_are_refused(human, metric, problems):
    with pytest.raises(InputError) as error:
        analysis.correlation(human, metric)
    assert error.value.lines() == problems


def test_unknown_level_names_the_nearest():
    with pytest.raises(OptionError, match=r"level: 'stories': .*\(nearest: story\)"):
        analysis.correlation(SQUARE, SQUARE, level="stories")
