"""Notebooks of the documentation say what their cells give."""

import pytest

from tests.notebooks import ROOT, TEXT, cells, outputs

NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


def texts(outputs: list[dict]) -> list[str]:
    """Return what a cell gives in words."""
    return [
        "".join(output["text"] if "text" in output else output["data"][TEXT])
        for output in outputs
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_of_a_notebook_give_what_it_shows(path, tmp_path):
    given = outputs(path, tmp_path)
    shown = [cell["outputs"] for cell in cells(path)]
    assert [texts(each) for each in given] == [texts(each) for each in shown]
    assert sum(map(bool, shown)) > len(shown) / 2
    assert (tmp_path / "report/report.html").is_file()
