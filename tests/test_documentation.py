"""Files, commands, options and settings named in documentation exist."""

from pathlib import Path

import pytest

from tests import documented
from tests.documented import ROOT

DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.md"))
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING")),
    ROOT / "SECURITY.md",
    *sorted(set((ROOT / "docs").rglob("*.md")).difference(DECISIONS)),
]


def placed(path: Path, names: list[documented.Name]) -> str:
    return "\n".join(f"{path.relative_to(ROOT)}:{name}" for name in names)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page_names_what_exists(path):
    wrong = documented.wrong_names(path)
    assert not wrong, placed(path, wrong)


@pytest.mark.parametrize("path", [*DECISIONS, *RESULTS], ids=lambda path: path.stem)
def test_dated_page_names_files_that_exist(path):
    wrong = documented.wrong_places(path)
    assert not wrong, placed(path, wrong)


def test_tests_lie_in_folders_named_after_what_they_try():
    """`tests/annotate/people` tries `annotate/people`."""
    for name in (*documented.PACKAGES, "fixtures"):
        for path in (ROOT / "tests" / name).rglob("__init__.py"):
            tried = ROOT / path.parent.relative_to(ROOT / "tests")
            assert tried.is_dir(), f"{path.parent} tries nothing"
