"""The library by itself: what a notebook imports, and what comes along with it."""

import inspect
import subprocess
import sys

import pytest

import analysis
from analysis.notebook.calls import OPTIONS

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


@pytest.mark.slow
def test_no_module_of_the_library_brings_the_web_application_along():
    assert printed(EVERY_MODULE) == "[]"


@pytest.mark.slow
def test_no_room_takes_the_name_of_a_function():
    """A package holds its modules by name: one `correlation` would hide the other."""
    kinds = "print({type(getattr(analysis, name)).__name__ for name in dir(analysis)})"
    assert "module" not in printed(EVERY_MODULE + kinds)


def test_importing_the_library_waits_for_nothing():
    code = (
        "import sys, analysis; print({'numpy', 'pandas', 'scipy'} & set(sys.modules))"
    )
    assert printed(code) == "set()"


def test_every_name_of_the_face_is_the_function_of_that_name():
    assert [getattr(analysis, name).__name__ for name in analysis.__all__] == [
        *analysis.__all__
    ]


@pytest.mark.parametrize("name", analysis.__all__)
def test_every_name_is_documented(name):
    """Numpydoc: what goes in, by name, and what comes back."""
    thing = getattr(analysis, name)
    told = inspect.getdoc(thing)
    assert told
    if inspect.isfunction(thing):
        assert "\nReturns\n-------\n" in told
        before = told.split("\nReturns\n")[0]
        for parameter in inspect.signature(thing).parameters:
            assert parameter in before or parameter == "options", parameter


def test_every_option_is_documented():
    told = inspect.getdoc(analysis.align)
    assert [name for name in sorted(OPTIONS) if name not in told] == []
