"""Options of an analysis: accepted and refused values."""

import subprocess
import sys

import pytest

from analysis.options import AlignOptions, OptionError, resample_parts, supported_parts


def test_parts_have_one_order():
    assert resample_parts("methods+stories", default="units") == ("stories", "methods")
    assert resample_parts(None, default="units") == ("units",)


@pytest.mark.parametrize("text", ["rows", "stories+stories", "stories+"])
def test_unknown_or_repeated_parts_are_refused(text):
    with pytest.raises(OptionError, match="expected one of stories, methods"):
        resample_parts(text, default="units")


def test_analysis_falls_back_to_its_own_unit_when_it_cannot_draw_the_one_asked_for():
    assert supported_parts("methods", "stories+annotators", ("stories",)) == (
        "stories",
        "annotators",
    )
    assert supported_parts("stories+methods", "units", ("methods",)) == ("methods",)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"levels": ("system",)}, "--levels: 'system'"),
        ({"coefficients": ("phi",)}, "--coefficients: 'phi'"),
        ({"epsilon": "1"}, "--epsilon: '1'"),
        ({"confidence": 1.0}, "--confidence: 1.0"),
        ({"resamples": -1}, "--resamples: -1"),
        ({"resample": "rows"}, "--resample: 'rows'"),
    ],
)
def test_unknown_option_value_is_refused_by_name(given, named):
    with pytest.raises(OptionError, match=named):
        AlignOptions(**given)


def test_options_are_light():
    code = "import sys, analysis.options; print({'numpy', 'pandas'} & set(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "set()"
