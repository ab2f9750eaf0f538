"""Promises about the tree itself: contracts, versions, documented settings."""

import re
import tomllib
from pathlib import Path

import pytest

from analysis.columns import COLUMNS
from analysis.reading.delimited import LARGEST_WIDTH
from analysis.reading.files import LARGEST_FILE, LARGEST_TABLE
from analysis.version import VERSION
from evalcore.settings import ENVIRONMENT

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DOCS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))


def test_the_version_is_the_projects():
    assert PROJECT["project"]["version"] == VERSION


def test_every_statistics_module_is_under_contract():
    contract = PROJECT["tool"]["importlinter"]["contracts"][0]
    modules = {f"analysis.{path.stem}" for path in (ROOT / "analysis").glob("*.py")}
    packages = {
        f"analysis.{path.parent.name}"
        for path in (ROOT / "analysis").glob("*/__init__.py")
    }
    pure = (modules | packages) - {"analysis.__init__", "analysis.web"}
    assert set(contract["source_modules"]) == pure


@pytest.mark.parametrize("name", sorted(ENVIRONMENT))
def test_every_setting_is_documented(name):
    assert f"`{name}`" in (ROOT / "docs/running.md").read_text()


@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_every_table_and_column_is_documented(name):
    text = (ROOT / "docs/tables.md").read_text()
    assert f"| `{name}` |" in text
    words = set(re.findall(r"[a-z_]+", text))
    columns = {re.sub("_(low|high)$", "", column) for column in COLUMNS[name]}
    assert columns <= words


def test_the_limits_of_files_are_documented():
    (text,) = re.findall(
        "A table is a .*?[.]\n", (ROOT / "README.md").read_text(), re.S
    )
    assert f" {LARGEST_FILE // 10**6} MB," in text
    assert f" {LARGEST_WIDTH:,} columns" in text
    assert f" {LARGEST_TABLE:,} rows" in " ".join(text.split())


def test_package_init_files_are_empty():
    for package in ("analysis", "annotate", "evalcore", "fixtures"):
        for path in (ROOT / package).rglob("__init__.py"):
            assert path.read_text() == "", path


def test_no_text_names_a_machine():
    for path in ROOT.glob("**/*.md"):
        if ".venv" not in path.parts:
            assert "/work/" not in path.read_text(), path


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", *DOCS])
def test_a_page_names_only_files_that_exist(page):
    named = re.findall(
        r"\b(?:analysis|annotate|benchmarks|docs|evalcore|fixtures|templates|tests)"
        r"/[\w/]+\.(?:html|md|py|yaml)\b",
        (ROOT / page).read_text(),
    )
    assert [name for name in named if not (ROOT / name).exists()] == []
