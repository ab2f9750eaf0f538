"""What stands where an encoder would be that nobody can obtain."""

import subprocess
import sys

import numpy as np
import pytest

from evalcore.metrics.base import Ask, Text
from evalcore.metrics.encoders.unobtainable import Unobtainable
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.feature_cache import FeatureStore
from evalcore.metrics.weights import WeightsError, unobtainable

LACKS = unobtainable("Oracle", "nobody ever published it")
ENCODER = Unobtainable(LACKS)


@pytest.mark.parametrize(
    "use",
    [
        lambda: ENCODER.id,
        lambda: ENCODER.prepare(np.zeros((2, 2, 3), np.uint8)),
        lambda: ENCODER.encode([]),
    ],
)
def test_whatever_is_asked_of_it_it_says_what_it_lacks(use):
    with pytest.raises(WeightsError, match="nobody ever published it") as told:
        use()
    assert str(told.value) == str(LACKS)


def test_a_metric_that_asks_it_ends_the_run(tmp_path):
    def scoring():
        yield Ask(ENCODER, [Text("Will it rain?")])

    engine = Engine(FeatureStore(tmp_path))
    with pytest.raises(WeightsError, match="Oracle"):
        list(engine.run([MetricJob("one", scoring())]))


def test_it_needs_no_network_library():
    code = (
        "import sys, evalcore.metrics.encoders.unobtainable\n"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
