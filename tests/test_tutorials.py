"""The Python of the tutorials runs and gives what the pages show."""

import re
from pathlib import Path

import pytest

from tests.notebooks import ROOT, TEXT, outputs_of

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
ALIGNMENT = ROOT / "docs" / "tutorials" / "first-alignment.md"
# A block of Python, and the text that may follow as its output.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the blocks of Python of a page with the outputs that it shows."""
    return BLOCK.findall(page.read_text("utf-8"))


def text_of(source: str, names: dict[str, object]) -> str:
    """Run a block; return what it prints and the value of its last line."""
    texts = [
        "".join(output["text"] if "text" in output else output["data"][TEXT])
        for output in outputs_of(source, names)
    ]
    return "".join(texts)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_code_of_a_tutorial_gives_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for source, shown in blocks(page):
        text = text_of(source, names)
        if shown:
            assert text.rstrip() == shown.rstrip()


def test_first_alignment_shows_its_outputs():
    assert sum(bool(shown) for _source, shown in blocks(ALIGNMENT)) >= 3


@pytest.mark.slow
def test_code_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    (tables, _shown), *_others = blocks(ALIGNMENT)
    (code, _shown) = blocks(ROOT / "README.md")[0]
    text_of(tables, names)
    assert "close" in text_of(code, names)
    assert (tmp_path / "report" / "report.html").is_file()
