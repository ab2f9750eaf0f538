"""Notebooks of the documentation say what their cells give."""

import json
from pathlib import Path

import pytest

from tests.notebooks import HTML, ROOT, TEXT, cells, outputs, rewrite

NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))


def texts(outputs: list[dict]) -> list[str]:
    """Return what a cell gives in words."""
    return [
        "".join(output["text"] if "text" in output else output["data"][TEXT])
        for output in outputs
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_give_what_it_shows(path, tmp_path):
    given = outputs(path, tmp_path)
    shown = [cell["outputs"] for cell in cells(path)]
    assert [texts(each) for each in given] == [texts(each) for each in shown]
    assert sum(map(bool, shown)) > len(shown) / 2
    assert (tmp_path / "report/report.html").is_file()


def notebook(folder: Path, *sources: str) -> Path:
    made = [{"cell_type": "code", "source": [text], "outputs": []} for text in sources]
    path = folder / "made.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown"}, *made]}))
    return path


def test_cells_share_names_and_give_what_they_print_and_end_with(tmp_path):
    path = notebook(tmp_path, "x = 2\nprint(x)\nx * 3", "x += 1", "'é' * x")
    assert list(map(texts, outputs(path, tmp_path))) == [["2\n", "6"], [], ["'ééé'"]]


def test_a_cell_that_fails_is_told(tmp_path):
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        outputs(notebook(tmp_path, "1 / 0"), tmp_path)


def test_a_notebook_is_rewritten_with_what_its_cells_give(tmp_path):
    path = notebook(tmp_path, "import pandas\npandas.DataFrame({'a': [1]})")
    rewrite(path)
    ((output,),) = (cell["outputs"] for cell in cells(path))
    assert texts([output]) == ["   a\n0  1"]
    assert "<table" in "".join(output["data"][HTML])


def test_the_page_of_the_library_is_ten_lines_to_a_verdict():
    """Of the two files: reading them, declaring a metric, asking for the report."""
    source = next(
        "".join(cell["source"])
        for cell in cells(ROOT / "docs/library.ipynb")
        if "analysis.align" in "".join(cell["source"])
    )
    assert len(source.splitlines()) <= 10
