"""What pages name exists: files, commands, options, settings."""

from pathlib import Path

import pytest

from tests import documented
from tests.documented import ROOT

DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING")),
    *sorted((ROOT / "docs").glob("*.md")),
]


def placed(path: Path, names: list[documented.Name]) -> str:
    return "\n".join(f"{path.relative_to(ROOT)}:{name}" for name in names)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_names_what_exists(path):
    wrong = documented.wrong_names(path.read_text("utf-8"))
    assert not wrong, placed(path, wrong)


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_names_files_that_exist(path):
    wrong = documented.wrong_places(path.read_text("utf-8"))
    assert not wrong, placed(path, wrong)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("`analysis/gone.py`", "1: analysis/gone.py: no such file"),
        ("`panel/gone.py`", "1: panel/gone.py: no such file"),
        ("`GONE.md` and `gone.toml`", "1: gone.toml: no such file"),
        ("`GONE.md` and `gone.toml`", "1: GONE.md: no such file"),
        ("[here](docs/gone.md)", "1: docs/gone.md: the link leads nowhere"),
        ("[here](docs/gone.md#large)", "1: docs/gone.md: the link leads nowhere"),
        ("[here](running.md#gone)", "1: running.md#gone: the page has no such heading"),
        ("# There\n\n[here](#gone)", "3: #gone: the page has no such heading"),
        ("`make gone`", "1: make gone: the Makefile has no such target"),
        ("\n\n    make lint gone\n", "3: make gone: the Makefile has no such target"),
        ("`manage.py gone`", "1: manage.py gone: no such command"),
        ("`analysis gone`", "1: analysis gone: no such command"),
        (
            "`manage.py invite --vanished`",
            "--vanished: manage.py invite has no such option",
        ),
        ("`plumbline score --list`", "--list: plumbline score has no such option"),
        (
            "`analysis power --vanished X`",
            "--vanished: analysis power has no such option",
        ),
        (
            "```\npython -m tests.pressure.faults \\\n  --vanished 3\n```",
            "2: --vanished: tests/pressure/faults.py has no such option",
        ),
        (
            "`python -m benchmarks.coverage --vanished`",
            "--vanished: benchmarks/coverage/__main__.py has no such option",
        ),
        ("`--vanished`", "1: --vanished: nothing here has such an option"),
        ("`GONE_DIR` says", "1: GONE_DIR: no such setting"),
        ("```\nGONE=1 make run\n```", "2: GONE: no such setting"),
    ],
)
def test_a_name_that_stands_for_nothing_is_told_with_its_line(text, told):
    found = [str(name) for name in documented.wrong_names(text)]
    assert any(told in line for line in found), found


@pytest.mark.parametrize(
    "text",
    [
        "`docs/`, `media.py`, `seat/shots.js`, `pyproject.toml`",
        "`<method>/gone.py`, `tests/*/gone.py`",
        "`make lint test`, `PYTHON=python3 make setup`",
        "`manage.py dumpdata --all`, `manage.py help`, `plumbline invite x --join 3`",
        "`celery -A evalcore.celery worker --queues gpu`",
        "    BROKER_URL=x make run\n\n`python -m tests.pressure.faults web --seed 3`",
        "`python -m benchmarks.coverage --only agreement --studies 100`",
        "https://example.org/gone.py and `http://x/gone.py`",
        "[pictures](docs/running.md#large-pictures), [page](https://example.org/#gone)",
        "# What `it` is, so far\n\n[above](#what-it-is-so-far)",
    ],
)
def test_names_that_stand_for_something_are_left_alone(text):
    assert documented.wrong_names(text) == []


def test_tests_lie_in_folders_named_after_what_they_try():
    """`tests/annotate/people` tries `annotate/people`."""
    for name in (*documented.PACKAGES, "fixtures"):
        for path in (ROOT / "tests" / name).rglob("__init__.py"):
            tried = ROOT / path.parent.relative_to(ROOT / "tests")
            assert tried.is_dir(), f"{path.parent} tries nothing"
