"""The library by itself: what a notebook imports, and what comes along with it."""

import subprocess
import sys

import analysis
from tests.analysis.commands.test_alignment import study

BESIDE = "{'django', 'celery', 'annotate', 'evalcore'}"
EVERY_MODULE = f"""
import pkgutil, sys
from importlib import import_module
import analysis
for module in pkgutil.walk_packages(analysis.__path__, "analysis."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
print(sorted({BESIDE} & set(sys.modules)))
"""


def printed(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_no_module_of_the_library_brings_the_web_application_along():
    assert printed(EVERY_MODULE) == "[]"


def test_importing_the_library_waits_for_nothing():
    code = (
        "import sys, analysis; print({'numpy', 'pandas', 'scipy'} & set(sys.modules))"
    )
    assert printed(code) == "set()"


def test_every_name_of_the_face_is_the_function_of_that_name():
    assert [getattr(analysis, name).__name__ for name in analysis.__all__] == [
        *analysis.__all__
    ]


def test_a_notebook_aligns_data_frames():
    ratings, _choices, scores = study()
    found = analysis.align(ratings=ratings, scores=scores, resamples=0)
    assert set(found["correlations"]["metric"]) == set(scores["metric"])
