"""`plumbline.analysis` is the library, whatever else is called so."""

import os
import subprocess
import sys

import pytest

import analysis
import plumbline
from tests.serving import ROOT

OWN = "print('not the library')\n"


def python(folder, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_library_is_an_attribute_and_a_module():
    assert plumbline.analysis.align is analysis.align
    with pytest.raises(AttributeError, match="no attribute 'analyses'"):
        _ = plumbline.analyses


@pytest.mark.parametrize("path", ["analysis.py", "analysis/__init__.py"])
@pytest.mark.parametrize("first", ["", "import analysis; "])
def test_import_names_the_module_that_hides_the_library(tmp_path, path, first):
    own = tmp_path / path
    own.parent.mkdir(exist_ok=True)
    own.write_text(OWN)
    done = python(tmp_path, "-c", f"{first}from plumbline import analysis")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {own} hides Plumbline's library")
    assert done.stdout == (OWN[7:-3] + "\n" if first else "")


def test_script_of_the_same_name_is_refused_without_running_again(tmp_path):
    script = tmp_path / "analysis.py"
    script.write_text(f"{OWN}import plumbline\nplumbline.analysis.align")
    done = python(tmp_path, "analysis.py")
    assert done.stdout == "not the library\n"
    assert f"{script} hides" in done.stderr


@pytest.mark.slow
def test_command_takes_the_library_in_a_folder_with_a_module_of_its_name(tmp_path):
    (tmp_path / "analysis.py").write_text(OWN)
    (tmp_path / "evalcore.py").write_text(OWN)
    done = python(tmp_path, "-m", "plumbline", "align", "--out", "r", "--scores", "no")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("no: ")
