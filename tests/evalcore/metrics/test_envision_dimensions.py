"""Envision's formulas, compared with its printed tables."""

import csv
from collections import Counter

import pytest

from evalcore.metrics.envision import (
    CODE,
    PAPER,
    PARTS,
    SUB_SCORES,
    all_scores,
    dimension_score,
    overall_score,
)


def scores(*values: float) -> dict[str, float]:
    return dict(zip(SUB_SCORES, values, strict=True))


def test_thirteen_scores_follow_from_nine():
    got = all_scores(scores(5, 4, 3, 2, 2, 2, 0, 1, 5))
    assert tuple(got) == PARTS
    assert got["semantic"] == 5
    assert got["dynamics"] == 2
    assert got["consistency"] == pytest.approx(4)
    assert got["physicality"] == pytest.approx(2)
    assert got["aesthetic"] == pytest.approx(2)
    assert got["overall"] == pytest.approx(0.4 * 4 + 0.4 * 2 + 0.2 * 2)


def tables(shared):
    with (shared / "published" / "envision_dimensions.csv").open() as file:
        rows = list(csv.DictReader(file))
    with (shared / "published" / "envision_overall_by_domain.csv").open() as file:
        overall = {row["model"]: float(row["overall"]) for row in csv.DictReader(file)}
    numbers = [
        {k: v if k in ("domain", "model") else float(v) for k, v in row.items()}
        for row in rows
    ]
    return numbers, overall


@pytest.mark.shared
def test_printed_overall_scores_are_reproduced(shared):
    """Within about .02, and for one method .12, as the table's note says."""
    rows, overall = tables(shared)
    rows = [row for row in rows if row["domain"] == "all"]
    assert len(rows) == len(overall) == 15
    for row in rows:
        got = overall_score(row["CS"], row["PS"], row["AS"])
        tolerance = 0.125 if row["model"] == "Janus-Pro-7B" else 0.025
        assert got == pytest.approx(overall[row["model"]], abs=tolerance), row


@pytest.mark.shared
def test_printed_dimensions_follow_weights_of_program(shared):
    """The tables show the sub-score with weight .34, hence the program's weights."""
    rows, _overall = tables(shared)
    columns = {
        "CS": ("SC", "FC", "STC"),
        "PS": ("BP", "DI", "PR"),
        "AS": ("Exp", "AQ", "Auth"),
    }
    near: Counter[tuple[str, str]] = Counter()
    for row in rows:
        for dimension, names in columns.items():
            for profile in (CODE, PAPER):
                got = dimension_score([row[name] for name in names], profile)
                near[dimension, profile] += abs(got - row[dimension]) <= 0.01
    assert len(rows) == 105
    by_code = [near[d, CODE] for d in columns]
    by_paper = [near[d, PAPER] for d in columns]
    assert by_code == [95, 105, 103]
    assert max(by_paper) < 20
