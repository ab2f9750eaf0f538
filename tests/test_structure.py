"""The version, and what of settings, tables and limits is documented."""

import re
import tomllib
from pathlib import Path

import pytest

from analysis.options import VERSION
from analysis.reading.csv_files import LARGEST_WIDTH
from analysis.reading.files import LARGEST_FILE, LARGEST_TABLE
from analysis.statistics import COLUMNS
from tests import fidelity_page, study_fields_page
from tests.tables_page import PAGES, REFERENCE, written

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_version_is_the_same_everywhere():
    assert f"plumbline-analysis=={VERSION}" in PROJECT["project"]["dependencies"]
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    (newest, *_older) = re.findall(
        r"^## ([\d.]+) ", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    )
    assert newest == VERSION


@pytest.mark.parametrize("name", PAGES)
def test_page_of_tables_is_written_from_the_registry(name):
    assert written(name) == (REFERENCE / name).read_text("utf-8")


def test_table_of_fidelity_is_written_from_the_declarations():
    page = fidelity_page.PAGE.read_text("utf-8")
    assert fidelity_page.with_table(page) == page
    assert "`inception_score`: nothing\n" in page


def test_fields_of_the_study_file_are_those_of_the_schema():
    page = study_fields_page.PAGE.read_text("utf-8")
    assert study_fields_page.with_fields(page) == page
    assert not re.findall(r"^\| `\w+` \|.*\|  \|$", page, re.M), (
        "a field has no meaning"
    )


@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_every_column_of_a_table_is_documented(name):
    page = (REFERENCE / "report-tables.md").read_text("utf-8")
    words = set(re.findall(r"[a-z_]+", page))
    columns = {re.sub("_(low|high)$", "", column) for column in COLUMNS[name]}
    assert columns <= words


def test_limits_of_files_are_documented():
    page = ROOT / "docs" / "reference" / "input-tables.md"
    text = " ".join(page.read_text("utf-8").split())
    assert f" {LARGEST_FILE // 10**6} MB" in text
    assert f" {LARGEST_WIDTH:,} columns" in text
    assert f" {LARGEST_TABLE:,} rows" in text
