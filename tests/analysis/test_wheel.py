"""The library alone: what its wheel holds, and what it needs."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from analysis.options import VERSION

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "analysis"
BUILD = tomllib.loads((LIBRARY / "pyproject.toml").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Packages that are imported by another name.
PACKAGES = {"yaml": "pyyaml"}
MODULES = sorted(path for path in LIBRARY.rglob("*.py") if path.stem != "setup")


def imported(path, *, at_once=False):
    """Return the packages that a module imports: wherever it does, or at once."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in tree.body if at_once else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def declared():
    extras = BUILD["project"]["optional-dependencies"].values()
    return [*BUILD["project"]["dependencies"], *(x for extra in extras for x in extra)]


def test_wheel_declares_exactly_its_imports():
    used = {name for path in MODULES for name in imported(path)}
    used = {PACKAGES.get(name, name) for name in used}
    others = used - set(sys.stdlib_module_names) - {"analysis"}
    assert {re.split("[>=<]", text)[0] for text in declared()} == others


def test_wheel_requires_versions_of_the_project():
    assert set(declared()) <= set(PROJECT["dependencies"])
    assert BUILD["project"]["requires-python"] == PROJECT["requires-python"]
    assert BUILD["project"]["license"] == PROJECT["license"]


def test_optional_packages_are_imported_only_when_used():
    """The module of workbooks is imported only to read one."""
    for path in MODULES:
        own = set(imported(path, at_once=True))
        assert "pyarrow" not in own, path
        assert "openpyxl" not in own or path.stem == "workbooks", path
    code = "import sys, analysis.reading.files; assert 'openpyxl' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    left_out = shutil.ignore_patterns("__pycache__", "*.mo")
    shutil.copytree(LIBRARY, folder / "analysis", ignore=left_out)
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *offline, folder / "analysis"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    return path


@pytest.mark.slow
def test_wheel_contains_modules_templates_catalogues_and_types(wheel):
    held = {
        name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info" not in name
    }
    others = [*(LIBRARY / "report/templates").iterdir()]
    assert len(others) > 2
    others += [LIBRARY / "report" / f"{name}.toml" for name in ("figures", "words")]
    others.append(LIBRARY / "report/locale/zh_Hans/LC_MESSAGES/report.mo")
    declared = [LIBRARY / "statistics.toml", LIBRARY / "py.typed"]
    files = [*MODULES, *others, *declared]
    assert held == {str(path.relative_to(ROOT)) for path in files}


@pytest.mark.slow
def test_wheel_has_the_version_of_the_library(wheel):
    assert wheel.name == f"plumbline_analysis-{VERSION}-py3-none-any.whl"


@pytest.mark.slow
def test_report_is_written_from_the_wheel_alone(wheel, tmp_path):
    """As installed: only the wheel's files are used, templates included."""
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path / "site")!r})
import analysis, pandas as pd
assert analysis.__file__.startswith({str(tmp_path)!r})
cells = pd.DataFrame({{"story": list("aabb"), "method": list("xyxy")}})
ratings = cells.assign(dimension="look", annotator="Ann", rating=[1, 2, 2, 4])
scores = cells.assign(metric="csd", score=[0.1, 0.3, 0.2, 0.6])
report = analysis.align(ratings=ratings, scores=scores, resamples=9)
assert "look" in report._repr_html_()
chinese = analysis.align(ratings=ratings, resamples=9, language="zh-Hans")
assert "报告" in chinese._repr_html_()
print(report.save("out", images="none"))
print(sorted({{"django", "celery", "pyarrow.parquet"}} & set(sys.modules)))
"""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["out/report.html", "[]"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "needed"),
    [
        ("xlsx", "openpyxl, which reads workbooks"),
        ("parquet", "pyarrow, which reads Parquet"),
    ],
)
def test_optional_format_is_refused_with_the_missing_package(tmp_path, suffix, needed):
    """Where the package is absent, as after a plain installation."""
    code = f"""
import sys
sys.modules.update(openpyxl=None, pyarrow=None)
import analysis
open("r.{suffix}", "wb").write(b"PK")
try:
    analysis.agreement(ratings="r.{suffix}")
except analysis.InputError as error:
    print(error)
"""
    environment = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"r.{suffix}: expected the package {needed}, installed\n"
