"""What pages name exists: files, commands, options, settings."""

from pathlib import Path

import pytest

from tests import documented
from tests.documented import ROOT

DOCS = ROOT / "docs"
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING")),
    ROOT / "SECURITY.md",
    *(
        path
        for path in sorted(DOCS.rglob("*.md"))
        if path not in DECISIONS and "_build" not in path.parts
    ),
]


def placed(path: Path, names: list[documented.Name]) -> str:
    return "\n".join(f"{path.relative_to(ROOT)}:{name}" for name in names)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_page_names_what_exists(path):
    wrong = documented.wrong_names(path)
    assert not wrong, placed(path, wrong)


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_decision_names_files_that_exist(path):
    wrong = documented.wrong_places(path)
    assert not wrong, placed(path, wrong)


def test_tests_lie_in_folders_named_after_what_they_try():
    """`tests/annotate/people` tries `annotate/people`."""
    for name in (*documented.PACKAGES, "fixtures"):
        for path in (ROOT / "tests" / name).rglob("__init__.py"):
            tried = ROOT / path.parent.relative_to(ROOT / "tests")
            assert tried.is_dir(), f"{path.parent} tries nothing"
