"""SIM and VTM as one number per method: frames and shots count equally, not stories."""

import numpy as np
import pytest

from evalcore.metrics.base import Run
from evalcore.metrics.storybench.similarity import SimilarityOfImages, VideoTextMatching
from tests.evalcore.metrics.asking import score
from tests.evalcore.metrics.storybench.telling import COLOURS, coloured

RED, GREEN = (90, 0, 0), (0, 90, 0)


class ReadsColours:
    """Encoder of colour names as directions."""

    id = "names of colours"
    batch = 8

    def prepare(self, item):
        return np.array({"red": RED, "green": GREEN}[item.text], float)

    def encode(self, prepared):
        return prepared


# SIM ---------------------------------------------------------------------------------


def sim_pooled(tmp_path, outputs, truths):
    metric = SimilarityOfImages("inception", "run")
    metric.encoder = COLOURS
    (value,) = score(metric, Run("Alder", outputs, truths), tmp_path)
    return value


def test_sim_pooled_weights_frames_equally(tmp_path):
    """Three frames at 1 and one at 0: 75; the mean of the stories would be 50."""
    outputs = coloured([RED, RED], [RED], story="01"), coloured([RED], story="02")
    truths = coloured([GREEN], story="02"), coloured([RED, RED], [RED], story="01")
    value = sim_pooled(tmp_path, outputs, truths)
    assert value.value == pytest.approx(75)
    assert value.trace == {"frames": 4, "left_out": []}


# VTM ---------------------------------------------------------------------------------


def by_colour(metric):
    metric.encoder, metric.reader = COLOURS, ReadsColours()
    return metric


def test_vtm_pooled_weights_shots_equally(tmp_path):
    """Shots 1, 1, 0 and, of red and green frames, .5: 62.5; stories 66.7 and 50."""
    first = coloured([RED], [GREEN, GREEN], [RED], captions=["red", "green", "green"])
    second = coloured([], [RED, GREEN], story="02", captions=["red", "red"])
    metric = by_colour(VideoTextMatching("run", "storybench-code"))
    (value,) = score(metric, Run("Alder", (first, second)), tmp_path)
    assert value.value == pytest.approx(62.5)
    assert value.trace == {"shots": 4}
    single = by_colour(VideoTextMatching("output", "storybench-code"))
    values = [score(single, story, tmp_path)[0].value for story in (first, second)]
    assert values == pytest.approx([200 / 3, 50])


# Declarations ------------------------------------------------------------------------
