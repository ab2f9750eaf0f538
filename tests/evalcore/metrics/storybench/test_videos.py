"""FVD through the engine."""

import numpy as np
import pytest
import torch

from evalcore.metrics.base import Run
from evalcore.metrics.encoders.i3d import choice
from evalcore.metrics.storybench.frechet import (
    FrechetDistance,
    frechet_distance,
    moments,
)
from evalcore.metrics.weights import VARIABLE
from tests.clips import numbered
from tests.evalcore.metrics.asking import score
from tests.evalcore.metrics.storybench.telling import filmed
from tests.evalcore.metrics.test_inception import LikeI3D, scripted

TIMES = [(0.5, 1.5), (1.5, 3.0)]


# FVD ---------------------------------------------------------------------------------


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """Save an archive with the interface of I3D where the loader looks for it."""
    folder = tmp_path / "weights"
    folder.mkdir()
    scripted(folder, LikeI3D())
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.setenv("EVALCORE_DEVICE", "cpu")


def by_hand(story):
    """Return the archive's features of a story without its first half second."""
    frames = np.stack(list(story.frames[0].source.pictures())[4:])
    chosen = torch.from_numpy(frames[choice(len(frames))]).permute(3, 0, 1, 2)[None]
    with torch.inference_mode():
        return LikeI3D()(chosen.float(), True, True, True)[0].numpy()


def test_fvd_leaves_out_conditioning_part(tmp_path, archive):
    def story(number, method):
        return filmed(
            tmp_path,
            TIMES,
            story=str(number),
            method=method,
            given=0.5,
            pictures=lambda i: numbered((i + number) * len(method) % 256),
        )

    outputs = [story(number, "Alder") for number in range(3)]
    truths = [story(number, "true one") for number in range(3)]
    run = Run("Alder", tuple(outputs), tuple(truths[::-1]))
    metric = FrechetDistance("i3d")
    assert not metric.missing()
    (value,) = score(metric, run, tmp_path)
    a, b = (np.stack([by_hand(s) for s in side]) for side in (truths, outputs))
    wanted = frechet_distance(*moments(a), *moments(b))
    assert value.value == pytest.approx(wanted, rel=1e-2, abs=1e-4)
    assert wanted > 0.01  # otherwise it tests nothing
    assert value.trace == {
        "outputs": 3,
        "truths": 3,
        "dimensions": 400,
        "rank_deficient": True,
        "left_out": [],
    }
