"""The version, and what of settings, tables and limits is documented."""

import re
import tomllib
from pathlib import Path

import pytest

from analysis.reading.csv_files import LARGEST_WIDTH
from analysis.reading.files import LARGEST_FILE, LARGEST_TABLE
from analysis.result_tables.columns import COLUMNS
from analysis.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_is_the_projects():
    assert PROJECT["project"]["version"] == VERSION


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
