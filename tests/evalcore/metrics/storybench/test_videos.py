"""FVD and PQA through the engine, and the metrics that nothing here can compute."""

import numpy as np
import pytest
import torch

from evalcore.metrics import registry
from evalcore.metrics.base import Run
from evalcore.metrics.encoders.i3d import choice, i3d_encoder
from evalcore.metrics.storybench.distances import FrechetDistance
from evalcore.metrics.storybench.frechet import frechet_distance, moments
from evalcore.metrics.storybench.pqa import PerceptualQuality, perceptual_quality
from evalcore.metrics.storybench.vtm import InternVideoTextMatching
from evalcore.metrics.weights import VARIABLE, WeightsError
from tests.clips import numbered
from tests.evalcore.metrics.asking import score
from tests.evalcore.metrics.storybench.telling import filmed, told
from tests.evalcore.metrics.test_inception import I3D_FILE, LikeI3D, scripted

TIMES = [(0.5, 1.5), (1.5, 3.0)]


class Brightness:
    """An encoder of clips: numbers of frames, mean brightness and so on."""

    batch = 4

    def __init__(self, id, formula):
        self.id = id
        self.formula = formula

    def prepare(self, item):
        return np.asarray(self.formula(item), np.float64)

    def encode(self, prepared):
        return list(prepared)


# FVD ---------------------------------------------------------------------------------


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """An archive with the interface of I3D, where it is looked for."""
    folder = tmp_path / "weights"
    folder.mkdir()
    scripted(folder, LikeI3D())
    monkeypatch.setenv(VARIABLE, str(folder))
    monkeypatch.setenv("EVALCORE_DEVICE", "cpu")
    # It has not the hash of the published one, without which nothing of it is run.
    monkeypatch.setattr(i3d_encoder, "__defaults__", (I3D_FILE,))


def by_hand(story):
    """What the archive makes of a story without the given half second."""
    frames = np.stack(list(story.frames[0].source.pictures())[4:])
    chosen = torch.from_numpy(frames[choice(len(frames))]).permute(3, 0, 1, 2)[None]
    with torch.inference_mode():
        return LikeI3D()(chosen.float(), True, True, True)[0].numpy()


def test_fvd_compares_videos_without_what_was_given(tmp_path, archive):
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
    assert wanted > 0.01  # else it tests nothing
    assert value.trace == {
        "outputs": 3,
        "truths": 3,
        "dimensions": 400,
        "rank_deficient": True,
        "left_out": [],
    }


def test_fvd_says_which_stories_it_left_out(tmp_path, archive):
    def videos(method):
        return [filmed(tmp_path, TIMES, story=s, method=method) for s in ("1", "2")]

    # Of 3 only the truth is a video, of 4 there is no truth.
    outputs = [*videos("Alder"), told([1], story="3"), told([1], story="4")]
    truths = [*videos("true"), filmed(tmp_path, TIMES, story="3", method="true")]
    run = Run("Alder", tuple(outputs), tuple(truths))
    (value,) = score(FrechetDistance("i3d"), run, tmp_path)
    assert value.value == pytest.approx(0, abs=1e-3)
    assert value.trace["outputs"] == 2
    assert value.trace["left_out"] == ["3", "4"]


@pytest.mark.parametrize("side", ["output", "truth", "both"])
def test_fvd_is_undefined_for_pictures(tmp_path, side):
    output, truth = (
        told([1, 2]) if side in (one, "both") else filmed(tmp_path, TIMES, method=one)
        for one in ("output", "truth")
    )
    run = Run("Alder", (output,), (truth,))
    (value,) = score(FrechetDistance("i3d"), run, tmp_path)
    assert value.value is None
    assert value.reason == "no video has a true one of the same story"


def test_fvd_needs_two_videos(tmp_path, archive):
    output = filmed(tmp_path, TIMES)
    truth = filmed(tmp_path, TIMES, method="truth")
    (value,) = score(
        FrechetDistance("i3d"), Run("Alder", (output,), (truth,)), tmp_path
    )
    assert value.value is None
    assert value.reason == "a covariance needs two videos; the method's outputs have 1"


def test_fvd_says_what_it_lacks(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert I3D_FILE.path in str(FrechetDistance("i3d").missing())


# PQA ---------------------------------------------------------------------------------


def test_quality_of_raw_outputs():
    # a = (.18425 - .1107) / .07355 = 1 and t = (-.15833 + .08285) / .03774 = -2, so
    # overall is the logistic function of .6104 - .7792 = -.1688.
    quality = perceptual_quality(0.18425, -0.15833)
    assert quality.aesthetic == pytest.approx(100 / (1 + np.exp(-1)))
    assert quality.technical == pytest.approx(100 / (1 + np.exp(2)))
    assert quality.overall == pytest.approx(100 / (1 + np.exp(0.1688)))


def test_quality_has_bounds():
    assert perceptual_quality(1e6, 1e6).overall == 100
    assert perceptual_quality(-1e6, -1e6).overall == 0


@pytest.mark.parametrize("part", ["overall", "aesthetic", "technical"])
def test_pqa_of_a_video(tmp_path, part):
    story = filmed(tmp_path, TIMES, given=0.5)
    metric = PerceptualQuality(part)
    # Raw outputs: of the number of frames (20, without those given) and of a constant.
    metric.encoder = Brightness("raw", lambda clip: [len(clip) / 100, -0.08285])
    (value,) = score(metric, story, tmp_path)
    quality = perceptual_quality(0.2, -0.08285)
    assert value.value == pytest.approx(getattr(quality, part))
    assert value.trace["technical"] == pytest.approx(50)
    assert metric.info.name == ("pqa" if part == "overall" else f"pqa_{part}")


@pytest.mark.parametrize("story", [told([1], [2]), told([], is_video=True)])
def test_pqa_is_undefined_without_a_video(tmp_path, story):
    (value,) = score(PerceptualQuality("overall"), story, tmp_path)
    assert value.value is None
    assert "no video, or has no frames" in value.reason


# What nothing here can compute -------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("pqa", r"DOVER \(it has no maintained package; .* its TSV, .* be imported"),
        ("pqa_aesthetic", "DOVER"),
        ("pqa_technical", "DOVER"),
        ("fvd_internvideo", r"InternVideo-MM-L-14 \(it has no maintained"),
        ("vtm_internvideo", r"InternVideo-MM-L-14 \(it has no maintained"),
    ],
)
def test_it_is_said_what_is_lacking_everywhere(tmp_path, name, what):
    metric = registry.load(name)
    assert metric.info.name == name
    story = filmed(tmp_path, TIMES)
    subject = Run("Alder", (story,), (story,)) if "fvd" in name else story
    with pytest.raises(WeightsError, match=what) as raised:
        score(metric, subject, tmp_path)
    assert str(raised.value) == str(metric.missing())


def test_vtm_by_a_network_that_sees_segments(tmp_path):
    story = filmed(tmp_path, TIMES, given=0.5, captions=["10", "12"])
    metric = InternVideoTextMatching()
    # Sees how many frames a segment has, and reads numbers: 8 and 12 frames.
    metric.encoder = Brightness("length", lambda clip: [len(clip), 6])
    metric.reader = Brightness("number", lambda text: [int(text.text), 0])
    (value,) = score(metric, story, tmp_path)
    wanted = {"1": 100 * 8 / 10, "2": 100 * 12 / np.hypot(12, 6)}
    assert value.trace["shots"] == pytest.approx(wanted)
    assert value.value == pytest.approx(np.mean(list(wanted.values())))
    (value,) = score(metric, told([1]), tmp_path)
    assert value.reason == "the output is no video"
