"""Promises about the tree itself: contracts, versions, documented settings."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from analysis.reading.csv_files import LARGEST_WIDTH
from analysis.reading.files import LARGEST_FILE, LARGEST_TABLE
from analysis.result_tables.columns import COLUMNS
from analysis.version import VERSION
from evalcore.settings import ENVIRONMENT

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PAPERS = ("envision", "oneig", "storybench", "vistar", "vistorybench")
DOCS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))


def test_the_version_is_the_projects():
    assert PROJECT["project"]["version"] == VERSION


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


ROOMS = sorted(
    path.parent
    for package in ("analysis", "annotate", "evalcore")
    for path in (ROOT / package).rglob("__init__.py")
    if path.parent.name != "migrations"
)
# Whose `__init__` does more: the face of the library, and where Django finds tables.
FACES = {ROOT / "analysis", ROOT / "annotate/models", ROOT / "evalcore/models"}


def docstring(room: Path) -> str:
    tree = ast.parse((room / "__init__.py").read_text("utf-8"))
    if room not in FACES:
        assert len(tree.body) == 1, f"{room} holds more than a docstring"
    return ast.get_docstring(tree) or ""


def test_every_room_says_what_happens_in_it():
    for room in ROOMS:
        told = docstring(room)
        assert told, room
        if room.name != "commands" or room.parent.name != "management":
            assert "\nComes in: " in told, room
            assert "\nGoes out: " in told, room


def test_the_map_has_every_room_in_its_own_words():
    """Besides a folder a paper, below formats and metrics, and Django's commands."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    for package in ("analysis", "annotate", "evalcore"):
        part = text[text.index(f"## `{package}/`") :].split("\n## ")[0]
        told = dict(re.findall(r"^\| `([\w/]+)/` \| (.*) \|$", part, re.M))
        rooms = {
            str(room.relative_to(ROOT / package)): docstring(room).splitlines()[0]
            for room in ROOMS
            if room.is_relative_to(ROOT / package) and room != ROOT / package
        }
        papers = {
            f"{above}/{paper}" for above in ("formats", "metrics") for paper in PAPERS
        }
        left_out = papers | {"management", "management/commands", "pages"}
        assert told == {
            name: line for name, line in rooms.items() if name not in left_out
        }
        assert max(len(f"`{name}/` {line}") for name, line in told.items()) <= 100


@pytest.mark.parametrize("package", ["annotate", "evalcore", "analysis"])
def test_rooms_stand_in_the_order_of_their_layers(package):
    """The map says that imports run down them, which import-linter keeps."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    part = text[text.index(f"## `{package}/`") :].split("\n## ")[0]
    told = dict.fromkeys(re.findall(r"^\| `(\w+)[\w/]*/` \|", part, re.M))
    (layers,) = (
        contract["layers"]
        for contract in PROJECT["tool"]["importlinter"]["contracts"]
        if contract.get("containers") == [package]
    )
    place = {
        room.strip(): i for i, layer in enumerate(layers) for room in layer.split("|")
    }
    assert [place[room] for room in told] == sorted(place[room] for room in told)


def test_the_map_fits_two_screens():
    lines = (ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines()
    assert len(lines) <= 120


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
