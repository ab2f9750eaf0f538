"""Formulas of baselines by hand, and the declarations of all metrics."""

import subprocess
import sys
from itertools import groupby

import numpy as np
import pytest

from analysis.reading.texts import higher_by_name
from evalcore.metrics import registry
from evalcore.metrics.baselines import colourfulness, palette_consistency, sharpness
from evalcore.metrics.weights import WeightsError
from tests.evalcore.metrics.asking import noise, rendering_of, score


def flat(*rgb):
    return np.full((4, 4, 3), rgb, dtype=float)


def test_colourfulness_of_half_red_half_green():
    picture = np.concatenate([flat(200, 0, 0), flat(0, 200, 0)])
    # rg is +200 or -200 (standard deviation 200, mean 0); yb is 100 everywhere.
    assert colourfulness(picture) == pytest.approx(200 + 0.3 * 100)


def test_sharpness_of_a_single_dot():
    grey = np.zeros((5, 5))
    grey[2, 2] = 1
    # Inner 3 x 3 Laplacian: -4 in the middle, 1 at four neighbours, 0 at corners.
    assert sharpness(grey) == pytest.approx(np.var([-4, 1, 1, 1, 1, 0, 0, 0, 0]))


def test_palette_consistency_is_the_mean_over_pairs():
    a, b, c = np.array([1.0, 0]), np.array([0.5, 0.5]), np.array([0.0, 1])
    assert palette_consistency([a, b, c]) == pytest.approx((0.5 + 0 + 0.5) / 3)


@pytest.mark.parametrize("name", registry.names())
def test_metric_declares_itself(name):
    info = registry.load(name).info
    assert info.name == name
    assert info.version
    assert info.source
    assert info.measures.endswith((".", "?"))


PICTURES = [noise(1), noise(2), None]


@pytest.mark.parametrize("name", registry.ready_baselines())
def test_values_lie_in_the_declared_range(name, tmp_path):
    metric = registry.load(name)
    values = score(metric, rendering_of(PICTURES), tmp_path)
    for value in values:
        assert value.value is not None
        assert metric.info.low is None or value.value >= metric.info.low
        assert metric.info.high is None or value.value <= metric.info.high
    if metric.info.scores == "shot":
        assert [value.shot for value in values] == [1, 2]
    else:
        assert [value.shot for value in values] == [None]


def test_registry_knows_metrics_profiles_and_families():
    assert registry.load("csd_self@vsb-paper").info.full_version == "1 vsb-paper"
    families = [registry.load(name).info.family for name in registry.names()]
    assert len(set(families)) == len(list(groupby(families))), "one family together"
    with pytest.raises(registry.UnknownMetricError, match="it has: vsb-code"):
        registry.load("csd_self@vsb")
    with pytest.raises(registry.UnknownMetricError, match="it has: none"):
        registry.load("sharpness@vsb-paper")


@pytest.mark.slow
def test_readiness_check_loads_no_network_library():
    code = (
        "import sys; from evalcore.metrics import registry; "
        "[registry.load(n).missing() for n in registry.names()]; "
        "print([m for m in ('torch', 'transformers', 'onnxruntime', 'rapidocr', 'dlib',"
        " 'pandas', 'django') if m in sys.modules])"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert asked.stdout == "[]\n"


def test_only_the_requested_metric_is_imported():
    code = (
        "import sys; from evalcore.metrics import registry; registry.names(); "
        "registry.load('palette_consistency').missing(); "
        "print([m for m in sys.modules if '.oneig' in m or '.vistorybench' in m])"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert asked.stdout == "[]\n"


def test_name_agrees_with_declared_direction():
    lower = {m for m in registry.names() if higher_by_name(m) is False}
    declared = {m: registry.load(m).info.higher_is_better for m in registry.names()}
    assert lower == {name for name, is_higher in declared.items() if not is_higher}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("vtm_internvideo", r"import only \(values come from StoryBench's program: "),
        ("light_integrity", "values come from VISTAR's authors"),
        ("oneig_style@grid-2x2", "values come from OneIG's program"),
    ],
)
def test_metric_for_import_only_says_where_values_come_from(tmp_path, name, what):
    metric = registry.load(name)
    with pytest.raises(WeightsError, match=what) as raised:
        score(metric, rendering_of(PICTURES), tmp_path)
    assert str(raised.value) == str(metric.missing())
    assert metric.info.profile == name.partition("@")[2]


def test_unknown_metric_names_the_nearest():
    with pytest.raises(registry.UnknownMetricError, match="Did you mean 'sharpness'"):
        registry.load("sharpnes")
