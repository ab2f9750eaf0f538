"""Every edge case of the metrics comes out as its source demands."""

from pathlib import Path

import pytest

from tests.evalcore.metrics.edge_cases import CASES, table

PAGE = Path(__file__).resolve().parents[3] / "docs" / "edge-cases.md"


@pytest.mark.parametrize("case", CASES, ids=lambda one: f"{one.metric}: {one.case}")
def test_it_is_as_demanded(case, tmp_path):
    found = case.ours(tmp_path)
    if isinstance(case.demanded, float):
        assert found == pytest.approx(case.demanded, rel=1e-4, abs=1e-5)
    else:
        assert found == case.demanded


def test_the_page_is_up_to_date(tmp_path):
    assert PAGE.read_text("utf-8") == table(tmp_path), (
        "write it again: python -m tests.evalcore.metrics.edge_cases"
    )
