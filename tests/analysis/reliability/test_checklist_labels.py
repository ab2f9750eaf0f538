"""The boxes of a checklist: counts that a hand can count."""

import pandas as pd
import pytest

from analysis.reliability.checklist_labels import ALL, label_rows
from analysis.statistics import COLUMNS

NO_DRAWS = {"resamples": 0, "confidence": 0.95, "seed": 1}


def ratings(*answers):
    """Each answer: story, method, shot, annotator, label, text, video."""
    return pd.DataFrame(
        [
            (story, method, shot, annotator, f"{label}|{box}", ticked)
            for story, method, shot, annotator, label, *both in answers
            for box, ticked in zip(("text", "video"), both, strict=True)
        ],
        columns=["story", "method", "shot", "annotator", "dimension", "rating"],
    )


def of(rows, label, method):
    (row,) = (r for r in rows if (r["label"], r["method"]) == (label, method))
    return row


def test_labels_are_counted_by_method_and_annotator():
    table = ratings(
        ("s", "A", 1, "ann", "pan", 1, 1),
        ("s", "A", 2, "ann", "pan", 1, 0),
        ("s", "A", 1, "bob", "pan", 0, 1),
        ("s", "A", 2, "bob", "pan", 1, 1),
        ("s", "A", 1, "ann", "zoom", 0, 0),
        ("s", "B", 1, "ann", "pan", 0, 1),
    )
    rows = label_rows(table, **NO_DRAWS)
    assert [tuple(row) for row in rows] == [COLUMNS["labels"]] * len(rows)
    pan = of(rows, "pan", "A")
    assert (pan["n"], pan["in_text"], pan["in_video"], pan["in_both"]) == (
        4,
        0.75,
        0.75,
        0.5,
    )
    assert pan["recall"] == pytest.approx(2 / 3)
    assert pan["precision"] == pytest.approx(2 / 3)
    together = of(rows, ALL, "A")
    assert (together["n"], together["in_text"]) == (5, 0.6)


def test_intervals_draw_stories_and_hold_the_value():
    table = ratings(
        *(
            (f"s{i}", "A", 1, who, "pan", 1, i % 3 > 0)
            for i in range(12)
            for who in "ab"
        )
    )
    options = {"resamples": 500, "confidence": 0.95, "seed": 1}
    pan = of(label_rows(table, **options), "pan", "A")
    assert pan["recall"] == pytest.approx(2 / 3)
    assert 0.3 < pan["recall_low"] < 2 / 3 < pan["recall_high"] < 0.95
    assert label_rows(table.sample(frac=1, random_state=3), **options) == label_rows(
        table, **options
    )
