"""What `make check` runs after a change."""

import pytest

from tests import reached

TREE = sorted(reached.TREE)
ROOT = reached.ROOT


@pytest.fixture(scope="module", autouse=True)
def once():
    """Read the imports once."""
    with pytest.MonkeyPatch.context() as patched:
        graph = reached.imports()
        patched.setattr(reached, "imports", lambda: graph)
        yield


def test_a_module_reaches_the_tests_that_import_it_and_no_others():
    found = reached.reached(["annotate/assignment/designs/balanced.py"])
    assert {*TREE, "tests/annotate/assignment/test_balanced.py"} <= set(found)
    assert (
        "tests/annotate/studies/test_planning.py" in found
    )  # by annotate.studies.planning
    assert "tests/analysis/inference/test_scaling.py" not in found


def test_a_view_reaches_tests_that_ask_for_pages_by_address():
    found = reached.reached(["annotate/pages/manage/studies.py"])
    assert "tests/annotate/pages/test_manage.py" in found
    assert "tests/evalcore/metrics/test_video_sampling.py" not in found


def test_a_command_reaches_tests_that_call_it_by_name():
    (path,) = reached.ROOT.glob("*/management/commands/export_scores.py")
    found = reached.reached([str(path.relative_to(reached.ROOT))])
    assert "tests/evalcore/test_exported_scores.py" in found


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("tests/annotate/test_translation.py", ["tests/annotate/test_translation.py"]),
        ("tests/annotate/conftest.py", ["tests/annotate"]),
        ("templates/base.html", ["tests/annotate"]),
        ("fixtures/gone.txt", ["tests/fixtures"]),
        ("README.md", []),
        ("annotate/gone.py", []),
    ],
)
def test_a_file_reaches(path, tests):
    files = {file for test in tests for file in reached.tests_below(test)}
    assert sorted(reached.reached([path])) == sorted({*TREE, *files})


@pytest.mark.parametrize("paths", [[], ["pyproject.toml"], ["README.md", "Makefile"]])
def test_everything_is_reached_by_nothing_and_by_what_all_rests_on(paths):
    found = set(reached.reached(paths))
    files = {str(path.relative_to(ROOT)) for path in ROOT.glob("tests/**/test_*.py")}
    assert found == {*files, "analysis"}


def test_the_closest_tests_come_first():
    metric = "evalcore/metrics/baselines.py"
    found = reached.reached([metric, "pyproject.toml"])
    assert found[0].startswith("tests/evalcore/metrics/")
    assert found.index("analysis") > found.index("tests/evalcore/scoring/test_runs.py")
