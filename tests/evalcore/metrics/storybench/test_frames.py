"""FID, SIM and VTM through the engine, and the networks that they choose."""

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image as PillowImage

from evalcore.metrics import registry
from evalcore.metrics.base import Pair, Run
from evalcore.metrics.errors import FeatureError
from evalcore.metrics.storybench import features
from evalcore.metrics.storybench.features import clip_of_frames, left_out, paired
from evalcore.metrics.storybench.frechet import (
    FrechetDistance,
    frechet_distance,
    moments,
)
from evalcore.metrics.storybench.similarity import (
    SimilarityOfImages,
    VideoTextMatching,
    similarity_of_images,
)
from evalcore.metrics.weights import VARIABLE
from tests.evalcore.metrics import tiny
from tests.evalcore.metrics.asking import noise, rendering_of, score
from tests.evalcore.metrics.storybench.telling import COLOURS, filmed, plain, told


def seeing_colours(metric):
    """The metric with an encoder whose features can be worked out by hand."""
    metric.encoder = COLOURS
    return metric


# Which outputs belong together -------------------------------------------------------


def test_outputs_are_paired_by_story():
    outputs = told([1], story="01"), told([2], story="02"), told([], story="03")
    truths = told([4], story="03"), told([5], story="02"), told([], story="01")
    run = Run("Alder", outputs, truths)
    pairs = paired(run)
    # 01 has no true picture, 03 no picture of the method.
    assert [(p.output, p.truth) for p in pairs] == [(outputs[1], truths[1])]
    assert left_out(run, pairs) == ["01", "03"]


def test_a_clip_is_of_one_video(tmp_path):
    story = filmed(tmp_path, [(0.5, 1.5), (2.0, 3.0)], given=0.5)
    clip = clip_of_frames(story.frames)
    # From the first frame of the first shot, with the gap, to the end of the last one.
    assert (clip.start, clip.stop) == (4, 24)
    with pytest.raises(FeatureError, match="one video, not frames of 2 files"):
        clip_of_frames([plain(1), plain(2)])
    with pytest.raises(FeatureError, match="one video, not frames of 0 files"):
        clip_of_frames([])


# FID ---------------------------------------------------------------------------------


def test_fid_pools_the_frames_of_all_stories(tmp_path):
    # Greys 0 and 2 against 4 and 10: mean and deviation are equal in three channels
    # that move together, so that A = 2 J and B = 18 J with J of ones; the root of the
    # product has the trace 6 * 3. 3 * 36 + 3 * 2 + 3 * 18 - 2 * 18 = 132.
    outputs = told([0], story="01"), told([2], story="02")
    truths = told([10], story="02"), told([4], story="01")
    metric = seeing_colours(FrechetDistance("inception"))
    (value,) = score(metric, Run("Alder", outputs, truths), tmp_path)
    assert value.value == pytest.approx(132, abs=1e-3)
    assert value.trace["outputs"] == value.trace["truths"] == 2
    assert value.trace["rank_deficient"] is True
    assert value.trace["left_out"] == []


def test_fid_says_which_stories_it_left_out(tmp_path):
    # The same distance as above; 03 to 06 have frames on one side only, or are absent.
    outputs = (
        told([0], story="01"),
        told([2], story="02"),
        told([7], story="06"),
        told([], story="04"),
        told([9], story="05"),
    )
    truths = (
        told([10], story="02"),
        told([4], story="01"),
        told([99], story="03"),
        told([1], story="04"),
        told([], story="05"),
    )
    metric = seeing_colours(FrechetDistance("inception"))
    (value,) = score(metric, Run("Alder", outputs, truths), tmp_path)
    assert value.value == pytest.approx(132, abs=1e-3)
    assert value.trace["left_out"] == ["03", "04", "05", "06"]


def test_fid_takes_every_frame_of_every_shot(tmp_path):
    outputs = (told([0, 2], [7]),)
    truths = (told([4, 10, 30, 40]),)
    metric = seeing_colours(FrechetDistance("inception"))
    (value,) = score(metric, Run("Alder", outputs, truths), tmp_path)
    assert (value.trace["outputs"], value.trace["truths"]) == (3, 4)


def test_sim_formula_by_hand():
    outputs = np.array([[1.0, 0.0], [2.0, 2.0], [1.0, 0.0]], np.float32)
    truths = np.array([[5.0, 0.0], [0.0, 3.0], [-2.0, 0.0]], np.float32)
    # Cosines 1, root(1/2) and -1.
    wanted = 100 * np.sqrt(0.5) / 3
    assert similarity_of_images(outputs, truths) == pytest.approx(wanted)


# SIM ---------------------------------------------------------------------------------


def sim(tmp_path, output, truth):
    metric = seeing_colours(SimilarityOfImages("inception"))
    (value,) = score(metric, Pair(output, truth), tmp_path)
    return value


def test_sim_matches_frames_by_shot_and_place(tmp_path):
    red, green, grey = (90, 0, 0), (0, 90, 0), 90
    value = sim(tmp_path, told([red, grey], [green]), told([red, red], [green]))
    # 1, 1 / root(3), 1.
    assert value.value == pytest.approx(100 * (2 + 1 / np.sqrt(3)) / 3)
    assert value.trace == {"frames": 3}


def test_sim_leaves_out_a_shot_that_one_side_lacks(tmp_path):
    red, green = (90, 0, 0), (0, 90, 0)
    # Matched by place alone, green would meet red.
    value = sim(tmp_path, told([red], [], [green]), told([red], [red], [green]))
    assert value.value == pytest.approx(100)
    assert value.trace == {"frames": 2}


def test_sim_needs_as_many_frames(tmp_path):
    with pytest.raises(FeatureError, match="shot 2 has 1 frames and the true one 2"):
        sim(tmp_path, told([1], [2]), told([1], [2, 3]))


@pytest.mark.parametrize("side", ["output", "truth"])
def test_sim_is_undefined_for_story_generation(tmp_path, side):
    sides = {
        name: told([1], task="story_gen" if name == side else "")
        for name in ("output", "truth")
    }
    value = sim(tmp_path, **sides)
    assert value.value is None
    assert "story generation" in value.reason


# VTM ---------------------------------------------------------------------------------


@pytest.fixture
def tiny_clip(tmp_path, monkeypatch):
    """A tiny CLIP in the place of the large one; returns its network."""
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
    """Features by open_clip's own preprocessing."""
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


def test_vtm_of_a_picture_story(tmp_path, tiny_clip):
    pictures = [noise(1, (224, 224)), noise(2, (224, 224)), None, noise(3, (224, 224))]
    texts = [{"caption": "a fox"}, {}, {"caption": "lost"}, {"caption": "a red barn"}]
    story = rendering_of(pictures, texts=texts)
    (value,) = score(VideoTextMatching("output", "storybench-code"), story, tmp_path)
    # Shot 2 has no text, shot 3 no picture: a segment is one frame.
    seen = [pictures[0], pictures[3]]
    frames, words = seen_by_hand(tiny_clip, seen, ["a fox", "a red barn"])
    wanted = 100 * (frames * words).sum(axis=1)
    assert value.value == pytest.approx(wanted.mean(), abs=1e-3)
    assert value.trace["shots"] == pytest.approx(
        {"1": wanted[0], "4": wanted[1]}, abs=1e-3
    )


def test_vtm_of_a_video_leaves_out_what_was_given(tmp_path, tiny_clip):
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


# Which networks ----------------------------------------------------------------------


LARGE = "CLIP ViT-L-14-quickgelu picture", "CLIP ViT-L/14 (OpenAI)"
LARGE_336 = (
    "CLIP ViT-L-14-336-quickgelu picture",
    "CLIP ViT-L/14 at 336 pixels (OpenAI)",
)
INCEPTION = "Inception v3 of FID", "Inception v3 of FID"


@pytest.mark.parametrize(
    ("name", "network", "backend"),
    [
        ("fid", *INCEPTION),
        ("sim", *INCEPTION),
        ("fid_clip", *LARGE_336),
        ("vtm", *LARGE_336),
        ("vtm@storybench-code", *LARGE_336),
        ("vtm@storybench-paper", *LARGE),
        ("sim_clip@storybench-paper", *LARGE),
    ],
)
def test_profiles_choose_the_network(name, network, backend):
    metric = registry.load(name)
    assert metric.encoder.name.startswith(network)
    assert metric.info.backend == backend
    # FID needs lengths; so nothing but directions is thrown away beforehand.
    assert "unit" not in metric.encoder.name
