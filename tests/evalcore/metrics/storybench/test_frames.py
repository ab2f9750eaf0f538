"""FID, SIM and VTM through the engine, and their networks."""

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image as PillowImage

from evalcore.metrics.base import Pair, Run
from evalcore.metrics.storybench import frechet as features
from evalcore.metrics.storybench.frechet import (
    FrechetDistance,
    frechet_distance,
    moments,
)
from evalcore.metrics.storybench.similarity import (
    SimilarityOfImages,
    VideoTextMatching,
)
from evalcore.metrics.weights import VARIABLE
from tests.evalcore.metrics import tiny
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.storybench.telling import COLOURS, coloured, filmed


def seeing_colours(metric):
    """Return the metric with an encoder whose features can be calculated by hand."""
    metric.encoder = COLOURS
    return metric


# Pairs of outputs --------------------------------------------------------------------


# FID ---------------------------------------------------------------------------------


def test_fid_pools_the_frames_of_all_stories(tmp_path):
    # Greys 0 and 2 against 4 and 10: mean and deviation are equal in three channels
    # that move together, so that A = 2 J and B = 18 J with J of ones; the root of the
    # product has the trace 6 * 3. 3 * 36 + 3 * 2 + 3 * 18 - 2 * 18 = 132.
    outputs = coloured([0], story="01"), coloured([2], story="02")
    truths = coloured([10], story="02"), coloured([4], story="01")
    metric = seeing_colours(FrechetDistance("inception"))
    (value,) = score(metric, Run("Alder", outputs, truths), tmp_path)
    assert value.value == pytest.approx(132, abs=1e-3)
    assert value.trace["outputs"] == value.trace["truths"] == 2
    assert value.trace["rank_deficient"] is True
    assert value.trace["left_out"] == []


# SIM ---------------------------------------------------------------------------------


# VTM ---------------------------------------------------------------------------------


@pytest.fixture
def tiny_clip(tmp_path, monkeypatch):
    """Replace the large CLIP by a tiny one; return its network."""
    folder = tmp_path / "weights"
    folder.mkdir()
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.setenv("EVALCORE_DEVICE", "cpu")
    tiny.know_clip(folder, monkeypatch)
    monkeypatch.setitem(features.CLIP_NAMES, "storybench-code", tiny.CLIP)
    monkeypatch.setitem(features.BACKENDS, tiny.CLIP, "tiny CLIP")
    tiny.forget_loaded()
    yield tiny.save_clip(folder)
    tiny.forget_loaded()


def seen_by_hand(network, pictures, texts, *, normalize=True):
    """Return features by open_clip's own preprocessing."""
    prepare = open_clip.image_transform(
        224,
        is_train=False,
        mean=open_clip.OPENAI_DATASET_MEAN,
        std=open_clip.OPENAI_DATASET_STD,
    )
    stacked = torch.stack([prepare(PillowImage.fromarray(p)) for p in pictures])
    with torch.inference_mode():
        frames = network.encode_image(stacked, normalize=normalize).numpy()
        tokens = open_clip.get_tokenizer(tiny.CLIP)(texts)
        words = network.encode_text(tokens, normalize=normalize).numpy()
    return frames, words


def test_vtm_of_video_leaves_out_conditioning_part(tmp_path, tiny_clip):
    story = filmed(
        tmp_path,
        [(0.5, 1.0), (1.0, 2.0)],
        given=0.5,
        frames=16,
        pictures=lambda i: noise(i, (96, 64)),
        captions=["a fox", "a red barn"],
    )
    (value,) = score(VideoTextMatching("output", "storybench-code"), story, tmp_path)
    decoded = list(story.frames[0].source.pictures())
    frames, words = seen_by_hand(tiny_clip, decoded, ["a fox", "a red barn"])
    means = np.array([frames[4:8].mean(axis=0), frames[8:16].mean(axis=0)])
    wanted = 100 * (means * words).sum(axis=1).mean()
    assert value.value == pytest.approx(wanted, abs=1e-3)


def test_fid_and_sim_by_clip_use_its_features_unnormalised(tmp_path, tiny_clip):
    pictures = [noise(seed, (224, 224)) for seed in range(4)]
    output, truth = rendering_of(pictures[:2]), rendering_of(pictures[2:])
    metric = FrechetDistance("clip", "storybench-code")
    (value,) = score(metric, Run("Alder", (output,), (truth,)), tmp_path)
    frames, _words = seen_by_hand(tiny_clip, pictures, ["a"], normalize=False)
    assert np.linalg.norm(frames, axis=1) != pytest.approx(1, abs=0.1)
    wanted = frechet_distance(*moments(frames[2:]), *moments(frames[:2]))
    assert value.value == pytest.approx(wanted, rel=1e-3)
    assert value.trace["dimensions"] == 24
    sim_clip = SimilarityOfImages("clip", "pair", "storybench-code")
    (value,) = score(sim_clip, Pair(output, truth), tmp_path)
    units = frames / np.linalg.norm(frames, axis=1, keepdims=True)
    cosines = (units[:2] * units[2:]).sum(axis=1)
    assert value.value == pytest.approx(100 * cosines.mean(), abs=1e-3)


# Networks ---------------------------------------------------------------------------
