"""Casts with failing encoders, and the encoders of each profile."""

import numpy as np
import pytest

from evalcore.metrics import registry
from evalcore.metrics.base import FeatureError
from evalcore.metrics.vistorybench import character_matching
from evalcore.metrics.vistorybench.character_matching import FigureEncoders
from evalcore.metrics.vistorybench.cids import (
    CharacterConsistency,
    CharacterCount,
    CopyPaste,
)
from tests.evalcore.metrics.asking import score
from tests.evalcore.metrics.vistorybench.paper_dolls import (
    FIGURE_ENCODERS,
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
    """Encoder of colours that fails on some."""

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


def with_encoders(monkeypatch, one, two):
    figure_encoders = FigureEncoders(
        FIGURE_ENCODERS.detector, {"one": one, "two": two}, FIGURE_ENCODERS.others
    )
    monkeypatch.setattr(
        character_matching, "load_figure_encoders", lambda profile: figure_encoders
    )


def sees(name):
    return SeeColour(name, faces=True)


def test_other_encoders_are_kept_when_one_fails(monkeypatch, tmp_path):
    """Red by both encoders, orange (.8) by one: cross (1 + .8)/2, self .8."""
    with_encoders(monkeypatch, sees("face 1"), Fails("fails on orange", ORANGE))
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
def test_encoder_failing_on_all_figures_fails_metric(monkeypatch, tmp_path, metric):
    with_encoders(monkeypatch, sees("face 1"), Fails("fails", RED, ORANGE))
    shots = [scene(doll(RED)), scene(doll(ORANGE))]
    rendering = story(shots, [("Ann",)] * 2, [ANN])
    with pytest.raises(FeatureError, match=r"^two failed on every .* \(3\): a crop li"):
        score(metric, rendering, tmp_path)


# Encoders of profiles -----------------------------------------------------------------


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
def test_profile_uses_its_encoders(monkeypatch, tmp_path, name, profile):
    asked = []

    def figure_encoders(which):
        asked.append(which)
        return FIGURE_ENCODERS

    monkeypatch.setattr(character_matching, "load_figure_encoders", figure_encoders)
    metric = registry.load(f"{name}@{profile}")
    assert metric.info.full_version.endswith(f" {profile}")
    fox = character("Fox", scene(doll(RED)), scene(doll(GREEN)))
    score(metric, story([scene(doll(RED))], [("Fox",)], [fox]), tmp_path)
    assert asked == [profile]
    if profile == CODE:
        assert registry.load(name).info == metric.info
