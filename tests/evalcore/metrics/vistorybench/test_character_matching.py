"""Finding a cast where encoders fail, and which encoders a profile asks."""

import numpy as np
import pytest

from evalcore.metrics import registry
from evalcore.metrics.encoders import faces
from evalcore.metrics.encoders.published import DETECTOR
from evalcore.metrics.errors import FeatureError
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.character_matching import Eyes
from evalcore.metrics.vistorybench.cids import CharacterConsistency, CopyPaste
from evalcore.metrics.vistorybench.occm import CharacterCount
from evalcore.metrics.weights import VARIABLE
from tests.evalcore.metrics import tiny
from tests.evalcore.metrics.asking import noise, score
from tests.evalcore.metrics.vistorybench.paper_dolls import (
    BLUE,
    EYES,
    GREEN,
    ORANGE,
    RED,
    SeeColour,
    character,
    doll,
    scene,
    story,
)

CODE = "vsb-code-2026.02"
ANN = character("Ann", scene(doll(RED)), kind="realistic_human")


class Fails(SeeColour):
    """Sees colours, but fails on some."""

    def __init__(self, name, *colours, faces=True):
        super().__init__(name, faces=faces)
        self.colours = [np.array(c) / np.linalg.norm(c) for c in colours]

    def encode(self, prepared):
        return [
            FeatureError("a crop like this does not fit")
            if any(len(seen) and np.allclose(seen, c) for c in self.colours)
            else seen
            for seen in prepared
        ]


def with_eyes(monkeypatch, one, two):
    eyes = Eyes(EYES.detector, {"one": one, "two": two}, EYES.others)
    monkeypatch.setattr(character_matching, "the_eyes", lambda profile: eyes)


def sees(name):
    return SeeColour(name, faces=True)


def test_the_other_encoders_see_a_crop_that_one_fails_on(monkeypatch, tmp_path):
    """Red by both, orange (.8) by one alone: cross (1 + .8)/2, self .8."""
    with_eyes(monkeypatch, sees("face 1"), Fails("fails on orange", ORANGE))
    shots = [scene(doll(RED)), scene(doll(ORANGE))]
    rendering = story(shots, [("Ann",)] * 2, [ANN])
    (cross,) = score(CharacterConsistency("cross", CODE), rendering, tmp_path)
    (own,) = score(CharacterConsistency("self", CODE), rendering, tmp_path)
    assert cross.value == pytest.approx(0.9, abs=2e-4)
    assert own.value == pytest.approx(0.8, abs=2e-4)
    for value in (cross, own):
        # Of two crops and a reference.
        assert value.trace["errors"] == {
            "two": {"seen": 2, "failed": 1, "reason": "a crop like this does not fit"},
        }


def test_a_crop_that_all_encoders_fail_on_is_nobody(monkeypatch, tmp_path):
    with_eyes(monkeypatch, Fails("1", BLUE), Fails("2", BLUE))
    shots = [scene(doll(RED)), scene(doll(BLUE))]
    rendering = story(shots, [("Ann",)] * 2, [ANN])
    (found,) = score(CharacterConsistency("matched", CODE), rendering, tmp_path)
    assert found.value == 0.5
    assert set(found.trace["errors"]) == {"one", "two"}
    first, second = score(CharacterCount("vsb-code-2025.11"), rendering, tmp_path)
    assert (first.value, round(second.value, 2)) == (100, 36.79)
    assert set(second.trace["errors"]) == {"one", "two"}


@pytest.mark.parametrize(
    "metric",
    [
        CharacterConsistency("cross", CODE),
        CharacterConsistency("matched", CODE),
        CharacterCount("vsb-code-2025.11"),
        CopyPaste(CODE),
        CopyPaste("vsb-paper"),
    ],
)
def test_an_encoder_that_always_fails_leaves_no_other_ensemble(
    monkeypatch, tmp_path, metric
):
    with_eyes(monkeypatch, sees("face 1"), Fails("fails", RED, ORANGE))
    shots = [scene(doll(RED)), scene(doll(ORANGE))]
    rendering = story(shots, [("Ann",)] * 2, [ANN])
    with pytest.raises(FeatureError, match=r"^two failed on every .* \(3\): a crop li"):
        score(metric, rendering, tmp_path)


def test_copy_paste_tells_of_errors(monkeypatch, tmp_path):
    """The anchor and its mirror are as near: one half."""
    with_eyes(monkeypatch, sees("face 1"), Fails("fails on orange", ORANGE))
    rendering = story([scene(doll(ORANGE)), scene(doll(RED))], [("Ann",)] * 2, [ANN])
    (one,) = score(CopyPaste(CODE), rendering, tmp_path)
    assert one.value == pytest.approx(0.5)
    # Seen are a crop, a reference and its mirror image.
    assert one.trace["errors"]["two"]["seen"] == 3


# Which encoders ----------------------------------------------------------------------


@pytest.fixture
def afresh(monkeypatch, tmp_path):
    """Encoders made anew, and an empty folder for weights."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    character_matching.the_eyes.cache_clear()
    yield tmp_path
    character_matching.the_eyes.cache_clear()


def test_profiles_see_faces_differently(afresh):
    code, paper = (
        character_matching.the_eyes(CODE),
        character_matching.the_eyes("vsb-paper"),
    )
    for name, make in (
        ("adaface", faces.adaface_encoder),
        ("facenet", faces.facenet_encoder),
    ):
        assert code.faces[name] is make(CODE)
        assert paper.faces[name] is make("vsb-paper")
    assert code.faces["arcface"] is paper.faces["arcface"]
    assert code.detector is paper.detector


@pytest.mark.parametrize(
    "name",
    [
        "cids_cross",
        "cids_self",
        "cids_cross_strict",
        "cids_self_strict",
        "matched_rate",
        "copy_paste",
    ],
)
@pytest.mark.parametrize("profile", [CODE, "vsb-paper"])
def test_each_profile_asks_its_own_eyes(monkeypatch, tmp_path, name, profile):
    asked = []

    def eyes(which):
        asked.append(which)
        return EYES

    monkeypatch.setattr(character_matching, "the_eyes", eyes)
    metric = registry.load(f"{name}@{profile}")
    assert metric.info.full_version.endswith(f" {profile}")
    fox = character("Fox", scene(doll(RED)), scene(doll(GREEN)))
    score(metric, story([scene(doll(RED))], [("Fox",)], [fox]), tmp_path)
    assert asked == [profile]
    if profile == CODE:
        assert registry.load(name).info == metric.info


def test_counting_boxes_takes_the_detector_alone(afresh):
    boxes, matched = (registry.load(f"occm@{p}") for p in (CODE, "vsb-code-2025.11"))
    assert "grounding-dino" in str(boxes.missing())
    assert "glintr100" not in str(boxes.missing())
    assert "glintr100" in str(matched.missing())
    (afresh / DETECTOR.path).mkdir()
    (afresh / DETECTOR.path / DETECTOR.hub_file).touch()
    assert not boxes.missing()
    assert matched.missing()
    assert boxes.info.backend == "Grounding DINO tiny"
    assert "ArcFace" in matched.info.backend


def test_boxes_are_counted_by_the_real_detector_s_code(afresh, monkeypatch):
    """Of a tiny random network, which finds as many boxes as it finds."""
    monkeypatch.setenv("EVALCORE_DEVICE", "cpu")
    tiny.forget_loaded()
    tiny.save_detector(afresh)
    picture = noise(1)
    fox = character("Fox", scene(doll(RED)))
    rendering = story([picture], [("Fox",)], [fox])
    (one,) = score(registry.load("occm"), rendering, afresh / "features")
    found = character_matching.the_detector()
    (boxes,) = found.encode([found.prepare(picture)])
    assert one.value == pytest.approx(100 * np.exp(-abs(len(boxes) - 1)), rel=1e-4)
    tiny.forget_loaded()
