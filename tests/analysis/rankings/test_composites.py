"""Composites: weighted means, average ranks, drops."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.rankings.composite_weights import (
    Composite,
    by_name,
    equally,
    rank_composite,
    read_composites,
)
from analysis.rankings.composites import composites, part_cells

ROOT = Path(__file__).resolve().parents[3]
PROTOCOL = ROOT / "annotate/studies/protocols/envision-expert.yaml"
DROP = by_name([equally("drop", ("core", "hard"), kind="drop")])


def cells(values, story=""):
    """Values as {method: {part: value}} or {method: {part: [one a story]}}."""
    rows = []
    for method, parts in values.items():
        for part, found in parts.items():
            several = isinstance(found, list)
            for k, value in enumerate(found if several else [found]):
                rows.append((part, f"s{k}" if several else story, method, value))
    return pd.DataFrame(rows, columns=["part", "story", "method", "value"])


def values(rows, composite):
    return {r["method"]: r["value"] for r in rows if r["composite"] == composite}


def test_envision_is_point_four_point_four_point_two_of_means_of_three():
    known = by_name(read_composites(PROTOCOL))
    questions = [q for three in [*known.values()][:3] for q in three.parts]
    scores = dict(zip(questions, [3, 4, 5, 1, 2, 3, 0, 1, 5], strict=True))
    rows = composites(cells({"UNO": scores}), known)
    assert [(r["composite"], r["value"], r["n_parts"]) for r in rows] == [
        ("consistency", 4, 3),
        ("physicality", 2, 3),
        ("aesthetics", 2, 3),
        ("overall", pytest.approx(0.4 * 4 + 0.4 * 2 + 0.2 * 2), 3),
    ]


def test_average_ranks_respect_direction_and_share_ties():
    found = cells(
        {
            "a": {"csd": 0.9, "fid": 30, "aes": 5},
            "b": {"csd": 0.9, "fid": 10, "aes": 4},
            "c": {"csd": 0.1, "fid": 20, "aes": 6},
            "d": {"csd": 0.95, "fid": 5},
        }
    )
    rows = composites(
        found,
        by_name([rank_composite(("csd", "fid", "aes"))]),
        lower_is_better=frozenset({"fid"}),
    )
    # d lacks aes: it has no average and takes no rank from the others.
    assert [(r["method"], r["value"], r["rank"]) for r in rows[:3]] == [
        ("b", pytest.approx((1.5 + 1 + 3) / 3), 1),
        ("c", pytest.approx((3 + 2 + 1) / 3), 2),
        ("a", pytest.approx((1.5 + 3 + 2) / 3), 3),
    ]
    assert (rows[3]["method"], rows[3]["reason"]) == ("d", "no value of aes")
    assert np.isnan(rows[3]["value"])


def test_drop_is_in_per_cent_of_the_first_and_least_is_best():
    found = cells({"a": {"core": 80, "hard": 60}, "b": {"core": 50, "hard": 45}})
    rows = composites(found, DROP)
    assert [(r["method"], r["value"], r["rank"]) for r in rows] == [
        ("b", 10, 1),
        ("a", 25, 2),
    ]
    (row,) = composites(cells({"a": {"core": 0, "hard": 1}}), DROP)
    assert np.isnan(row["value"])
    assert row["reason"] == "its first part is 0"


def test_part_with_a_tag_is_a_mean_over_the_stories_of_the_tag():
    tags = pd.DataFrame({"story": ["s0", "s1", "s2"], "angle": ["SF", "MA", "SF"]})
    known = by_name([Composite("artist", {"hwpq@SF": 3, "csd": 1, "hwpq@MA": 0})])
    found = part_cells(cells({"a": {"hwpq": [1, 9, 2], "csd": [4, 5, 6]}}), known, tags)
    (row,) = composites(found, known)
    assert row["value"] == pytest.approx((3 * 1.5 + 5) / 4)
    assert row["n_parts"] == 2
