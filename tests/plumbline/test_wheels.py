"""Both wheels: what they hold, what they need, and what they write."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import urllib.request
import zipfile
from pathlib import Path

import pytest

from analysis.options import VERSION
from tests.serving import ROOT, answers, free_port, hear_signals, wait_until

LIBRARY = ROOT / "analysis"
BUILD = tomllib.loads((LIBRARY / "pyproject.toml").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Packages that are imported by another name.
PACKAGES = {"yaml": "pyyaml", "mlflow": "mlflow-skinny"}
MODULES = sorted(
    path
    for folder in (LIBRARY, ROOT / "plumbline")
    for path in folder.rglob("*.py")
    if path.stem != "setup"
)
SERVER = ("annotate", "evalcore", "fixtures", "templates", "deploy")


def imported(path, *, at_once=False):
    """Return the packages that a module imports: wherever it does, or at once."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in tree.body if at_once else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def required(project):
    extras = project["optional-dependencies"].values()
    return [*project["dependencies"], *(x for extra in extras for x in extra)]


def declared():
    return required(BUILD["project"])


def test_wheel_declares_exactly_its_imports():
    used = {name for path in MODULES for name in imported(path)}
    used = {PACKAGES.get(name, name) for name in used}
    own = {"analysis", "plumbline", "evalcore"}  # the last where it is installed
    others = used - set(sys.stdlib_module_names) - own
    others.add("httpx2")  # the client's
    assert {re.split("[>=<]", text)[0] for text in declared()} == others


def test_wheel_requires_versions_of_the_project():
    assert set(declared()) <= set(required(PROJECT))
    assert BUILD["project"]["requires-python"] == PROJECT["requires-python"]
    assert BUILD["project"]["license"] == PROJECT["license"]


@pytest.mark.slow
def test_optional_packages_are_imported_only_when_used():
    """The module of workbooks is imported only to read one."""
    for path in MODULES:
        own = set(imported(path, at_once=True))
        assert "pyarrow" not in own, path
        assert "openpyxl" not in own or path.stem == "workbooks", path
    code = "import sys, analysis.reading.files; assert 'openpyxl' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


OFFLINE = ["--no-deps", "--no-index", "--quiet"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Build both wheels in a copy, as `make wheel` does."""
    folder = tmp_path_factory.mktemp("wheels")
    shipped = re.search("^SHIPPED := (.*)", (ROOT / "Makefile").read_text(), re.M)
    for name in shipped[1].split():
        if (ROOT / name).is_dir():
            left_out = shutil.ignore_patterns("__pycache__", "*.mo")
            shutil.copytree(ROOT / name, folder / name, ignore=left_out)
        else:
            shutil.copy(ROOT / name, folder)
    pip = [sys.executable, "-m", "pip", "wheel", *OFFLINE, "--no-build-isolation"]
    subprocess.run([*pip, "./analysis", "."], cwd=folder, check=True)
    return sorted(folder.glob("*.whl"), reverse=True)


@pytest.fixture
def wheel(wheels):
    """Return the wheel of the library."""
    return wheels[0]


def held(wheel) -> set[str]:
    names = zipfile.ZipFile(wheel).namelist()
    return {name for name in names if ".dist-info" not in name}


@pytest.mark.slow
def test_wheel_contains_modules_templates_catalogues_and_types(wheel):
    others = [*(LIBRARY / "report/templates").iterdir()]
    assert len(others) > 2
    others += [LIBRARY / "report" / f"{name}.toml" for name in ("figures", "words")]
    others.append(LIBRARY / "report/locale/zh_Hans/LC_MESSAGES/report.mo")
    declared = [LIBRARY / "statistics.toml", LIBRARY / "py.typed"]
    files = [*MODULES, *others, *declared, ROOT / "plumbline" / "py.typed"]
    assert held(wheel) == {str(path.relative_to(ROOT)) for path in files}


@pytest.mark.slow
def test_wheel_of_the_server_holds_its_files_in_one_folder(wheels):
    command = ["git", "ls-files", "-z", *SERVER]
    listed = subprocess.check_output(command, cwd=ROOT, text=True).split("\0")
    kept = {name.replace(".po", ".mo") for name in listed if name}
    assert held(wheels[1]) == {f"plumbline/server/{name}" for name in kept}


@pytest.mark.slow
def test_wheels_have_the_version_of_the_library(wheels):
    names = ("plumbline_analysis", "plumbline")
    assert [path.name for path in wheels] == [
        f"{name}-{VERSION}-py3-none-any.whl" for name in names
    ]


def written(folder: Path) -> dict[Path, int]:
    """Return the files below a folder with the time of their last change."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: path.stat().st_mtime_ns for path in files}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_installed_demo_serves_pages_and_writes_only_to_the_data_folder(
    wheels, tmp_path
):
    """In a folder with a user's own `analysis.py`, and with other people's packages."""
    venv, work = tmp_path / "venv", tmp_path / "work"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    pip = [sys.executable, "-m", "pip", "--python", venv / "bin" / "python"]
    subprocess.run([*pip, "install", *OFFLINE, *wheels], check=True)
    (site,) = venv.glob("lib/python3*/site-packages")
    (site / "shared.pth").write_text(sysconfig.get_path("purelib"))
    work.mkdir()
    for name in ("analysis", "statistics", "fixtures"):
        (work / f"{name}.py").write_text("raise SystemExit('a module of the user')")
    before, port = written(site), free_port()
    own = {"HOME": str(tmp_path), "PORT": str(port), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [
            *(venv / "bin" / "plumbline", "align", "--wide", "--scale", "0:4"),
            *("--ratings", ROOT / "fixtures/vistorybench/ratings.csv"),
            *("--scores", ROOT / "fixtures/vistorybench/scores.csv"),
            *("--lower-is-better", "copy_paste", "--resamples", "9"),
            *("--images", "none", "--out", "report"),
        ],
        cwd=work,
        env=own,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("report/report.html\n", 0), done.stderr
    with (tmp_path / "log").open("w+") as log:
        demo = subprocess.Popen(
            [venv / "bin" / "plumbline", "demo"],
            cwd=work,
            env=own,
            stdout=log,
            stderr=log,
            preexec_fn=hear_signals,
        )
        try:
            wait_until(lambda: demo.poll() is not None or answers(port), 800, "pages")
            assert demo.poll() is None, (tmp_path / "log").read_text()
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as response:
                assert "Watch the crowd study" in response.read().decode()
            doctor = [venv / "bin" / "plumbline", "doctor"]
            env = own | {"DATA_DIR": str(tmp_path / ".local/share/plumbline/demo")}
            wait_until(
                lambda: subprocess.call(doctor, cwd=work, env=env) == 0, 120, "workers"
            )
        finally:
            demo.terminate()
            demo.wait(60)
    assert written(site) == before


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
