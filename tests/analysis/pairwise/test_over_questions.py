"""A metric over several questions of one study."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.correlations.level_estimates import level_estimates, level_spread
from analysis.pairwise.accuracy import pair_agreement
from analysis.pairwise.output_pairs import rating_pairs
from analysis.pairwise.over_questions import (
    accuracy_over_questions,
    coefficients_over_questions,
)
from tests.analysis.correlations.test_metric_differences import two_metrics

PARTS = ("stories", "methods")
SAMPLING = {"resamples": 50, "confidence": 0.95, "seed": 0}
LEVELS = ("method", "story", "pooled", "residual")


def accuracies(*grids):
    pairs = [rating_pairs(grid) for grid in grids]
    return accuracy_over_questions(pairs, ["a"], PARTS, SAMPLING)


def questions(n, *, same=False):
    grids = [two_metrics(seed=1 if same else i, n_stories=12) for i in range(n)]
    names = "look", "plot", "pace"
    return [replace(g, question=q) for g, q in zip(grids, names, strict=False)]


def test_accuracy_of_one_question_is_that_of_its_table():
    (grid,) = questions(1)
    (row,) = accuracies(grid)
    asked = rating_pairs(grid), PARTS
    own = next(
        one
        for one in pair_agreement(asked[0], epsilon="0", parts=PARTS, **SAMPLING)
        if one.metric == "a"
    ).half
    for name in ("value", "low", "high", "p_value"):
        assert row[name] == pytest.approx(getattr(own, name))


def test_same_answers_to_two_questions_say_no_more_than_one():
    """Independent questions would have an error smaller by the root of two."""
    one, two, whole = accuracies(*questions(2, same=True))
    assert (whole["part"], whole["n"]) == ("", 2)
    for name in ("value", "error", "low", "high", "p_value"):
        assert whole[name] == pytest.approx(one[name])
        assert two[name] == pytest.approx(one[name])


@pytest.mark.parametrize("level", LEVELS)
def test_same_coefficient_twice_is_that_of_its_table(level):
    grids = questions(2, same=True)
    asked = ["a"], [level], "pearson", PARTS, SAMPLING
    first, _second, whole = coefficients_over_questions(grids, *asked)
    own = level_estimates(
        replace(grids[0], question=""),
        level,
        ("pearson",),
        level_spread(
            replace(grids[0], question=""), level, ("pearson",), PARTS, SAMPLING
        ),
        SAMPLING,
    )["a", "pearson"]
    assert whole["value"] == pytest.approx(own.value)
    assert whole["error"] == pytest.approx(first["error"])
    if level != "method":  # few methods have an exact test
        assert whole["p_value"] == pytest.approx(own.p_value)


def test_other_questions_lower_the_error():
    *parts, whole = accuracies(*questions(3))
    assert whole["value"] == pytest.approx(np.mean([row["value"] for row in parts]))
    assert whole["error"] < max(row["error"] for row in parts)


def test_coefficients_of_different_outputs_have_no_common_error():
    one, two = questions(2)
    cells = two.cells.copy()
    cells[0, 0] = False
    two = replace(two, cells=cells)
    *_parts, whole = coefficients_over_questions(
        [one, two], ["a"], ["story"], "kendall", PARTS, SAMPLING
    )
    assert "different outputs" in whole["reason"]
    assert np.isnan(whole["error"])
    assert np.isfinite(whole["value"])
