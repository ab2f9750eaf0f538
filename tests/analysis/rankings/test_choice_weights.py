"""Weights that undo how pairs were chosen."""

import numpy as np
import pandas as pd
import pytest

from analysis.rankings.choice_votes import inverse_weights, with_weights


def chosen(**columns):
    rows = {
        "probability": [0.5, 0.2, 0.5],
        "alternatives": [4, 3, 2],
        "submitted_at": ["2026-01-01T10:00", "2026-01-01T10:05", "2026-01-01T10:10"],
    }
    return pd.DataFrame(rows | columns)


def test_answers_weigh_in_the_order_of_submission():
    rows, is_weighted = with_weights(chosen())
    assert is_weighted
    expected = inverse_weights([0.5, 0.2, 0.5], [4, 3, 2], 4)
    np.testing.assert_allclose(rows["weight"], expected)
    mixed = with_weights(chosen().iloc[[2, 0, 1]])[0]
    np.testing.assert_allclose(mixed["weight"], expected[[2, 0, 1]])


@pytest.mark.parametrize(
    "rows",
    [
        chosen(probability=None, alternatives=None),
        chosen().drop(columns="submitted_at"),
        chosen().drop(columns="probability"),
    ],
)
def test_without_a_log_there_are_no_weights(rows):
    found, is_weighted = with_weights(rows)
    assert not is_weighted
    assert "weight" not in found


def test_weighted_means_have_no_bias():
    """All orders of drawing 3 of 4 slots, with chances that follow the answers."""
    answers = np.array([1.0, 0.0, 1.0, 0.5])
    expected = plain = 0.0

    def draw(chosen: tuple[int, ...], log: tuple[float, ...], chance: float) -> None:
        nonlocal expected, plain
        if len(chosen) == 3:
            found = inverse_weights(log, [4, 3, 2], 4)
            assert (found >= 0).all()
            expected += chance * float(found @ answers[list(chosen)]) / 3
            plain += chance * float(answers[list(chosen)].mean())
            return
        rest = [slot for slot in range(4) if slot not in chosen]
        heat = 1 + 3 * answers[list(chosen)].sum()
        worth = np.array([heat if answers[slot] > 0.7 else 1.0 for slot in rest])
        for slot, q in zip(rest, worth / worth.sum(), strict=True):
            draw((*chosen, slot), (*log, float(q)), chance * float(q))

    draw((), (), 1.0)
    assert expected == pytest.approx(answers.mean())
    assert plain > answers.mean() + 0.05
